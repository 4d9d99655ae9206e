"""What became of each target and host, in words that may leave the process.

Everything here is plain, already masked and picklable: the CLI prints it, the receipt
keeps it, `--json` carries it.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable
from dataclasses import dataclass, field


class Outcome(enum.Enum):
    """A target's result (closed list)."""

    IN_STEP = "in step"
    CHANGED = "changed"
    DRIFT = "drift"
    REFUSED = "refused"
    HELD = "held"
    ABSENT = "absent"
    AWAY = "away"
    UNKNOWN = "unknown"
    FAILED = "failed"
    ROLLED_BACK = "rolled back"
    CONFLICT = "conflict"


@dataclass(frozen=True, slots=True)
class ChangeRow:
    """One managed value: where it stands, before and after as shown (None: absent)."""

    file: str
    subject: str
    key: str
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class FileDiff:
    """One file that changes: its unified text diff, masked, and the digests on both sides.

    `real` is where a link leads. `before` and `after` are sha256 of the whole file, ""
    where it does not exist; apply is approved for exactly these.
    """

    path: str
    real: str
    text: str
    before: str = ""
    after: str = ""


@dataclass(frozen=True, slots=True)
class TraceRow:
    """One place where a credential was looked for. `explains` marks a place the client
    never reads: it explains, it does not open the gate."""

    place: str
    verdict: str
    detail: str = ""
    opens: bool = False
    explains: bool = False


class RouterVerdict(enum.Enum):
    """What the router answered to the host's own key, asked from that host."""

    ACCEPTED = "accepted"
    REJECTED = "rejected"
    """401 or 403"""
    UNREACHABLE = "unreachable"
    NOT_A_ROUTER = "not a router"
    ALIAS_MISSING = "alias missing"
    """it accepts the key and does not list an alias of the catalog"""
    NOT_CHECKED = "not checked"


@dataclass(frozen=True, slots=True)
class RouterRow:
    """The proof from the host for one target. `detail` says more (DNS, refused, TLS,
    timeout, an HTTP status, why it was not checked); `missing` are aliases that the router
    does not list; `proxies` are the names of the proxy variables that are set there,
    though the proof itself followed none."""

    verdict: RouterVerdict
    url: str
    detail: str = ""
    missing: tuple[str, ...] = ()
    proxies: tuple[str, ...] = ()


class TurnVerdict(enum.Enum):
    """How a real turn was graded (closed list)."""

    PASSED = "passed"
    WRONG_MODEL = "wrong model or provider"
    CATALOG = "catalog"
    CREDENTIAL = "credential"
    ROUTER = "router"
    POLICY = "client policy"
    CRASH = "client crash"
    TIMEOUT = "timeout"
    HARNESS = "no request was routed"
    LOST = "capture lost"
    """the answer of the host, or a part of it, did not come"""
    SETUP = "not started"
    """it failed before its dispatch, and is counted apart"""


@dataclass(frozen=True, slots=True)
class CheckRow:
    """One piece of evidence of a turn: what had to be seen and what was. `holds` is None
    where the client does not tell it; then `seen` says `unavailable`."""

    name: str
    wanted: str
    seen: str
    holds: bool | None


@dataclass(frozen=True, slots=True)
class TurnRow:
    """One attempt at a turn. `seconds` is the client's wall clock on the host, which is
    not the model's latency; `ran` tells which program it was, `through` which way it went
    where the client has several."""

    identity: str
    alias: str
    attempt: int
    verdict: TurnVerdict
    reason: str = ""
    step: str = ""
    checks: tuple[CheckRow, ...] = ()
    warnings: tuple[str, ...] = ()
    seconds: float = 0.0
    ran: str = ""
    through: str = ""
    image: bool = False


class GateState(enum.Enum):
    """What is known of one gate (closed list)."""

    PASSED = "passed"
    FAILED = "failed"
    OPEN = "open"
    """it was to be proved and is not yet"""
    UNAVAILABLE = "unavailable"
    """this client on this host has no such thing"""
    HELD = "held"
    NOT_CHECKED = "not checked"
    """outside this run"""


@dataclass(frozen=True, slots=True)
class GateRow:
    """One thing to be proved for a target; `alias` where it is proved for each alias."""

    gate: str
    state: GateState
    required: bool
    alias: str = ""
    detail: str = ""


@dataclass(frozen=True, slots=True)
class InstallationRow:
    """One installation of a client: how it is started, which version, its identity."""

    launcher: str
    found: str
    package: str
    version: str
    runtime_sha256: str = ""
    interpreter: str = ""
    interpreter_version: str = ""
    problem: str = ""


@dataclass(frozen=True, slots=True)
class FileRow:
    """One catalog file as it was read: its state, mode (octal) and digest."""

    role: str
    path: str
    real: str
    state: str
    mode: str = ""
    sha256: str = ""


@dataclass(frozen=True, slots=True)
class AccountRow:
    """The account that answered, and our own state there. `last` tells the newest
    finished transaction in one line; `locked_by` who holds the lock; "" where none."""

    user: str
    home: str
    shell: str
    system: str
    noise: bool = False
    """whether its shell start-up files print into a plain ssh command"""
    state: str = ""
    last: str = ""
    locked_by: str = ""
    last_writer: str = ""
    """who wrote there last by our hand, in a sentence; "" where nobody did"""


