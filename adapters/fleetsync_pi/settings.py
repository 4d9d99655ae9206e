"""Pi's settings.json: the user's choices. Only references we owned are ever taken out.

Measured on 1.6.0 and 0.73.1: an `enabledModels` row that matches nothing is warned
about at every start; a gone defaultModel silently becomes the first model.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from fleetsync.adapter import Refusal, Target, Wish
from fleetsync.documents import MISSING, Document, Item
from fleetsync.draft import Draft

from .files import SETTINGS, document

_ENABLED = ("enabledModels",)
_LEVELS = frozenset({"off", "minimal", "low", "medium", "high", "xhigh", "max"})


@dataclass(frozen=True, slots=True)
class Settings:
    """One host's settings.json as far as it names aliases."""

    target: Target
    found: Document | None

    @classmethod
    def of(cls, target: Target) -> Settings:
        """Read it from the target. Raises Unreadable."""
        return cls(target, document(target.files[SETTINGS], SETTINGS))

    @property
    def wish(self) -> Wish:
        """The wish of the target."""
        return self.target.wish

    def _enabled(self) -> tuple[str, ...]:
        rows = self.found.value(_ENABLED) if self.found else MISSING
        return tuple(r for r in rows if isinstance(r, str)) if isinstance(rows, list) else ()

    @property
    def patterns(self) -> tuple[str, ...]:
        """The user's patterns for the models to choose from, in order."""
        return self._enabled()

    @property
    def chosen(self) -> tuple[str, str]:
        """The user's own provider and model, "" where there is none."""
        keys = (("defaultProvider",), ("defaultModel",))
        values = [self.found.value(key) if self.found else MISSING for key in keys]
        provider, model = (value if isinstance(value, str) else "" for value in values)
        return provider, model

    def unlisted(self, added: Collection[str]) -> Iterator[str]:
        """A note for each new alias that the user's own list leaves out."""
        provider = self.wish.provider
        if not any(row.startswith(f"{provider}/") for row in self._enabled()):
            return
        for alias in added:
            if not any(names(row, provider, alias) for row in self._enabled()):
                yield (
                    f"{alias}: the user's enabledModels in settings.json does not name it; "
                    "add it there to have it among the scoped models"
                )

    def dangling(self, leaving: Collection[str]) -> Iterator[str]:
        """Choices of the user that name an alias which leaves; they are never edited."""
        if self.found is None:
            return
        for alias in leaving:
            reference = f"{self.wish.provider}/{alias}"
            if self.chosen == (self.wish.provider, alias):
                yield f"settings.json defaultModel names {reference}"
            for keys in (("modelThinkingLevels",), ("compaction", "modelOverrides")):
                if self.found.value((*keys, reference)) is not MISSING:
                    yield f"settings.json {'.'.join(keys)} names {reference}"

    def pruned(self, leaving: Collection[str]) -> tuple[Draft, ...]:
        """The draft that takes the exact `enabledModels` rows of `leaving` out."""
        if self.found is None:
            return ()
        # Pi takes a lock directory beside settings.json for a write, none for models.json.
        file = self.target.files[SETTINGS]
        draft = Draft(file, self.found, f"{file.path}.lock")
        for row in dict.fromkeys(self._enabled()):
            if any(names(row, self.wish.provider, alias) for alias in leaving):
                path = (*_ENABLED, Item(row))
                draft.remove("enabledModels", row, path, "listed", (path,))
        return (draft,)


def names(row: str, provider: str, alias: str) -> bool:
    """Whether a row is exactly `provider/alias` or `provider/alias:level`: no glob, no
    bare id, no fuzzy pattern, which are the user's own."""
    head, _, level = row.rpartition(":")
    exact = f"{provider}/{alias}"
    return row == exact or (head == exact and level in _LEVELS)


def still_named(dangling: Collection[str]) -> Refusal:
    """The refusal where aliases that leave are still chosen."""
    return Refusal(
        "aliases that leave the catalog are still in use: " + "; ".join(dangling),
        'choose another model in Pi there, or set policy dangling = "report"',
    )
