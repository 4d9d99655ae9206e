"""What a client is to us: pure decisions about one client's files.

An adapter never sees a host. It puts questions (data), makes targets of the answers,
plans edits, and says which command of the client judges a candidate. It imports only
`fleetsync.{adapter,facts,catalog,documents,errors}` and what spares it writing the same
again: `draft` (edits beside what is shown), `rows`, `addresses`, `releases`. It is found
through the entry-point group `fleetsync.adapters`, ours as a third party's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from fleetsync.catalog import Alias, Policy
from fleetsync.documents import Dialect, Path, Splice
from fleetsync.facts import (
    Facts,
    FileFact,
    Installation,
    Place,
    PlaceFact,
    Question,
    Resolve,
    RunningQuestion,
)
from fleetsync.sealed import Sealed


@dataclass(frozen=True, slots=True)
class Wish:
    """What the operator wants of one client on one host.

    `aliases` are those selected for it, in the catalog's order; `known` are all names of
    the catalog, selected or not. `options` is the host's own table for this client
    (`commands`, `profiles`). `credential` is the name of the host's own router key.
    """

    client: str
    provider: str
    base_url: str
    credential: str
    aliases: tuple[Alias, ...]
    known: frozenset[str]
    policy: Policy
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Look:
    """One place where a credential was looked for, and what was found.

    `place` names it as the operator would (a file and key, a variable and where it is
    set). `opens` tells whether this client would take its key from there.
    """

    place: str
    fact: PlaceFact
    opens: bool = False


@dataclass(frozen=True, slots=True)
class Credential:
    """The gate: would this client, as it is started on this host, find its own key?

    `trace` lists the places in the client's own order. `cause` and `step` say why it is
    closed and what to do; both are empty when it is open. `warnings` do not close it.

    `asks` are what only a Runner can answer and what decides the gate: while they have no
    answer among the facts it is indeterminate, and `cause` and `step` say so. `source` is
    where the host itself takes the key from, for the proof at the router; None where it
    cannot (the key is composed, or in a store that only the client reads). `variables`
    are those that a process of the client must be given, each from its place.
    """

    trace: tuple[Look, ...]
    cause: str = ""
    step: str = ""
    warnings: tuple[str, ...] = ()
    asks: frozenset[RunningQuestion] = frozenset()
    source: Place | Resolve | None = None
    variables: tuple[tuple[str, Place], ...] = ()

    @property
    def opens(self) -> bool:
        """Whether the gate is open."""
        return not self.cause

    @property
    def pends(self) -> bool:
        """Whether it is decided only where a Runner may ask: at apply, verify and doctor."""
        return bool(self.asks)


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a target is left as it is: the reason, and what the operator can do."""

    reason: str
    step: str = ""


@dataclass(frozen=True, slots=True)
class Target:
    """One client on one host (Hermes: one profile): the unit of work and of reports.

    `files` maps a role ("models", "settings") to the file that plays it. `context` keeps
    what the adapter itself needs later on (a directory, a profile's name); no secrets.
    """

    client: str
    name: str
    wish: Wish
    files: Mapping[str, FileFact]
    installations: tuple[Installation, ...]
    credential: Credential
    refusals: tuple[Refusal, ...] = ()
    notes: tuple[str, ...] = ()
    absent: str = ""
    """why the client counts as not installed; empty when it is installed"""
    context: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Change:
    """One managed value's before and after, as the client's file spells them."""

    file: str
    subject: str
    """the alias, or the list that is changed"""
    key: str
    before: str | None
    """None where it was absent"""
    after: str | None
    """None where it goes away"""


@dataclass(frozen=True, slots=True)
class FileEdit:
    """What must become of one file. `managed` are the paths whose values may be shown.

    `companion` is a lock directory beside the file that the client itself honours.
    """

    file: FileFact
    dialect: Dialect
    splices: tuple[Splice, ...]
    after: Sealed
    managed: tuple[Path, ...]
    companion: str = ""


@dataclass(frozen=True, slots=True)
class Planned:
    """All that must change for one target; empty `edits` mean it is in step."""

    edits: tuple[FileEdit, ...] = ()
    changes: tuple[Change, ...] = ()
    notes: tuple[str, ...] = ()
    refusals: tuple[Refusal, ...] = ()


SCRATCH = "@scratch@"
"""Stands, in a Command's argv, env and contents, for its scratch directory."""


@dataclass(frozen=True, slots=True)
class ScratchFile:
    """A file laid into the scratch directory before the command starts: `content`, or
    a copy of the catalog file `source` as it would be after the planned edit."""

    name: str
    content: bytes = field(default=b"", repr=False)
    source: str = ""


