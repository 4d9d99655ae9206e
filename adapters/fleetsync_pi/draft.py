"""Edits of one file while they are gathered, each beside what is shown of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from fleetsync.adapter import Change, FileEdit
from fleetsync.documents import (
    MISSING,
    Append,
    Dialect,
    Document,
    Edit,
    Path,
    Remove,
    Set,
    Value,
    parse,
)
from fleetsync.errors import DocumentError, EditRefused
from fleetsync.facts import FileFact, Sealed

MODELS, SETTINGS = "models", "settings"
DIALECTS = {MODELS: Dialect.JSON_COMMENTS, SETTINGS: Dialect.JSON}
"""models.json may hold `//` comments and trailing commas, settings.json may not (1.6.0).
Pi takes a lock directory beside settings.json for a write, and has none for models.json."""


def document(fact: FileFact, role: str) -> Document | None:
    """The parsed file, None where it is absent. Raises Unreadable."""
    return None if fact.content is None else parse(fact.content.reveal(), DIALECTS[role])


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
    """What shall become of one file. `managed` are the paths that may be shown."""

    file: FileFact
    role: str
    document: Document
    edits: list[Edit] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    managed: list[Path] = field(default_factory=list)
    added: list[str] = field(default_factory=list)

    def put(self, subject: str, key: str, path: Path, value: Value) -> None:
        """Make `path` hold `value`, shown as `subject  key  before -> after`."""
        before = self.document.value(path)
        self.edits.append(Set(path, value))
        self._show(subject, key, None if before is MISSING else spell(before), spell(value))

    def add(self, subject: str, path: Path, entry: Mapping[str, Value]) -> None:
        """Add `entry` to the list at `path`, shown field by field."""
        self.edits.append(Append(path, dict(entry)))
        self.added.append(subject)
        for key, value in entry.items():
            if isinstance(value, dict):
                for name, inner in value.items():
                    self._show(subject, f"{key}.{name}", None, spell(inner))
            else:
                self._show(subject, key, None, spell(value))

    def remove(
        self, subject: str, key: str, path: Path, before: str, shown: Iterable[Path]
    ) -> None:
        """Take the node at `path` out, shown as `subject  key  before -> (gone)`; `shown`
        are the paths of it that may be seen."""
        self.edits.append(Remove(path))
        self.managed += shown
        self._show(subject, key, before, None)

    def _show(self, subject: str, key: str, before: str | None, after: str | None) -> None:
        self.changes.append(Change(self.file.path, subject, key, before, after))

    def finish(self) -> tuple[FileEdit, ...]:
        """The proved edit; nothing where nothing changes. Raises EditRefused."""
        edited = self.document.edit(self.edits)
        if not edited.splices:
            return ()
        dialect, after = DIALECTS[self.role], Sealed(edited.data)
        managed = tuple(filter(self._is_plain, self.managed))
        lock = f"{self.file.path}.lock" if self.role == SETTINGS else ""
        return (FileEdit(self.file, dialect, edited.splices, after, managed, lock),)

    def _is_plain(self, path: Path) -> bool:
        """Whether nothing but plain values stands where a managed one is expected."""
        try:
            return is_plain(self.document.value(path))
        except EditRefused:
            return False
