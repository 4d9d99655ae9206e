from __future__ import annotations

import json
import os
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from fleetsync import receipt
from fleetsync.errors import ConfigError
from fleetsync.outcome import CheckRow, GateRow, GateState, Outcome, TurnRow, TurnVerdict
from fleetsync.receipt import Receipt

from .fleets import alone, changed, drift, refused


def made() -> Receipt:
    return Receipt(
        run="0badcafe",
        command="apply",
        state=receipt.BEGUN,
        begun="2026-11-30T16:49:05Z",
        ended="",
        operator="op@desk",
        controller="desk",
        generation="f" * 64,
        fleetsync="0.1.0",
        exit_code=None,
        attempts=receipt.attempts("preview", [drift("one"), refused("mid")]),
        open=("one",),
    )


def test_a_receipt_reads_back_as_it_was_written(tmp_path: Path) -> None:
    assert receipt.load(receipt.save(made(), tmp_path)) == made()


def test_turns_and_gates_read_back_as_they_were_written(tmp_path: Path) -> None:
    check = CheckRow("provider", "anvil", "unavailable", None)
    turn = TurnRow(
        "a" * 32, "llm.primary", 2, TurnVerdict.ROUTER, "503", checks=(check,),
        warnings=("stale pattern",), seconds=1.5, ran="/bin/pi 1.6.0",
    )
    gate = GateRow("turn (new session)", GateState.FAILED, True, "llm.primary", "router: 503")
    host = drift("one")
    target = replace(host.targets[0], turns=(turn,), gates=(gate,))
    attempts = receipt.attempts("smoke", [replace(host, targets=(target,))])
    turned = replace(made(), attempts=attempts)
    read = receipt.load(receipt.save(turned, tmp_path))
    assert read == turned
    assert (read.attempts[0].turns[0].verdict, read.attempts[0].gates[0].state) == (
        "router", "failed",
    )


def test_a_receipt_from_before_there_were_turns_is_read(tmp_path: Path) -> None:
    path = receipt.save(made(), tmp_path)
    table = json.loads(path.read_text())
    for attempt in table["attempts"]:
        del attempt["turns"], attempt["gates"]
    path.write_text(json.dumps(table))
    assert receipt.load(path) == made()


def test_its_name_is_the_time_and_the_run(tmp_path: Path) -> None:
    assert receipt.save(made(), tmp_path).name == "20261130T164905Z-0badcafe.json"


def test_only_its_owner_can_read_it_or_its_new_directory(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        path = receipt.save(made(), tmp_path / "deep" / "backups")
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_the_end_replaces_the_beginning_and_keeps_every_attempt(tmp_path: Path) -> None:
    begun = made()
    receipt.save(begun, tmp_path)
    more = receipt.attempts("apply", [changed("one")])
    ended = replace(begun, state=receipt.DONE, attempts=(*begun.attempts, *more), open=())
    path = receipt.save(ended, tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == [path.name]
    found = receipt.load(path).attempts
    assert [(a.step, a.host, a.outcome) for a in found] == [
        ("preview", "one", "drift"),
        ("preview", "mid", "refused"),
        ("apply", "one", "changed"),
    ]


def test_it_holds_digests_and_no_contents(tmp_path: Path) -> None:
    text = receipt.save(made(), tmp_path).read_text()
    assert "524288" not in text
    file = json.loads(text)["attempts"][0]["files"][0]
    assert (file["before"], file["after"]) == ("a" * 64, "b" * 64)


def test_a_host_with_an_outcome_of_its_own_is_one_attempt() -> None:
    (attempt,) = receipt.attempts("preview", [alone("far", Outcome.AWAY)])
    assert (attempt.host, attempt.client, attempt.outcome, attempt.reason) == (
        "far", "", "away", "why",
    )


def test_a_directory_that_cannot_be_made_is_named_with_the_option(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError) as caught:
        receipt.save(made(), tmp_path / "file" / "backups")
    assert "the receipt cannot be written" in caught.value.message
    assert "--receipts DIR" in caught.value.hint


def test_a_failed_write_leaves_no_half_of_it(tmp_path: Path) -> None:
    receipt.path_of(made(), tmp_path).mkdir()
    with pytest.raises(ConfigError):
        receipt.save(made(), tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["20261130T164905Z-0badcafe.json"]


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"version": 1}', "\xff"])
def test_what_is_no_receipt_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "r.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(ConfigError, match="not a receipt"):
        receipt.load(tmp_path / "r.json")


def test_a_newer_receipt_is_refused(tmp_path: Path) -> None:
    path = receipt.save(replace(made(), version=2), tmp_path)
    with pytest.raises(ConfigError, match="version 2"):
        receipt.load(path)


def test_a_missing_receipt_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none\.json"):
        receipt.load(tmp_path / "none.json")


def test_runs_have_different_names() -> None:
    assert receipt.new_run() != receipt.new_run()


def test_a_receipt_is_found_by_its_run(tmp_path: Path) -> None:
    receipt.save(made(), tmp_path)
    receipt.save(replace(made(), run="deadbeef"), tmp_path)
    assert receipt.find(tmp_path, "0badcafe") == made()
    assert receipt.find(tmp_path, "badcafe") is None
    assert receipt.find(tmp_path / "nowhere", "0badcafe") is None
