"""Read a host: questions become one script, its records become facts.

`ask` answers a set of questions by one exec, `probe` lets each adapter ask until it
knows enough. Nothing here writes to the host or starts a client program.
"""

from __future__ import annotations

import re
import secrets
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from fleetsync.adapter import Adapter, Wish
from fleetsync.errors import FleetsyncError, HostUnusable
from fleetsync.facts import (
    Answer,
    Ask,
    Facts,
    FileFact,
    FileKind,
    HostFacts,
    Installation,
    Interrupted,
    Locate,
    Place,
    PlaceFact,
    PlaceKind,
    Question,
    Read,
    ReadOnlyQuestion,
    Resolve,
    Sealed,
    State,
    StateFact,
    Variable,
    VariableFact,
    Verdict,
)
from fleetsync.remote import Call, Reader, Record

ROUNDS = 12
"""Execs after which an adapter that still asks is taken to be broken."""
PATIENCE = 5
"""Seconds that a login shell has for its start-up files."""
_TORN_READS = 3
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_WORD = re.compile(r"[A-Za-z0-9@/._+-]+")
_LINE_ENDS = re.compile(r"[\n\r\t\0]")
_ROOTS = ("/", "~/")
_RUNS_SCRIPTS = re.compile(r"(node|nodejs|bun|deno|python)[0-9.]*")
_FAULT = "this is a fault of the adapter: report it to its author"
_NOT_PLAIN = "a launcher is words without line ends and tabs"
_INCOMPLETE = (
    "the host's sh gave an answer with parts missing",
    "its sh or one of its tools is not as POSIX wants it: have a look at them",
)
_FORMS = {
    PlaceKind.SESSION: "session",
    PlaceKind.LOGIN: "login",
    PlaceKind.INTERACTIVE: "interactive",
    PlaceKind.JSON: "json",
    PlaceKind.DOTENV: "dotenv",
    PlaceKind.FILE: "file",
    PlaceKind.MENTION: "mention",
    PlaceKind.USER_MANAGER: "manager",
    PlaceKind.SERVICE: "service",
    PlaceKind.SPAN: "span",
}
_FILE_KINDS = {
    "file": FileKind.FILE,
    "absent": FileKind.ABSENT,
    "directory": FileKind.DIRECTORY,
    "dangling": FileKind.DANGLING,
    "unreadable": FileKind.UNREADABLE,
    "other": FileKind.OTHER,
}


@dataclass(frozen=True, slots=True)
class Salts:
    """Two 128-bit salts of one run: with them equal keys on two hosts have equal
    fingerprints, and without them a fingerprint tells nothing."""

    first: str
    second: str

    @classmethod
    def fresh(cls) -> Salts:
        """New salts; they live in memory, for one run."""
        return cls(secrets.token_hex(16), secrets.token_hex(16))

    def __repr__(self) -> str:
        return "Salts(…)"


def probe(reader: Reader, adapters: Sequence[tuple[Adapter, Wish]], salts: Salts) -> Facts:
    """Everything that the adapters need to know of the host, and our own state there.

    One exec answers what all adapters ask in a round. Raises HostError, and
    FleetsyncError naming an adapter that asks without end or asks to run a program.
    """
    facts = Facts()
    for _ in range(ROUNDS):
        missing = facts.missing(frozenset(_wanted(adapters, facts)))
        if facts.host is not None and not missing:
            return facts
        facts = facts.with_answers(*ask(reader, missing, salts))
    asking = [a.name for a, wish in adapters if facts.missing(a.questions(wish, facts))]
    if not asking:
        return facts
    raise FleetsyncError(
        f"the adapter {', '.join(asking)} still asks after {ROUNDS} rounds", _FAULT
    )


def _wanted(adapters: Sequence[tuple[Adapter, Wish]], facts: Facts) -> Iterator[Question]:
    yield State()
    for adapter, wish in adapters:
        for question in adapter.questions(wish, facts):
            if isinstance(question, Ask | Resolve):
                raise FleetsyncError(
                    f"the adapter {adapter.name} asks to run a program, but a probe only reads",
                    _FAULT,
                )
            yield question


