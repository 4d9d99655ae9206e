"""The ledger says of each gate what is proved, and nothing more."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fleetsync import gates
from fleetsync.gates import Scope, all_targets_verified, ledger, open_gates
from fleetsync.outcome import (
    GateState,
    HostResult,
    Outcome,
    RouterRow,
    RouterVerdict,
    TargetResult,
    TurnRow,
    TurnVerdict,
)

ROUTER = RouterRow(RouterVerdict.ACCEPTED, "https://router/v1")
PASSED = TurnRow("1" * 32, "llm.primary", 1, TurnVerdict.PASSED)
GOOD = TargetResult(
    "node", "pi", "pi", Outcome.IN_STEP, loader="agrees", credential="open", router=ROUTER,
    turns=(PASSED,),
)
TURNS = Scope("llm.primary", ("llm.primary", "llm.secondary"), asked=("llm.primary",))


def _states(target: TargetResult, scope: Scope = TURNS, applied: bool | None = True) -> dict[
    str, GateState
]:
    rows = ledger(target, applied=applied, scope=scope)
    return {f"{row.gate} {row.alias}".strip(): row.state for row in rows}


def test_a_target_with_every_proof_has_passed_all_but_what_is_never_checked() -> None:
    assert _states(GOOD) == {
        "credential": GateState.PASSED,
        "router from host": GateState.PASSED,
        "file": GateState.PASSED,
        "loader": GateState.PASSED,
        "gateway applied": GateState.PASSED,
        "turn (new session) llm.primary": GateState.PASSED,
        "turn (new session) llm.secondary": GateState.NOT_CHECKED,
        "existing sessions": GateState.NOT_CHECKED,
    }


def test_the_required_gates_are_those_of_the_contract() -> None:
    rows = ledger(GOOD, applied=True, scope=TURNS)
    assert [f"{row.gate} {row.alias}".strip() for row in rows if row.required] == [
        "credential", "file", "loader", "gateway applied", "turn (new session) llm.primary",
    ]


@pytest.mark.parametrize(
    ("gate", "target", "state"),
    [
        ("credential", replace(GOOD, credential="closed"), GateState.FAILED),
        ("credential", replace(GOOD, credential="indeterminate"), GateState.OPEN),
        ("router from host", replace(GOOD, router=None), GateState.NOT_CHECKED),
        (
            "router from host",
            replace(GOOD, router=replace(ROUTER, verdict=RouterVerdict.REJECTED)),
            GateState.FAILED,
        ),
        (
            "router from host",
            replace(GOOD, router=replace(ROUTER, verdict=RouterVerdict.UNREACHABLE)),
            GateState.OPEN,
        ),
        ("file", replace(GOOD, outcome=Outcome.DRIFT), GateState.OPEN),
        ("file", replace(GOOD, outcome=Outcome.REFUSED), GateState.FAILED),
        ("file", replace(GOOD, outcome=Outcome.REFUSED, credential="closed"), GateState.OPEN),
        (
            "file",
            replace(
                GOOD, outcome=Outcome.REFUSED,
                router=replace(ROUTER, verdict=RouterVerdict.REJECTED),
            ),
            GateState.OPEN,
        ),
        ("loader", replace(GOOD, loader=""), GateState.OPEN),
        ("loader", replace(GOOD, loader="it sees 4096"), GateState.FAILED),
    ],
)
def test_a_gate_that_is_not_proved_says_so(
    gate: str, target: TargetResult, state: GateState
) -> None:
    assert _states(target)[gate] is state


def test_a_client_without_a_running_service_has_no_gate_for_it() -> None:
    assert _states(GOOD, applied=None)["gateway applied"] is GateState.UNAVAILABLE
    assert _states(GOOD, applied=False)["gateway applied"] is GateState.FAILED


def test_a_held_alias_is_held_even_though_nothing_was_tried() -> None:
    turns = replace(TURNS, held=(("llm.primary", "backend down"),))
    held = replace(GOOD, turns=())
    assert _states(held, turns)["turn (new session) llm.primary"] is GateState.HELD


def test_a_required_turn_that_was_not_tried_stays_open() -> None:
    assert _states(replace(GOOD, turns=()))["turn (new session) llm.primary"] is GateState.OPEN


def test_a_later_success_passes_the_gate_and_tells_of_the_failure_before_it() -> None:
    before = replace(PASSED, verdict=TurnVerdict.ROUTER, reason="503")
    tried = replace(GOOD, turns=(before, replace(PASSED, attempt=2)))
    row = next(r for r in ledger(tried, applied=True, scope=TURNS) if r.gate == gates.TURN)
    assert (row.state, row.detail) == (GateState.PASSED, "attempt 1 failed (router)")


def test_an_image_turn_has_a_gate_of_its_own_and_does_not_open_that_of_the_turn() -> None:
    shown = replace(GOOD, turns=(replace(PASSED, image=True),))
    states = _states(shown, replace(TURNS, images=("llm.primary",)))
    assert states["image turn llm.primary"] is GateState.PASSED
    assert states["turn (new session) llm.primary"] is GateState.OPEN


def _host(target: TargetResult) -> HostResult:
    rows = ledger(target, applied=None, scope=TURNS)
    return HostResult("node", (replace(target, gates=rows),))


def test_all_targets_are_verified_only_when_every_required_gate_is_settled() -> None:
    assert all_targets_verified([_host(GOOD)])
    assert not all_targets_verified([_host(GOOD), _host(replace(GOOD, turns=()))])
    assert not all_targets_verified([_host(GOOD), HostResult("far", outcome=Outcome.AWAY)])
    assert not all_targets_verified([])


def test_open_gates_names_what_is_left() -> None:
    host = _host(replace(GOOD, credential="closed", turns=()))
    assert [row.gate for row in open_gates(host.targets[0])] == [gates.CREDENTIAL, gates.TURN]


def test_an_alias_that_the_target_lacks_is_listed_as_not_checked() -> None:
    states = _states(GOOD, replace(TURNS, lacking=("vision.ocr",)))
    assert states["turn (new session) vision.ocr"] is GateState.NOT_CHECKED


def test_an_image_is_not_checked_with_an_alias_that_takes_none() -> None:
    states = _states(GOOD, replace(TURNS, images=("llm.primary",), blind=("llm.primary",)))
    assert states["image turn llm.primary"] is GateState.NOT_CHECKED
