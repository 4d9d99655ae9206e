"""A transaction that takes a file away, and what puts it back."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from fleetsync.remote import Writer
from fleetsync.testing.local import LocalRemote
from fleetsync.transaction import End, FileJob, Job, Reason, fresh_id, recover, transact, undo
from tests.integration.faults.host import shell

DATA = b'{"mine": 1}\n'
TX = "0123456789abcdef"


@pytest.fixture(params=["dash", "bash", "busybox"])
def writer(request: pytest.FixtureRequest, tmp_path: Path) -> Writer:
    home = tmp_path / "home"
    home.mkdir()
    sh, path = shell(request.param, tmp_path / "tools")
    file = home / "a.json"
    file.write_bytes(DATA)
    file.chmod(0o640)
    return Writer(LocalRemote(home, str(sh), {"PATH": path}))


def file_of(writer: Writer) -> Path:
    assert isinstance(writer.remote, LocalRemote)
    return writer.remote.home / "a.json"


def removal(file: Path) -> FileJob:
    digest = hashlib.sha256(DATA).hexdigest()
    return FileJob("pi", str(file), str(file), digest, "", 0, len(DATA))


def bundle(writer: Writer, state: str) -> Path:
    assert isinstance(writer.remote, LocalRemote)
    return writer.remote.home / ".local/state/fleetsync/txn" / f"{TX}.{state}"


def test_a_file_is_taken_away_and_its_original_kept(writer: Writer) -> None:
    file = file_of(writer)
    applied = transact(writer, Job(TX, (removal(file),)))
    assert (applied.end, applied.problems) == (End.APPLIED, ())
    assert list(file.parent.glob("*.json")) == []
    assert list(file.parent.glob(".fleetsync-*")) == []
    assert (bundle(writer, "done") / "old.1").read_bytes() == DATA


def test_undo_brings_it_back_with_its_mode(writer: Writer) -> None:
    file = file_of(writer)
    transact(writer, Job(TX, (removal(file),)))
    assert undo(writer, TX).end is End.UNDONE
    assert (file.read_bytes(), file.stat().st_mode & 0o777) == (DATA, 0o640)
    assert list(file.parent.glob(".fleetsync-*")) == []


def test_undo_leaves_a_file_that_somebody_put_there(writer: Writer) -> None:
    file = file_of(writer)
    transact(writer, Job(TX, (removal(file),)))
    file.write_bytes(b"theirs")
    refused = undo(writer, TX)
    assert [problem.reason for problem in refused.problems] == [Reason.MOVED]
    assert file.read_bytes() == b"theirs"


def test_a_file_that_changed_is_not_taken_away(writer: Writer) -> None:
    file = file_of(writer)
    file.write_bytes(b"theirs")
    assert transact(writer, Job(TX, (removal(file),))).end is End.REFUSED
    assert file.read_bytes() == b"theirs"


@pytest.mark.parametrize("gone", [True, False])
def test_a_removal_that_was_cut_off_is_finished(writer: Writer, gone: bool) -> None:
    file = file_of(writer)
    transact(writer, Job(TX, (removal(file),)))
    bundle(writer, "done").rename(bundle(writer, "commit"))
    if not gone:
        file.write_bytes(DATA)
    assert [found.now for found in recover(writer).found] == ["done"]
    assert not file.exists()


@pytest.mark.parametrize("gone", [True, False])
def test_a_removal_that_was_cut_off_is_undone(writer: Writer, gone: bool) -> None:
    file = file_of(writer)
    transact(writer, Job(TX, (removal(file),)))
    bundle(writer, "done").rename(bundle(writer, "commit"))
    if not gone:
        file.write_bytes(DATA)
    assert [found.now for found in recover(writer, undo=True).found] == ["undone"]
    assert file.read_bytes() == DATA


def test_nothing_is_taken_away_where_another_file_of_the_job_moved(writer: Writer) -> None:
    file = file_of(writer)
    other = file.with_name("b.json")
    other.write_bytes(DATA)
    job = Job(fresh_id(), (removal(file), removal(other)))
    other.write_bytes(b"theirs")
    assert transact(writer, job).end is End.REFUSED
    assert (file.read_bytes(), other.read_bytes()) == (DATA, b"theirs")