def ask(
    reader: Reader, questions: Collection[Question], salts: Salts, patience: int = PATIENCE
) -> tuple[HostFacts, dict[Question, Answer]]:
    """Answer `questions` by one exec; once more for a file that changed while it was read.

    `patience` bounds the login shell, in seconds. Raises HostError, ValueError for a
    question that could not be put safely, TypeError for an Ask.
    """
    answers: dict[Question, Answer] = {}
    left: list[ReadOnlyQuestion] = []
    for question in _in_order(questions):
        known = _unaskable(question)
        if known is None:
            left.append(question)
        else:
            answers[question] = known
    for _ in range(_TORN_READS):
        host, records = _put(reader, left, salts, patience)
        for number, asked in enumerate(left):
            answers[asked] = _answer(asked, records[str(number)], host)
        left = [asked for asked in left if _torn(answers[asked])]
        if not left:
            return host, answers
    raise HostUnusable(
        "a file changed each time it was read: "
        + ", ".join(asked.pattern for asked in left if isinstance(asked, Read)),
        "wait until the program that writes it is done, then run the command again",
    )


def _in_order(questions: Iterable[Question]) -> list[ReadOnlyQuestion]:
    found: list[ReadOnlyQuestion] = []
    for question in questions:
        if isinstance(question, Ask | Resolve):
            raise TypeError("a Reader runs no client program")
        found.append(question)
    return sorted(found, key=repr)


def _unaskable(question: ReadOnlyQuestion) -> Answer | None:
    """The answer to what is not put to a host: paths with line ends, or without a root."""
    match question:
        case Read(pattern=path) if _LINE_ENDS.search(path) or not path.startswith(_ROOTS):
            return (FileFact(path, FileKind.OTHER),)
        case Place(where=path, name=name) if _LINE_ENDS.search(path + name):
            return PlaceFact(Verdict.UNKNOWN, "", "its name holds a line end or a tab")
        case Place(kind=PlaceKind.SERVICE):
            return None
        case Place(where=path) if path and not path.startswith(_ROOTS):
            return PlaceFact(Verdict.UNKNOWN, "", "its path does not begin with / or ~/")
    return None


def _torn(answer: Answer) -> bool:
    return isinstance(answer, tuple) and any(
        isinstance(one, FileFact)
        and one.content is not None
        and one.sha256 not in ("", one.content.sha256)
        for one in answer
    )


def _put(
    reader: Reader, questions: Sequence[ReadOnlyQuestion], salts: Salts, patience: int
) -> tuple[HostFacts, Mapping[str, list[Record]]]:
    calls = [
        Call("fs_host"),
        Call("fs_salts", (salts.first, salts.second)),
        *_shells(questions, patience),
    ]
    for number, question in enumerate(questions):
        calls += _calls(str(number), question)
    host: HostFacts | None = None
    noise = False
    records: defaultdict[str, list[Record]] = defaultdict(list)
    for record in reader.call(calls):
        match record.tag:
            case "lacks":
                told = ", ".join(record.fields[0].split())
                raise HostUnusable(f"the host has no {told}", "install what is missing there")
            case "host":
                host = _host(record)
            case "noise":
                noise = True
            case _:
                records[record.fields[0]].append(record)
    if host is None:
        raise HostUnusable(*_INCOMPLETE)
    return replace(host, interactive_noise=noise), records


# --- questions become calls ------------------------------------------------------


def _shells(questions: Sequence[ReadOnlyQuestion], patience: int) -> Iterator[Call]:
    """At most one run of the login shell, and of an interactive one, for all questions."""
    login = {q.name for q in questions if isinstance(q, Variable) and not q.program}
    login |= _names(questions, PlaceKind.LOGIN)
    if login or any(isinstance(q, Locate) for q in questions):
        yield Call("fs_login", (str(patience), *map(_name, sorted(login))))
    interactive = _names(questions, PlaceKind.INTERACTIVE)
    if interactive:
        yield Call("fs_interactive", (str(patience), *map(_name, sorted(interactive))))


def _names(questions: Iterable[ReadOnlyQuestion], kind: PlaceKind) -> set[str]:
    return {q.name for q in questions if isinstance(q, Place) and q.kind is kind}


