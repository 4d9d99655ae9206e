"""Edits of one file while an adapter gathers them, each beside what is shown of it. Pure.

An adapter says which managed value becomes what; the draft proves the edit, and keeps
what may be shown apart from what the file holds besides.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from fleetsync.adapter import Change, FileEdit
from fleetsync.documents import MISSING, Append, Document, Edit, Missing, Path, Remove, Set, Value
from fleetsync.errors import DocumentError, EditRefused
from fleetsync.facts import FileFact
from fleetsync.sealed import Sealed


@contextmanager
def naming(file: FileFact) -> Iterator[None]:
    """What goes wrong with a file is said with its path."""
    try:
        yield
    except DocumentError as error:
        raise type(error)(f"{file.path}: {error.message}", hint=error.hint) from None


def spell(value: object) -> str:
    """A managed value as it is shown: numbers bare, lists as `text, image`. Of values in
    one another, which no managed value is, nothing is shown: they may be anything."""
    if not is_plain(value):
        return "(nested values)"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return ", ".join(map(spell, value)) or "(empty)"
    return "null" if value is None else str(value)


def is_plain(value: object) -> bool:
    """Whether it is what a managed value can be: a scalar, or a list of scalars."""
    values = value if isinstance(value, list) else [value]
    return not any(isinstance(one, dict | list) for one in values)


@dataclass(slots=True)
class Draft:
    """What shall become of one file.

    `companion` is a lock directory that the client itself honours. `managed` are the
    paths whose values may be shown; `added` the subjects that get a new entry.
    """

    file: FileFact
    document: Document
    companion: str = ""
    edits: list[Edit] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    managed: list[Path] = field(default_factory=list)
    added: list[str] = field(default_factory=list)

    def value(self, path: Path) -> Value | Missing:
        """What stands at `path` before the edits. Raises EditRefused."""
        return self.document.value(path)

    def put(self, subject: str, key: str, path: Path, value: Value) -> None:
        """Make `path` hold `value`, shown as `subject  key  before -> after`."""
        before = self.value(path)
        self.edits.append(Set(path, value))
        self._show(subject, key, None if before is MISSING else spell(before), spell(value))

    def append(self, subject: str, path: Path, entry: Mapping[str, Value]) -> None:
        """Add `entry` to the list at `path`, shown field by field."""
        self.edits.append(Append(path, dict(entry)))
        self._show_entry(subject, entry)

    def insert(self, subject: str, path: Path, entry: Mapping[str, Value]) -> None:
        """Make `path` hold the new `entry` of a mapping, shown field by field."""
        self.edits.append(Set(path, dict(entry)))
        self._show_entry(subject, entry)

    def remove(
        self, subject: str, key: str, path: Path, before: str, shown: Iterable[Path] = ()
    ) -> None:
        """Take the node at `path` out, shown as `subject  key  before -> (gone)`; `shown`
        are the paths of it that may be seen."""
        self.edits.append(Remove(path))
        self.managed += shown
        self._show(subject, key, before, None)

    def finish(self) -> tuple[FileEdit, ...]:
        """The proved edit; nothing where nothing changes. Raises EditRefused."""
        edited = self.document.edit(self.edits)
        if not edited.splices:
            return ()
        managed = tuple(filter(self._is_plain, self.managed))
        after, dialect = Sealed(edited.data), self.document.dialect
        return (FileEdit(self.file, dialect, edited.splices, after, managed, self.companion),)

    def _show_entry(self, subject: str, entry: Mapping[str, Value]) -> None:
        self.added.append(subject)
        for key, value in entry.items():
            if isinstance(value, dict):
                for name, inner in value.items():
                    self._show(subject, f"{key}.{name}", None, spell(inner))
            else:
                self._show(subject, key, None, spell(value))

    def _show(self, subject: str, key: str, before: str | None, after: str | None) -> None:
        self.changes.append(Change(self.file.path, subject, key, before, after))

    def _is_plain(self, path: Path) -> bool:
        """Whether nothing but plain values stands where a managed one is expected."""
        try:
            return is_plain(self.document.value(path))
        except EditRefused:
            return False
