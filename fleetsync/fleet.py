"""One step over many hosts: each host on its own, none able to change another's outcome."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from fleetsync.errors import (
    AuthenticationRefused,
    Away,
    FleetsyncError,
    HostKeyRefused,
    Lost,
)
from fleetsync.inventory import Host
from fleetsync.job import Approved, Job, Run, Step
from fleetsync.leftovers import left_open, required
from fleetsync.outcome import HostResult, Outcome
from fleetsync.own_secrets import OwnSecrets
from fleetsync.probe import Salts
from fleetsync.redact import words
from fleetsync.remote import Remote
from fleetsync.sharing import compared

_OUTCOMES: tuple[tuple[type[FleetsyncError], Outcome], ...] = (
    (Away, Outcome.AWAY),
    (HostKeyRefused, Outcome.REFUSED),
    (AuthenticationRefused, Outcome.REFUSED),
    (Lost, Outcome.UNKNOWN),
    (FleetsyncError, Outcome.FAILED),
)

_HINTS = {
    Outcome.AWAY: "see that it is on and its SSH server reachable, then: fleetsync doctor {host}",
    Outcome.UNKNOWN: "see what became of it, with: fleetsync doctor {host}",
}
"""What to do where the error itself has no more to say."""

Connect = Callable[[Host, float], Remote]
"""Makes the remote of a host; the number bounds connecting, in seconds."""


def run(
    jobs: Sequence[Job],
    *,
    workers: int,
    started: Callable[[str], None],
    finished: Callable[[HostResult], None],
    stopped: Callable[[], bool] = lambda: False,
    connect: Connect | None = None,
    secrets: OwnSecrets | None = None,
) -> tuple[HostResult, ...]:
    """Do every job, at most `workers` at a time; results in the order of `jobs`, each told
    which other hosts hold its key.

    `started` and `finished` are called from worker threads, for progress only. Once
    `stopped` says so no further job is started; those are left out of the results.
    `secrets` are the operator's own, for logging in over SSH (without `connect`). A
    KeyboardInterrupt leaves at once: what `finished` told is what is known.
    """
    salts = Salts.fresh()

    def one(job: Job) -> HostResult | None:
        if stopped():
            return None
        started(job.host.name)
        result = settle(job, salts, connect or functools.partial(_by_ssh, secrets=secrets))
        finished(result)
        return result

    pool = ThreadPoolExecutor(max_workers=max(1, min(workers, len(jobs))))
    try:
        results = tuple(pool.map(one, jobs))
    except KeyboardInterrupt:
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    pool.shutdown()
    return compared(
        [result for result in results if result is not None],
        {job.host.name: _account(job.host) for job in jobs},
    )


def _account(host: Host) -> tuple[str, str, int]:
    """What a host's name leads to, as far as the inventory tells."""
    return host.address.lower(), host.user, host.port or 22


def settle(job: Job, salts: Salts, connect: Connect) -> HostResult:
    """One host's step; whatever goes wrong becomes this host's outcome and no other's.

    It tells which turns have no end on record when it is over, whatever it did with them.
    """
    result = _settled(job, salts, connect)
    return replace(result, unsettled=tuple(required(left_open(job))))


def _settled(job: Job, salts: Salts, connect: Connect) -> HostResult:
    if job.host.hold:
        return HostResult(
            job.host.name, outcome=Outcome.HELD, reason=job.host.hold,
            step="remove `hold` from the inventory when it is over",
        )
    began = time.monotonic()
    try:
        result = _step(job, salts, connect)
    except FleetsyncError as error:
        result = _failed(job, error)
    except Exception as error:  # noqa: BLE001 - one host's fault must not end the others
        result = HostResult(
            job.host.name,
            outcome=Outcome.FAILED,
            reason=f"a bug in fleetsync: {type(error).__name__}",
            step="run it again with --debug and report it",
            bug=_where(error),
        )
    return replace(result, seconds=round(time.monotonic() - began, 3))


def _step(job: Job, salts: Salts, connect: Connect) -> HostResult:
    from fleetsync.step import do

    remote = connect(job.host, job.run.seconds)
    try:
        return do(job, remote, salts)
    finally:
        remote.close()


def _by_ssh(host: Host, seconds: float, secrets: OwnSecrets | None) -> Remote:
    from fleetsync.ssh import Address, SshRemote, Timeouts

    address = Address(
        host.name, host.address, host.user, host.port, host.identity, host.known_hosts
    )
    bounds = Timeouts()
    timeouts = replace(bounds, connect=min(bounds.connect, seconds))
    return SshRemote(address, timeouts, secrets=secrets)


def _failed(job: Job, error: FleetsyncError) -> HostResult:
    outcome = next(outcome for kind, outcome in _OUTCOMES if isinstance(error, kind))
    reason = words(error.message.removeprefix(f"{job.host.name}: "), limit=600)
    step = error.hint or _HINTS.get(outcome, "").format(host=job.host.name)
    return HostResult(job.host.name, outcome=outcome, reason=reason, step=step)


def _where(error: Exception) -> tuple[str, ...]:
    """The places a fault went through: no values, which could be a client's."""
    places: list[str] = []
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        places.append(f"{code.co_filename.rpartition('/')[2]}:{trace.tb_lineno} {code.co_name}")
        trace = trace.tb_next
    return tuple(places)


__all__ = ["Approved", "Connect", "Job", "Run", "Step", "run", "settle"]
