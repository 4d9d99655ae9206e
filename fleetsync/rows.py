"""An alias as one row of a JSON list, as Pi and OpenClaw keep it. Pure.

Both spell the contract alike: `id`, contextWindow, maxTokens, input, reasoning, compat.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from fleetsync.catalog import Alias
from fleetsync.documents import MISSING, Path, Value

DEFAULTS: Mapping[str, Value] = {"reasoning": False, "input": ["text"]}
"""What is taken where a row says nothing (Pi 0.73.1 and 1.6.0, OpenClaw 2026.6.11 and
2026.9.6). The two limits have defaults as well, but are always written out."""
LIMITS = ("contextWindow", "maxTokens")


def wished(alias: Alias) -> dict[str, Value]:
    """The managed fields of a row; `compat` only where the catalog has some."""
    fields: dict[str, Value] = {
        "contextWindow": alias.context_window,
        "maxTokens": alias.max_output_tokens,
        "input": list(alias.input),
        "reasoning": alias.reasoning,
    }
    compat = {camel(key): _plain(value) for key, value in alias.compat.items()}
    return {**fields, "compat": compat} if compat else fields


def camel(key: str) -> str:
    """`supports_usage_in_streaming` as the clients spell it: supportsUsageInStreaming."""
    head, *tail = key.split("_")
    return head + "".join(part[:1].upper() + part[1:] for part in tail)


def _plain(value: bool | int | str | tuple[str, ...]) -> Value:
    return list(value) if isinstance(value, tuple) else value


def managed(path: Path, fields: Mapping[str, Value]) -> Iterator[Path]:
    """The paths of the row at `path` whose values may be shown."""
    yield (*path, "id")
    for key, value in fields.items():
        if isinstance(value, dict):
            yield from ((*path, key, name) for name in value)
        else:
            yield (*path, key)


def same(key: str, found: object, wanted: object) -> bool:
    """Whether a client would use `wanted` for a field that holds `found` (or MISSING)."""
    if found is MISSING:
        found = DEFAULTS.get(key, MISSING)
    if key == "input" and isinstance(found, list) and isinstance(wanted, list):
        return set(map(str, found)) == set(map(str, wanted))
    if isinstance(found, bool) or isinstance(wanted, bool):
        return found is wanted
    return found == wanted


def ids(found: object) -> tuple[str, ...]:
    """The ids in a list of rows, whatever else stands in it."""
    items = found if isinstance(found, list) else []
    named = (item.get("id") for item in items if isinstance(item, dict))
    return tuple(name for name in named if isinstance(name, str))


def left(leaving: tuple[str, ...]) -> Iterator[str]:
    """The note about aliases that left the catalog and stay in the file."""
    if leaving:
        yield f"not in the catalog, left alone (policy prune = false): {', '.join(leaving)}"
