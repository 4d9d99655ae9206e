"""Who else decides on a profile's file: an administrator, or a package manager.

Measured on 0.19.0: a managed config.yaml beats every profile's, leaf by leaf; a `.managed`
marker or HERMES_MANAGED says that a package manager writes the profile's own.
"""

from __future__ import annotations

from collections.abc import Iterator

from fleetsync.adapter import Refusal, Wish
from fleetsync.documents import Document
from fleetsync.errors import DocumentError
from fleetsync.facts import Facts, FileKind

from .entry import LIST, MAP
from .files import document
from .homes import MANAGED, Home, managed_config, variable

_OURS = ("model", MAP, LIST, "provider", "base_url", "context_length")
"""What a managed file may not hold: it decides on the provider or on a window."""


def refusals(wish: Wish, facts: Facts, home: Home) -> Iterator[Refusal]:
    """Why the file of `home` is not ours to edit."""
    owner = variable(facts, MANAGED)
    marker = facts.file(home.marker)
    if owner or marker.kind is not FileKind.ABSENT:
        told = f"HERMES_MANAGED is {owner}" if owner else f"{marker.path} stands there"
        yield Refusal(
            f"a package manager owns this configuration ({told})",
            "set the limits where that manager takes them from",
        )
    yield from _pinned(wish, facts)


def _pinned(wish: Wish, facts: Facts) -> Iterator[Refusal]:
    scope = facts.file(managed_config(facts))
    if scope.kind is FileKind.ABSENT:
        return
    step = "ask the administrator of that host; what it pins beats every profile"
    try:
        found = document(scope)
    except DocumentError as error:
        yield Refusal(f"{scope.path}: {error.message}: what it pins is unknown", step)
        return
    if found is None:
        yield Refusal(f"{scope.path}: {scope.kind.value}: what it pins is unknown", step)
    elif pinned := ", ".join(_keys(wish, found)):
        yield Refusal(f"{scope.path} pins {pinned} for all profiles of that host", step)


def _keys(wish: Wish, found: Document) -> Iterator[str]:
    ours = (*_OURS, "agent") if wish.policy.manage_reasoning else _OURS
    return (key for key in ours if found.node((key,)) is not None)
