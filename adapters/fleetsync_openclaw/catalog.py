"""What openclaw.json, or the file it includes, must hold for the router's models.

Managed: contextWindow, maxTokens, input, reasoning and those of the catalog's compat keys
that the installed version's schema knows. Everything else is the user's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce

from fleetsync.adapter import Planned, Refusal, Target, Wish
from fleetsync.catalog import Alias
from fleetsync.documents import MISSING, Value, Where
from fleetsync.draft import Draft, spell
from fleetsync.errors import EditRefused
from fleetsync.rows import DEFAULTS, LIMITS, camel, ids, left, managed, same, wished

from .config import INCLUDE, Config, Owner, at
from .preset import judge_preset
from .references import References
from .router import provider_keys, rows, unfit
from .selectable import unselectable
from .versions import Version


def fields_of(alias: Alias, known: frozenset[str]) -> dict[str, Value]:
    """The managed fields of one alias; `known` are the compat keys that every installed
    version's schema has."""
    fields = wished(alias)
    compat = fields.pop("compat", {})
    kept = {k: v for k, v in compat.items() if k in known} if isinstance(compat, dict) else {}
    return {**fields, "compat": kept} if kept else fields


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
    owner, known = _owner(config, wish), known_compat(versions)
    draft, held = Draft(owner.fact, owner.document), ids(owner.document.value(owner.path))
    for alias in wish.aliases:
        _sync(draft, owner, alias, known)
    leaving = tuple(name for name in held if name not in wish.known)
    references = References.of(wish.provider, effective)
    preset = judge_preset(wish, effective, versions)
    notes = (
        *_unknown_compat(wish, known, versions),
        *_capped(wish, effective),
        *unselectable(wish, effective),
        *references.nowhere({*held, *draft.added}),
        *preset.notes,
    )
    so_far = Planned(notes=notes, refusals=(*refusals, *preset.refusals))
    if leaving and wish.policy.prune:
        for alias_id in leaving:
            path = (*owner.path, Where("id", alias_id))
            shown = ((*path, key) for key in ("id", *LIMITS, *DEFAULTS))
            draft.remove(alias_id, "entry", path, "present", shown)
        return _pruned(draft, wish, leaving, references, so_far)
    notes = (*notes, *left(leaving))
    return Planned(draft.finish(), tuple(draft.changes), notes, so_far.refusals)


def _pruned(
    draft: Draft, wish: Wish, leaving: tuple[str, ...], references: References, so_far: Planned
) -> Planned:
    """The plan with the entries of aliases that left taken out, and what still names them."""
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


def _sync(draft: Draft, owner: Owner, alias: Alias, known: frozenset[str]) -> None:
    path, fields = (*owner.path, Where("id", alias.name)), fields_of(alias, known)
    draft.managed += managed(path, fields)
    if draft.value(path) is MISSING:
        _add(draft, owner, alias, fields)
        return
    for key, value in fields.items():
        if isinstance(value, dict):
            for name, wanted in value.items():
                if draft.value((*path, key, name)) != wanted:
                    draft.put(alias.name, f"{key}.{name}", (*path, key, name), wanted)
        elif not same(key, draft.value((*path, key)), value):
            draft.put(alias.name, key, (*path, key), value)


def _add(draft: Draft, owner: Owner, alias: Alias, fields: dict[str, Value]) -> None:
    if not owner.path:
        raise EditRefused(
            f"{alias.name} has no entry, and {owner.role} is the list itself",
            hint=f"add an entry with this id to {owner.fact.path} on the host",
        )
    draft.managed.append((*owner.path, Where("id", alias.name), "name"))
    draft.append(alias.name, owner.path, {"id": alias.name, "name": alias.name, **fields})


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


def still_named(dangling: Iterable[str]) -> Refusal:
    """The refusal where aliases that leave are still chosen."""
    return Refusal(
        "aliases that leave the catalog are still in use: " + "; ".join(dangling),
        'choose another model in OpenClaw there, or set policy dangling = "report"',
    )
