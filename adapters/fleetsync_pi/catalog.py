"""What Pi's models.json must hold, and what that takes out of settings.json.

Managed: contextWindow, maxTokens, input, reasoning and the catalog's compat keys of the
router's own entries. Everything else in both files is the user's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from fleetsync.adapter import Planned, Refusal, Target, Wish
from fleetsync.catalog import Alias
from fleetsync.documents import MISSING, Document, Path, Value
from fleetsync.draft import Draft, naming, spell
from fleetsync.errors import EditRefused
from fleetsync.rows import DEFAULTS, LIMITS, ids, left, managed, same, wished

from .files import MODELS, SETTINGS, document
from .router import entry_path, models_path, provider_path, unfit
from .settings import Settings, still_named
from .versions import Version


def plan(target: Target, versions: tuple[Version, ...]) -> Planned:
    """What must change in both files. Raises Unreadable or EditRefused, naming the file."""
    wish, file = target.wish, target.files[MODELS]
    with naming(file):
        found = document(file, MODELS)
        if found is None:
            raise EditRefused("is absent")
        refusals = tuple(
            Refusal(f"{file.path}: {one.reason}", one.step) for one in unfit(wish, found, versions)
        )
        if not isinstance(found.value(provider_path(wish)), dict):
            return Planned(refusals=refusals)
        draft = Draft(file, found)
        for alias in wish.aliases:
            _sync(draft, wish, alias)
        held = ids(found.value(models_path(wish)))
        leaving = tuple(name for name in held if name not in wish.known)
        notes = tuple(_overridden(found, wish, versions))
        if wish.policy.prune:
            _prune(draft, wish, leaving)
        so_far = Planned(draft.finish(), tuple(draft.changes), notes, refusals)
    with naming(target.files[SETTINGS]):
        return _with_settings(so_far, Settings.of(target), draft.added, leaving)


def _prune(draft: Draft, wish: Wish, leaving: tuple[str, ...]) -> None:
    """Take the entries of aliases that left out; what else stands in one stays masked."""
    for alias in leaving:
        path = entry_path(wish, alias)
        shown = tuple((*path, key) for key in ("id", *LIMITS, *DEFAULTS))
        draft.remove(alias, "entry", path, "present", shown)


def _with_settings(
    so_far: Planned, settings: Settings, added: list[str], leaving: tuple[str, ...]
) -> Planned:
    """The plan with what settings.json makes of it: what named the aliases that left."""
    policy, refusals = settings.wish.policy, so_far.refusals
    notes = (*so_far.notes, *settings.unlisted(added))
    if not (policy.prune and leaving):
        return replace(so_far, notes=(*notes, *left(leaving)))
    if dangling := tuple(settings.dangling(leaving)):
        if policy.dangling == "refuse":
            refusals = (*refusals, still_named(dangling))
        else:
            notes = (*notes, *dangling)
    drafts = settings.pruned(leaving)
    return Planned(
        (*so_far.edits, *(edit for each in drafts for edit in each.finish())),
        (*so_far.changes, *(change for each in drafts for change in each.changes)),
        notes,
        refusals,
    )


def _sync(draft: Draft, wish: Wish, alias: Alias) -> None:
    path, fields = entry_path(wish, alias.name), wished(alias)
    draft.managed += managed(path, fields)
    if draft.value(path) is MISSING:
        draft.append(alias.name, models_path(wish), {"id": alias.name, **fields})
        return
    for key, value in fields.items():
        if isinstance(value, dict):
            for name, wanted in value.items():
                if _compat(draft.document, wish, path, name) != wanted:
                    draft.put(alias.name, f"{key}.{name}", (*path, key, name), wanted)
        elif not same(key, draft.value((*path, key)), value):
            draft.put(alias.name, key, (*path, key), value)


def _compat(document: Document, wish: Wish, path: Path, name: str) -> object:
    """Pi lays an entry's compat over its provider's, key by key (0.73.1, 1.6.0)."""
    own = document.value((*path, "compat", name))
    return own if own is not MISSING else document.value((*provider_path(wish), "compat", name))


def overrides(found: Document, wish: Wish, alias: Alias) -> dict[str, Value]:
    """The managed fields that the user's modelOverrides hide for `alias`."""
    own = found.value((*provider_path(wish), "modelOverrides", alias.name))
    mine = wished(alias)
    return {k: v for k, v in own.items() if k in mine} if isinstance(own, dict) else {}


def _overridden(found: Document, wish: Wish, versions: tuple[Version, ...]) -> Iterator[str]:
    applies = any(version.overrides_apply for version in versions)
    verdict = "Pi uses that instead; it is left alone" if applies else "this Pi ignores it"
    for alias in wish.aliases:
        hidden = overrides(found, wish, alias)
        told = ", ".join(
            f"{key} {spell(value)}" if isinstance(value, int | float) else key
            for key, value in hidden.items()
        )
        if told:
            yield f"{alias.name}: overridden by the user's modelOverrides ({told}): {verdict}"
