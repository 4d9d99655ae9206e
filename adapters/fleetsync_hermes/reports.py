"""What an operator should know of a profile and that is none of ours to change."""

from __future__ import annotations

from collections.abc import Iterator

from fleetsync.adapter import FileEdit, Wish
from fleetsync.documents import MISSING, Value
from fleetsync.draft import spell
from fleetsync.errors import DocumentError
from fleetsync.facts import FileFact

from .entry import Entry, enabled, same_url
from .files import document
from .profile import whole
from .router import Seen
from .versions import DEFAULT_OUTPUT, Version


def notes(
    seen: Seen, entry: Entry, cache: FileFact, versions: tuple[Version, ...]
) -> Iterator[str]:
    """All that is reported of one profile."""
    if not enabled(seen.found, entry) and any(version.disables for version in versions):
        yield f"{entry.told} has enabled: false, so Hermes does not use it; it is left alone"
    yield from _shadows(seen)
    yield from _outputs(seen, versions)
    yield from _reasoning(seen.wish, versions)
    yield from _split(seen, entry)
    yield from _stale(seen.wish, cache)
    if "duplicate_key" in seen.found.features:
        yield "a key stands twice in config.yaml, outside our paths: Hermes 0.21 refuses the file"


def restart(edits: tuple[FileEdit, ...]) -> tuple[str, ...]:
    """What an edit needs to take effect (0.19.0, gateway/run.py)."""
    told = "a running Hermes gateway and open sessions keep the old limits until they restart"
    return (told,) if edits else ()


def _shadows(seen: Seen) -> Iterator[str]:
    profile = seen.profile
    window = whole(profile.context_length)
    hidden = [a.name for a in seen.wish.aliases if window not in (None, a.context_window)]
    if hidden:
        yield (
            f"model.context_length {window} is used for whatever model a session starts with, "
            f"not the window of {', '.join(hidden)}; it is left alone"
        )
    if profile.supports_vision is not MISSING:
        yield (
            f"model.supports_vision {spell(profile.supports_vision)} is used for every alias; "
            "it is left alone"
        )


def _outputs(seen: Seen, versions: tuple[Version, ...]) -> Iterator[str]:
    """The output limit, which Hermes has for a whole profile only, or not at all."""
    told = ", ".join(f"{a.name} {a.max_output_tokens}" for a in seen.wish.aliases)
    if not any(version.sends_max_tokens for version in versions):
        yield f"output limit: unavailable in this Hermes, the router alone enforces it ({told})"
        return
    yield f"output limit per alias: unavailable in Hermes ({told})"
    own = whole(seen.profile.max_tokens)
    asked = own or DEFAULT_OUTPUT
    over = [a.name for a in seen.wish.aliases if a.max_output_tokens < asked]
    if over and not seen.wish.policy.manage_max_output:
        cause = f"model.max_tokens is {own}" if own else "model.max_tokens is not set"
        yield (
            f"{cause}, so Hermes asks for {asked} output tokens, more than the limit of "
            f"{', '.join(over)}; policy manage_max_output = true sets the smallest for the profile"
        )


def _reasoning(wish: Wish, versions: tuple[Version, ...]) -> Iterator[str]:
    blind = [version.text for version in versions if not version.reasoning_overrides]
    if wish.policy.manage_reasoning and blind:
        told = ", ".join(blind)
        yield f"reasoning: unavailable in Hermes {told}, which has no overrides per alias"


def _split(seen: Seen, entry: Entry) -> Iterator[str]:
    """`hermes config set` takes the dots of an alias for levels (0.19.0)."""
    for alias in seen.wish.aliases:
        parts = alias.name.split(".")
        if len(parts) > 1 and seen.found.node((*entry.models, *parts)) is not None:
            yield (
                f"{entry.told} also has models {' > '.join(parts)}, as `hermes config set` "
                "writes it; Hermes does not read that, and it is left alone"
            )


def _stale(wish: Wish, cache: FileFact) -> Iterator[str]:
    """Rows of the cache that differ; the window in config.yaml beats them (0.19.0)."""
    rows = _rows(cache)
    for alias in wish.aliases:
        for slash in ("", "/"):
            window = rows.get(f"{alias.name}@{same_url(wish.base_url)}{slash}")
            if window is not None and whole(window) != alias.context_window:
                yield (
                    f"context_length_cache.yaml keeps the window {spell(window)} for {alias.name}; "
                    "the one in config.yaml wins"
                )


def _rows(cache: FileFact) -> dict[str, Value]:
    """The windows in the cache; none where it is absent or Hermes could not read it."""
    try:
        found = document(cache)
        rows = found.value(("context_lengths",)) if found else None
    except DocumentError:
        return {}
    return rows if isinstance(rows, dict) else {}
