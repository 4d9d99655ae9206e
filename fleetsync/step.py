"""What is done on one host.

Each is a function from a picklable job to a picklable result.
"""

from __future__ import annotations

from dataclasses import replace

from fleetsync import credential_set, leftovers, registry, rollback, upkeep
from fleetsync.again import look_again, others
from fleetsync.apply import apply
from fleetsync.decide import decide, decided, prove
from fleetsync.job import Job, Step
from fleetsync.look import Look, Session, host_result, look, target_result
from fleetsync.outcome import HostResult
from fleetsync.probe import Salts
from fleetsync.remote import Prover, Reader, Remote, Runner, Writer
from fleetsync.smoke import Room, take
from fleetsync.verify import verified


def do(job: Job, remote: Remote, salts: Salts) -> HostResult:
    """Do the step of `job` over `remote`. Raises HostError where the host as a whole
    gives no answer; what concerns one target is in its result."""
    remote.connect()
    reader = Reader(remote, job.run.seconds)
    match job.step:
        case Step.FIND:
            return upkeep.find(job, reader)
        case Step.RECOVER:
            return upkeep.recover(job, Runner(remote), Writer(remote))
        case Step.BUNDLES:
            return upkeep.bundles(job, reader)
        case Step.PRUNE:
            return upkeep.prune(job, reader, Writer(remote))
        case Step.TAKE_BACK:
            return rollback.preview(job, reader)
        case Step.ROLLBACK:
            return rollback.rollback(job, reader, Writer(remote))
        case _:
            return _by_wish(job, remote, reader, salts)


def _by_wish(job: Job, remote: Remote, reader: Reader, salts: Salts) -> HostResult:
    """The steps that know what is wished of the clients."""
    adapters = registry.discover()
    pairs = tuple((adapters[wish.client], wish) for wish in job.wishes if wish.client in adapters)
    notices = tuple(getattr(remote, "notices", ()))
    session = Session(job, reader, salts, pairs, notices)
    match job.step:
        case Step.PREVIEW:
            return preview(session, Prover(remote, job.run.seconds))
        case Step.APPLY:
            return apply(session, Runner(remote), Writer(remote))
        case Step.AGAIN:
            return look_again(session)
        case Step.KEEP:
            return credential_set.preview(session)
        case Step.SET:
            prover = Prover(remote, job.run.seconds)
            return credential_set.put(session, Runner(remote), Writer(remote), prover)
        case Step.DOCTOR:
            return doctor(session, Runner(remote))
        case Step.SMOKE:
            return smoke(session, Runner(remote))
        case _:
            return verify(session, Runner(remote))


def preview(session: Session, prover: Prover) -> HostResult:
    """What would change; it holds nothing that could run a client program or write."""
    seen = prove(session, prover, look(session))
    results = tuple(target_result(session, seen, plan) for plan in seen.plans)
    return host_result(session, seen, results)


def verify(session: Session, runner: Runner) -> HostResult:
    """Whether every target is in step, and its client's own loader sees that."""
    return _verified(session, runner, decide(session, runner, look(session)))


def doctor(session: Session, runner: Runner) -> HostResult:
    """As verify, with what the router says to the host's keys and who else writes there."""
    seen = decided(session, runner)
    return replace(_verified(session, runner, seen), writers=others(session))


def _verified(session: Session, runner: Runner, seen: Look) -> HostResult:
    results = tuple(one.result for one in verified(session, runner, seen))
    return host_result(session, seen, results)


def smoke(session: Session, runner: Runner) -> HostResult:
    """One real turn through each target that is proved. Lost turns of earlier runs are
    settled first; while one cannot be, none is sent.

    Raises HostError, and ConfigError where the journal cannot be written.
    """
    job = session.job
    settled, left = leftovers.settle(runner, job.unsettled)
    seen = decided(session, runner)
    proofs = verified(session, runner, seen)
    journal = leftovers.journal_of(job)
    room = Room(
        runner, journal, job.run, job.host.name, leftovers.scratch_of(runner), job.turns,
        session.salts, list(left),
    )
    try:
        results = tuple(take(room, one.plan, one.result, one.applied) for one in proofs)
    finally:
        journal.close()
    return replace(host_result(session, seen, results, left), settled=settled)
