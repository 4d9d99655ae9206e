"""Which settings of the user name a model of the router. They are reported, never edited.

Any string of the configuration that is exactly `provider/id` (or `provider/id@profile`) is
such a name, wherever it stands: primary, fallbacks, the image, utility, voice and media
models, sub-agents, heartbeat, compaction, each agent's own; so is a key of a models map.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

_WILD = "*"


@dataclass(frozen=True, slots=True)
class References:
    """Every place that names a model of one provider, as (dotted path, model id)."""

    provider: str
    places: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, provider: str, effective: object) -> References:
        """Those of an effective configuration; the provider's own entries are none."""
        top = effective if isinstance(effective, dict) else {}
        found = (
            place for key, value in top.items() if key != "models"
            for place in _walk(f"{provider}/", key, value)
        )
        return cls(provider, tuple(found))

    def to(self, leaving: Collection[str]) -> Iterator[str]:
        """The places that name one of `leaving`."""
        for where, name in self.places:
            if name in leaving:
                yield f"{where} names {self.provider}/{name}"

    def nowhere(self, present: Collection[str]) -> Iterator[str]:
        """The places that name a model of the router which has no entry at all."""
        for where, name in self.places:
            if name not in present:
                yield f"{where} names {self.provider}/{name}, which has no entry"


def _walk(prefix: str, where: str, value: object) -> Iterator[tuple[str, str]]:
    if isinstance(value, str) and (name := _name(prefix, value)):
        yield where, name
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _walk(prefix, f"{where}[{index}]", item)
    elif isinstance(value, dict):
        for key, item in value.items():
            if name := _name(prefix, key):
                yield where, name
            yield from _walk(prefix, f"{where}.{key}", item)


def _name(prefix: str, text: str) -> str:
    """The model id that `text` names, "" where it names none of this provider."""
    if not text.startswith(prefix) or any(char.isspace() for char in text):
        return ""
    name = text.removeprefix(prefix).partition("@")[0]
    return "" if _WILD in name else name
