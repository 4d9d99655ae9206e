"""Put a new key where one client of one host keeps its own, and prove that it takes it.

The host itself makes the new store from the live one (`host/keep.sh`): nothing of a store
is read here, and digests of it come veiled. What was there stays in a bundle on the host.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from fleetsync import transaction
from fleetsync.adapter import Credential, Keep, KeepsKeys
from fleetsync.bundles import UNTOLD
from fleetsync.decide import decide, prove
from fleetsync.errors import FleetsyncError, HostError
from fleetsync.facts import (
    Answer,
    FileFact,
    FileKind,
    Place,
    PlaceFact,
    PlaceKind,
    Question,
    Read,
    Verdict,
)
from fleetsync.job import Approved
from fleetsync.look import Look, Session, host_result, look, target_result
from fleetsync.new_key import CAP, NewKey, fault
from fleetsync.outcome import ChangeRow, FileDiff, HostResult, Outcome, RouterVerdict, TargetResult
from fleetsync.plan import Plan
from fleetsync.probe import ask
from fleetsync.redact import printable
from fleetsync.remote import Prover, Runner, Writer
from fleetsync.sealed import Sealed
from fleetsync.transaction import End, FileJob
from fleetsync.unwritten import problem_line, recovery_line, unwritten

_LARGEST = 1024 * 1024
"""Bytes of a store beyond which no host judges what stands in it."""
_OTHERS = 0o077
_WORDS = {Verdict.RESOLVES: "a key", Verdict.MALFORMED: "an entry"}


@dataclass(frozen=True, slots=True)
class _Store:
    """One target with the place of its key: the file, and what stands there so far."""

    plan: Plan
    result: TargetResult
    keep: Keep
    file: FileFact | None = None
    found: PlaceFact | None = None

    def become(self, **fields: object) -> _Store:
        return replace(self, result=replace(self.result, **fields))  # type: ignore[arg-type]

    def refused(self, reason: str, step: str) -> _Store:
        return self.become(outcome=Outcome.REFUSED, reason=printable(reason), step=printable(step))


def preview(session: Session) -> HostResult:
    """Where a new key would go, for every target. Raises HostError."""
    seen = look(session)
    return host_result(session, seen, tuple(one.result for one in _stores(session, seen)))


def put(session: Session, runner: Runner, writer: Writer, prover: Prover) -> HostResult:
    """Put the order's key where the order's target keeps its own. Raises HostError."""
    recovered = transaction.recover(writer)
    notes = (*map(recovery_line, recovered.found), *map(problem_line, recovered.problems))
    seen = look(session)
    label = session.job.order.target
    chosen = [one for one in _stores(session, seen) if one.result.label == label]
    if not chosen:
        return HostResult(
            session.job.host.name, outcome=Outcome.REFUSED, notes=notes,
            reason=f"there is no {label} any more; nothing was written", step="look again",
        )
    (one,) = (_approved(session, one) for one in chosen)
    if one.result.outcome is Outcome.DRIFT:
        one = _put(session, writer, seen, one)
    if one.result.outcome in (Outcome.CHANGED, Outcome.IN_STEP):
        one = _proved(session, runner, writer, prover, one)
    return host_result(session, seen, (one.result,), notes)


# --- where it goes ----------------------------------------------------------------


def _stores(session: Session, seen: Look) -> list[_Store]:
    every = [_store(session, seen, plan) for plan in seen.plans]
    places = [one.keep.place for one in every if one.keep.place]
    questions: frozenset[Question] = frozenset({*places, *map(_read, places)})
    answers: dict[Question, Answer] = {}
    if questions:
        _, answers = ask(session.reader, questions, session.salts)
    return [_judged(one, one.keep.place, answers) if one.keep.place else one for one in every]


def _read(place: Place) -> Read:
    return Read(place.where, cap=_LARGEST, veiled=True)


def _store(session: Session, seen: Look, plan: Plan) -> _Store:
    """The target as it was seen, without what its catalog wants."""
    result = replace(target_result(session, seen, plan), changes=(), diffs=())
    one, client = _Store(plan, result, Keep()), plan.target.client
    if plan.target.absent:
        return one
    if not isinstance(plan.adapter, KeepsKeys):
        return one.refused(
            f"its adapter does not know where {client} keeps a key",
            f"put it in by hand, as {client} wants it",
        )
    keep = plan.adapter.keep(plan.target)
    if keep.place is None:
        return one.refused(
            f"{client} has no place here that takes a new key",
            keep.lines or f"fleetsync doctor {session.job.host.name}",
        )
    try:
        NewKey(Sealed(b"-"), keep)
    except ValueError as error:
        raise FleetsyncError(
            f"the adapter {client} keeps its key where none can be put: {error}",
            "this is a fault of the adapter: report it to its author",
        ) from error
    return replace(one, keep=keep)


def _judged(one: _Store, place: Place, answers: dict[Question, Answer]) -> _Store:
    """What is to be changed, or why it cannot."""
    files, found = answers[_read(place)], answers[place]
    assert isinstance(files, tuple) and isinstance(files[0], FileFact)
    assert isinstance(found, PlaceFact)
    file = files[0]
    one = replace(one, file=file, found=found)
    if trouble := _trouble(file):
        return one.refused(f"{file.path}: {trouble}", "repair it on the host, then try again")
    before = None if found.verdict is Verdict.ABSENT else _WORDS.get(
        found.verdict, found.verdict.value
    )
    return one.become(
        outcome=Outcome.DRIFT,
        reason="",
        step="",
        changes=(ChangeRow(file.path, printable(_subject(place)), "", before, "the new key"),),
        diffs=(FileDiff(file.path, file.real, "", UNTOLD if file.exists else "", UNTOLD),),
        notes=tuple(map(printable, _notes(file))),
    )


def _trouble(file: FileFact) -> str:
    """Why the store cannot be written; a transaction looks closer."""
    if file.kind not in (FileKind.FILE, FileKind.ABSENT):
        return f"{file.kind.value}, where a file with the key belongs"
    if file.over_cap:
        return "it is larger than 1 MiB"
    if not file.writable:
        return "it or its directory is read-only"
    return "it has more than one hard link" if file.exists and file.links != 1 else ""


def _subject(place: Place) -> str:
    if place.kind is PlaceKind.FILE:
        return "content"
    return ".".join(place.name.split("\x1f"))


def _notes(file: FileFact) -> Iterator[str]:
    if not file.exists:
        yield f"{file.path} is made, with mode 0600"
    elif file.mode & _OTHERS:
        yield f"{file.path}: others may use it (mode {file.mode:04o}); its mode becomes 0600"
    if file.is_link:
        yield f"{file.path} is a link: the file is {file.real}"


def _approved(session: Session, one: _Store) -> _Store:
    approved = session.job.approved
    mine = tuple(
        Approved(one.result.label, diff.path, diff.before, diff.after) for diff in one.result.diffs
    )
    if one.result.outcome is not Outcome.DRIFT or approved in (None, mine):
        return one
    return one.refused(
        "the host moved since it was looked at; nothing was written", "give the command again"
    )


# --- writing ----------------------------------------------------------------------


def _put(session: Session, writer: Writer, seen: Look, one: _Store) -> _Store:
    key, place = session.job.order.key, one.keep.place
    assert one.file is not None and key is not None and place is not None
    if why := fault(key.reveal().decode("ascii"), place.kind):
        return one.refused(f"the key cannot stand there: {why}", "take a key that can")
    if _is_there(session, seen, one) and not one.file.mode & _OTHERS:
        return one.become(
            outcome=Outcome.IN_STEP, changes=(), diffs=(), reason="this key stands there already"
        )
    applied = transaction.insist(writer, _job(session, one, one.file))
    if applied.end in (End.APPLIED, End.ALREADY):
        return one.become(outcome=Outcome.CHANGED, bundle=applied.bundle)
    told = unwritten(applied)
    if applied.end is End.REFUSED:
        told["step"] = "put that right on the host, then give the command again"
    return one.become(**told)


def _is_there(session: Session, seen: Look, one: _Store) -> bool:
    """Whether the place holds this key, or an entry out of which the client takes it."""
    assert one.found is not None
    if one.found.verdict is Verdict.MALFORMED:
        return _is_taken(session, one.plan.target.credential, seen)
    return one.found.fingerprint == _fingerprint(session)


def _fingerprint(session: Session) -> str:
    key = session.job.order.key
    assert key is not None
    return session.salts.fingerprint(key.reveal())


def _job(session: Session, one: _Store, file: FileFact) -> transaction.Job:
    key, run, real = session.job.order.key, session.job.run, file.real or file.path
    assert key is not None
    return transaction.Job(
        transaction.fresh_id(),
        (FileJob(
            one.result.label, file.path, real, file.sha256, "", file.size + 2 * CAP, file.size,
            companion=one.keep.companion.replace(file.path, real, 1), store=True,
            key=NewKey(key, one.keep),
        ),),
        (
            ("run", run.identity),
            ("operator", run.operator),
            ("controller", run.controller),
            ("credential", one.result.label),
        ),
        salts=session.salts,
    )


# --- proof ------------------------------------------------------------------------


def _proved(
    session: Session, runner: Runner, writer: Writer, prover: Prover, one: _Store
) -> _Store:
    """Whether the key stands there, the client takes it from there, and the router takes
    it. Only a key that does not stand there is taken back."""
    try:
        seen = prove(session, prover, decide(session, runner, look(session)))
        plan = _same(one, seen.plans)
        if plan is None or not _stands(session, one, plan):
            return _taken_back(session, writer, one)
    except HostError as error:
        return one.become(
            outcome=Outcome.FAILED,
            reason=printable(f"written, and it could not be proved: {error.message}"),
            step=f"fleetsync doctor {session.job.host.name}",
        )
    shown = target_result(session, seen, plan)
    one = one.become(
        trace=shown.trace, credential=shown.credential, router=shown.router,
        fingerprint=shown.fingerprint,
        notes=tuple(dict.fromkeys((*one.result.notes, *shown.notes))),
    )
    return _judge(session, one, plan, seen)


def _same(one: _Store, plans: Sequence[Plan]) -> Plan | None:
    mine = (one.plan.target.client, one.plan.target.name)
    found = (plan for plan in plans if (plan.target.client, plan.target.name) == mine)
    return next((plan for plan in found if not plan.target.absent), None)


def _stands(session: Session, one: _Store, plan: Plan) -> bool:
    """Whether the host finds the very key at its place."""
    place, mine = one.keep.place, _fingerprint(session)
    assert place is not None
    if any(seen.fact.fingerprint == mine for seen in plan.target.credential.trace):
        return True
    _, answers = ask(session.reader, {place}, session.salts)
    fact = answers[place]
    return isinstance(fact, PlaceFact) and fact.fingerprint == mine


def _judge(session: Session, one: _Store, plan: Plan, seen: Look) -> _Store:
    credential, client, host = plan.target.credential, plan.target.client, session.job.host.name
    written = "written" if one.result.outcome is Outcome.CHANGED else "it stands there"
    if not _is_taken(session, credential, seen):
        why = credential.cause or f"it takes its key from {_opening(credential)}"
        return one.become(
            outcome=Outcome.FAILED,
            reason=printable(f"{written}, but {client} does not take it from there: {why}"),
            step=printable(credential.step) or "take the key away there, or put the new one there "
            f"as well; a service reads it when it is restarted; then: fleetsync doctor {host}",
        )
    row = plan.router
    if row is None or row.verdict is not RouterVerdict.REJECTED:
        return one
    detail = f" ({row.detail})" if row.detail else ""
    return one.become(
        outcome=Outcome.FAILED,
        reason=printable(f"{written}, but {row.url} rejects it{detail}"),
        step="give the command again with a key that the router takes"
        + (f", or put the one before back: fleetsync rollback {host}" if one.result.bundle else ""),
    )


def _is_taken(session: Session, credential: Credential, seen: Look) -> bool:
    """Whether the gate is open, and by this key."""
    source = credential.source
    answer = seen.facts.answers.get(source) if source else None
    found = {one.fact.fingerprint for one in credential.trace if one.opens}
    if isinstance(answer, PlaceFact):
        found.add(answer.fingerprint)
    return credential.opens and _fingerprint(session) in found


def _opening(credential: Credential) -> str:
    return next((one.place for one in credential.trace if one.opens), "somewhere else")


def _taken_back(session: Session, writer: Writer, one: _Store) -> _Store:
    """The store as it was, where the key is not found in what was written."""
    host = session.job.host.name
    why = "the key was written, and the host does not find it at its place"
    if not one.result.bundle:
        return one.become(outcome=Outcome.FAILED, reason=why, step=f"fleetsync doctor {host}")
    identity = one.result.bundle.rpartition("/")[2].partition(".")[0]
    undone = transaction.undo(writer, identity)
    if undone.end in (End.UNDONE, End.ALREADY):
        return one.become(
            outcome=Outcome.ROLLED_BACK,
            reason=f"{why}: what was there is back",
            step=f"fleetsync doctor {host}",
        )
    told = "; ".join(map(problem_line, undone.problems))
    return one.become(
        outcome=Outcome.FAILED,
        reason=printable(f"{why}, and what was there is not back: {told}"),
        step=f"fleetsync rollback {host}",
    )
