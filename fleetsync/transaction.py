"""Write all files of a host's targets, old or new and never torn; finish or undo.

One exec holds the lock from the first compare to the last (`host/transaction.sh` and
the files beside it, where the state machine is told). The host goes on without the
connection. Lost means that nobody knows: `transact` with the same job again answers
ALREADY, does it, or says what was found.
"""

from __future__ import annotations

import enum
import re
import secrets
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from fleetsync.adapter import FileEdit
from fleetsync.documents import Splice
from fleetsync.errors import HostError, HostUnusable, Lost
from fleetsync.new_key import NewKey
from fleetsync.payload import building, payload
from fleetsync.probe import Salts
from fleetsync.remote import Call, Record, Writer
from fleetsync.sealed import Sealed

CAP = 4 * 1024 * 1024
"""Bytes beyond which a file is not written, unless a job says otherwise."""
_NONE = "-"
_ANY = "?"
_STORE = "store"
_TRANSACTION = re.compile(r"[0-9a-z]{8,40}")


class Reason(enum.Enum):
    """Why a file, or the whole transaction, was not written; the value is for people."""

    LOCKED = "another fleetsync is writing on this host"
    MOVED = "it is not what it was when it was read"
    RESOLVED = "its links lead elsewhere than when it was read"
    APPEARED = "it was to be created, and now something is there"
    DANGLING = "it is a link that leads nowhere"
    DIRECTORY = "it is a directory"
    FIFO = "it is a pipe"
    DEVICE = "it is a device"
    IRREGULAR = "it is no regular file"
    READONLY = "it, its directory or its file system is read-only"
    IMMUTABLE = "it is marked immutable or append-only"
    OWNER = "it belongs to another account"
    GROUP = "its group is none of this account's, so it could not be kept"
    MODE = "it has a set-uid, set-gid or sticky bit, which a write would lose"
    LINKS = "it has more than one hard link"
    SPACE = "there is too little space"
    CAP = "it is larger than the size limit"
    ACL = "its access list or attributes would be lost"
    HASH = "the host has no program that computes SHA-256"
    STAT = "the host has no usable stat"
    STATE = "the state directory cannot be used"
    COMPANION = "its client holds its lock"
    STUCK = "an earlier transaction can be neither finished nor undone"
    CANDIDATE = "the host built other bytes than planned"
    SYNTAX = "it is not valid JSON"
    TWICE = "it has two entries of one name on the way to the key"
    BLOCKED = "something that is no object stands on the way to the key"
    QUOTE = "a quote in it is not closed"
    TOOL = "the host's awk could not read it"
    STAGE = "the new file could not be laid beside the old one"
    EDITED = "it was edited while it was being written; the edit was kept"
    WRITE = "the host could not write it"
    UNKNOWN = "the host knows no such transaction"


class End(enum.Enum):
    """How a transaction ended."""

    APPLIED = "applied"
    ALREADY = "already"
    """it was done, or undone, before"""
    REFUSED = "refused"
    """nothing was written"""
    UNDONE = "undone"
    """every file of ours was put back; what others wrote meanwhile was left"""
    STUCK = "stuck"
    """files may be mixed; the bundle is whole, and the next contact tries again"""


@dataclass(frozen=True, slots=True)
class Problem:
    """One reason, the file it is about ("" the host), and a detail in the host's words."""

    reason: Reason
    path: str = ""
    detail: str = ""


@dataclass(frozen=True, slots=True)
class FileJob:
    """One file: from bytes with the digest `old` to bytes with the digest `new`.

    `real` is where `path` led when it was read. `old` "" means that nothing may be there;
    then `content` is the whole file and `mode` its mode, else `splices` change the
    `old_size` bytes that are there. `new` "" means that the file is taken away.
    `companion` is a lock directory that the client itself honours, held for the moment of
    the swap (Pi: settings.json.lock).
    """

    target: str
    path: str
    real: str
    old: str
    new: str
    size: int
    old_size: int = 0
    splices: tuple[Splice, ...] = ()
    content: Sealed = Sealed(b"")
    mode: int = 0o600
    companion: str = ""
    origin: tuple[str, int] | None = None
    """a done transaction and the number of one of its originals: these are the new bytes,
    and none of them travels"""
    store: bool = False
    """it holds secrets: the digests are veiled by the job's salts, nothing of it travels,
    and it is readable by its owner alone afterwards, whatever it was"""
    key: NewKey | None = None
    """what the host puts into a store; `new` is not known then"""

    @classmethod
    def of(cls, target: str, edit: FileEdit, companion: str = "") -> FileJob:
        """The job of a planned edit."""
        file, exists = edit.file, edit.file.exists
        return cls(
            target,
            file.path,
            file.real or file.path,
            file.sha256 if exists else "",
            edit.after.sha256,
            len(edit.after),
            file.size if exists else 0,
            edit.splices if exists else (),
            Sealed(b"") if exists else edit.after,
            companion=companion,
        )


@dataclass(frozen=True, slots=True)
class Job:
    """All files of one host. `meta` is recorded in the manifest: operator, generation, run.

    `cap` bounds one file in bytes; `patience` is how long another living transaction is
    waited for, in seconds.
    """

    transaction: str
    files: tuple[FileJob, ...]
    meta: tuple[tuple[str, str], ...] = ()
    cap: int = CAP
    patience: int = 5
    salts: Salts | None = None
    """what the digests of stores are veiled with"""


