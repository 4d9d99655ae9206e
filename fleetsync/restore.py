"""Decide what must become of one file so that it is as before a transaction. Pure.

Where the file is exactly what the transaction wrote, its original comes back byte for
byte. Where others wrote since, only the places that still hold our value go back
(`documents.three_way`); a place changed by both is a conflict.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from fleetsync.adapter import Change, FileEdit
from fleetsync.documents import Dialect, Document, Missing, Path, Splice, Value, Where, parse
from fleetsync.documents.three_way import Difference, differences, take_back
from fleetsync.errors import DocumentError, EditRefused
from fleetsync.facts import FileFact, FileKind
from fleetsync.redact import words
from fleetsync.sealed import Sealed
from fleetsync.transaction import FileJob


@dataclass(frozen=True, slots=True)
class Past:
    """One file as transactions found it and left it: digests ("": no file), the mode it
    had, where its original is kept, and the bytes of both."""

    target: str
    path: str
    real: str
    before: str
    after: str
    mode: int
    companion: str
    dialect: Dialect
    origin: tuple[str, int]
    old: Sealed | None = None
    new: Sealed | None = None
    store: bool = False
    """it holds secrets: digests are veiled, its bytes are not known here"""
    intact: bool = False
    """whether a store's original is what the manifest tells"""

    @property
    def is_whole(self) -> bool:
        """Whether the bytes are those that the manifest tells."""
        if self.store:
            return self.intact or not self.before
        return all(
            not digest or (sealed is not None and sealed.sha256 == digest)
            for digest, sealed in ((self.before, self.old), (self.after, self.new))
        )


@dataclass(frozen=True, slots=True)
class Restored:
    """What must become of one file. No `job`: it stays as it is. `conflicts` and
    `refusal` stop it; `edit` and `changes` are what there is to show."""

    path: str
    job: FileJob | None = None
    edit: FileEdit | None = None
    changes: tuple[Change, ...] = ()
    conflicts: tuple[str, ...] = ()
    refusal: str = ""
    notes: tuple[str, ...] = ()
    store: bool = False


def restored(past: Past, live: FileFact, *, force: bool) -> Restored:
    """How `live` gets to be as `past` was before; with `force` over later edits too."""
    if live.kind not in (FileKind.FILE, FileKind.ABSENT) or live.over_cap:
        found = "too large" if live.over_cap else live.kind.value
        return Restored(past.path, refusal=f"{past.path}: it is a {found}")
    if not past.is_whole:
        return Restored(past.path, refusal=f"{past.path}: its original is damaged or missing")
    if live.sha256 == past.before:
        return Restored(past.path)
    moved = bool(live.real) and live.real != past.real
    if live.sha256 == past.after and not moved:
        return _whole(past, live)
    if moved and not force:
        return _conflict(past, f"its links lead to {live.real} now, not to {past.real}")
    return _merged(past, live, force=force)


def _merged(past: Past, live: FileFact, *, force: bool) -> Restored:
    trouble = _no_merge(past, live)
    if trouble:
        return _whole(past, live) if force else _conflict(past, trouble)
    try:
        return _three_way(past, live, force=force)
    except DocumentError as error:
        return _whole(past, live) if force else _conflict(past, error.message)


def _no_merge(past: Past, live: FileFact) -> str:
    """Why there is nothing to merge key by key."""
    if past.store:
        return "it holds secrets, so it goes back as a whole only, and it was edited since"
    if not past.before:
        return "it was created by that change, and edited since"
    if not past.after:
        return "it was taken away by that change, and another stands there"
    if not live.exists:
        return "somebody removed it"
    return ""


def _conflict(past: Past, why: str) -> Restored:
    return Restored(past.path, conflicts=(f"{past.path}: {why}",))


def _whole(past: Past, live: FileFact) -> Restored:
    """The original as it was, or no file where there was none."""
    found = _found_differences(past, live)
    after = past.old or Sealed(b"")
    edit = FileEdit(live, past.dialect, (), after, tuple(one.path for one in found))
    job = original(past, live)
    if not past.store:
        job = replace(job, size=len(after))
    changes = tuple(_changes(past.path, found, live, past))
    return Restored(past.path, job, edit, changes, store=past.store)


