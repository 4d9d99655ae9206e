"""Turns are put down before they are sent, tried again within bounds, and all kept."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any  # one field of several types

import pytest

from fleetsync import check
from fleetsync.adapter import Command, Credential, Done, Look, Planned, Seen, Target, Turn, Wish
from fleetsync.catalog import Alias
from fleetsync.errors import Away, ConfigError, Lost, Unreadable
from fleetsync.facts import Installation, PlaceFact, Verdict
from fleetsync.job import Run, Turns
from fleetsync.journal import Journal, unsettled
from fleetsync.outcome import (
    GateState,
    Outcome,
    RouterRow,
    RouterVerdict,
    TargetResult,
    TurnVerdict,
)
from fleetsync.plan import Plan
from fleetsync.probe import Salts
from fleetsync.remote import Runner
from fleetsync.sealed import Sealed
from fleetsync.smoke import Room, take
from fleetsync.testing.local import MemoryRemote
from tests import standin

PRIMARY = Alias(name="llm.primary", context_window=393216, max_output_tokens=4096)
SECONDARY = Alias(
    name="llm.secondary", context_window=262144, max_output_tokens=4096, input=("text", "image")
)
HELD = Alias(name="vision.ocr", context_window=32768, max_output_tokens=4096, hold="backend down")
SALTS = Salts.fresh()
KEY = "plain-word"
WISH: Wish = replace(standin.wish(), aliases=(PRIMARY, SECONDARY, HELD))
TARGET = Target(
    "pi", "pi", WISH, {}, (Installation(("/bin/pi",), "/bin/pi", "/bin/pi", "PATH", version="1.6.0",
    runtime=(("main.js", "d" * 64),)),), Credential((Look(
        "~/.pi", PlaceFact(Verdict.RESOLVES, SALTS.fingerprint(KEY.encode())), opens=True
    ),)),
)
GOOD = TargetResult("node", "pi", "pi", Outcome.IN_STEP, loader="agrees", credential="open")
SEEN = Seen(model="llm.primary", tools=("read",), stop="stop", requested=True)


@dataclass
class Client:
    """An adapter whose client says what the test wants, turn by turn."""

    name: str = "pi"
    default: str = "llm.primary"
    unreadable: bool = False
    answers: list[Callable[[Turn], Seen]] = field(default_factory=list)
    turns: list[Turn] = field(default_factory=list)

    def default_alias(self, target: Target) -> str:
        if self.unreadable:
            raise Unreadable("an open brace", 1, 1)
        return self.default

    def tool(self, target: Target) -> str:
        return "read"

    def turn(self, target: Target, turn: Turn) -> Command:
        if self.unreadable:
            raise Unreadable("an open brace", 1, 1)
        self.turns.append(turn)
        return Command(("pi",))

    def seen(self, target: Target, turn: Turn, done: Done) -> Seen:
        return self.answers.pop(0)(turn) if self.answers else right(turn)


def right(turn: Turn) -> Seen:
    return replace(SEEN, model=turn.alias.name, text=Sealed(turn.nonce.encode()))


def failing(fault: str) -> Callable[[Turn], Seen]:
    return lambda turn: replace(SEEN, fault=fault, problem=f"told {fault}")


@dataclass
class Setting:
    client: Client
    directory: Path
    sent: list[str] = field(default_factory=list)

    def take(
        self, result: TargetResult = GOOD, target: Target = TARGET, **order: object
    ) -> TargetResult:
        turns = replace(Turns(retries=1), **order)    # type: ignore[arg-type]
        run = Run("r1", "ada@desk", "desk", "g" * 64)
        self.journal = Journal(self.directory, "stem-node")
        room = Room(
            Runner(MemoryRemote({})), self.journal, run, "node", "/tmp", turns, SALTS
        )
        plan = Plan(self.client, target, Planned(), ())    # type: ignore[arg-type]
        try:
            return take(room, plan, result, None)
        finally:
            self.journal.close()


@pytest.fixture
def setting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Setting:
    made = Setting(Client(), tmp_path)

    def run(
        runner: Runner, command: Command, sources: object, run_id: str, *, lifeline: bool
    ) -> Done:
        assert lifeline
        journal = made.directory / "stem-node.turns.open.jsonl"
        assert json.loads(journal.read_text().splitlines()[-1])["identity"] == run_id
        made.sent.append(run_id)
        return Done(True, seconds=1.25)

    monkeypatch.setattr(check, "run", run)
    return made


def _gates(result: TargetResult) -> dict[str, GateState]:
    return {f"{row.gate} {row.alias}".strip(): row.state for row in result.gates}


def test_only_the_default_alias_is_tried_unless_others_are_named(setting: Setting) -> None:
    result = setting.take()
    assert [row.alias for row in result.turns] == ["llm.primary"]
    assert _gates(result)["turn (new session) llm.secondary"] is GateState.NOT_CHECKED


def test_named_aliases_are_tried_as_well(setting: Setting) -> None:
    result = setting.take(aliases=("llm.secondary", "llm.primary", "unknown"))
    assert [row.alias for row in result.turns] == ["llm.primary", "llm.secondary"]


def test_a_target_whose_default_is_none_of_ours_is_tried_by_its_first_alias(
    setting: Setting,
) -> None:
    setting.client.default = ""
    assert [row.alias for row in setting.take().turns] == ["llm.primary"]


@pytest.mark.parametrize("outcome", [Outcome.REFUSED, Outcome.ABSENT])
def test_a_target_whose_files_tell_no_default_has_its_ledger_all_the_same(
    setting: Setting, outcome: Outcome
) -> None:
    setting.client.unreadable = True
    result = setting.take(replace(GOOD, outcome=outcome))
    assert _gates(result)["turn (new session) llm.primary"] is GateState.OPEN
    assert (result.outcome, setting.sent) == (outcome, [])


def test_an_absent_client_is_not_asked_for_its_default(setting: Setting) -> None:
    absent = replace(TARGET, absent="no `pi`", installations=())
    setting.client.default = "llm.secondary"
    gates = setting.take(replace(GOOD, outcome=Outcome.ABSENT), absent).gates
    assert [row.alias for row in gates if row.alias and row.required] == ["llm.primary"]


def test_a_turn_that_cannot_be_put_together_is_not_started_and_has_its_end(
    setting: Setting,
) -> None:
    setting.client.unreadable = True
    (row,) = setting.take().turns
    assert (row.verdict, setting.sent) == (TurnVerdict.SETUP, [])
    assert unsettled(setting.directory, {"node"}) == ()


def test_a_failed_turn_names_the_command_to_go_on_with(setting: Setting) -> None:
    setting.client.answers = [failing("credential")]
    assert setting.take(retries=0).step.endswith("with: fleetsync doctor node")


@pytest.mark.parametrize("key", [KEY, "sk-echoed0123456789abcdef"])
@pytest.mark.parametrize("name", ["answered_as", "provider", "model", "router", "stop"])
def test_a_key_that_is_answered_in_a_names_place_is_shown_nowhere(
    setting: Setting, name: str, key: str
) -> None:
    odd: Any = {name: f"https://{key}/v1" if name == "router" else key}
    setting.client.answers = [lambda turn: replace(right(turn), **odd)]
    result = setting.take()
    assert result.turns[0].verdict is not TurnVerdict.PASSED
    assert key not in repr(result)


def test_half_a_surrogate_pair_in_a_name_is_no_bug(setting: Setting) -> None:
    setting.client.answers = [lambda turn: replace(right(turn), answered_as="half \ud83d")]
    assert setting.take().turns[0].verdict is TurnVerdict.WRONG_MODEL


def test_a_passed_turn_says_what_ran_and_leaves_the_target_in_step(setting: Setting) -> None:
    result = setting.take()
    (row,) = result.turns
    assert (result.outcome, row.verdict, row.seconds) == (
        Outcome.IN_STEP, TurnVerdict.PASSED, 1.25,
    )
    assert row.ran == "/bin/pi 1.6.0 dddddddddddd"


def test_a_failure_that_may_pass_is_tried_again_and_kept(setting: Setting) -> None:
    setting.client.answers = [failing("router"), right]
    result = setting.take()
    assert [row.verdict for row in result.turns] == [TurnVerdict.ROUTER, TurnVerdict.PASSED]
    assert result.outcome is Outcome.IN_STEP


def test_the_attempts_are_bounded(setting: Setting) -> None:
    setting.client.answers = [failing("router")] * 9
    result = setting.take(retries=2)
    assert len(result.turns) == 3
    assert result.outcome is Outcome.FAILED


@pytest.mark.parametrize("fault", ["credential", "catalog", "policy"])
def test_what_will_not_pass_by_itself_is_not_tried_again(setting: Setting, fault: str) -> None:
    setting.client.answers = [failing(fault), right]
    assert len(setting.take().turns) == 1


def test_each_attempt_has_an_identity_a_nonce_and_a_session_of_its_own(setting: Setting) -> None:
    setting.client.answers = [failing("router"), right]
    setting.take()
    first, second = setting.client.turns
    assert first.identity != second.identity
    assert first.nonce != second.nonce
    assert first.session != second.session


def test_every_turn_has_its_end_on_record(setting: Setting) -> None:
    setting.client.answers = [failing("credential")]
    setting.take(aliases=("llm.secondary",))
    assert unsettled(setting.directory, {"node"}) == ()
    rows = (setting.directory / "stem-node.turns.jsonl").read_text().splitlines()
    assert [json.loads(row).get("verdict") for row in rows] == [
        None, "credential", None, "passed",
    ]


def test_after_a_lost_answer_nothing_more_is_sent_and_recovery_is_required(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lose(
        runner: Runner, command: Command, sources: object, run_id: str, *, lifeline: bool
    ) -> Done:
        setting.sent.append(run_id)
        raise Lost("the connection broke")

    monkeypatch.setattr(check, "run", lose)
    result = setting.take(aliases=("llm.secondary",))
    assert [row.verdict for row in result.turns] == [TurnVerdict.LOST]
    assert [one.dispatch.identity for one in unsettled(setting.directory, {"node"})] == setting.sent
    assert result.outcome is Outcome.FAILED


def test_a_host_that_is_away_before_a_turn_was_sent_is_a_setup_failure(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(
        runner: Runner, command: Command, sources: object, run_id: str, *, lifeline: bool
    ) -> Done:
        raise Away("no route")

    monkeypatch.setattr(check, "run", away)
    result = setting.take()
    assert [row.verdict for row in result.turns] == [TurnVerdict.SETUP]
    assert unsettled(setting.directory, {"node"}) == ()


@pytest.mark.parametrize(
    "result",
    [
        replace(GOOD, outcome=Outcome.DRIFT),
        replace(GOOD, outcome=Outcome.REFUSED, credential="closed"),
        replace(GOOD, credential="indeterminate"),
        replace(GOOD, router=RouterRow(RouterVerdict.REJECTED, "https://router/v1")),
    ],
)
def test_without_a_proved_target_no_turn_is_sent(setting: Setting, result: TargetResult) -> None:
    turned = setting.take(result)
    assert setting.sent == []
    assert turned.outcome is result.outcome
    assert _gates(turned)["turn (new session) llm.primary"] is GateState.OPEN


def test_a_held_alias_is_not_tried(setting: Setting) -> None:
    result = setting.take(aliases=("vision.ocr",))
    assert [row.alias for row in result.turns] == ["llm.primary"]
    assert _gates(result)["turn (new session) vision.ocr"] is GateState.HELD


def test_an_image_turn_follows_where_the_catalog_says_image(setting: Setting) -> None:
    setting.client.answers = [
        right, right, lambda turn: replace(right(turn), tools=(), text=Sealed(b"TOTAL 42")),
    ]
    result = setting.take(aliases=("llm.secondary",), image=b"\x89PNG", expect="TOTAL 42")
    assert [(row.alias, row.image) for row in result.turns] == [
        ("llm.primary", False), ("llm.secondary", False), ("llm.secondary", True),
    ]
    assert all(row.verdict is TurnVerdict.PASSED for row in result.turns)


def test_without_a_journal_nothing_is_sent(setting: Setting) -> None:
    (setting.directory / "file").write_text("")
    setting.directory = setting.directory / "file"
    with pytest.raises(ConfigError):
        setting.take()
    assert setting.sent == []


def test_an_adapter_that_takes_no_turns_leaves_its_gate_open(setting: Setting) -> None:
    setting.client = object.__new__(type("Plain", (), {"name": "nib"}))
    result = setting.take()
    assert result.turns == ()
    assert "takes no turns" in result.notes[-1]
