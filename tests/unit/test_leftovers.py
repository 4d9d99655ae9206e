"""A turn whose answer was lost is settled only once nothing of it lives on its host."""

from __future__ import annotations

import os
import secrets
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from fleetsync.inventory import Host
from fleetsync.job import Job, Run, Step, Turns
from fleetsync.journal import Dispatch, Journal, unsettled
from fleetsync.leftovers import journal_of, left_open, required, settle
from fleetsync.remote import Call, Record, Runner
from fleetsync.testing.local import LocalRemote

IDENTITY = secrets.token_hex(16)
ROOM = Path("/tmp") / f"fleetsync-{IDENTITY}"    # where a host has no TMPDIR


def _dispatch(identity: str = IDENTITY) -> Dispatch:
    return Dispatch(
        "r1", "node", "pi", "llm.primary", 1, identity, "nonce-5f", "fleetsync-1",
        f"/tmp/fleetsync-{identity}", "2026-01-01T00:00:00Z",
    )


@pytest.fixture
def receipts(tmp_path: Path) -> Path:
    journal = Journal(tmp_path / "backups", "stem-node")
    journal.dispatched(_dispatch())
    journal.close()
    return tmp_path / "backups"


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    (tmp_path / "home").mkdir()
    return Runner(LocalRemote(tmp_path / "home", "/bin/sh"))


@pytest.fixture
def survivor() -> Iterator[subprocess.Popen[bytes]]:
    """A process that bears the tag of the lost turn."""
    process = subprocess.Popen(["sleep", "60"], env={**os.environ, "FLEETSYNC_RUN": IDENTITY})
    yield process
    process.kill()
    process.wait()


def test_every_other_command_says_that_recovery_is_required(receipts: Path) -> None:
    (line,) = required(unsettled(receipts, {"node"}))
    assert line == (
        f"turn {IDENTITY} of run r1 (pi, llm.primary, sent 2026-01-01T00:00:00Z) has no end on "
        "record: recovery required"
    )


def test_a_turn_of_which_nothing_is_left_is_settled_as_lost(
    receipts: Path, runner: Runner
) -> None:
    done, left = settle(runner, unsettled(receipts, {"node"}))
    assert left == ()
    assert done[0].endswith("settled as lost (nothing of it was left on the host)")
    assert unsettled(receipts, {"node"}) == ()


def test_its_processes_are_ended_and_its_directory_removed(
    receipts: Path, runner: Runner, survivor: subprocess.Popen[bytes]
) -> None:
    (ROOM / "scratch").mkdir(parents=True)
    (done,), left = settle(runner, unsettled(receipts, {"node"}))
    assert left == ()
    assert "1 of its processes were ended and its scratch directory was removed" in done
    assert survivor.wait(timeout=10) == -9
    assert not ROOM.exists()


def _job(receipts: Path, stem: str = "own") -> Job:
    return Job(
        Step.SMOKE, Run("r2", "ada@desk", "desk", "g" * 64), Host("node"), (),
        turns=Turns(journal=(str(receipts), stem)), unsettled=unsettled(receipts, {"node"}),
    )


def test_a_turn_that_was_settled_is_not_told_again_whatever_came_after(
    receipts: Path, runner: Runner
) -> None:
    job = _job(receipts)
    assert [one.dispatch.identity for one in left_open(job)] == [IDENTITY]
    settle(runner, job.unsettled)
    assert left_open(job) == ()


def test_a_turn_that_this_very_run_lost_is_told(receipts: Path, runner: Runner) -> None:
    job = _job(receipts)
    settle(runner, job.unsettled)
    own = journal_of(job)
    own.dispatched(_dispatch("7" * 32))
    own.close()
    assert [one.dispatch.identity for one in left_open(job)] == ["7" * 32]


def test_a_journal_that_cannot_be_read_any_more_settles_nothing(receipts: Path) -> None:
    job = _job(receipts)
    job.unsettled[0].path.write_text("rubbish\n")
    assert left_open(job) == job.unsettled


def test_a_link_in_the_place_of_its_directory_is_left_alone(
    receipts: Path, runner: Runner, tmp_path: Path
) -> None:
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    ROOM.symlink_to(theirs)
    try:
        settle(runner, unsettled(receipts, {"node"}))
        assert theirs.is_dir()
        assert ROOM.is_symlink()
    finally:
        ROOM.unlink()


def test_processes_of_another_run_are_left_alone(receipts: Path, runner: Runner) -> None:
    other = subprocess.Popen(["sleep", "60"], env={**os.environ, "FLEETSYNC_RUN": "6" * 32})
    try:
        settle(runner, unsettled(receipts, {"node"}))
        time.sleep(0.2)
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()


def test_while_something_of_it_lives_the_turn_stays_open(
    receipts: Path, runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = Record("SETTLED", ("0", "0", "2"))

    def call(self: Runner, calls: list[Call]) -> tuple[Record, ...]:
        return (record,)

    monkeypatch.setattr(Runner, "call", call)
    done, (line,) = settle(runner, unsettled(receipts, {"node"}))
    assert done == ()
    assert line.endswith("2 of its processes cannot be ended")
    assert len(unsettled(receipts, {"node"})) == 1