def original(past: Past, live: FileFact) -> FileJob:
    """The job that brings the original back, whole, from where it is kept; no byte of it
    travels. Its size is not known here: it counts for the space that is needed."""
    return FileJob(
        past.target, past.path, live.real or past.real, live.sha256, past.before, live.size,
        live.size, mode=0o600 if past.store else past.mode,
        companion=past.companion if live.exists else "",
        origin=past.origin if past.before else None, store=past.store,
    )


def _found_differences(past: Past, live: FileFact) -> tuple[Difference, ...]:
    """How the original differs from what is there; nothing where a side does not parse."""
    if past.old is None or live.content is None:
        return ()
    try:
        return differences(_read(past.old, past), _read(live.content, past))
    except DocumentError:
        return ()


def _three_way(past: Past, live: FileFact, *, force: bool) -> Restored:
    assert past.old is not None and past.new is not None and live.content is not None
    ours = differences(_read(past.old, past), _read(past.new, past))
    document = _read(live.content, past)
    back = take_back(ours, document, force=force)
    if back.conflicts:
        return Restored(past.path, conflicts=tuple(
            f"{past.path}: {_told(one.path)} was changed by both: {_spell(one.after)} then, "
            f"{_now(document, one.path)} now, {_spell(one.before)} before"
            for one in back.conflicts
        ))
    notes = tuple(
        f"{past.path}: {_told(one.path)} is left: what held it is gone" for one in back.left
    )
    edited = document.edit(back.edits)
    if not edited.splices:
        return Restored(past.path, notes=notes)
    return _spliced(past, live, edited.splices, Sealed(edited.data), back.made, notes)


def _spliced(
    past: Past, live: FileFact, splices: tuple[Splice, ...], after: Sealed,
    made: tuple[Difference, ...], notes: tuple[str, ...],
) -> Restored:
    managed = tuple(one.path for one in made)
    edit = FileEdit(live, past.dialect, splices, after, managed, past.companion)
    job = FileJob.of(past.target, edit, past.companion)
    changes = tuple(
        Change(past.path, *_words(one.path), _shown(one.after), _shown(one.before))
        for one in made
    )
    notes = (*notes, f"{past.path}: edited since; later edits elsewhere in it stay")
    return Restored(past.path, replace(job, mode=past.mode), edit, changes, notes=notes)


def _changes(
    file: str, found: Iterable[Difference], live: FileFact, past: Past
) -> Iterator[Change]:
    if not past.before:
        yield Change(file, "file", "", "present", None)
    elif not live.exists:
        yield Change(file, "file", "", None, "present")
    elif past.store:
        yield Change(file, "key", "", "the new one", "the one before")
    for one in found:
        yield Change(file, *_words(one.path), _shown(one.after), _shown(one.before))


def _read(sealed: Sealed, past: Past) -> Document:
    return parse(sealed.reveal(), past.dialect)


def subjects(found: Iterable[Restored]) -> frozenset[str]:
    """The names (aliases) whose entries change: words that may be shown."""
    paths = (path for one in found if one.edit for path in one.edit.managed)
    return frozenset(
        step.value for path in paths for step in path if isinstance(step, Where)
    )


def _words(path: Path) -> tuple[str, str]:
    """A place as a subject (the alias, or what holds the key) and a key."""
    names = [step if isinstance(step, str | int) else step.value for step in path]
    if len(path) > 2 and isinstance(path[-3], Where):
        last = str(names[-1]) if isinstance(path[-1], str) else "entry"
        return str(names[-3]), f"{names[-2]}.{last}"
    if not isinstance(path[-1], str):
        return str(names[-1]), "entry"
    return str(names[-2]) if len(names) > 1 else "", str(names[-1])


def _told(path: Path) -> str:
    return " ".join(filter(None, _words(path)))


def _shown(value: Value | Missing) -> str | None:
    return None if isinstance(value, Missing) else _spell(value)


def _now(document: Document, path: Path) -> str:
    try:
        return _spell(document.value(path))
    except EditRefused:
        return "something else"


def _spell(value: Value | Missing) -> str:
    """A managed value as it is shown; text that is not ours to know stays away."""
    match value:
        case Missing():
            return "(absent)"
        case bool():
            return "true" if value else "false"
        case None:
            return "null"
        case list():
            return ", ".join(map(_spell, value)) or "(empty)"
        case dict():
            return "present"
    return words(str(value), limit=80)
