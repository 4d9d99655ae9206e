"""Apply on one host: check with the client's own loader, one transaction, verify."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from fleetsync import transaction
from fleetsync.adapter import Loaded
from fleetsync.bundles import DIALECT
from fleetsync.decide import decided
from fleetsync.errors import HostError
from fleetsync.job import Approved, Job
from fleetsync.look import Look, Session, ask_loader, host_result, look, target_result
from fleetsync.outcome import AGREES, HostResult, Outcome, TargetResult
from fleetsync.plan import OPEN, Plan
from fleetsync.redact import printable
from fleetsync.remote import Runner, Writer
from fleetsync.rollback import put_back
from fleetsync.transaction import End, FileJob
from fleetsync.unwritten import problem_line, recovery_line, unwritten

_PATIENCE = 3
"""How often a running client is asked again whether it has applied the new file; each
question takes seconds."""


@dataclass(frozen=True, slots=True)
class _One:
    """One target with its plan, and what is said of it so far."""

    plan: Plan
    result: TargetResult

    @property
    def is_ready(self) -> bool:
        return self.result.loader == AGREES

    def become(self, **fields: object) -> _One:
        return _One(self.plan, replace(self.result, **fields))  # type: ignore[arg-type]


def apply(session: Session, runner: Runner, writer: Writer) -> HostResult:
    """Make every target of this host hold its wish, or leave it as it was."""
    seen, notes = _settled(session, runner, writer)
    every = [_One(plan, target_result(session, seen, plan)) for plan in seen.plans]
    every = [_checked(session.job, runner, one) for one in every]
    if ready := [one for one in every if one.is_ready]:
        written = {one.result.label: one for one in _written(session, runner, writer, ready)}
        every = [written.get(one.result.label, one) for one in every]
    return host_result(session, seen, tuple(one.result for one in every), notes)


def _settled(
    session: Session, runner: Runner, writer: Writer
) -> tuple[Look, tuple[str, ...]]:
    """A look at the host with all gates decided, after what was interrupted there is
    finished; it is undone where a credential is gone meanwhile, as without one nothing new
    is written."""
    seen = decided(session, runner)
    if not seen.state.interrupted:
        return seen, ()
    closed = any(plan.gate != OPEN or plan.rejected for plan in seen.plans if plan.gate)
    recovered = transaction.recover(writer, undo=closed)
    notes = (*map(recovery_line, recovered.found), *map(problem_line, recovered.problems))
    return decided(session, runner), notes


def _checked(job: Job, runner: Runner, one: _One) -> _One:
    """A drifting target's loader is asked: it agrees, or the target is refused."""
    if one.result.outcome is not Outcome.DRIFT:
        return one
    if not _is_approved(job, one.plan):
        return one.become(
            outcome=Outcome.REFUSED,
            reason="the host moved since the preview that was approved; nothing was written",
            step="preview again",
        )
    loaded = ask_loader(runner, one.plan)
    if loaded.agrees:
        return one.become(loader=AGREES, notes=(*one.result.notes, *loaded.notes))
    return one.become(
        outcome=Outcome.REFUSED,
        loader=loaded.reason,
        reason=f"the client's own loader does not accept the planned file: {loaded.reason}",
        step="nothing was written; correct this on the host, then preview again",
    )


def _is_approved(job: Job, plan: Plan) -> bool:
    if job.approved is None:
        return True
    mine = {
        Approved(plan.label, edit.file.path, edit.file.sha256, edit.after.sha256)
        for edit in plan.planned.edits
    }
    return mine == {row for row in job.approved if row.target == plan.label}


def _written(
    session: Session, runner: Runner, writer: Writer, ready: Sequence[_One]
) -> list[_One]:
    """All ready targets written in one transaction, each proved from newly read bytes."""
    job = _job(session.job, ready)
    applied = transaction.insist(writer, job)
    if applied.end not in (End.APPLIED, End.ALREADY):
        return [one.become(**unwritten(applied)) for one in ready]
    notes = tuple(map(recovery_line, applied.recovered))
    changed = [
        one.become(
            outcome=Outcome.CHANGED, bundle=applied.bundle, notes=(*one.result.notes, *notes)
        )
        for one in ready
    ]
    proofs = _proofs(session, runner, changed)
    failures = {name: proof.reason for name, proof in proofs.items() if not proof.agrees}
    if not failures:
        return [_applied(one, proofs[one.result.label]) for one in changed]
    good = [one for one in changed if one.result.label not in failures]
    bad = [one for one in changed if one.result.label in failures]
    return [
        *(_applied(one, proofs[one.result.label]) for one in good),
        *_rolled_back(session, writer, job.transaction, bad, failures, alone=not good),
    ]


