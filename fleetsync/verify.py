"""Prove targets that are in step: their client's own loader sees exactly the wish."""

from __future__ import annotations

from dataclasses import dataclass, replace

from fleetsync.look import Look, Session, ask_loader, target_result
from fleetsync.outcome import AGREES, Outcome, TargetResult
from fleetsync.plan import Plan
from fleetsync.remote import Runner


@dataclass(frozen=True, slots=True)
class Verified:
    """One target with what its proof came to. `applied` tells whether its running service
    uses the files; None where none runs."""

    plan: Plan
    result: TargetResult
    applied: bool | None = None


def verified(session: Session, runner: Runner, seen: Look) -> tuple[Verified, ...]:
    """Every target of `seen`; the loader of those in step was asked. Raises HostError."""
    return tuple(
        _verified(plan, runner, target_result(session, seen, plan)) for plan in seen.plans
    )


def _verified(plan: Plan, runner: Runner, result: TargetResult) -> Verified:
    if plan.outcome is not Outcome.IN_STEP:
        return Verified(plan, result)
    loaded = ask_loader(runner, plan)
    if loaded.agrees and loaded.pending:
        return Verified(plan, replace(
            result,
            outcome=Outcome.FAILED,
            loader=AGREES,
            reason=f"written, not applied: {loaded.pending}",
            step="restart the client's service on the host, then verify",
        ), applied=False)
    if loaded.agrees:
        notes = (*result.notes, *loaded.notes)
        return Verified(plan, replace(result, loader=AGREES, notes=notes), loaded.applied)
    return Verified(plan, replace(
        result,
        outcome=Outcome.FAILED,
        loader=loaded.reason,
        reason=f"the file is in step, but its client does not see that: {loaded.reason}",
        step="look at the client's own messages on the host",
    ))
