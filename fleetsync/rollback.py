"""Take bundles back on one host: show it, do it as a transaction, prove it.

It needs the bundles and the files alone: no catalog, no adapter, no credential.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from fleetsync import bundles, diff, transaction
from fleetsync.adapter import FileEdit, Planned
from fleetsync.bundles import Bundle, BundleFile
from fleetsync.errors import DocumentError
from fleetsync.facts import FileFact, Question, Read, State, StateFact
from fleetsync.job import Approved, Job, Order
from fleetsync.outcome import FileDiff, HostResult, Outcome, TargetResult
from fleetsync.probe import Salts, ask
from fleetsync.redact import printable
from fleetsync.remote import Reader, Writer
from fleetsync.restore import Past, Restored, original, restored, subjects
from fleetsync.sealed import Sealed
from fleetsync.transaction import Applied, End, FileJob, Problem, Reason
from fleetsync.unwritten import cut_line, problem_line, recovery_line, unwritten

_NOTHING = "nothing to undo"


@dataclass(frozen=True, slots=True)
class _Target:
    """One target's files, and what is said of it so far."""

    result: TargetResult
    files: tuple[Restored, ...]

    @property
    def jobs(self) -> tuple[FileJob, ...]:
        return tuple(file.job for file in self.files if file.job)

    def become(self, **fields: object) -> _Target:
        return _Target(replace(self.result, **fields), self.files)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class _Kept:
    """A file's past, and the paths on the host of its bytes before and after."""

    past: Past
    original: str
    replacement: str

    def read(self, path: str) -> Read:
        """How the file is read at `path`, where it is or was."""
        return bundles.question(path, store=self.past.store)


@dataclass(frozen=True, slots=True)
class _Back:
    """What a look at the bundles and files came to. `why` tells why there is no target."""

    chosen: tuple[Bundle, ...] = ()
    targets: tuple[_Target, ...] = ()
    why: str = ""
    outcome: Outcome | None = None
    salts: Salts = field(default_factory=Salts.fresh)
    """what the digests of stores are veiled with"""


def preview(job: Job, reader: Reader) -> HostResult:
    """What a rollback would change, and what was cut off before."""
    _, answers = ask(reader, {State()}, Salts.fresh())
    state = answers[State()]
    cut = state.interrupted if isinstance(state, StateFact) else ()
    return replace(_result(job, _look(job, reader)), interrupted=tuple(map(cut_line, cut)))


def rollback(job: Job, reader: Reader, writer: Writer) -> HostResult:
    """Put the files back in one transaction with a bundle of its own, and prove it."""
    recovered = transaction.recover(writer)
    notes = (*map(recovery_line, recovered.found), *map(problem_line, recovered.problems))
    back = _look(job, reader)
    every = [_approved(job, one) for one in back.targets]
    ready = [one for one in every if one.result.outcome is Outcome.DRIFT]
    written = {one.result.label: one for one in _written(job, reader, writer, back, ready)}
    every = [written.get(one.result.label, one) for one in every]
    return _result(job, replace(back, targets=tuple(every)), notes)


def _result(job: Job, back: _Back, notes: tuple[str, ...] = ()) -> HostResult:
    host = job.host.name
    if back.outcome:
        step = f"fleetsync bundles list {host}" if back.outcome is Outcome.REFUSED else ""
        return HostResult(host, outcome=back.outcome, reason=back.why, step=step, notes=notes)
    told = ", ".join(f"{one.transaction} of run {one.told('run')}" for one in back.chosen)
    return HostResult(
        host,
        tuple(one.result for one in back.targets),
        notes=(*notes, printable(f"bundle {told}")),
    )


# --- which bundles, which files ------------------------------------------------------


def _look(job: Job, reader: Reader) -> _Back:
    found = bundles.read(reader)
    chosen, why = choose(found, job.order)
    if not chosen:
        lost = Outcome.IN_STEP if why.startswith(_NOTHING) else Outcome.REFUSED
        return _Back(why=why, outcome=lost)
    kept = [one for one in _kept(chosen) if _is_meant(one.past.target, job.order.clients)]
    if not kept:
        why = "nothing to undo: it holds no file of that client"
        return _Back(why=why, outcome=Outcome.IN_STEP)
    plans = _plans(reader, kept, found.salts, force=job.order.force)
    labels = dict.fromkeys(one.past.target for one in kept)
    return _Back(chosen, tuple(
        _target(job, label, [plan for one, plan in zip(kept, plans, strict=True)
                             if one.past.target == label])
        for label in labels
    ), salts=found.salts)


