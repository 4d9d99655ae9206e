"""One host's part of a run: what is asked of it. Picklable."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from fleetsync.adapter import Wish
from fleetsync.inventory import Host


class Step(enum.Enum):
    """What is done on each host."""

    PREVIEW = "preview"
    APPLY = "apply"
    VERIFY = "verify"
    DOCTOR = "doctor"


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
class Job:
    """One host's step; picklable. `approved` None: nothing was previewed before."""

    step: Step
    run: Run
    host: Host
    wishes: tuple[Wish, ...]
    approved: tuple[Approved, ...] | None = None
