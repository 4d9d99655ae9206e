"""What a profile's config.yaml must hold, and what it must no longer.

Managed: `context_length` and `supports_vision` of the router's aliases; where the policy
says so, the profile's `model.max_tokens` and `agent.reasoning_overrides`. Everything else
in the file is the user's.
"""

from __future__ import annotations

from collections.abc import Iterator

from fleetsync.adapter import Planned, Refusal, Target
from fleetsync.catalog import Alias
from fleetsync.documents import MISSING, Missing, Path, Value
from fleetsync.draft import Draft
from fleetsync.errors import DocumentError, EditRefused
from fleetsync.rows import left

from . import reports
from .entry import Entry
from .files import CACHE, CONFIG, document
from .profile import whole
from .references import dangling
from .router import Seen, unfit
from .versions import Version

PROFILE = "profile"
"""The subject of a change that holds for the whole profile."""


def wished(alias: Alias) -> dict[str, Value]:
    """The managed fields of one alias in Hermes' words."""
    return {
        "context_length": alias.context_window,
        "supports_vision": "image" in alias.input,
    }


def plan(target: Target, versions: tuple[Version, ...]) -> Planned:
    """What must change in the file. Raises Unreadable or EditRefused."""
    file = target.files[CONFIG]
    found = document(file)
    if found is None:
        raise EditRefused("config.yaml is absent")
    seen = Seen.of(target.wish, found)
    refusals = tuple(unfit(seen))
    if seen.entry is None or not seen.takes_models:
        return Planned(refusals=refusals)
    draft = Draft(file, found)
    for alias in seen.wish.aliases:
        _sync(draft, seen.entry, alias)
    _sync_profile(draft, seen, versions)
    refusals, notes = _prune(draft, seen, seen.entry, refusals)
    edits = draft.finish()
    told = reports.notes(seen, seen.entry, target.files[CACHE], versions)
    return Planned(
        edits, tuple(draft.changes), (*told, *notes, *reports.restart(edits)), refusals
    )


def default_alias(target: Target) -> str:
    """The alias that a session of the profile starts with, "" where it is none of ours."""
    try:
        found = document(target.files[CONFIG])
        seen = Seen.of(target.wish, found) if found is not None else None
    except DocumentError:
        return ""
    if seen is None or seen.entry is None or not seen.profile.uses(seen.entry):
        return ""
    names = {alias.name for alias in seen.wish.aliases}
    return seen.profile.alias if seen.profile.alias in names else ""


def _sync(draft: Draft, entry: Entry, alias: Alias) -> None:
    path, fields = (*entry.models, alias.name), wished(alias)
    draft.managed += ((*path, key) for key in fields)
    if draft.value(path) is MISSING:
        draft.insert(alias.name, path, fields)
        return
    for key, value in fields.items():
        if not same(draft.value((*path, key)), value):
            draft.put(alias.name, key, (*path, key), value)


def same(found: Value | Missing, wanted: Value) -> bool:
    """Whether Hermes makes `wanted` of a field that holds `found` (or MISSING).

    A number in quotes counts as that number; an alias that says nothing of images gets
    text only (0.19.0, hermes_cli.config and agent.image_routing).
    """
    if isinstance(wanted, bool):
        return sees(found) is wanted
    return whole(found) == wanted


def sees(found: object) -> bool:
    """Whether Hermes sends images to an alias whose supports_vision is `found`."""
    return str(found).strip().lower() in {"true", "1", "yes", "on"}


def _sync_profile(draft: Draft, seen: Seen, versions: tuple[Version, ...]) -> None:
    """What the policy alone makes ours, where this version reads it."""
    cap = output_cap(seen)
    if cap is not None and any(version.sends_max_tokens for version in versions):
        path = ("model", "max_tokens")
        draft.managed.append(path)
        if whole(draft.value(path)) != cap:
            draft.put(PROFILE, "model.max_tokens", path, cap)
    policy, aliases = seen.wish.policy, seen.wish.aliases
    if policy.manage_reasoning and any(version.reasoning_overrides for version in versions):
        for alias in aliases:
            _sync_reasoning(draft, alias)


def output_cap(seen: Seen) -> int | None:
    """What `model.max_tokens` must be: the smallest limit of the router's aliases. None
    where it is not ours: it holds for whatever provider the profile starts with."""
    uses = seen.entry is not None and seen.profile.uses(seen.entry)
    if not uses or not seen.wish.policy.manage_max_output:
        return None
    return min((alias.max_output_tokens for alias in seen.wish.aliases), default=None)


def _sync_reasoning(draft: Draft, alias: Alias) -> None:
    path: Path = ("agent", "reasoning_overrides", alias.name)
    draft.managed.append(path)
    own = thinks(draft.value(path))
    whole_profile = thinks(draft.value(("agent", "reasoning_effort")))
    effective = own if own is not None else whole_profile
    if effective is not alias.reasoning and not (effective is None and alias.reasoning):
        effort = "medium" if alias.reasoning else "none"
        draft.put(alias.name, "reasoning_overrides", path, effort)


def thinks(found: object) -> bool | None:
    """Whether an effort makes an alias reason; None where it says nothing, which leaves it
    to the router (0.19.0, hermes_constants.parse_reasoning_effort)."""
    if found is False:
        return False
    word = found.strip().lower() if isinstance(found, str) else ""
    if word in {"none", "false", "disabled"}:
        return False
    efforts = {"minimal", "low", "medium", "high", "xhigh", "max", "ultra"}
    return True if word in efforts else None


def _prune(
    draft: Draft, seen: Seen, entry: Entry, refusals: tuple[Refusal, ...]
) -> tuple[tuple[Refusal, ...], tuple[str, ...]]:
    """Take out the aliases that left the catalog, or say that they stay."""
    leaving = tuple(name for name in _names(seen, entry) if name not in seen.wish.known)
    if not leaving:
        return refusals, ()
    if not seen.wish.policy.prune:
        return refusals, tuple(left(leaving))
    for name in leaving:
        path = (*entry.models, name)
        shown = ((*path, key) for key in ("context_length", "supports_vision"))
        draft.remove(name, "entry", path, "present", shown)
    named = tuple(dangling(seen, entry, leaving))
    if named and seen.wish.policy.dangling == "refuse":
        return (*refusals, Refusal(
            "aliases that leave the catalog are still in use: " + "; ".join(named),
            'choose another model there on the host, or set policy dangling = "report"',
        )), ()
    return refusals, named


def _names(seen: Seen, entry: Entry) -> Iterator[str]:
    node = seen.found.node(entry.models)
    return (key.text for key, _ in node.entries if key.tag == "str") if node else iter(())
