"""Records of the host's reading functions become facts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePosixPath

from fleetsync.errors import HostUnusable
from fleetsync.facts import (
    Answer,
    FileFact,
    FileKind,
    HostFacts,
    Installation,
    Interrupted,
    Locate,
    Place,
    PlaceFact,
    Read,
    ReadOnlyQuestion,
    State,
    StateFact,
    Variable,
    VariableFact,
    Verdict,
)
from fleetsync.questions import plain
from fleetsync.remote import Record
from fleetsync.sealed import Sealed

_INCOMPLETE = (
    "the host's sh gave an answer with parts missing",
    "its sh or one of its tools is not as POSIX wants it: have a look at them",
)
_NOT_PLAIN = "a launcher is words without line ends and tabs"
_FILE_KINDS = {
    "file": FileKind.FILE,
    "absent": FileKind.ABSENT,
    "directory": FileKind.DIRECTORY,
    "dangling": FileKind.DANGLING,
    "unreadable": FileKind.UNREADABLE,
    "other": FileKind.OTHER,
}


def by_number(records: Iterable[Record]) -> tuple[HostFacts, Mapping[str, list[Record]]]:
    """The account that answered, and the records of each question by its number.

    Raises HostUnusable where a tool or the account's home is missing.
    """
    account: HostFacts | None = None
    noise = False
    found: defaultdict[str, list[Record]] = defaultdict(list)
    for record in records:
        match record.tag:
            case "lacks":
                told = ", ".join(record.fields[0].split())
                raise HostUnusable(f"the host has no {told}", "install what is missing there")
            case "host":
                account = _host(record)
            case "noise":
                noise = True
            case _:
                found[record.fields[0]].append(record)
    if account is None:
        raise HostUnusable(*_INCOMPLETE)
    return replace(account, interactive_noise=noise), found


def _host(record: Record) -> HostFacts:
    home, user, uid, shell, system, path = record.fields
    if not home.startswith("/"):
        raise HostUnusable(
            "the account has no home directory, or its path holds a tab or a line end",
            "give it one, or name another account",
        )
    return HostFacts(PurePosixPath(home), user, int(uid), shell, system, path)


def answered(
    question: ReadOnlyQuestion, records: Sequence[Record], account: HostFacts
) -> Answer:
    """The answer to `question` that `records` give. Raises HostUnusable where none do."""
    match question:
        case Read():
            return tuple(map(_file, records))
        case Locate():
            return tuple(_installations(question, records, account))
    if not records:
        raise HostUnusable(*_INCOMPLETE)
    match question:
        case Variable():
            origins = ("session", "login", "running")
            return VariableFact(*(_value(records, origin) for origin in origins))
        case Place():
            return place_fact(records[0])
        case State():
            return _state(records)


def place_fact(record: Record) -> PlaceFact:
    """The verdict on a place."""
    _, verdict, fingerprint, detail = record.fields
    return PlaceFact(Verdict(verdict), fingerprint, detail)


def _file(record: Record) -> FileFact:
    _, path, kind, real, mode, uid, gid, size, mtime, links, digest, writable, over = record.fields
    return FileFact(
        path, _FILE_KINDS[kind], real, int(mode, 8), int(uid), int(gid), int(size), int(mtime),
        int(links), digest, writable == "1", over == "1",
        None if record.body is None else Sealed(record.body),
    )


def _installations(
    question: Locate, records: Sequence[Record], account: HostFacts
) -> Iterator[Installation]:
    found = iter([
        _installation(record, records[at + 1 :])
        for at, record in enumerate(records)
        if record.tag == "install"
    ])
    if not question.explicit:
        yield from found
    for argv in question.explicit:
        if plain(argv):
            yield replace(next(found), argv=tuple(_at_home(word, account) for word in argv))
        else:
            yield Installation(argv, "", "", "inventory", problem=_NOT_PLAIN)


def _installation(record: Record, following: Iterable[Record]) -> Installation:
    _, found, path, real, package, version, root, interpreter, age, problem = record.fields
    return Installation(
        (path,), path, real, found, package, version, root, tuple(_runtimes(following)),
        interpreter, age, problem,
    )


def _runtimes(records: Iterable[Record]) -> Iterator[tuple[str, str]]:
    for record in records:
        if record.tag != "runtime":
            return
        _, name, digest = record.fields
        yield name, digest


def _at_home(word: str, account: HostFacts) -> str:
    return f"{account.home}{word[1:]}" if word.startswith("~/") else word


def _value(records: Iterable[Record], origin: str) -> str | None:
    for record in records:
        if record.fields[1] == origin and record.body is not None:
            return record.body.decode("utf-8", "surrogateescape")
    return None


def _state(records: Sequence[Record]) -> StateFact:
    directory = last = locked = None
    interrupted = []
    for record in records:
        match record.tag:
            case "state":
                directory = record.fields[1]
            case "cut":
                _, transaction, state = record.fields
                files = tuple(line[4] for line in _lines(record, "F", 5))
                interrupted.append(Interrupted(transaction, state, files))
            case "last":
                last = tuple((key, value) for _, key, value, *_ in _lines(record, "M", 3))
            case "lock":
                locked = record.fields[1]
    return StateFact(directory or "", tuple(interrupted), last or (), locked or "")


def _lines(record: Record, tag: str, fields: int) -> Iterator[list[str]]:
    """The lines of a manifest that begin with `tag`, as their fields."""
    for line in (record.body or b"").decode("utf-8", "surrogateescape").splitlines():
        parts = line.split("\t")
        if parts[0] == tag and len(parts) >= fields:
            yield parts
