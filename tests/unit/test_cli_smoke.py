"""`smoke` and `apply --smoke` on the command line, over hosts that are made by hand."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from fleetsync import fleet
from fleetsync.job import Step
from fleetsync.journal import Dispatch, Journal
from fleetsync.outcome import (
    CheckRow,
    GateRow,
    GateState,
    HostResult,
    Outcome,
    TurnRow,
    TurnVerdict,
)

from .fleets import FakeFleet, changed, drift, in_step, refused, write_inventory
from .test_cli import Bench, sits

TURN = TurnRow(
    "a" * 32, "llm.primary", 1, TurnVerdict.PASSED, seconds=1.5, ran="/bin/pi 1.6.0",
    checks=(CheckRow("provider", "anvil", "unavailable", None), CheckRow("nonce", "x", "y", True)),
    warnings=("a stale pattern",),
)
PNG = b"\x89PNG\r\n\x1a\n..."
SEEING = """
[aliases."vision.ocr"]
context_window = 32768
max_output_tokens = 4096
input = ["text", "image"]
"""
FAILED = replace(TURN, verdict=TurnVerdict.ROUTER, reason="HTTP 503")
PROVED = (
    GateRow("credential", GateState.PASSED, True),
    GateRow("turn (new session)", GateState.PASSED, True, "llm.primary"),
    GateRow("turn (new session)", GateState.NOT_CHECKED, False, "llm.secondary", "outside"),
)
HELD = (*PROVED[:1], GateRow("turn (new session)", GateState.HELD, True, "llm.primary", "down"))


def smoked(name: str, *turns: TurnRow, gates: tuple[GateRow, ...] = PROVED) -> HostResult:
    host = in_step(name)
    failed = bool(turns) and turns[-1].verdict is not TurnVerdict.PASSED
    target = replace(
        host.targets[0], turns=turns, gates=gates,
        outcome=Outcome.FAILED if failed else Outcome.IN_STEP,
        reason="turn of llm.primary: router: HTTP 503" if failed else "",
    )
    return replace(host, targets=(target,))


@pytest.fixture
def bench(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Bench]:
    fake = FakeFleet()
    monkeypatch.setattr(fleet, "run", fake.run)
    monkeypatch.setenv("FLEETSYNC_INVENTORY", str(write_inventory(tmp_path / "inventory")))
    yield Bench(fake, tmp_path / "backups", capsys)


def test_every_turn_gate_and_count_is_told(bench: Bench) -> None:
    bench.fleet.set(Step.SMOKE, smoked("one", TURN))
    ended = bench.run("smoke", "one")
    assert ended.code == 0
    assert "  turn of llm.primary: passed (1.5 s by the client's clock)" in ended.out
    assert "    the client warns: a stale pattern" in ended.out
    assert "turns: 1  accepted: 1  excluded: 1 not checked" in ended.out
    assert "all targets verified: yes" in ended.out


def test_a_failed_turn_ends_with_1_and_is_kept_beside_the_later_success(bench: Bench) -> None:
    bench.fleet.set(Step.SMOKE, smoked("one", FAILED), smoked("two", FAILED, TURN))
    ended = bench.run("smoke", "one", "two")
    assert ended.code == 1
    assert "turns: 3  accepted: 1" in ended.out
    kept = [turn.verdict for attempt in bench.receipt().attempts for turn in attempt.turns]
    assert kept == ["router", "router", "passed"]


def test_a_held_required_gate_leaves_the_fleet_unverified(bench: Bench) -> None:
    bench.fleet.set(Step.SMOKE, smoked("one", gates=HELD))
    ended = bench.run("smoke", "one")
    assert ended.code == 0
    assert "all targets verified: no" in ended.out
    assert "excluded: 1 held" in ended.out


def test_the_envelope_carries_turns_gates_and_the_verdict(bench: Bench) -> None:
    bench.fleet.set(Step.SMOKE, smoked("one", TURN))
    envelope = bench.run("smoke", "one", "--json").envelope
    (target,) = envelope["hosts"][0]["targets"]
    assert envelope["all_targets_verified"] is True
    assert target["turns"][0]["checks"][0]["holds"] is None
    assert [gate["state"] for gate in target["gates"]] == ["passed", "passed", "not checked"]


def test_drift_ends_with_3_and_away_with_4(bench: Bench) -> None:
    bench.fleet.set(Step.SMOKE, drift("one"), HostResult("two", outcome=Outcome.AWAY))
    assert bench.run("smoke", "one").code == 3
    assert bench.run("smoke", "two").code == 4


def test_its_options_reach_the_hosts(bench: Bench, tmp_path: Path) -> None:
    bench.fleet.set(Step.SMOKE, smoked("one", TURN))
    picture = tmp_path / "x.png"
    picture.write_bytes(PNG)
    catalog = tmp_path / "inventory" / "catalog.toml"
    catalog.write_text(catalog.read_text() + SEEING)
    bench.run(
        "smoke", "one", "--alias", "llm.primary", "--image", str(picture), "--expect", "TOTAL",
        "--turn-timeout", "30", "--retries", "2",
    )
    (job,) = bench.fleet.ran
    assert (job.turns.aliases, job.turns.expect) == (("llm.primary",), "TOTAL")
    assert (job.turns.seconds, job.turns.retries) == (30, 2)
    assert job.turns.image == picture.read_bytes()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--alias", "llm.unknown"), "llm.unknown"),
        (("--expect", "TOTAL"), "there is no --image"),
        (("--image", "INVENTORY/fleet.toml", "--expect", "x"), "no PNG or JPEG"),
        (("--image", "INVENTORY/none.png", "--expect", "x"), "No such file"),
        (("--image", "INVENTORY/fleet.toml"), "--image needs --expect"),
    ],
)
def test_what_makes_no_sense_is_refused_before_any_host(
    bench: Bench, tmp_path: Path, words: tuple[str, ...], told: str
) -> None:
    filled = (word.replace("INVENTORY", str(tmp_path / "inventory")) for word in words)
    ended = bench.run("smoke", *filled)
    assert ended.code == 2
    assert told in ended.err
    assert bench.fleet.ran == []


def test_an_image_that_no_alias_takes_is_refused_before_any_host(
    bench: Bench, tmp_path: Path
) -> None:
    picture = tmp_path / "x.png"
    picture.write_bytes(PNG)
    ended = bench.run("smoke", "--image", str(picture), "--expect", "x")
    assert (ended.code, bench.fleet.ran) == (2, [])
    assert "no alias of the selected hosts takes an image" in ended.err


def test_apply_with_smoke_takes_turns_where_the_wish_now_holds(bench: Bench) -> None:
    bench.fleet.set(Step.PREVIEW, drift("one"), in_step("two"), refused("three"))
    bench.fleet.set(Step.APPLY, changed("one"))
    bench.fleet.set(Step.SMOKE, smoked("one", TURN), smoked("two", TURN))
    ended = bench.run("apply", "--yes", "--smoke")
    assert bench.fleet.steps(Step.SMOKE) == ["one", "two"]
    assert ended.code == 5
    assert "turns: 2  accepted: 2" in ended.out


def test_apply_with_smoke_takes_the_turns_as_it_is_told(bench: Bench) -> None:
    bench.fleet.set(Step.PREVIEW, in_step("one"))
    bench.fleet.set(Step.SMOKE, smoked("one", TURN))
    how = ("--alias", "llm.primary", "--turn-timeout", "30", "--retries", "2")
    assert bench.run("apply", "--yes", "--smoke", *how, "one").code == 0
    (turns,) = [job.turns for job in bench.fleet.ran if job.step is Step.SMOKE]
    assert (turns.aliases, turns.seconds, turns.retries) == (("llm.primary",), 30, 2)


@pytest.mark.parametrize(("words", "told"), [
    (("--turn-timeout", "90"), "--turn-timeout tells how turns are taken, and there is no --smoke"),
    (("--alias", "llm.primary"), "--alias tells how"),
    (("--smoke", "--alias", "llm.unknown"), "no selected host has the alias 'llm.unknown'"),
])
def test_apply_refuses_what_makes_no_sense_of_turns_before_any_host(
    bench: Bench, words: tuple[str, ...], told: str
) -> None:
    ended = bench.run("apply", "--yes", *words)
    assert (ended.code, bench.fleet.ran) == (2, [])
    assert told in ended.err


def test_apply_fails_where_the_turn_after_it_does(bench: Bench) -> None:
    bench.fleet.set(Step.PREVIEW, drift("one"))
    bench.fleet.set(Step.APPLY, changed("one"))
    bench.fleet.set(Step.SMOKE, smoked("one", FAILED))
    ended = bench.run("apply", "--yes", "--smoke", "one")
    assert ended.code == 1
    steps = [(attempt.step, attempt.outcome) for attempt in bench.receipt().attempts]
    assert steps == [("preview", "drift"), ("apply", "changed"), ("smoke", "failed")]


@pytest.mark.parametrize("words", [("preview", "one"), ("verify", "one"), ("doctor", "one")])
def test_a_turn_without_an_end_is_told_by_every_command_and_ends_with_3(
    bench: Bench, words: tuple[str, ...]
) -> None:
    journal = Journal(bench.receipts, "20260101T000000Z-r1-one")
    journal.dispatched(Dispatch(
        "r1", "one", "pi", "llm.primary", 1, "a" * 32, "nonce-1", "s", "/tmp/x", "then"
    ))
    journal.close()
    for step in (Step.PREVIEW, Step.VERIFY, Step.DOCTOR):
        bench.fleet.set(step, in_step("one"))
    bench.fleet.before_each = lambda job: bench.fleet.set(
        job.step, replace(in_step("one"), unsettled=tuple(u.told for u in job.unsettled))
    )
    ended = bench.run(*words)
    assert ended.code == 3
    assert "has no end on record" in ended.err
    assert "next: fleetsync recover one" in ended.err
    assert json.loads(bench.run(*words, "--json").out)["errors"][0]["code"] == "recovery"


def test_recover_names_the_turns_that_it_asks_about(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.fleet.set(Step.FIND, replace(in_step("one"), unsettled=("turn 5f has no end",)))
    sits(monkeypatch, "n\n")
    ended = bench.run("recover", "one")
    assert ended.code == 2
    assert "one  turn 5f has no end\nSettle 1 lost turn on 1 host? [y/N] " in ended.err
