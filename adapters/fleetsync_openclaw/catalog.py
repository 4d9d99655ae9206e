"""What openclaw.json, or the file it includes, must hold for the router's models.

Managed: contextWindow, maxTokens, input, reasoning and those of the catalog's compat keys
that the installed version's schema knows. Everything else is the user's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import reduce

from fleetsync.adapter import Planned, Refusal, Target, Wish
from fleetsync.catalog import Alias
from fleetsync.documents import MISSING, Path, Value, Where
from fleetsync.errors import EditRefused

from .config import INCLUDE, Config, Owner, at
from .draft import Draft, spell
from .preset import judge_preset
from .references import References
from .router import provider_keys, rows, unfit
from .selectable import unselectable
from .versions import Version

DEFAULTS: Mapping[str, Value] = {"reasoning": False, "input": ["text"]}
"""What OpenClaw takes where an entry says nothing (2026.6.11, 2026.9.6). The two limits
have defaults as well (128000 shown, 8192), but are always written out."""


def wished(alias: Alias, known: frozenset[str]) -> dict[str, Value]:
    """The managed fields of one alias in OpenClaw's words; `known` are the compat keys
    that every installed version's schema has."""
    fields: dict[str, Value] = {
        "contextWindow": alias.context_window,
        "maxTokens": alias.max_output_tokens,
        "input": list(alias.input),
        "reasoning": alias.reasoning,
    }
    compat = {camel(key): _plain(value) for key, value in alias.compat.items()}
    compat = {key: value for key, value in compat.items() if key in known}
    return {**fields, "compat": compat} if compat else fields


def camel(key: str) -> str:
    """`supports_usage_in_streaming` as OpenClaw spells it: supportsUsageInStreaming."""
    head, *tail = key.split("_")
    return head + "".join(part[:1].upper() + part[1:] for part in tail)


def _plain(value: bool | int | str | tuple[str, ...]) -> Value:
    return list(value) if isinstance(value, tuple) else value


def known_compat(versions: Iterable[Version]) -> frozenset[str]:
    """The compat keys that all of `versions` know; all keys where there is none."""
    sets = [version.compat for version in versions]
    return reduce(frozenset.intersection, sets) if sets else frozenset()


def plan(target: Target, versions: tuple[Version, ...]) -> Planned:
    """What must change. Raises Unreadable or EditRefused."""
    wish, config = target.wish, Config.of(target.files)
    effective = config.effective()
    refusals = tuple(unfit(wish, effective))
    if not isinstance(at(effective, *provider_keys(wish)), dict):
        return Planned(refusals=refusals)
    draft, known = Draft(_owner(config, wish)), known_compat(versions)
    for alias in wish.aliases:
        _sync(draft, wish, alias, known)
    leaving = tuple(name for name in _ids(draft) if name not in wish.known)
    references = References.of(wish.provider, effective)
    preset = judge_preset(wish, effective, versions)
    notes = (
        *_unknown_compat(wish, known, versions),
        *_capped(wish, effective),
        *unselectable(wish, effective),
        *references.nowhere({*_ids(draft), *draft.added}),
        *preset.notes,
    )
    so_far = Planned(notes=notes, refusals=(*refusals, *preset.refusals))
    if leaving and wish.policy.prune:
        return _pruned(draft, wish, leaving, references, so_far)
    notes = (*notes, *_left(leaving))
    return Planned(draft.finish(), tuple(draft.changes), notes, so_far.refusals)


def _pruned(
    draft: Draft, wish: Wish, leaving: tuple[str, ...], references: References, so_far: Planned
) -> Planned:
    """The plan with the entries of aliases that left taken out."""
    for alias in leaving:
        draft.remove(alias, (*draft.owner.path, Where("id", alias)))
    notes, refusals = so_far.notes, so_far.refusals
    if dangling := tuple(references.to(leaving)):
        if wish.policy.dangling == "refuse":
            refusals = (*refusals, still_named(dangling))
        else:
            notes = (*notes, *dangling)
    return Planned(draft.finish(), tuple(draft.changes), notes, refusals)