def _job(job: Job, ready: Sequence[_One]) -> transaction.Job:
    run = job.run
    files = tuple(
        FileJob.of(one.result.label, edit, edit.companion)
        for one in ready
        for edit in one.plan.planned.edits
    )
    meta = (
        ("run", run.identity),
        ("operator", run.operator),
        ("controller", run.controller),
        ("generation", run.generation),
        *_dialects(ready),
    )
    return transaction.Job(transaction.fresh_id(), files, meta)


def _dialects(ready: Sequence[_One]) -> Iterator[tuple[str, str]]:
    """What a rollback must know of each file beyond its row."""
    edits = (edit for one in ready for edit in one.plan.planned.edits)
    return ((f"{DIALECT}{number}", edit.dialect.name) for number, edit in enumerate(edits, 1))


# --- verify, and take back what does not hold --------------------------------------


def _proofs(session: Session, runner: Runner, written: Sequence[_One]) -> dict[str, Loaded]:
    """Whether each written target holds, by name, from a new look at the host."""
    try:
        plans = {plan.label: plan for plan in look(session).plans}
        found = ((one.result.label, plans.get(one.result.label)) for one in written)
        return {name: _proof(runner, plan) for name, plan in found}
    except HostError as error:
        why = f"it could not be verified: {error.message}"
        return {one.result.label: Loaded(False, why) for one in written}


def _proof(runner: Runner, plan: Plan | None) -> Loaded:
    if plan is None:
        return Loaded(False, "it is gone")
    if plan.outcome is not Outcome.IN_STEP:
        told = "; ".join(refusal.reason for refusal in plan.refusals)
        reason = f"a new look finds it {plan.outcome.value}{': ' + told if told else ''}"
        return Loaded(False, reason)
    loaded = ask_loader(runner, plan)
    for _ in range(_PATIENCE):
        if not (loaded.agrees and loaded.pending):
            break
        loaded = ask_loader(runner, plan)
    if loaded.agrees:
        return loaded
    return Loaded(False, f"the client's own loader: {loaded.reason}")


def _applied(one: _One, proof: Loaded) -> _One:
    """A written target: changed, or failed where a running client does not use it."""
    one = one.become(notes=tuple(dict.fromkeys((*one.result.notes, *proof.notes))))
    if not proof.pending:
        return one
    return one.become(
        outcome=Outcome.FAILED,
        reason=f"written, not applied: {proof.pending}",
        step="the file is right and was kept; restart the client's service on the host, "
        "then verify",
    )


def _rolled_back(
    session: Session,
    writer: Writer,
    identity: str,
    written: Sequence[_One],
    failures: dict[str, str],
    *,
    alone: bool,
) -> list[_One]:
    """The targets that failed, with their files put back. Were all of the transaction's
    targets among them (`alone`), it is undone; else the others keep their change."""
    labels = [one.result.label for one in written]
    told = "; ".join(f"{name}: {why}" for name, why in failures.items())
    try:
        if alone:
            undone = transaction.undo(writer, identity)
        else:
            undone = put_back(session.job, session.reader, writer, identity, labels)
    except HostError as error:
        return [_open(one, told, error.message) for one in written]
    if undone.end not in (End.UNDONE, End.APPLIED, End.ALREADY):
        return [_open(one, told, "; ".join(map(problem_line, undone.problems))) for one in written]
    return [
        one.become(
            outcome=Outcome.ROLLED_BACK,
            reason=printable(f"verification failed, the original is back: {told}"),
            step="preview again",
        )
        for one in written
    ]


def _open(one: _One, told: str, why: str) -> _One:
    return one.become(
        outcome=Outcome.FAILED,
        reason=printable(f"verification failed ({told}) and the original is not back: {why}"),
        step=f"the original is in the bundle on the host: {one.result.bundle}",
    )

