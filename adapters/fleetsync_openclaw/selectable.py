"""Which aliases a user of this host can select. Reported, never edited.

Measured on 2026.9.6: `modelPolicy.allow` lists what may be selected (an agent's own
replaces the default one; empty means any). A file without it and without the marker
`meta.migrations.modelPolicyAllowlist` is judged by the keys of `agents.defaults.models`:
there the first key that is added turns "any model" into "only this one".
"""

from __future__ import annotations

from collections.abc import Iterator

from fleetsync.adapter import Wish

from .config import at


def unselectable(wish: Wish, effective: object) -> Iterator[str]:
    """A note for each list that leaves aliases of the router out."""
    defaults = at(effective, "agents", "defaults")
    for where, allowed in _lists(effective):
        if not allowed:
            continue
        names = _aliases(defaults)
        out = [
            alias.name for alias in wish.aliases
            if not _allows(allowed, names, f"{wish.provider}/{alias.name}")
        ]
        if out:
            yield (
                f"not selectable: {', '.join(out)} ({where} does not list them; add "
                f'"{wish.provider}/{out[0]}" there by hand to have them)'
            )


def _lists(effective: object) -> Iterator[tuple[str, list[str]]]:
    """Each list in force: where it stands, and what it allows."""
    defaults = at(effective, "agents", "defaults")
    policy, models = at(defaults, "modelPolicy"), at(defaults, "models")
    if isinstance(policy, dict):
        yield "agents.defaults.modelPolicy.allow", _texts(policy.get("allow"))
    elif not _is_migrated(effective) and isinstance(models, dict):
        yield "agents.defaults.models, an allowlist in a file of this age,", list(models)
    entries = at(effective, "agents", "entries")
    for name, agent in entries.items() if isinstance(entries, dict) else ():
        own = at(agent, "modelPolicy", "allow")
        if own is not None:
            yield f"agents.entries.{name}.modelPolicy.allow", _texts(own)


def _is_migrated(effective: object) -> bool:
    return at(effective, "meta", "migrations", "modelPolicyAllowlist") is True


def _texts(value: object) -> list[str]:
    return [row.strip() for row in value if isinstance(row, str)] if isinstance(value, list) else []


def _aliases(defaults: object) -> dict[str, str]:
    """What the user's own short names stand for."""
    models = at(defaults, "models")
    pairs = models.items() if isinstance(models, dict) else ()
    return {str(at(row, "alias")).lower(): ref for ref, row in pairs if at(row, "alias")}


def _allows(allowed: list[str], names: dict[str, str], reference: str) -> bool:
    for row in allowed:
        meant = names.get(row.lower(), row)
        if meant == reference or (meant.endswith("/*") and reference.startswith(meant[:-1])):
            return True
    return False
