"""What a host keeps of us: interrupted transactions, and bundles."""

from __future__ import annotations

from collections.abc import Iterable

from fleetsync import bundles as store
from fleetsync import transaction
from fleetsync.bundles import Bundle, Bundles
from fleetsync.facts import State, StateFact
from fleetsync.job import Job
from fleetsync.leftovers import settle
from fleetsync.outcome import HostResult, Outcome, RecoveryRow
from fleetsync.probe import Salts, ask
from fleetsync.redact import printable
from fleetsync.remote import Reader, Runner, Writer
from fleetsync.transaction import Recovery
from fleetsync.unwritten import problem_line


def find(job: Job, reader: Reader) -> HostResult:
    """The transactions that were cut off on a host. Raises HostError."""
    _, answers = ask(reader, {State()}, Salts.fresh())
    state = answers[State()]
    found = state.interrupted if isinstance(state, StateFact) else ()
    return HostResult(job.host.name, recoveries=tuple(
        RecoveryRow(one.transaction, one.state, "", tuple(map(printable, one.files)))
        for one in found
    ))


def recover(job: Job, runner: Runner, writer: Writer) -> HostResult:
    """Finish them, or take them back; and settle lost turns. Raises HostError, and
    ConfigError where a journal cannot be written."""
    settled, left = settle(runner, job.unsettled)
    recovered = transaction.recover(writer, undo=job.order.undo)
    rows = tuple(map(_row, recovered.found))
    if recovered.settled:
        return HostResult(job.host.name, recoveries=rows, settled=settled, notes=left)
    return HostResult(
        job.host.name,
        settled=settled,
        notes=left,
        outcome=Outcome.FAILED,
        reason="; ".join(map(problem_line, recovered.problems)),
        step="put right on the host what stands in the way, then recover again",
        recoveries=rows,
    )


def _row(one: Recovery) -> RecoveryRow:
    files, left = (tuple(map(printable, paths)) for paths in (one.files, one.foreign))
    return RecoveryRow(one.transaction, one.found, one.now, files, left)


def bundles(job: Job, reader: Reader) -> HostResult:
    """The bundles that the order means: one, or all. Raises HostError."""
    found = store.read(reader)
    chosen = _chosen(found, job.order.bundle)
    rows = store.rows(reader, found, chosen, digests=job.order.digests)
    damaged = sorted({row.identity for row in rows if row.state == store.DAMAGED or any(
        file.verdict in (store.DAMAGED, store.MISSING) for file in row.files
    )})
    name = job.host.name
    if job.order.bundle and not rows:
        return HostResult(name, outcome=Outcome.REFUSED, step=f"fleetsync bundles list {name}",
                          reason=f"there is no bundle {job.order.bundle}")
    if damaged and job.order.digests:
        return HostResult(name, outcome=Outcome.FAILED, bundles=rows,
                          reason="originals or manifests are damaged or missing in "
                                 + ", ".join(damaged),
                          step="do not rely on these; newer bundles are not affected")
    return HostResult(name, bundles=rows)


def _chosen(found: Bundles, identity: str) -> Iterable[Bundle]:
    if identity == NEWEST:
        return found.done()[:1]
    return [one for one in found.every if identity in ("", one.transaction)]


NEWEST = "newest"
"""Stands for the newest bundle that is done."""


def prune(job: Job, reader: Reader, writer: Writer) -> HostResult:
    """Remove the bundles that the order names. Raises HostError."""
    found = store.read(reader)
    pruned = store.prune(writer, job.order.prune)
    gone = [one for one in found.every if one.transaction in pruned.gone]
    rows = store.rows(reader, found, gone, digests=False)
    if not pruned.problems:
        return HostResult(job.host.name, bundles=rows)
    return HostResult(job.host.name, outcome=Outcome.FAILED, bundles=rows,
                      reason="; ".join(map(problem_line, pruned.problems)),
                      step="wait for the other run, then prune again")