def _calls(number: str, question: ReadOnlyQuestion) -> list[Call]:
    match question:
        case Read():
            pieces = question.pattern.split("*")
            content = "1" if question.content else "0"
            return [Call("fs_read", (number, str(question.cap), content, *pieces))]
        case Locate():
            return _locate(number, question)
        case Variable(name, program) if program:
            return [Call("fs_running", (number, _words((program,)), _name(name)))]
        case Variable():
            return [Call("fs_variable", (number, _name(question.name)))]
        case Place():
            return [_place(number, question)]
        case State():
            return [Call("fs_state", (number,))]


def _locate(number: str, question: Locate) -> list[Call]:
    packages, runtimes = _words(question.packages), _words(question.runtimes)
    if not question.explicit:
        return [Call("fs_locate", (number, _words(question.names), packages, runtimes))]
    return [
        Call("fs_launcher", (number, packages, runtimes, *_launched(argv)))
        for argv in question.explicit
        if _plain(argv)
    ]


def _plain(argv: Sequence[str]) -> bool:
    return bool(argv) and not _LINE_ENDS.search("".join(argv))


def _launched(argv: Sequence[str]) -> tuple[str, str]:
    """The interpreter ("" when the script's own first line names it) and the script."""
    paths = [word for word in argv[1:] if word.startswith(("/", "~/"))]
    if paths and _RUNS_SCRIPTS.fullmatch(PurePosixPath(argv[0]).name):
        return argv[0], paths[0]
    return "", argv[0]


def _place(number: str, place: Place) -> Call:
    pieces = place.where.replace("*", "\x1e")
    if place.kind is PlaceKind.SERVICE:
        pieces = _words((place.where,))
    name = place.name
    if place.kind not in (PlaceKind.JSON, PlaceKind.FILE):
        name = _name(name)
    return Call("fs_place", (number, _FORMS[place.kind], pieces, name))


def _name(name: str) -> str:
    """`name` where it can be a variable's. It is not quoted everywhere on the host."""
    if not _NAME.fullmatch(name):
        raise ValueError(f"{name!r} is not the name of a variable")
    return name


def _words(words: Iterable[str]) -> str:
    found = tuple(words)
    for word in found:
        if not _WORD.fullmatch(word):
            raise ValueError(f"{word!r} cannot be looked for: only letters, digits and @/._+-")
    return " ".join(found)


# --- records become facts --------------------------------------------------------


def _host(record: Record) -> HostFacts:
    home, user, uid, shell, system, path = record.fields
    if not home.startswith("/"):
        raise HostUnusable(
            "the account has no home directory, or its path holds a tab or a line end",
            "give it one, or name another account",
        )
    return HostFacts(PurePosixPath(home), user, int(uid), shell, system, path)


def _answer(question: ReadOnlyQuestion, records: Sequence[Record], host: HostFacts) -> Answer:
    match question:
        case Read():
            return tuple(map(_file, records))
        case Locate():
            return tuple(_installations(question, records, host))
    if not records:
        raise HostUnusable(*_INCOMPLETE)
    match question:
        case Variable():
            origins = ("session", "login", "running")
            return VariableFact(*(_value(records, origin) for origin in origins))
        case Place():
            _, verdict, fingerprint, detail = records[0].fields
            return PlaceFact(Verdict(verdict), fingerprint, detail)
        case State():
            return _state(records)


def _file(record: Record) -> FileFact:
    _, path, kind, real, mode, uid, gid, size, mtime, links, digest, writable, over = record.fields
    return FileFact(
        path, _FILE_KINDS[kind], real, int(mode, 8), int(uid), int(gid), int(size), int(mtime),
        int(links), digest, writable == "1", over == "1",
        None if record.body is None else Sealed(record.body),
    )


def _installations(
    question: Locate, records: Sequence[Record], host: HostFacts
) -> Iterator[Installation]:
    found = iter([
        _installation(record, records[at + 1 :])
        for at, record in enumerate(records)
        if record.tag == "install"
    ])
    if not question.explicit:
        yield from found
    for argv in question.explicit:
        if _plain(argv):
            yield replace(next(found), argv=tuple(_at_home(word, host) for word in argv))
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


def _at_home(word: str, host: HostFacts) -> str:
    return f"{host.home}{word[1:]}" if word.startswith("~/") else word


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
