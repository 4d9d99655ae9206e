"""The matrix of faults: what the full one holds, and what the lean one may not leave out."""

from __future__ import annotations

import itertools

import pytest

from tests.integration.faults.matrix import (
    CALLS,
    SHELLS,
    Cell,
    Fault,
    Phase,
    chosen,
    expected,
    full,
    lean,
    pairs,
)
from tests.integration.faults.points import Call

CALLS_OF_A_RUN = [
    Call(number, family, family, "", 2)
    for number, family in enumerate(["open", "write", "sync", "write", "sync", "rename"], 1)
]


def test_the_full_matrix_is_every_shell_fault_and_phase_without_a_step() -> None:
    cells = [(cell.shell, cell.fault, cell.phase) for cell in full() if cell.step == 1]
    left_out = set(itertools.product(SHELLS, Fault, Phase)) - set(cells)
    # Where nothing is written, no write can be torn.
    assert {(fault, phase) for _, fault, phase in left_out} == {
        (Fault.TORN, Phase.DROP), (Fault.SHORT, Phase.DROP),
    }
    assert len(cells) == len(set(cells)) == len(full())


def test_no_cell_of_the_full_matrix_is_empty() -> None:
    # The test of a cell fails unless each of these calls was struck.
    assert [str(cell) for cell in full() if not expected(cell.fault, cell.phase)] == []


def test_every_call_is_struck_by_some_fault_in_every_phase() -> None:
    for phase in Phase:
        assert frozenset[str]().union(*(expected(fault, phase) for fault in Fault)) == CALLS[phase]


def test_the_lean_matrix_holds_every_pair_of_fault_and_phase_under_dash() -> None:
    lean_pairs = {(cell.fault, cell.phase) for cell in lean() if cell.shell == "dash"}
    assert lean_pairs == {(cell.fault, cell.phase) for cell in full()}


def test_the_lean_matrix_kills_at_every_point_of_apply_recovery_and_undo_under_dash() -> None:
    whole = {(c.fault, c.phase) for c in lean() if c.shell == "dash" and c.step == 1}
    assert whole == {
        (fault, phase) for fault, phase in pairs()
        if fault in (Fault.KILL, Fault.TORN) and phase is not Phase.ROLLBACK
    }


@pytest.mark.parametrize("shell", ["bash", "busybox"])
def test_the_lean_matrix_kills_in_every_phase_of_other_shells(shell: str) -> None:
    phases = {cell.phase for cell in lean() if (cell.shell, cell.fault) == (shell, Fault.KILL)}
    assert phases == set(Phase)


def test_the_environment_chooses_the_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLEETSYNC_MATRIX", "full")
    wide = chosen()
    monkeypatch.delenv("FLEETSYNC_MATRIX")
    assert (wide, chosen()) == (full(), lean())


def test_a_step_leaves_out_no_kind_of_call() -> None:
    points = Cell("dash", Fault.KILL, Phase.APPLY, step=5).points(CALLS_OF_A_RUN)
    assert [call.number for call in points] == [1, 2, 3, 6]


def test_without_a_step_every_call_is_a_point() -> None:
    assert Cell("dash", Fault.KILL, Phase.APPLY).points(CALLS_OF_A_RUN) == CALLS_OF_A_RUN


def test_a_fault_of_writes_strikes_writes_alone() -> None:
    points = Cell("dash", Fault.SHORT, Phase.APPLY).points(CALLS_OF_A_RUN)
    assert {call.family for call in points} == {"write"}
