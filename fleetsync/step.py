"""What is done on one host.

Each is a function from a picklable job to a picklable result.
"""

from __future__ import annotations

from dataclasses import replace

from fleetsync import registry, rollback, upkeep
from fleetsync.again import look_again, others
from fleetsync.apply import apply
from fleetsync.decide import decide, prove
from fleetsync.job import Job, Step
from fleetsync.look import AGREES, Look, Session, ask_loader, host_result, look, target_result
from fleetsync.outcome import HostResult, Outcome, TargetResult
from fleetsync.plan import Plan
from fleetsync.probe import Salts
from fleetsync.remote import Prover, Reader, Remote, Runner, Writer


def do(job: Job, remote: Remote, salts: Salts) -> HostResult:
    """Do the step of `job` over `remote`. Raises HostError where the host as a whole
    gives no answer; what concerns one target is in its result."""
    remote.connect()
    reader = Reader(remote, job.run.seconds)
    match job.step:
        case Step.FIND:
            return upkeep.find(job, reader)
        case Step.RECOVER:
            return upkeep.recover(job, Writer(remote))
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
        case Step.DOCTOR:
            return doctor(session, Runner(remote))
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
    seen = prove(session, runner, decide(session, runner, look(session)))
    return replace(_verified(session, runner, seen), writers=others(session))


def _verified(session: Session, runner: Runner, seen: Look) -> HostResult:
    results = tuple(_proved(session, runner, seen, plan) for plan in seen.plans)
    return host_result(session, seen, results)


def _proved(session: Session, runner: Runner, seen: Look, plan: Plan) -> TargetResult:
    result = target_result(session, seen, plan)
    if plan.outcome is not Outcome.IN_STEP:
        return result
    loaded = ask_loader(runner, plan)
    if loaded.agrees and loaded.pending:
        return replace(
            result,
            outcome=Outcome.FAILED,
            loader=AGREES,
            reason=f"written, not applied: {loaded.pending}",
            step="restart the client's service on the host, then verify",
        )
    if loaded.agrees:
        return replace(result, loader=AGREES, notes=(*result.notes, *loaded.notes))
    return replace(
        result,
        outcome=Outcome.FAILED,
        loader=loaded.reason,
        reason=f"the file is in step, but its client does not see that: {loaded.reason}",
        step="look at the client's own messages on the host",
    )
