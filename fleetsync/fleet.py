"""One step over many hosts: each host on its own, none able to change another's outcome."""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fleetsync.adapter import Wish
from fleetsync.inventory import Host
from fleetsync.outcome import HostResult


class Step(enum.Enum):
    """What is done on each host."""

    PREVIEW = "preview"
    APPLY = "apply"
    VERIFY = "verify"
    DOCTOR = "doctor"


@dataclass(frozen=True, slots=True)
class Run:
    """What all jobs of one run share; it is written into manifests and receipts.

    `identity` names the run; `operator` is user@machine; `generation` the catalog's.
    """

    identity: str
    operator: str
    controller: str
    generation: str
    seconds: float = 60


@dataclass(frozen=True, slots=True)
class Approved:
    """One file of a plan the operator saw: apply refuses where it would differ."""

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


def run(
    jobs: Sequence[Job],
    *,
    workers: int,
    started: Callable[[str], None],
    finished: Callable[[HostResult], None],
) -> tuple[HostResult, ...]:
    """Do every job, at most `workers` at a time; results in the order of `jobs`.

    `started` and `finished` are called from worker threads, for progress only.
    """
    raise NotImplementedError
