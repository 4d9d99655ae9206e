"""What a transaction sends to a host, and how its answer is understood."""

from __future__ import annotations

import hashlib
import pickle
from dataclasses import dataclass, field

import pytest

from fleetsync.adapter import FileEdit
from fleetsync.documents import Dialect, Splice
from fleetsync.errors import HostUnusable, Lost
from fleetsync.facts import FileFact, FileKind
from fleetsync.payload import building
from fleetsync.remote import ANSWER_CAP, Writer
from fleetsync.sealed import Sealed
from fleetsync.transaction import (
    Applied,
    End,
    FileJob,
    Job,
    Problem,
    Reason,
    Recovery,
    fresh_id,
    recover,
    transact,
    undo,
)

TX = "0123456789abcdef"
OLD = b'{"a": 1}'
NEW = b'{"a": 22}'


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@dataclass
class CannedRemote:
    """Answers every script with the same lines."""

    lines: tuple[str, ...]
    cut: bool = False
    sent: list[bytes] = field(default_factory=list)

    def connect(self) -> None: ...

    def close(self) -> None: ...

    def exchange(
        self, command: str, stdin: bytes, end: bytes, *, seconds: float, cap: int = ANSWER_CAP,
        hold: bool = False,
    ) -> bytes:
        self.sent.append(stdin)
        mark = "@@" + end.decode().removeprefix("@@").split()[0]
        said = "".join(f"{mark} {line}\n" for line in self.lines)
        last = "" if self.cut else f"\n{mark} END 0\n"
        return f"\n{mark} BEGIN\n{said}{last}".encode()


def _file(
    path: str = "/h/a.json", companion: str = "", content: Sealed = Sealed(b"")
) -> FileJob:
    splices = (Splice(6, 7, b"22"),)
    return FileJob(
        "pi", path, "/h/a.json", digest(OLD), digest(NEW), len(NEW), len(OLD), splices, content,
        companion=companion,
    )


def _answered(*lines: str) -> Applied:
    return transact(Writer(CannedRemote(lines)), Job(TX, (_file(),)))


def test_an_edit_becomes_a_job_with_its_digests_and_splices() -> None:
    fact = FileFact(
        "/h/link", FileKind.FILE, "/h/a.json", size=len(OLD), sha256=digest(OLD)
    )
    splices = (Splice(6, 7, b"22"),)
    edit = FileEdit(fact, Dialect.JSON, splices, Sealed(NEW), ())
    assert FileJob.of("pi", edit, "/h/lock") == _file(path="/h/link", companion="/h/lock")


def test_an_absent_file_becomes_a_job_that_holds_its_whole_content() -> None:
    edit = FileEdit(FileFact("/h/a", FileKind.ABSENT), Dialect.JSON, (), Sealed(NEW), ())
    job = FileJob.of("pi", edit)
    assert (job.old, job.real, job.content.reveal(), job.splices) == ("", "/h/a", NEW, ())


def test_a_job_shows_no_content() -> None:
    assert "secret" not in repr(_file(content=Sealed(b"secret")))


def test_what_became_of_a_job_travels_between_processes() -> None:
    applied = _answered("PROBLEM\tmoved\t/h/a.json", "ENDED\trefused")
    assert pickle.loads(pickle.dumps(applied)) == applied


def test_new_bytes_are_described_by_kept_ranges_and_payload_only() -> None:
    calls = [call.render() for call in building((Splice(6, 7, b"22"), Splice(0, 1, b"")), 8)]
    assert calls == ["fs_keep '1' '6'", "fs_chunk '\\062\\062'", "fs_keep '7' '-'"]


def test_no_byte_of_the_old_file_is_sent() -> None:
    remote = CannedRemote(("ENDED\tapplied\t/b",))
    transact(Writer(remote), Job(TX, (_file(),)))
    assert b'"a"' not in remote.sent[0]
    assert b"\\042\\141" not in remote.sent[0]


@pytest.mark.parametrize("path", ["relative", "/with\nline", "/with\ttab", "/with\rreturn"])
def test_a_path_that_no_manifest_can_hold_is_a_mistake(path: str) -> None:
    with pytest.raises(ValueError, match=r"absolute|manifest"):
        transact(Writer(CannedRemote(())), Job(TX, (_file(path=path),)))


@pytest.mark.parametrize("transaction", ["", "../x", "a b", "x" * 60])
def test_an_id_that_is_no_file_name_is_a_mistake(transaction: str) -> None:
    with pytest.raises(ValueError, match="transaction id"):
        undo(Writer(CannedRemote(())), transaction)


def test_fresh_ids_differ_and_are_accepted() -> None:
    one, other = fresh_id(), fresh_id()
    assert one != other
    assert undo(Writer(CannedRemote(("ENDED\tundone\t/b",))), one).end is End.UNDONE


def test_a_refusal_tells_reason_path_and_detail() -> None:
    applied = _answered("PROBLEM\tlinks\t/h/a.json\t2", "PROBLEM\thash\t-", "ENDED\trefused")
    assert applied == Applied(
        TX, End.REFUSED, (Problem(Reason.LINKS, "/h/a.json", "2"), Problem(Reason.HASH)),
    )


def test_an_answer_names_the_bundle_what_was_recovered_and_what_was_left() -> None:
    applied = _answered(
        "LEFT\tffffffff\t/h/b", "RECOVERED\tffffffff\tcommit\tundone\t/h/b\t/h/c",
        f"LEFT\t{TX}\t/h/a.json", "ENDED\tundone\t/b",
    )
    assert applied == Applied(
        TX, End.UNDONE, bundle="/b", foreign=("/h/a.json",),
        recovered=(Recovery("ffffffff", "commit", "undone", ("/h/b", "/h/c"), ("/h/b",)),),
    )


def test_an_answer_without_an_end_of_the_transaction_is_no_answer() -> None:
    with pytest.raises(HostUnusable):
        _answered("PROBLEM\tmoved\t/h/a.json")


def test_an_answer_that_is_cut_off_is_lost() -> None:
    with pytest.raises(Lost):
        transact(Writer(CannedRemote(("ENDED\tapplied\t/b",), cut=True)), Job(TX, (_file(),)))


def test_recovery_that_fails_is_not_settled() -> None:
    found = recover(Writer(CannedRemote((
        "RECOVERED\tffffffff\tundo\tstuck\t/h/b", "PROBLEM\tstuck\t-\t/s/ffffffff.undo",
    ))))
    assert not found.settled
    assert found.found == (Recovery("ffffffff", "undo", "stuck", ("/h/b",)),)


def test_recovery_with_nothing_to_do_is_settled() -> None:
    assert recover(Writer(CannedRemote(()))).settled
