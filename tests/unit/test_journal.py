"""Turns are put down before they are sent, and one without an end is found."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from fleetsync.errors import ConfigError
from fleetsync.journal import Dispatch, Journal, settle, unsettled

TURN = Dispatch(
    "r1", "node", "pi", "llm.primary", 1, "a" * 32, "nonce-5f", "fleetsync-1",
    "/tmp/fleetsync-" + "a" * 32, "2026-01-01T00:00:00Z",
)
OTHER = replace(TURN, identity="b" * 32, alias="llm.secondary")
STEM = "20260101T000000Z-r1-node"


def _killed(directory: Path, *turns: Dispatch) -> None:
    """The journal of a run that was killed after it had sent `turns`."""
    journal = Journal(directory, STEM)
    for turn in turns:
        journal.dispatched(turn)
    journal.close()


def test_a_turn_is_on_the_disk_before_it_is_sent(tmp_path: Path) -> None:
    journal = Journal(tmp_path, STEM)
    journal.dispatched(TURN)
    row = json.loads(journal.path.read_text())
    assert (row["event"], row["identity"], row["nonce"]) == ("dispatched", "a" * 32, "nonce-5f")
    assert row["scratch"] == TURN.scratch
    journal.close()


def test_the_journal_is_readable_by_its_owner_alone(tmp_path: Path) -> None:
    _killed(tmp_path / "new", TURN)
    (path,) = (tmp_path / "new").iterdir()
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_a_run_without_turns_leaves_no_journal(tmp_path: Path) -> None:
    Journal(tmp_path, STEM).close()
    assert list(tmp_path.iterdir()) == []


def test_a_journal_whose_turns_have_ended_is_closed(tmp_path: Path) -> None:
    journal = Journal(tmp_path, STEM)
    journal.dispatched(TURN)
    journal.ended(TURN.identity, "passed")
    journal.close()
    assert [path.name for path in tmp_path.iterdir()] == [f"{STEM}.turns.jsonl"]
    assert unsettled(tmp_path, {"node"}) == ()


def test_a_turn_of_a_killed_run_is_found_with_all_it_needs(tmp_path: Path) -> None:
    journal = Journal(tmp_path, STEM)
    journal.dispatched(TURN)
    journal.ended(TURN.identity, "passed")
    journal.dispatched(OTHER)
    journal.close()
    assert [one.dispatch for one in unsettled(tmp_path, {"node"})] == [OTHER]
    assert unsettled(tmp_path, {"elsewhere"}) == ()


def test_a_turn_of_a_run_that_still_goes_on_is_not_taken_for_lost(tmp_path: Path) -> None:
    journal = Journal(tmp_path, STEM)
    journal.dispatched(TURN)
    assert unsettled(tmp_path, {"node"}) == ()
    journal.close()
    assert len(unsettled(tmp_path, {"node"})) == 1


def test_a_run_that_was_killed_leaves_its_turn_to_be_found(tmp_path: Path) -> None:
    """By a real process that ends without a word."""
    program = (
        "import os, sys; from pathlib import Path; from tests.unit.test_journal import *;"
        "j = Journal(Path(sys.argv[1]), STEM); j.dispatched(TURN); os._exit(9)"
    )
    ended = subprocess.run([sys.executable, "-c", program, tmp_path], check=False, cwd=Path.cwd())
    assert ended.returncode == 9
    assert [one.dispatch for one in unsettled(tmp_path, {"node"})] == [TURN]


def test_settling_the_last_turn_closes_the_journal(tmp_path: Path) -> None:
    _killed(tmp_path, TURN, OTHER)
    first, second = unsettled(tmp_path, {"node"})
    settle(first, "lost")
    assert unsettled(tmp_path, {"node"}) == (second,)
    settle(second, "lost")
    assert [path.name for path in tmp_path.iterdir()] == [f"{STEM}.turns.jsonl"]


def test_a_line_that_was_cut_off_counts_as_not_written(tmp_path: Path) -> None:
    _killed(tmp_path, TURN)
    (path,) = tmp_path.iterdir()
    path.write_bytes(path.read_bytes() + b'{"event": "dispatched", "identi')
    (found,) = unsettled(tmp_path, {"node"})
    settle(found, "lost")
    lines = (tmp_path / f"{STEM}.turns.jsonl").read_text().splitlines()
    rows = [json.loads(line) for line in lines]
    assert [row["event"] for row in rows] == ["dispatched", "ended"]


@pytest.mark.parametrize("text", ["[]\n", "{}\n", "nonsense\n", '{"event": "dispatched"}\n'])
def test_what_is_no_journal_is_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / f"{STEM}.turns.open.jsonl"
    path.write_text(text)
    with pytest.raises(ConfigError, match="not a journal of turns"):
        unsettled(tmp_path, {"node"})


def test_where_it_cannot_be_written_nothing_may_be_sent(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="cannot be written"):
        Journal(tmp_path / "file", STEM).dispatched(TURN)
