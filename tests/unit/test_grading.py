"""Real turns are graded by the identity of what answered."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from fleetsync import grading
from fleetsync.adapter import Done, Seen, Turn, Wish
from fleetsync.catalog import Alias
from fleetsync.grading import CHECKS, Check, Evidence, grade
from fleetsync.outcome import TurnVerdict
from fleetsync.sealed import Sealed
from tests import standin

ALIAS = Alias(
    name="llm.primary", context_window=393216, max_output_tokens=4096,
    served_as=("glm53-flash",),
)
TURN = Turn("0" * 32, ALIAS, "nonce-5f", "fleetsync-1")
WISH: Wish = standin.wish()
GOOD = Seen(
    provider=WISH.provider,
    model="llm.primary",
    router=WISH.base_url,
    context_window=393216,
    tools=("read",),
    stop="stop",
    fallback=False,
    answered_as="glm53-flash",
    text=Sealed(b"it is nonce-5f"),
    requested=True,
)
ENDED = Done(True, seconds=1.5)

BAD = {
    "request": (replace(GOOD, requested=False), ENDED, TurnVerdict.HARNESS),
    "provider": (replace(GOOD, provider="backup"), ENDED, TurnVerdict.WRONG_MODEL),
    "model": (replace(GOOD, model="llm.secondary"), ENDED, TurnVerdict.WRONG_MODEL),
    "router": (replace(GOOD, router="https://elsewhere/v1"), ENDED, TurnVerdict.WRONG_MODEL),
    "fallback": (replace(GOOD, fallback=True), ENDED, TurnVerdict.WRONG_MODEL),
    "answered as": (replace(GOOD, answered_as="tiny-1b"), ENDED, TurnVerdict.WRONG_MODEL),
    "context window": (replace(GOOD, context_window=128000), ENDED, TurnVerdict.CATALOG),
    "tool calls": (replace(GOOD, tools=("read", "read")), ENDED, TurnVerdict.POLICY),
    "failed tool calls": (replace(GOOD, failed_tools=1), ENDED, TurnVerdict.POLICY),
    "stop reason": (replace(GOOD, stop="error"), ENDED, TurnVerdict.ROUTER),
    "nonce": (replace(GOOD, text=Sealed(b"done!")), ENDED, TurnVerdict.ROUTER),
    "exit status": (GOOD, replace(ENDED, status=2), TurnVerdict.CRASH),
}


def _graded(seen: Seen, done: Done = ENDED, turn: Turn = TURN) -> grading.Grade:
    return grade(Evidence(WISH, "read", turn, done, seen))


def _without(name: str) -> Seen:
    silent: Any = {name: None}    # Any: one field of several types
    return replace(GOOD, **silent)


def test_a_turn_that_shows_everything_passes() -> None:
    graded = _graded(GOOD)
    assert (graded.verdict, graded.reason) == (TurnVerdict.PASSED, "")
    assert all(row.holds for row in graded.checks)


def test_the_alias_itself_is_a_name_the_router_may_answer_with() -> None:
    assert _graded(replace(GOOD, answered_as="llm.primary")).passed


@pytest.mark.parametrize("name", BAD)
def test_each_piece_of_evidence_can_fail_a_turn(name: str) -> None:
    seen, done, verdict = BAD[name]
    graded = _graded(seen, done)
    assert graded.verdict is verdict
    assert [row.name for row in graded.checks if row.holds is False] == [name]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_without_any_one_check_a_bad_turn_would_pass(
    check: Check, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = tuple(one for one in CHECKS if one is not check)
    monkeypatch.setattr(grading, "CHECKS", left)
    passed = [name for name, (seen, done, _) in BAD.items() if _graded(seen, done).passed]
    assert len(passed) == 1


@pytest.mark.parametrize(
    "name", ["provider", "router", "context_window", "fallback", "answered_as", "requested"]
)
def test_what_a_client_does_not_tell_is_unavailable_and_not_inferred(name: str) -> None:
    graded = _graded(_without(name))
    silent = [row for row in graded.checks if row.holds is None]
    assert graded.passed
    assert [row.seen for row in silent] == ["unavailable"]


def test_a_turn_without_a_request_tells_how_the_client_ended_and_not_what_it_said() -> None:
    done = replace(ENDED, status=3, stderr=Sealed(b"no key sk-canary"))
    graded = _graded(replace(GOOD, requested=False), done)
    assert "it ended with status 3 after 1.5 s, having printed 16 bytes" in graded.reason
    assert "canary" not in repr(graded)


def test_the_address_of_another_provider_is_told_without_what_may_be_a_key() -> None:
    graded = _graded(replace(GOOD, router="https://me:hunter2@elsewhere/v1?key=hunter3"))
    assert "https://elsewhere/v1?…" in graded.reason
    assert "hunter" not in repr(graded)


@pytest.mark.parametrize("name", ["model", "tools", "text"])
def test_a_turn_that_shows_no_model_tool_calls_or_text_cannot_pass(name: str) -> None:
    assert _graded(_without(name)).verdict is TurnVerdict.LOST


@pytest.mark.parametrize(
    ("done", "verdict"),
    [
        (Done(False, problem="no such program"), TurnVerdict.SETUP),
        (replace(ENDED, timed_out=True), TurnVerdict.TIMEOUT),
        (replace(ENDED, truncated=True), TurnVerdict.LOST),
        (replace(ENDED, signal=11), TurnVerdict.CRASH),
    ],
)
def test_how_the_program_ended_comes_before_what_it_printed(
    done: Done, verdict: TurnVerdict
) -> None:
    assert _graded(GOOD, done).verdict is verdict


@pytest.mark.parametrize("fault", grading.FAULTS)
def test_a_failure_that_the_client_tells_of_comes_before_the_evidence(fault: str) -> None:
    graded = _graded(replace(GOOD, fault=fault, problem="401: invalid", model=None))
    assert (graded.verdict, graded.reason) == (grading.FAULTS[fault], "401: invalid")


def test_an_answer_cut_by_its_length_speaks_of_the_catalog() -> None:
    assert _graded(replace(GOOD, stop="length")).verdict is TurnVerdict.CATALOG


def test_an_image_turn_calls_no_tool_and_brings_the_expected_text() -> None:
    turn = replace(TURN, image=b"\x89PNG", expect="TOTAL 42")
    seen = replace(GOOD, tools=(), text=Sealed(b"It reads TOTAL 42."))
    assert _graded(seen, turn=turn).passed
    assert _graded(replace(seen, text=Sealed(b"nonce-5f")), turn=turn).verdict is TurnVerdict.ROUTER
    assert _graded(replace(seen, tools=("read",)), turn=turn).verdict is TurnVerdict.POLICY


def test_no_row_shows_the_text_of_the_answer() -> None:
    seen = replace(GOOD, text=Sealed(b"nonce-5f and something private"))
    assert "private" not in repr(_graded(seen))
