"""One host's part of a run: what is asked of it. Picklable."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from fleetsync.adapter import Wish
from fleetsync.inventory import Host
from fleetsync.journal import Unsettled
from fleetsync.sealed import Sealed


class Step(enum.Enum):
    """What is done on each host."""

    PREVIEW = "preview"
    APPLY = "apply"
    VERIFY = "verify"
    SMOKE = "smoke"
    DOCTOR = "doctor"
    AGAIN = "look again"
    """whether what was written is still there"""
    FIND = "find"
    """interrupted transactions, without settling them"""
    RECOVER = "recover"
    BUNDLES = "bundles"
    PRUNE = "prune"
    KEEP = "look where a key goes"
    SET = "credential set"
    TAKE_BACK = "rollback preview"
    ROLLBACK = "rollback"


class Proof(enum.Enum):
    """Whether the router is asked, from the host, if it takes the host's own key."""

    NONE = "none"
    """and nothing is said of it: a preview"""
    ASK = "ask"
    OFFLINE = "offline"
    """not asked although the command would, which its output says"""


@dataclass(frozen=True, slots=True)
class Run:
    """What all jobs of one run share; it is written into manifests and receipts.

    `identity` names the run; `operator` is user@machine; `generation` the catalog's;
    `seconds` bounds one exchange with a host.
    """

    identity: str
    operator: str
    controller: str
    generation: str
    seconds: float = 60


@dataclass(frozen=True, slots=True)
class Approved:
    """One file of a plan the operator saw: apply refuses where it would differ. `target` is
    its label."""

    target: str
    path: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Order:
    """What recover, bundles, rollback and credential set are told beyond the host.

    `bundle` and `run` choose what is meant; with neither it is the newest that is done.
    `clients` leaves out the files of others. `force` puts originals over later edits.
    `undo` takes back instead of finishing; `digests` has originals hashed; `prune` names
    the bundles that go. `key` is the new one of `target`, a label; an order with a key does
    not travel.
    """

    bundle: str = ""
    run: str = ""
    clients: tuple[str, ...] = ()
    force: bool = False
    undo: bool = False
    digests: bool = False
    prune: tuple[str, ...] = ()
    target: str = ""
    key: Sealed | None = None


@dataclass(frozen=True, slots=True)
class Turns:
    """What smoke is told beyond the host.

    `aliases` are tried besides each target's own default one. `seconds` bounds one turn;
    `retries` is how often a failure that may pass is tried again. With `image` (bytes),
    `expect` is the text that an image turn must bring back. `journal` is where turns are
    put down (a directory, and how the file's name begins).
    """

    aliases: tuple[str, ...] = ()
    seconds: int = 90
    retries: int = 1
    image: bytes = b""
    expect: str = ""
    journal: tuple[str, str] = ("", "")


@dataclass(frozen=True, slots=True)
class Job:
    """One host's step; picklable. `approved` None: nothing was previewed before.
    `unsettled` are this host's turns of earlier runs that have no end on record. `deep`
    has an interactive shell of the account asked too."""

    step: Step
    run: Run
    host: Host
    wishes: tuple[Wish, ...]
    approved: tuple[Approved, ...] | None = None
    order: Order = Order()
    turns: Turns = Turns()
    unsettled: tuple[Unsettled, ...] = ()
    proof: Proof = Proof.NONE
    deep: bool = False
