"""Edits of one file while they are gathered, each beside what is shown of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from fleetsync.adapter import Change, FileEdit
from fleetsync.documents import MISSING, Append, Dialect, Edit, Path, Remove, Set, Value
from fleetsync.errors import EditRefused
from fleetsync.facts import Sealed

from .config import Owner


def spell(value: object) -> str:
    """A managed value as it is shown: numbers bare, lists as `text, image`."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return ", ".join(map(spell, value)) or "(empty)"
    return "null" if value is None else str(value)


@dataclass(slots=True)
class Draft:
    """What shall become of the file that owns the router's models.

    `managed` are the paths whose values may be shown.
    """

    owner: Owner
    edits: list[Edit] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    managed: list[Path] = field(default_factory=list)
    added: list[str] = field(default_factory=list)

    def value(self, path: Path) -> object:
        """What stands at `path` before the edits, or MISSING."""
        return self.owner.document.value(path)

    def put(self, subject: str, key: str, path: Path, value: Value) -> None:
        """Make `path` hold `value`, shown as `subject  key  before -> after`."""
        before = self.value(path)
        self.edits.append(Set(path, value))
        self._show(subject, key, None if before is MISSING else spell(before), spell(value))

    def add(self, subject: str, path: Path, entry: Mapping[str, Value]) -> None:
        """Add `entry` to the list at `path`, shown field by field. Raises EditRefused."""
        if not path:
            raise EditRefused(
                f"{subject} has no entry, and {self.owner.role} is the list itself",
                hint=f"add an entry with this id to {self.owner.fact.path} on the host",
            )
        self.edits.append(Append(path, dict(entry)))
        self.added.append(subject)
        for key, value in entry.items():
            if isinstance(value, dict):
                for name, inner in value.items():
                    self._show(subject, f"{key}.{name}", None, spell(inner))
            else:
                self._show(subject, key, None, spell(value))

    def remove(self, subject: str, path: Path) -> None:
        """Take the entry at `path` out."""
        self.edits.append(Remove(path))
        self.managed.append(path)
        self._show(subject, "entry", "present", None)

    def _show(self, subject: str, key: str, before: str | None, after: str | None) -> None:
        self.changes.append(Change(self.owner.fact.path, subject, key, before, after))

    def finish(self) -> tuple[FileEdit, ...]:
        """The proved edit; nothing where nothing changes. Raises EditRefused."""
        edited = self.owner.document.edit(self.edits)
        if not edited.splices:
            return ()
        after, managed = Sealed(edited.data), tuple(self.managed)
        return (FileEdit(self.owner.fact, Dialect.JSON5, edited.splices, after, managed),)
