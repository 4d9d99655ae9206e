"""Questions become calls of the host's reading functions, each with its number."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePosixPath

from fleetsync.facts import (
    Answer,
    FileFact,
    FileKind,
    Locate,
    Place,
    PlaceFact,
    PlaceKind,
    Read,
    ReadOnlyQuestion,
    State,
    Variable,
    Verdict,
)
from fleetsync.remote import Call

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_WORD = re.compile(r"[A-Za-z0-9@/._+-]+")
_SPAN = re.compile(r"(0|[1-9][0-9]{0,8}),(0|[1-9][0-9]{0,8}),[0-9a-f]{64}")
_LINE_ENDS = re.compile(r"[\n\r\t\0]")
_ROOTS = ("/", "~/")
_RUNS_SCRIPTS = re.compile(r"(node|nodejs|bun|deno|python)[0-9.]*")
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
    PlaceKind.KEYRING: "keyring",
    PlaceKind.WINDOWS: "windows",
    PlaceKind.CREDENTIALS: "credentials",
}


def unaskable(question: ReadOnlyQuestion) -> Answer | None:
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


def shells(questions: Sequence[ReadOnlyQuestion], patience: int) -> Iterator[Call]:
    """At most one run of the login shell, and of an interactive one, for all questions.

    `patience` bounds each, in seconds. Raises ValueError as `calls` does.
    """
    login = {q.name for q in questions if isinstance(q, Variable) and not q.program}
    login |= _names(questions, PlaceKind.LOGIN)
    if login or any(isinstance(q, Locate) for q in questions):
        yield Call("fs_login", (str(patience), *map(variable, sorted(login))))
    interactive = _names(questions, PlaceKind.INTERACTIVE)
    if interactive:
        yield Call("fs_interactive", (str(patience), *map(variable, sorted(interactive))))


def _names(questions: Iterable[ReadOnlyQuestion], kind: PlaceKind) -> set[str]:
    return {q.name for q in questions if isinstance(q, Place) and q.kind is kind}


def calls(number: str, question: ReadOnlyQuestion) -> list[Call]:
    """What answers `question` by records that begin with `number`.

    Raises ValueError for a question that cannot be put safely.
    """
    match question:
        case Read():
            pieces = question.pattern.split("*")
            content = "2" if question.veiled else "1" if question.content else "0"
            return [Call("fs_read", (number, str(question.cap), content, *pieces))]
        case Locate():
            return _locate(number, question)
        case Variable(name, program) if program:
            return [Call("fs_running", (number, _words((program,)), variable(name)))]
        case Variable():
            return [Call("fs_variable", (number, variable(question.name)))]
        case Place():
            return [Call("fs_place", (number, *place(question)))]
        case State():
            return [Call("fs_state", (number,))]


def _locate(number: str, question: Locate) -> list[Call]:
    packages, runtimes = _words(question.packages), _words(question.runtimes)
    if not question.explicit:
        return [Call("fs_locate", (number, _words(question.names), packages, runtimes))]
    return [
        Call("fs_launcher", (number, packages, runtimes, *_launched(argv)))
        for argv in question.explicit
        if plain(argv)
    ]


def plain(argv: Sequence[str]) -> bool:
    """Whether a launcher is words without line ends and tabs."""
    return bool(argv) and not _LINE_ENDS.search("".join(argv))


def _launched(argv: Sequence[str]) -> tuple[str, str]:
    """The interpreter ("" when the script's own first line names it) and the script."""
    paths = [word for word in argv[1:] if word.startswith(("/", "~/"))]
    if paths and _RUNS_SCRIPTS.fullmatch(PurePosixPath(argv[0]).name):
        return argv[0], paths[0]
    return "", argv[0]


def place(where: Place) -> tuple[str, str, str]:
    """`where` as the host's functions take a place: its kind in one word, its path as a
    pattern whose pieces stand apart as U+001E, its name. Raises ValueError as `calls` does."""
    pieces, name = where.where.replace("*", "\x1e"), where.name
    match where.kind:
        case PlaceKind.SERVICE:
            pieces = _words((where.where,))
        case PlaceKind.SPAN if not _SPAN.fullmatch(name):
            raise ValueError(f"{name!r} is no span of a file")
    if where.kind not in (PlaceKind.JSON, PlaceKind.FILE, PlaceKind.SPAN):
        name = variable(name)
    return _FORMS[where.kind], pieces, name


def variable(name: str) -> str:
    """`name` where it can be a variable's, as it is not quoted everywhere on the host.
    Raises ValueError for another."""
    if not _NAME.fullmatch(name):
        raise ValueError(f"{name!r} is not the name of a variable")
    return name


def _words(words: Iterable[str]) -> str:
    found = tuple(words)
    for word in found:
        if not _WORD.fullmatch(word):
            raise ValueError(f"{word!r} cannot be looked for: only letters, digits and @/._+-")
    return " ".join(found)