@dataclass(frozen=True, slots=True)
class Recovery:
    """An interrupted transaction that was found, the state it was in, and what it is now:
    dropped (nothing had been written), done, undone, or still stuck. `foreign` are files
    that were left alone, because somebody else had changed them."""

    transaction: str
    found: str
    now: str
    files: tuple[str, ...] = ()
    foreign: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Applied:
    """What became of a job. `bundle` holds the originals, on the host. `foreign` are
    files that an undo left alone, because somebody else had changed them."""

    transaction: str
    end: End
    problems: tuple[Problem, ...] = ()
    bundle: str = ""
    recovered: tuple[Recovery, ...] = ()
    foreign: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Recovered:
    """What was found and settled. `problems` say why something could not be."""

    found: tuple[Recovery, ...] = ()
    problems: tuple[Problem, ...] = ()

    @property
    def settled(self) -> bool:
        """Whether nothing is left that would stop a transaction."""
        return not self.problems


def fresh_id() -> str:
    """A new transaction's id: short, because it is part of file names beside the files."""
    return secrets.token_hex(8)


def transact(writer: Writer, job: Job) -> Applied:
    """Write all files of `job`, or none. Raises HostError; ValueError for a path or a
    meta value with a line end or a tab."""
    return _applied(job.transaction, writer.call(tuple(_transaction(job))))


def insist(writer: Writer, job: Job) -> Applied:
    """As `transact`; where the answer was lost, ask the host once what it did. Raises
    Lost where nobody can tell: whatever ends the second question, the first was sent."""
    try:
        return transact(writer, job)
    except Lost:
        writer.remote.close()
    try:
        return transact(writer, job)
    except HostError as error:
        raise Lost(
            f"the transaction was sent and its answer was lost; asked again: {error.message}",
            "preview again: it tells what the host holds now",
        ) from error


def recover(writer: Writer, *, undo: bool = False) -> Recovered:
    """Finish what was interrupted, or take it back. Idempotent. Raises HostError."""
    records = writer.call((Call("fs_recover", ("backward" if undo else "forward",)),))
    return Recovered(tuple(_recoveries(records)), tuple(problems(records)))


def undo(writer: Writer, transaction: str) -> Applied:
    """Put a done transaction's files back, if each is still what it wrote, byte for byte.

    Idempotent: a second undo answers ALREADY. Raises HostError.
    """
    records = writer.call((Call("fs_undo", (_checked(transaction),)),))
    return _applied(transaction, records)


def _transaction(job: Job) -> Iterator[Call]:
    yield Call("fs_job", (_checked(job.transaction), str(job.cap), str(job.patience)))
    if job.salts:
        yield Call("fs_veils", (job.salts.first, job.salts.second))
    for key, value in job.meta:
        yield Call("fs_meta", (_field(key), _field(value)))
    for file in job.files:
        yield Call("fs_file", (
            *_digests(file), str(file.size), f"{file.mode:o}",
            _field(file.companion or _NONE), _field(file.target or _NONE),
            _path(file.path), _path(file.real), *([_STORE] if file.store else []),
        ))
    yield Call("fs_begin")
    for index, file in enumerate(job.files, 1):
        if not file.new and not file.key:
            continue
        yield Call("fs_build", (str(index),))
        yield from _new_bytes(file)
    yield Call("fs_finish")


def _digests(file: FileJob) -> tuple[str, str]:
    """The old one and the new one as the host reads them: veiled ones with a mark."""
    mark = "~" if file.store else ""
    old, new = (f"{mark}{one}" if one else _NONE for one in (file.old, file.new))
    return old, _ANY if file.key else new


def _new_bytes(file: FileJob) -> Iterator[Call]:
    if file.key:
        yield file.key.call(exists=bool(file.old))
    elif file.origin:
        transaction, number = file.origin
        yield Call("fs_borrow", (_checked(transaction), str(number)))
        yield Call("fs_keep", ("0", "-"))
    elif file.old:
        yield from building(file.splices, file.old_size)
    else:
        yield from payload(file.content.reveal())


def _checked(transaction: str) -> str:
    if not _TRANSACTION.fullmatch(transaction):
        raise ValueError(f"{transaction!r} is no transaction id")
    return transaction


def _path(path: str) -> str:
    if not path.startswith("/"):
        raise ValueError(f"{path!r} is not absolute")
    return _field(path)


def _field(text: str) -> str:
    if not text or any(character in text for character in "\n\r\t\0"):
        raise ValueError(f"{text!r} cannot be a field of a manifest")
    return text


def _applied(transaction: str, records: tuple[Record, ...]) -> Applied:
    end = [record for record in records if record.tag == "ENDED"]
    if len(end) != 1:
        raise HostUnusable("the host did not say how the transaction ended", "run it again")
    return Applied(
        transaction,
        End(end[0].fields[0]),
        tuple(problems(records)),
        end[0].fields[1] if len(end[0].fields) > 1 else "",
        tuple(_recoveries(records)),
        _foreign(records, transaction),
    )


def problems(records: Iterable[Record]) -> Iterator[Problem]:
    """The reasons that an answer tells."""
    for record in records:
        if record.tag == "PROBLEM":
            word, path, detail = (*record.fields, "", "")[:3]
            yield Problem(Reason[word.upper()], "" if path == _NONE else path, detail)


def _recoveries(records: tuple[Record, ...]) -> Iterator[Recovery]:
    for record in records:
        if record.tag == "RECOVERED":
            transaction, found, now, *files = record.fields
            yield Recovery(transaction, found, now, tuple(files), _foreign(records, transaction))


def _foreign(records: tuple[Record, ...], transaction: str) -> tuple[str, ...]:
    return tuple(
        record.fields[1]
        for record in records
        if record.tag == "LEFT" and record.fields[0] == transaction
    )
