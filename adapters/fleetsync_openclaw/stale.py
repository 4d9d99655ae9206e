"""Each agent's models.json: what older versions left there, and what it still does.

Measured on 2026.9.6 with `models.mode` merge: for a model of openclaw.json the
configuration wins, a field that it omits is taken from here, and a model that stands here
alone stays visible. The file is reported, never edited; mode replace ignores it.
"""

from __future__ import annotations

from collections.abc import Iterator

from fleetsync.documents import Dialect, parse
from fleetsync.errors import DocumentError
from fleetsync.facts import FileFact, Read

from .config import Config, at
from .environment import Sources
from .router import provider_keys, rows
from .site import Site


def questions(site: Site) -> frozenset[Read]:
    """The files of all agents."""
    return frozenset({Read(f"{site.state}/agents/*/agent/models.json")})


def notes(sources: Sources, config: Config) -> Iterator[str]:
    """What the operator should know of them."""
    if at(sources.config, "models", "mode") == "replace":
        return
    present = {str(row.get("id")) for row in rows(sources.wish, sources.config)}
    for question in questions(sources.site):
        for fact in sources.facts.files(question):
            yield from _extra(sources, fact, present)


def _extra(sources: Sources, fact: FileFact, present: set[str]) -> Iterator[str]:
    if fact.content is None:
        return
    try:
        value = parse(fact.content.reveal(), Dialect.JSON5).value(())
    except DocumentError:
        yield f"{fact.path} cannot be read; older versions of OpenClaw used it"
        return
    found = at(value, *provider_keys(sources.wish)[1:], "models")
    ids = [str(row.get("id")) for row in found if isinstance(row, dict)] if isinstance(
        found, list
    ) else []
    extra = [name for name in ids if name not in present]
    if extra:
        yield (
            f"{fact.path}, left by an older version, still shows {', '.join(extra)}; it is left "
            "alone"
        )
    elif ids:
        yield f"{fact.path}, left by an older version, fills what openclaw.json omits"
