"""Which alias Pi uses when none is named.

Measured on 0.73.1 and 1.6.0 (`get_state`): the user's default where it exists and the
user's patterns leave it in; else what the first pattern that matches anything matches;
else the first model of the first provider that has a key.
"""

from __future__ import annotations

from fnmatch import fnmatchcase

from fleetsync.adapter import Target
from fleetsync.rows import ids

from .files import MODELS, document
from .router import models_path
from .settings import Settings, names


def default_alias(target: Target) -> str:
    """That alias, "" where it is none of the wish. Raises Unreadable."""
    provider, settings = target.wish.provider, Settings.of(target)
    order = _order(target)
    found = ""
    if settings.chosen[0] == provider and _in_scope(settings, settings.chosen[1], order):
        found = settings.chosen[1]
    elif settings.patterns:
        found = _scoped(settings, order)
    elif settings.chosen[0] in ("", provider) and _comes_first(target):
        found = order[0] if order else ""
    return found if found in {alias.name for alias in target.wish.aliases} else ""


def _order(target: Target) -> tuple[str, ...]:
    """The router's models as Pi lists them after the sync."""
    wish, found = target.wish, document(target.files[MODELS], MODELS)
    held = ids(found.value(models_path(wish))) if found else ()
    kept = (name for name in held if name in wish.known or not wish.policy.prune)
    return tuple(dict.fromkeys((*kept, *(alias.name for alias in wish.aliases))))


def _in_scope(settings: Settings, alias: str, order: tuple[str, ...]) -> bool:
    patterns = settings.patterns
    return alias in order and (not patterns or any(_fits(settings, p, alias) for p in patterns))


def _scoped(settings: Settings, order: tuple[str, ...]) -> str:
    """The first pattern decides; one of the router's that matches nothing is passed over.
    One for another provider is taken to match: whether that has a key is not asked."""
    for pattern in settings.patterns:
        fitting = [alias for alias in order if _fits(settings, pattern, alias)]
        if fitting:
            return fitting[0]
        if not pattern.startswith(f"{settings.wish.provider}/"):
            return ""
    return order[0] if order else ""


def _fits(settings: Settings, pattern: str, alias: str) -> bool:
    provider = settings.wish.provider
    exact = names(pattern, provider, alias) or pattern == alias
    return exact or ("*" in pattern and fnmatchcase(f"{provider}/{alias}", pattern))


def _comes_first(target: Target) -> bool:
    """Whether no other provider of the file with a key stands before the router's."""
    found = document(target.files[MODELS], MODELS)
    providers = found.value(("providers",)) if found else {}
    rows = providers.items() if isinstance(providers, dict) else ()
    listed = [
        name for name, row in rows
        if name == target.wish.provider
        or (isinstance(row, dict) and ids(row.get("models")) and row.get("apiKey"))
    ]
    return listed[:1] == [target.wish.provider]
