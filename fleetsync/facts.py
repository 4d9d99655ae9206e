"""What can be asked of a host, and what was read: plain values, no I/O.

An adapter puts questions; `probe` gets the answers and never decides anything.
Absence is an answer. Values of secrets are never an answer: a `Place` is judged on
the host and answered by a verdict and a fingerprint.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import TypeAlias

from fleetsync.sealed import Sealed

# --- questions -------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Read:
    """Read the files that `pattern` names: absolute or `~/…`, with `*` expanded on the host.

    `cap` bounds one file's size in bytes; a larger one is answered without content.
    `content` False asks for all but the bytes; `veiled`, of a file that holds secrets, for
    no bytes and a digest that is salted for this run.
    """

    pattern: str
    cap: int = 4 * 1024 * 1024
    content: bool = True
    veiled: bool = False


@dataclass(frozen=True, slots=True)
class Locate:
    """Find executables called one of `names`, and the package each belongs to.

    `packages` are the package names to recognise (package.json "name" for npm, the
    distribution name for Python); `runtimes` are files below the package root, of which
    each existing one is hashed: the code's identity. `explicit` are launchers the
    operator named, each an argv; when given, nothing else is searched.
    """

    names: tuple[str, ...]
    packages: tuple[str, ...] = ()
    runtimes: tuple[str, ...] = ()
    explicit: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Variable:
    """Read the value of an environment variable that is not a secret (a directory).

    With `program`, a process title: as the account's own running program of that title
    has it, instead of the session and the login shell.
    """

    name: str
    program: str = ""


class PlaceKind(enum.Enum):
    """Where a credential can stand; `where` and `name` of a Place mean, in this order:"""

    SESSION = "session"
    """the environment of a plain ssh command; -, variable"""
    LOGIN = "login"
    """the environment that the account's login shell gives (`-lc`); -, variable"""
    INTERACTIVE = "interactive"
    """the environment of an interactive shell (`-ic`); -, variable"""
    JSON = "json"
    """a string in a strict JSON file; file, keys joined by U+001F"""
    DOTENV = "dotenv"
    """an assignment in a KEY=VALUE file (environment.d and /etc/environment too); file, variable"""
    FILE = "file"
    """the whole content of a file; file, -"""
    MENTION = "mention"
    """a line that names the variable in a shell start-up file; file, variable"""
    USER_MANAGER = "user manager"
    """the environment of the systemd user manager; -, variable"""
    SERVICE = "service"
    """the environment of the account's own running program; its process title, variable"""
    KEYRING = "keyring"
    """an item of that name in the session's keyring, whose value is not looked at; -, name"""
    WINDOWS = "windows"
    """the user's environment of the Windows above a WSL; -, variable"""
    CREDENTIALS = "credentials directory"
    """a file in the directory that systemd gives a service; -, name"""
    SPAN = "span"
    """a text in a catalog file, by its bytes; file, "OFFSET,LENGTH,SHA256 of the file\""""


@dataclass(frozen=True, slots=True)
class Place:
    """Judge, on the host, whether a credential stands at one place."""

    kind: PlaceKind
    where: str
    name: str

    @property
    def told(self) -> str:
        """The place in the operator's words."""
        match self.kind:
            case PlaceKind.SESSION:
                return f"{self.name} in the environment of an ssh command"
            case PlaceKind.LOGIN:
                return f"{self.name} in the login shell's environment"
            case PlaceKind.INTERACTIVE:
                return f"{self.name} in an interactive shell's environment"
            case PlaceKind.USER_MANAGER:
                return f"{self.name} in the systemd user manager's environment"
            case PlaceKind.KEYRING:
                return f"an item called {self.name} in the keyring"
            case PlaceKind.WINDOWS:
                return f"{self.name} in the Windows user's environment"
            case PlaceKind.CREDENTIALS:
                return f"$CREDENTIALS_DIRECTORY/{self.name}"
            case PlaceKind.SERVICE:
                return f"{self.name} in the environment of the running {self.where}"
            case PlaceKind.JSON:
                return f"{self.where} {'.'.join(self.name.split(chr(31)))}"
            case PlaceKind.FILE | PlaceKind.SPAN:
                return self.where
            case PlaceKind.DOTENV:
                return f"{self.name} in {self.where}"
            case PlaceKind.MENTION:
                return f"{self.name} mentioned in {self.where}"


@dataclass(frozen=True, slots=True)
class State:
    """Ask for our own state directory: interrupted transactions, the last writer."""


@dataclass(frozen=True, slots=True)
class Ask:
    """Run a client program, bounded to `seconds`. Only a Runner answers this.

    It starts in an empty scratch directory of its own with `env` alone, stdin /dev/null.
    """

    argv: tuple[str, ...]
    seconds: int = 10
    env: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Resolve:
    """Run the command that stands at `place` (`!…`), as its client would, bounded to
    `seconds`, and judge what it prints. Only a Runner answers this, with a PlaceFact."""

    place: Place
    seconds: int = 10


ReadOnlyQuestion: TypeAlias = Read | Locate | Variable | Place | State
RunningQuestion: TypeAlias = Ask | Resolve
Question: TypeAlias = ReadOnlyQuestion | RunningQuestion


# --- answers ---------------------------------------------------------------------


class FileKind(enum.Enum):
    """What was found under a path."""

    FILE = "file"
    ABSENT = "absent"
    DIRECTORY = "directory"
    DANGLING = "dangling link"
    UNREADABLE = "unreadable"
    OTHER = "device, socket or pipe"