def choose(found: bundles.Bundles, order: Order) -> tuple[tuple[Bundle, ...], str]:
    """The bundles that `order` means, the newest first, or why there is none."""
    done = found.done()
    if order.bundle:
        named = [one for one in found.every if one.transaction == order.bundle]
        if not named:
            return (), f"there is no bundle {order.bundle}"
        standing = tuple(one for one in named if one.state == bundles.DONE)
        return standing, "" if standing else f"bundle {order.bundle} is {named[0].state}"
    if broken := _in_the_way(found, order):
        name = broken.transaction
        return (), f"the manifest of bundle {name} is damaged: what it holds is unknown"
    if order.run:
        mine = tuple(
            one for one in done
            if one.told("run") == order.run and not _is_own_undo(one, found.every)
        )
        return mine, "" if mine else f"{_NOTHING}: no bundle of run {order.run}"
    fitting = [
        one for one in done
        if any(_is_meant(file.target, order.clients) for file in one.files)
        and not _is_own_undo(one, found.every)
    ]
    return tuple(fitting[:1]), "" if fitting else f"{_NOTHING}: there is no bundle"


def _in_the_way(found: bundles.Bundles, order: Order) -> Bundle | None:
    """A damaged bundle that could be the one that is meant."""
    for one in found.every:
        if one.state == bundles.DAMAGED and order.run in ("", one.told("run") or order.run):
            return one
        if one.state == bundles.DONE and not order.run:
            return None
    return None


def _is_own_undo(one: Bundle, every: Iterable[Bundle]) -> bool:
    """Whether a run put back in it what it had written itself, because that did not hold:
    taking this back would write it again."""
    mine = {other.transaction for other in every if other.told("run") == one.told("run")}
    return bool(mine.intersection(one.undoes))


def _is_meant(target: str, clients: Collection[str]) -> bool:
    return not clients or target.partition("/")[0] in clients


def _kept(chosen: Iterable[Bundle]) -> list[_Kept]:
    """Each file from before the oldest bundle to after the newest."""
    found: dict[str, _Kept] = {}
    for bundle in reversed(list(chosen)):
        for file in bundle.files:
            one = _Kept(_past(bundle, file), bundle.original(file), bundle.replacement(file))
            first = found.get(file.real)
            found[file.real] = _joined(first, one) if first else one
    return list(found.values())


def _joined(first: _Kept, last: _Kept) -> _Kept:
    past = replace(
        last.past, before=first.past.before, mode=first.past.mode, origin=first.past.origin,
        store=first.past.store or last.past.store,
    )
    return _Kept(past, first.original, last.replacement)


def _past(bundle: Bundle, file: BundleFile) -> Past:
    return Past(
        file.target, file.path, file.real, file.before, file.after, file.mode,
        file.companion, file.dialect, (bundle.transaction, file.number), store=file.store,
    )


def _plans(
    reader: Reader, kept: Sequence[_Kept], salts: Salts, *, force: bool
) -> list[Restored]:
    """What must become of each file, by all bytes read at once. (Of stores none is.)"""
    questions = {
        one.read(path) for one in kept for path in (one.past.path, *_sources(one))
    }
    found = bundles.facts(reader, questions, salts)
    return [
        restored(_known(one, found), found[one.read(one.past.path)], force=force)
        for one in kept
    ]


def _sources(one: _Kept) -> tuple[str, ...]:
    before = (one.original,) if one.past.before else ()
    has_new = one.past.after and not one.past.store
    return (*before, one.replacement) if has_new else before


def _known(one: _Kept, found: Mapping[Question, FileFact]) -> Past:
    """The file's past with the bytes of both, or with the verdict on a store's original."""
    original = found.get(one.read(one.original))
    return replace(
        one.past,
        old=original.content if original else None,
        new=_bytes(found, one.replacement),
        intact=original is not None and original.sha256 == one.past.before,
    )


def _bytes(found: Mapping[Question, FileFact], path: str) -> Sealed | None:
    fact = found.get(Read(path))
    return fact.content if fact else None


# --- what is said of a target ---------------------------------------------------------


def _target(job: Job, label: str, files: Sequence[Restored]) -> _Target:
    client, _, name = label.partition("/")
    refusals = [file.refusal for file in files if file.refusal]
    conflicts = [conflict for file in files for conflict in file.conflicts]
    edits = tuple(file.edit for file in files if file.edit)
    planned = Planned(edits, tuple(change for file in files for change in file.changes))
    outcome = Outcome.DRIFT if edits else Outcome.IN_STEP
    reason, step = "" if edits else "it is as it was before", ""
    if refusals:
        outcome, reason = Outcome.REFUSED, "; ".join(refusals)
    elif not edits and not conflicts and any(file.notes for file in files):
        # What was asked for by force and cannot be done is no success.
        outcome = Outcome.CONFLICT if job.order.force else Outcome.IN_STEP
        reason = "nothing of it can be put back: what held it is gone"
        step = f"fleetsync bundles show {job.host.name} tells where the original lies"
    elif conflicts:
        outcome, reason = Outcome.CONFLICT, "changed since, and not by us\n" + "\n".join(conflicts)
        step = "decide: put it right on the host, or --force puts the original over it"
    return _Target(
        TargetResult(
            job.host.name, client, name or client, outcome, printable(reason), step,
            changes=diff.rows(planned),
            diffs=tuple(_file_diff(file, subjects(files)) for file in files if file.edit),
            notes=tuple(printable(note) for file in files for note in file.notes),
        ),
        tuple(files),
    )