def label(client: str, name: str) -> str:
    """A target among all of its host: `pi`, or `hermes/work` where a client has several."""
    return client if name in {"", client} else f"{client}/{name}"


AGREES = "agrees"
"""What a target's result says of its loader when it sees exactly the wish."""


@dataclass(frozen=True, slots=True)
class TargetResult:
    """One target's result. `reason` says why, `step` what to do next."""

    host: str
    client: str
    name: str
    outcome: Outcome
    reason: str = ""
    step: str = ""
    changes: tuple[ChangeRow, ...] = ()
    diffs: tuple[FileDiff, ...] = ()
    trace: tuple[TraceRow, ...] = ()
    installations: tuple[InstallationRow, ...] = ()
    files: tuple[FileRow, ...] = ()
    notes: tuple[str, ...] = ()
    loader: str = ""
    """what the client's own loader said: "" not asked, AGREES, or why it does not"""
    bundle: str = ""
    """where the originals are on the host, after a change"""
    credential: str = ""
    """the gate in one word: open, closed or indeterminate; "" for an absent client"""
    router: RouterRow | None = None
    """what the router answered to this host's key; None where it was not asked"""
    fingerprint: str = field(default="", repr=False)
    """of the key, salted for this run: it is compared between hosts and never shown"""
    shared_with: tuple[str, ...] = ()
    """other hosts that hold the same key"""
    limits: str = ""
    """what the files declare beside the wish: as wished, differ, or "" where not read"""
    turns: tuple[TurnRow, ...] = ()
    """every attempt at a turn, in order; none is dropped"""
    gates: tuple[GateRow, ...] = ()
    """the ledger: what of this target is proved"""

    @property
    def label(self) -> str:
        """It among all targets of its host."""
        return label(self.client, self.name)


@dataclass(frozen=True, slots=True)
class BundleFileRow:
    """One file of a bundle: sha256 before and after ("": no file), mode (octal). `size`
    (bytes) and `verdict` tell of the original where it was looked at: intact, damaged or
    missing."""

    target: str
    path: str
    real: str
    before: str
    after: str
    mode: str
    size: int = 0
    verdict: str = ""


@dataclass(frozen=True, slots=True)
class BundleRow:
    """One bundle on a host. `age` is in seconds; `undoes` names what it takes back."""

    identity: str
    state: str
    age: int
    operator: str
    run: str
    generation: str
    undoes: tuple[str, ...]
    directory: str
    files: tuple[BundleFileRow, ...]


@dataclass(frozen=True, slots=True)
class RecoveryRow:
    """A transaction that was found cut off: in which state, and what it is now ("" as it
    was). `left` are files that were not touched, because somebody else changed them."""

    identity: str
    found: str
    now: str
    files: tuple[str, ...]
    left: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class HostResult:
    """One host's result. `outcome` is set where the host as a whole has one (away,
    held, refused by key or authentication, unknown, failed): then it has no targets."""

    host: str
    targets: tuple[TargetResult, ...] = ()
    outcome: Outcome | None = None
    reason: str = ""
    step: str = ""
    notes: tuple[str, ...] = ()
    interrupted: tuple[str, ...] = ()
    """transactions found cut off on this host and left alone, one line each"""
    unsettled: tuple[str, ...] = ()
    """turns without an end on record, one line each: recovery required"""
    settled: tuple[str, ...] = ()
    """such turns of earlier runs that this step gave an end, one line each"""
    account: AccountRow | None = None
    """who answered; set wherever the host was reached"""
    bundles: tuple[BundleRow, ...] = ()
    """the bundles asked for, the newest first; those that went, after a prune"""
    recoveries: tuple[RecoveryRow, ...] = ()
    """interrupted transactions that `recover` found"""
    later: Outcome | None = None
    """what a second look came to where the host as a whole gave none (away, unknown); the
    targets tell what was written before"""
    writers: tuple[str, ...] = ()
    """programs used on the host that are known to write the clients' files too"""
    seconds: float = 0.0
    bug: tuple[str, ...] = ()
    """the places a fault in fleetsync went through, without values"""

    @property
    def outcomes(self) -> tuple[Outcome, ...]:
        """The outcomes that count for the exit code."""
        if self.outcome:
            return (self.outcome,)
        later = (self.later,) if self.later else ()
        return (*(t.outcome for t in self.targets), *later)


_ORDER = (
    (1, {Outcome.FAILED, Outcome.ROLLED_BACK, Outcome.UNKNOWN}),
    (5, {Outcome.REFUSED, Outcome.CONFLICT, Outcome.ABSENT}),
    (4, {Outcome.AWAY}),
)


def exit_code(hosts: Iterable[HostResult], *, drift_is_3: bool) -> int:
    """The exit code of a run over `hosts` (design section 4): the first that applies.

    `drift_is_3`: verify, smoke, and preview with --exit-code.
    """
    results = tuple(hosts)
    if any(host.bug for host in results):
        return 70
    seen = {outcome for host in results for outcome in host.outcomes}
    for code, outcomes in _ORDER:
        if seen & outcomes:
            return code
    cut = any(host.interrupted or host.unsettled for host in results)
    if cut or (drift_is_3 and Outcome.DRIFT in seen):
        return 3
    return 0
