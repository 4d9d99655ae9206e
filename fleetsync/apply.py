"""Apply on one host: check with the client's own loader, one transaction, verify."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from fleetsync import transaction
from fleetsync.adapter import Loaded
from fleetsync.errors import HostError, Lost
from fleetsync.job import Approved, Job
from fleetsync.look import AGREES, Look, Session, ask_loader, host_result, look, target_result
from fleetsync.outcome import HostResult, Outcome, TargetResult, label
from fleetsync.plan import Plan
from fleetsync.redact import printable
from fleetsync.remote import Runner, Writer
from fleetsync.transaction import Applied, End, FileJob, Problem, Reason, Recovery

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
    seen, notes = _settled(session, writer)
    every = [_One(plan, target_result(session, seen, plan)) for plan in seen.plans]
    every = [_checked(session.job, runner, one) for one in every]
    if ready := [one for one in every if one.is_ready]:
        written = {one.result.label: one for one in _written(session, runner, writer, ready)}
        every = [written.get(one.result.label, one) for one in every]
    return host_result(session, seen, tuple(one.result for one in every), notes)


def _settled(session: Session, writer: Writer) -> tuple[Look, tuple[str, ...]]:
    """A look at the host, after what was interrupted there is finished or undone."""
    seen = look(session)
    if not seen.state.interrupted:
        return seen, ()
    recovered = transaction.recover(writer)
    notes = (*map(_recovery, recovered.found), *map(_problem, recovered.problems))
    return look(session), notes


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


def _label(plan: Plan) -> str:
    return label(plan.target.client, plan.target.name)


def _is_approved(job: Job, plan: Plan) -> bool:
    if job.approved is None:
        return True
    mine = {
        Approved(_label(plan), edit.file.path, edit.file.sha256, edit.after.sha256)
        for edit in plan.planned.edits
    }
    return mine == {row for row in job.approved if row.target == _label(plan)}


def _written(
    session: Session, runner: Runner, writer: Writer, ready: Sequence[_One]
) -> list[_One]:
    """All ready targets written in one transaction, each proved from newly read bytes."""
    job = _job(session.job, ready)
    applied = _transact(writer, job)
    if applied.end not in (End.APPLIED, End.ALREADY):
        return [one.become(**_unwritten(applied)) for one in ready]
    notes = tuple(map(_recovery, applied.recovered))
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
    return _rolled_back(writer, job.transaction, changed, failures)


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
    )
    return transaction.Job(transaction.fresh_id(), files, meta)


def _transact(writer: Writer, job: transaction.Job) -> Applied:
    """Send the transaction; where the answer was lost, ask the host what it did."""
    try:
        return transaction.transact(writer, job)
    except Lost:
        writer.remote.close()
        return transaction.transact(writer, job)


def _unwritten(applied: Applied) -> dict[str, object]:
    told = "; ".join(map(_problem, applied.problems)) or "the host gave no reason"
    match applied.end:
        case End.UNDONE:
            return {
                "outcome": Outcome.ROLLED_BACK,
                "reason": f"the write was taken back: {told}",
                "step": "preview again; the originals are in the bundle",
                "bundle": applied.bundle,
            }
        case End.STUCK:
            return {
                "outcome": Outcome.FAILED,
                "reason": f"the write could be neither finished nor taken back: {told}",
                "step": "make room or rights on the host, then apply again: it finishes this "
                "first; the originals are in the bundle",
                "bundle": applied.bundle,
            }
    return {
        "outcome": Outcome.REFUSED,
        "reason": f"nothing was written: {told}",
        "step": _STEPS.get(applied.problems[0].reason, "") if applied.problems else "",
    }


_STEPS = {
    Reason.LOCKED: "wait for the other run, then preview again",
    Reason.MOVED: "preview again",
    Reason.RESOLVED: "preview again",
    Reason.APPEARED: "preview again",
    Reason.EDITED: "preview again",
    Reason.COMPANION: "close the client on the host, or wait, then apply again",
    Reason.SPACE: "make room on the host, then apply again",
    Reason.LINKS: "keep one name of the file on the host",
    Reason.OWNER: "log in as the account that owns the file, or give it back",
    Reason.READONLY: "make it writable on the host, if its manager agrees",
    Reason.IMMUTABLE: "take the attribute off on the host (chattr -i), if that is wished",
    Reason.STUCK: "look into the state directory on the host",
}


def _problem(problem: Problem) -> str:
    where = f"{problem.path}: " if problem.path else ""
    detail = f" ({problem.detail})" if problem.detail else ""
    return printable(f"{where}{problem.reason.value}{detail}")


def _recovery(found: Recovery) -> str:
    return f"transaction {found.transaction}, interrupted in state {found.found}: {found.now} now"


# --- verify, and take back what does not hold --------------------------------------


def _proofs(session: Session, runner: Runner, written: Sequence[_One]) -> dict[str, Loaded]:
    """Whether each written target holds, by name, from a new look at the host."""
    try:
        plans = {_label(plan): plan for plan in look(session).plans}
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
    writer: Writer, identity: str, written: Sequence[_One], failures: dict[str, str]
) -> list[_One]:
    told = "; ".join(f"{name}: {why}" for name, why in failures.items())
    try:
        undone = transaction.undo(writer, identity)
    except HostError as error:
        return [_open(one, told, error.message) for one in written]
    if undone.end not in (End.UNDONE, End.APPLIED, End.ALREADY):
        return [_open(one, told, "; ".join(map(_problem, undone.problems))) for one in written]
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