def _file_diff(file: Restored, known: Collection[str]) -> FileDiff:
    assert file.edit is not None and file.job is not None
    if not file.store:
        return _diff(file.edit, known)
    before, after = (bundles.UNTOLD if one else "" for one in (file.job.old, file.job.new))
    return FileDiff(file.path, file.edit.file.real, "", before, after)


def _diff(edit: FileEdit, known: Collection[str]) -> FileDiff:
    """The diff, without text where a side does not parse: then nothing could be masked.
    A file that goes away has no digest after."""
    try:
        (shown,) = diff.diffs(Planned((edit,)), known)
    except DocumentError:
        shown = FileDiff(
            edit.file.path, edit.file.real, "", edit.file.sha256, edit.after.sha256
        )
    return shown if len(edit.after) else replace(shown, after="")


def _approved(job: Job, one: _Target) -> _Target:
    if one.result.outcome is not Outcome.DRIFT or job.approved is None:
        return one
    label = one.result.label
    mine = {Approved(label, file.path, file.before, file.after) for file in one.result.diffs}
    if mine == {row for row in job.approved if row.target == label}:
        return one
    return one.become(
        outcome=Outcome.REFUSED,
        reason="the host moved since the preview that was approved; nothing was written",
        step="run the rollback again",
    )


# --- writing --------------------------------------------------------------------------


def _written(
    job: Job, reader: Reader, writer: Writer, back: _Back, ready: Sequence[_Target]
) -> list[_Target]:
    if not ready:
        return []
    files = tuple(file for one in ready for file in one.jobs)
    applied = transaction.insist(writer, _job(job, back.chosen, files, back.salts))
    if applied.end not in (End.APPLIED, End.ALREADY):
        return [one.become(**unwritten(applied)) for one in ready]
    found = bundles.facts(reader, set(map(_digest_of, files)), back.salts)
    return [_proved(one, applied.bundle, found) for one in ready]


def _digest_of(file: FileJob | Past) -> Read:
    return bundles.question(file.path, store=file.store, content=False)


def _proved(one: _Target, bundle: str, found: Mapping[Question, FileFact]) -> _Target:
    """Changed, if newly read bytes are those that were to come."""
    other = [
        file.path for file in one.jobs
        if found[_digest_of(file)].sha256 != file.new
    ]
    if not other:
        return one.become(outcome=Outcome.CHANGED, bundle=bundle)
    return one.become(
        outcome=Outcome.FAILED,
        reason=printable(f"written, and changed again since: {', '.join(other)}"),
        step="find out what writes there, then run the rollback again",
        bundle=bundle,
    )


def _job(
    job: Job, chosen: Sequence[Bundle], files: tuple[FileJob, ...], salts: Salts
) -> transaction.Job:
    dialects = {file.real: file.dialect for bundle in chosen for file in bundle.files}
    meta = (
        ("run", job.run.identity),
        ("operator", job.run.operator),
        ("controller", job.run.controller),
        (bundles.UNDOES, " ".join(one.transaction for one in chosen)),
        *(
            (f"{bundles.DIALECT}{number}", dialects[file.real].name)
            for number, file in enumerate(files, 1)
            if file.real in dialects
        ),
    )
    return transaction.Job(transaction.fresh_id(), files, meta, salts=salts)


def put_back(
    job: Job, reader: Reader, writer: Writer, identity: str, labels: Collection[str]
) -> Applied:
    """Of the done transaction `identity` put back the files of these targets alone, where
    they still are what it wrote. Raises HostError."""
    every = bundles.read(reader)
    chosen = [one for one in every.done() if one.transaction == identity]
    kept = [one for one in _kept(chosen) if one.past.target in labels]
    found = bundles.facts(reader, {_digest_of(one.past) for one in kept}, every.salts)
    files, problems = [], []
    for one in kept:
        live = found[_digest_of(one.past)]
        if live.sha256 != one.past.after:
            problems.append(Problem(Reason.MOVED, one.past.path))
        files.append(original(one.past, live))
    if problems or not files:
        missing = () if files else (Problem(Reason.UNKNOWN, "", identity),)
        return Applied(identity, End.REFUSED, (*problems, *missing))
    return transaction.insist(writer, _job(job, chosen, tuple(files), every.salts))
