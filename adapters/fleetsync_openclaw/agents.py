"""Which agent answers where none is named, and which model it uses."""

from __future__ import annotations

from collections.abc import Mapping

from fleetsync.adapter import Wish

from .config import at

_MAIN = "main"


def default(config: object) -> str:
    """The agent that answers: the one marked so, else `main`, else the first."""
    agents = _agents(config)
    marked = (name for name, agent in agents.items() if at(agent, "default") is True)
    first = _MAIN if _MAIN in agents else next(iter(agents), _MAIN)
    return next(marked, first)


def default_alias(wish: Wish, config: object) -> str:
    """The alias of ours that this agent uses; "" where it uses none of them."""
    own = at(_agents(config).get(default(config)), "model")
    for chosen in (own, at(config, "agents", "defaults", "model")):
        primary = chosen if isinstance(chosen, str) else at(chosen, "primary")
        if isinstance(primary, str) and primary:
            return _alias(wish, config, primary)
    return ""


def _alias(wish: Wish, config: object, reference: str) -> str:
    models = at(config, "agents", "defaults", "models")
    short = {
        at(row, "alias"): name for name, row in (models.items() if isinstance(models, dict) else ())
    }
    provider, _, rest = short.get(reference, reference).partition("/")
    name = rest.partition("@")[0]
    known = {alias.name for alias in wish.aliases}
    return name if provider == wish.provider and name in known else ""


def _agents(config: object) -> Mapping[str, object]:
    """Every agent by its id: `agents.entries`, or the older `agents.list`."""
    entries, rows = at(config, "agents", "entries"), at(config, "agents", "list")
    if isinstance(entries, dict):
        return entries
    found = rows if isinstance(rows, list) else []
    return {str(at(row, "id")): row for row in found if at(row, "id")}
