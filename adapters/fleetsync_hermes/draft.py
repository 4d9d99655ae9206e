"""Edits of one config.yaml while they are gathered, each beside what is shown of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from fleetsync.adapter import Change, FileEdit
from fleetsync.documents import (
    MISSING,
    Dialect,
    Document,
    Edit,
    Missing,
    Path,
    Remove,
    Set,
    Value,
    parse,
)
from fleetsync.facts import FileFact, Sealed

CONFIG, CACHE = "config", "cache"


_PARSED: WeakKeyDictionary[Sealed, Document] = WeakKeyDictionary()
"""A file is asked about several times, and reading it costs most. A document stays here no
longer than the bytes that it was read from."""


def document(fact: FileFact) -> Document | None:
    """The parsed file, None where it is absent. Raises Unreadable."""
    if fact.content is None:
        return None
    known = _PARSED.get(fact.content)
    if known is None:
        known = _PARSED[fact.content] = parse(fact.content.reveal(), Dialect.YAML)
    return known


def spell(value: Value | Missing) -> str:
    """A managed value as it is shown."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return "null" if value is None else str(value)


@dataclass(slots=True)
class Draft:
    """What shall become of the file. `managed` are the paths that may be shown."""

    file: FileFact
    document: Document
    edits: list[Edit] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    managed: list[Path] = field(default_factory=list)

    def put(self, subject: str, key: str, path: Path, value: Value) -> None:
        """Make `path` hold `value`, shown as `subject  key  before -> after`."""
        before = self.document.value(path)
        self.edits.append(Set(path, value))
        self._show(subject, key, None if before is MISSING else spell(before), spell(value))

    def add(self, subject: str, path: Path, entry: Mapping[str, Value]) -> None:
        """Make `path` hold the new `entry`, shown field by field."""
        self.edits.append(Set(path, dict(entry)))
        for key, value in entry.items():
            self._show(subject, key, None, spell(value))

    def remove(self, subject: str, path: Path) -> None:
        """Take the entry at `path` out."""
        self.edits.append(Remove(path))
        self.managed.append(path)
        self._show(subject, "entry", "present", None)

    def _show(self, subject: str, key: str, before: str | None, after: str | None) -> None:
        self.changes.append(Change(self.file.path, subject, key, before, after))

    def finish(self) -> tuple[FileEdit, ...]:
        """The proved edit; nothing where nothing changes. Raises EditRefused."""
        edited = self.document.edit(self.edits)
        if not edited.splices:
            return ()
        after = Sealed(edited.data)
        return (FileEdit(self.file, Dialect.YAML, edited.splices, after, tuple(self.managed)),)
