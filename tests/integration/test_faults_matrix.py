"""Kill or fail a transaction, its recovery and its undo at every call that changes files."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.integration.faults.matrix import Cell, Fault, Phase, chosen, expected
from tests.integration.faults.mutants import MUTANTS
from tests.integration.faults.run import drive

pytestmark = pytest.mark.faults
Count = Callable[[int, int], None]


@pytest.fixture(scope="session")
def settled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file that all workers of this run share, and no other run."""
    base = tmp_path_factory.getbasetemp()
    return (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "settled"


@pytest.mark.parametrize("cell", chosen(), ids=str)
def test_every_file_is_old_or_new_and_the_next_contact_settles_all(
    tmp_path: Path, settled: Path, count_faults: Count, cell: Cell
) -> None:
    answer = drive(tmp_path, cell, settled)
    count_faults(answer["cases"], len(answer["wrong"]))
    assert answer["wrong"] == []
    assert set(answer["calls"]) >= expected(cell.fault, cell.phase)


@pytest.mark.parametrize(
    ("mutant", "fault"),
    [("rename replaced by cp", Fault.KILL), ("compare removed", Fault.REPLACE)],
)
def test_a_defect_of_the_scripts_is_found(tmp_path: Path, mutant: str, fault: Fault) -> None:
    assert mutant in MUTANTS
    cell = Cell("dash", fault, Phase.APPLY, 4)
    answer = drive(tmp_path, cell, tmp_path.with_suffix(".settled"), "--mutant", mutant)
    assert answer["wrong"] != []