def _owner(config: Config, wish: Wish) -> Owner:
    """The one file that holds the router's models. Raises EditRefused."""
    owner = config.owner((*provider_keys(wish), "models"))
    found = owner.document.value(owner.path)
    for index, row in enumerate(found if isinstance(found, list) else ()):
        if isinstance(row, dict) and (INCLUDE in row or INCLUDE in str(row.get("compat"))):
            line, column = owner.document.place((*owner.path, index))
            raise EditRefused(
                "an entry of the router's models is an included file", line, column,
                "write the entry into the list itself, then run again",
            )
    return owner


def _sync(draft: Draft, wish: Wish, alias: Alias, known: frozenset[str]) -> None:
    path, fields = (*draft.owner.path, Where("id", alias.name)), wished(alias, known)
    draft.managed += _managed(path, fields)
    if draft.value(path) is MISSING:
        draft.managed.append((*path, "name"))
        entry: dict[str, Value] = {"id": alias.name, "name": alias.name, **fields}
        draft.add(alias.name, draft.owner.path, entry)
        return
    for key, value in fields.items():
        if isinstance(value, dict):
            for name, wanted in value.items():
                if draft.value((*path, key, name)) != wanted:
                    draft.put(alias.name, f"{key}.{name}", (*path, key, name), wanted)
        elif not same(key, draft.value((*path, key)), value):
            draft.put(alias.name, key, (*path, key), value)


def _managed(path: Path, fields: Mapping[str, Value]) -> Iterator[Path]:
    yield (*path, "id")
    for key, value in fields.items():
        if isinstance(value, dict):
            yield from ((*path, key, name) for name in value)
        else:
            yield (*path, key)


def same(key: str, found: object, wanted: object) -> bool:
    """Whether OpenClaw would use `wanted` for a field that holds `found` (or MISSING)."""
    if found is MISSING or found is None:
        found = DEFAULTS.get(key, MISSING)
    if key == "input" and isinstance(found, list) and isinstance(wanted, list):
        return set(map(str, found)) == set(map(str, wanted))
    if isinstance(found, bool) or isinstance(wanted, bool):
        return found is wanted
    return found == wanted


def _ids(draft: Draft) -> tuple[str, ...]:
    found = draft.value(draft.owner.path)
    items = found if isinstance(found, list) else []
    ids = (item.get("id") for item in items if isinstance(item, dict))
    return tuple(name for name in ids if isinstance(name, str))


def _unknown_compat(
    wish: Wish, known: frozenset[str], versions: tuple[Version, ...]
) -> Iterator[str]:
    told = ", ".join(version.text for version in versions)
    for alias in wish.aliases:
        unknown = ", ".join(sorted(set(map(camel, alias.compat)) - known))
        if unknown:
            yield (
                f"{alias.name}: compat {unknown} left out: the schema of OpenClaw {told} does "
                "not know it, and one unknown key keeps a gateway from starting"
            )


def _capped(wish: Wish, effective: object) -> Iterator[str]:
    windows = {alias.name: alias.context_window for alias in wish.aliases}
    for row in rows(wish, effective):
        cap, window = row.get("contextTokens"), windows.get(str(row.get("id")))
        if isinstance(cap, int | float) and window is not None and cap < window:
            yield (
                f"{row['id']}: the user's contextTokens {spell(cap)} caps the window of {window}; "
                "it is left alone"
            )


def _left(leaving: tuple[str, ...]) -> Iterator[str]:
    if leaving:
        yield f"not in the catalog, left alone (policy prune = false): {', '.join(leaving)}"


def still_named(dangling: Iterable[str]) -> Refusal:
    """The refusal where aliases that leave are still chosen."""
    return Refusal(
        "aliases that leave the catalog are still in use: " + "; ".join(dangling),
        'choose another model in OpenClaw there, or set policy dangling = "report"',
    )