@dataclass(frozen=True, slots=True)
class FileFact:
    """One path. `real` is where links lead; sizes are bytes; `mtime` whole seconds.

    `content` is None unless a regular file within the cap was read. `sha256` is the
    host's own digest of the file. `writable` tells about the directory that holds `real`.
    """

    path: str
    kind: FileKind
    real: str = ""
    mode: int = 0
    uid: int = 0
    gid: int = 0
    size: int = 0
    mtime: int = 0
    links: int = 0
    sha256: str = ""
    writable: bool = True
    over_cap: bool = False
    content: Sealed | None = None

    @property
    def exists(self) -> bool:
        """Whether a regular file stands there and was read."""
        return self.kind is FileKind.FILE

    @property
    def is_link(self) -> bool:
        """Whether the path leads elsewhere."""
        return bool(self.real) and self.real != self.path


@dataclass(frozen=True, slots=True)
class Installation:
    """One executable and the package it belongs to.

    `argv` starts it (the operator's explicit launcher, or the path alone); `found` says
    how: `PATH`, `login PATH`, `known place` or `inventory`. `runtime` maps each hashed
    runtime file to its digest. `interpreter` is the program that its shebang, or an
    explicit launcher, leads to ("" when it could not be found) with its static `version`
    ("" when no file tells).
    """

    argv: tuple[str, ...]
    path: str
    real: str
    found: str
    package: str = ""
    version: str = ""
    root: str = ""
    runtime: tuple[tuple[str, str], ...] = ()
    interpreter: str = ""
    interpreter_version: str = ""
    problem: str = ""


class Verdict(enum.Enum):
    """What stands at a place, as the host judged it. Never a value, length or prefix."""

    RESOLVES = "resolves"
    ABSENT = "absent"
    EMPTY = "empty"
    PLACEHOLDER = "placeholder"
    MALFORMED = "malformed"
    """spaces, quotes or line ends inside"""
    UNREADABLE = "unreadable"
    LOOSE = "readable by others"
    SHADOWED = "shadowed by"
    WRONG_SYNTAX = "wrong syntax for this version"
    INTERACTIVE_ONLY = "interactive shells only"
    SERVICE_ONLY = "service unit only"
    REFERENCE = "reference"
    """names a variable; `detail` is its name"""
    COMMAND = "command"
    """runs a command to get the value"""
    INDETERMINATE = "indeterminate"
    UNKNOWN = "unknown"
    """the host has no means to judge it"""


@dataclass(frozen=True, slots=True)
class PlaceFact:
    """The verdict on one place. `fingerprint` is salted for this run, "" when none."""

    verdict: Verdict
    fingerprint: str = ""
    detail: str = ""


@dataclass(frozen=True, slots=True)
class VariableFact:
    """A variable's value for a plain ssh command, for a login shell, and in a running
    program; None when unset, not asked for, or where no such program runs."""

    session: str | None
    login: str | None
    running: str | None = None

    @property
    def value(self) -> str | None:
        """What a client started by this account would most likely see."""
        return self.login if self.login is not None else self.session


@dataclass(frozen=True, slots=True)
class Interrupted:
    """A transaction that was cut off: its id, its state directory's suffix, its files."""

    transaction: str
    state: str
    files: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StateFact:
    """Our state directory on the host. `last` holds the newest manifest's meta lines."""

    directory: str
    interrupted: tuple[Interrupted, ...] = ()
    last: tuple[tuple[str, str], ...] = ()
    locked_by: str = ""


@dataclass(frozen=True, slots=True)
class AskFact:
    """How a client program ended: its exit status (None where it did not end by itself,
    or was not started) and what it printed on stdout."""

    status: int | None
    output: Sealed


Answer: TypeAlias = (
    tuple[FileFact, ...] | tuple[Installation, ...] | VariableFact | PlaceFact | StateFact | AskFact
)


@dataclass(frozen=True, slots=True)
class HostFacts:
    """The account that answered: its home, user, login shell, operating system, PATH."""

    home: PurePosixPath
    user: str
    uid: int
    shell: str
    system: str
    path: str
    interactive_noise: bool = False


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything read from one host so far; empty before the first round."""

    host: HostFacts | None = None
    answers: Mapping[Question, Answer] = field(default_factory=dict)

    def with_answers(self, host: HostFacts, answers: Mapping[Question, Answer]) -> Facts:
        """These facts and the newly read ones."""
        return Facts(host, {**self.answers, **answers})

    def files(self, question: Read) -> tuple[FileFact, ...]:
        """What was found under a pattern; nothing where it was not asked yet."""
        return tuple(row for row in self._rows(question) if isinstance(row, FileFact))

    def file(self, question: Read) -> FileFact:
        """The one file of a plain path; absent where it was not asked yet."""
        found = self.files(question)
        return found[0] if found else FileFact(question.pattern, FileKind.ABSENT)

    def installations(self, question: Locate) -> tuple[Installation, ...]:
        """The programs that were found; none where it was not asked yet."""
        return tuple(row for row in self._rows(question) if isinstance(row, Installation))

    def place(self, place: Place | Resolve) -> PlaceFact:
        """The host's verdict on a place; unknown where it was not asked yet."""
        answer = self.answers.get(place)
        return answer if isinstance(answer, PlaceFact) else PlaceFact(Verdict.UNKNOWN)

    def variable(self, question: Variable) -> VariableFact | None:
        """A variable's values; None where it was not asked yet."""
        answer = self.answers.get(question)
        return answer if isinstance(answer, VariableFact) else None

    def _rows(self, question: Question) -> tuple[object, ...]:
        answer = self.answers.get(question, ())
        return answer if isinstance(answer, tuple) else ()

    def missing(self, questions: frozenset[Question]) -> frozenset[Question]:
        """The questions that have no answer yet."""
        return frozenset(question for question in questions if question not in self.answers)
