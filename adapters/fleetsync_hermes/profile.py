"""What a profile starts a session with: its `model` section, as Hermes 0.19.0 reads it.

Keys that were once at the root count where `model` lacks them
(hermes_cli.config._normalize_root_model_keys).
"""

from __future__ import annotations

from dataclasses import dataclass

from fleetsync.documents import MISSING, Document, Missing, Value

from .entry import Entry, same_name


@dataclass(frozen=True, slots=True)
class Profile:
    """The provider and alias of a new session, and what is set for all aliases at once."""

    provider: str
    alias: str
    context_length: Value | Missing
    max_tokens: Value | Missing
    supports_vision: Value | Missing

    @classmethod
    def of(cls, found: Document) -> Profile:
        """Read it. Raises EditRefused where a key on the way stands twice."""
        model = found.node(("model",))
        plain = model is not None and not model.entries and not model.items
        alias = found.value(("model",)) if plain else _first(found, "default", "model", "name")
        return cls(
            _text(_own(found, "provider")).lower(),
            _text(alias),
            _own(found, "context_length"),
            found.value(("model", "max_tokens")) if not plain else MISSING,
            found.value(("model", "supports_vision")) if not plain else MISSING,
        )

    def uses(self, entry: Entry) -> bool:
        """Whether a session starts with this provider entry."""
        return same_name(self.provider).removeprefix("custom:") in entry.names


def whole(value: object) -> int | None:
    """The number that Hermes makes of a limit, None where it ignores it: `int()` of it."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = int(value)
    except (ValueError, OverflowError):
        return None
    return number if number > 0 else None


def _own(found: Document, key: str) -> Value | Missing:
    """A key of `model`, else of the root."""
    value = found.value(("model", key))
    return found.value((key,)) if value in (MISSING, None, "") else value


def _first(found: Document, *keys: str) -> Value | Missing:
    values = (found.value(("model", key)) for key in keys)
    return next((value for value in values if value not in (MISSING, None, "")), MISSING)


def _text(value: Value | Missing) -> str:
    return value.strip() if isinstance(value, str) else ""