@dataclass(frozen=True, slots=True)
class Command:
    """A client program to run, bounded: seconds, bytes of output, its process group.

    It starts in its scratch directory with `env` alone, and with `keys`: variables whose
    value the host takes from a place, so that it never leaves the host. `stdin` is written
    to a pipe that stays open until a line that holds `until` came out; without `stdin` it
    is /dev/null. `returns` names scratch files whose content is sent back, each up to
    `cap` bytes, when the program has ended.
    """

    argv: tuple[str, ...]
    env: tuple[tuple[str, str], ...] = ()
    files: tuple[ScratchFile, ...] = ()
    stdin: bytes = b""
    until: str = ""
    seconds: int = 60
    cap: int = 4 * 1024 * 1024
    keys: tuple[tuple[str, Place], ...] = ()
    returns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Done:
    """How a Command ended. `status` is its exit status; `signal` ends it otherwise.

    `started` False: nothing was run (`problem` says why). `scratch` digests of the laid
    files prove which candidate was judged.
    """

    started: bool
    status: int = 0
    signal: int = 0
    timed_out: bool = False
    truncated: bool = False
    stdout: Sealed = Sealed(b"")
    stderr: Sealed = Sealed(b"")
    digests: tuple[tuple[str, str], ...] = ()
    problem: str = ""
    swept: int = 0
    """processes that had left the program's group and were ended all the same"""
    files: tuple[tuple[str, Sealed], ...] = ()
    """the scratch files that were asked for and existed"""
    seconds: float = 0.0
    """how long it ran, by the host's clock"""


@dataclass(frozen=True, slots=True)
class Loaded:
    """What the client's own loader made of the candidate.

    `reason` says why it does not agree; it holds no text of the client's files. `pending`
    says why a running client does not use the files yet, though its loader agrees;
    `applied` tells whether one does, None where none runs or it was not asked.
    """

    agrees: bool
    reason: str = ""
    notes: tuple[str, ...] = ()
    pending: str = ""
    applied: bool | None = None


@dataclass(frozen=True, slots=True)
class Keep:
    """Where a client keeps its own key, so that `credential set` can put a new one there.

    `place` is of kind JSON (a value in a strict JSON file), DOTENV or FILE. In JSON the
    value becomes `before`, the key as a JSON string, `after`; an absent file or entry is
    made. Without a `place`, `lines` are what the operator must add by hand, and where;
    they hold no key. `companion` is a lock directory that the client itself honours for
    this file; a path that begins with the file's is meant where its links lead.
    """

    place: Place | None = None
    before: str = ""
    after: str = ""
    lines: str = ""
    companion: str = ""


@dataclass(frozen=True, slots=True)
class Turn:
    """One bounded real turn: which alias is asked, and what proves the answer.

    `identity` (hex) names it on the host: its scratch directory and its processes.
    `nonce` is random and stands only in a file that the client must read with one tool
    call; `session` names a fresh session of the client. With `image` (bytes of a PNG or
    JPEG) the turn shows that image instead, and `expect` is the text that must come back.
    """

    identity: str
    alias: Alias
    nonce: str
    session: str
    seconds: int = 90
    image: bytes = b""
    expect: str = ""


@dataclass(frozen=True, slots=True)
class Seen:
    """What a client's own output tells of one turn. None is what it does not tell: that is
    `unavailable`, never inferred. It holds no text that is a secret.

    `stop` is "stop" for an answer that is complete, else the client's own word. `problem`
    is the client's own account of a failure, sorted into `fault`; both "" where it tells
    none. `requested` False: nothing shows that a request left the client.
    """

    provider: str | None = None
    model: str | None = None
    router: str | None = None
    """the router's base URL"""
    context_window: int | None = None
    tools: tuple[str, ...] | None = None
    """the tools called, in order"""
    failed_tools: int = 0
    stop: str | None = None
    fallback: bool | None = None
    answered_as: str | None = None
    """the model's name as the router gave it"""
    text: Sealed | None = None
    requested: bool | None = None
    fault: str = ""
    """"credential", "router", "catalog", "policy", "crash" or "timeout\""""
    problem: str = ""
    warnings: tuple[str, ...] = ()
    through: str = ""
    """how the turn went where a client has several ways (OpenClaw: "gateway" or "exec")"""


@runtime_checkable
class KeepsKeys(Protocol):
    """An adapter that knows where its client keeps a key of its own."""

    def keep(self, target: Target) -> Keep:
        """Where a new key goes. The mechanism in the client's configuration stays."""


@runtime_checkable
class TakesTurns(Protocol):
    """An adapter that can put one real turn through its client."""

    def default_alias(self, target: Target) -> str:
        """The alias that the client uses when none is named, "" where that is none of ours."""

    def tool(self, target: Target) -> str:
        """The name of the one tool that a turn may call: it reads a file."""

    def turn(self, target: Target, turn: Turn) -> Command:
        """The client program that takes the turn: no session, policy or configuration of
        the user's is left or changed, and nothing but the one reading tool is offered."""

    def seen(self, target: Target, turn: Turn, done: Done) -> Seen:
        """What the client's output tells of it."""


class Adapter(Protocol):
    """One client. Every method is pure and raises nothing but DocumentError's kin."""

    name: str
    """the word the inventory uses"""

    def questions(self, wish: Wish, facts: Facts) -> frozenset[Question]:
        """All that must be known, given what is known; starts from empty facts and grows."""

    def targets(self, wish: Wish, facts: Facts) -> tuple[Target, ...]:
        """The targets on this host, once no question is open."""

    def plan(self, target: Target) -> Planned:
        """What must change so that the target holds its wish."""

    def loaders(self, target: Target, planned: Planned) -> tuple[Command, ...]:
        """One command for each installation: it loads the candidate and tells what it sees."""

    def loaded(self, target: Target, planned: Planned, done: tuple[Done, ...]) -> Loaded:
        """Whether the client's own loader sees exactly the wish."""
