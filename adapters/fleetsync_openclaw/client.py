"""The OpenClaw adapter: which facts it needs, what its targets are, and what must change."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from fleetsync.adapter import (
    Command,
    Credential,
    Done,
    Keep,
    Loaded,
    Planned,
    Seen,
    Target,
    Turn,
    Wish,
)
from fleetsync.errors import DocumentError
from fleetsync.facts import Facts, FileKind, Installation, Question, Read
from fleetsync.programs import shared

from . import agents, audit, catalog, keeping, loader, refusals, stale, verdict
from . import seen as evidence
from . import turn as turns
from .config import Config, at, complete
from .credential import in_database, judge, places
from .environment import Sources, looks
from .site import Site, absolute, installed_units, questions, runs, sites, tilde
from .versions import PROGRAM, Version, parse


class OpenClawAdapter:
    """OpenClaw keeps its contract in openclaw.json: one target for each profile."""

    name = "openclaw"

    def questions(self, wish: Wish, facts: Facts) -> frozenset[Question]:
        """The units and variables, each profile's files and key places, the installations."""
        asked = {*questions(), PROGRAM.locate(wish)}
        for site in sites(wish, facts):
            asked |= _site_questions(wish, facts, site)
        return frozenset(asked)

    def targets(self, wish: Wish, facts: Facts) -> tuple[Target, ...]:
        """A target for each profile that the inventory names, or for the default one."""
        return tuple(_target(wish, facts, site) for site in sites(wish, facts))

    def plan(self, target: Target) -> Planned:
        """The edits of the file that holds the router's models."""
        return catalog.plan(target, _versions(target.installations))

    def loaders(self, target: Target, planned: Planned) -> tuple[Command, ...]:
        """OpenClaw's own commands about the candidate, the file as it is, and the gateway."""
        return tuple(one.command for one in loader.questions(target, planned))

    def loaded(self, target: Target, planned: Planned, done: tuple[Done, ...]) -> Loaded:
        """Whether every installation sees exactly the wished contract."""
        return verdict.judge(target, planned, done)

    def keep(self, target: Target) -> Keep:
        """Where a new key goes: the SecretRef's file, or the state directory's `.env`."""
        return keeping.keep(target)

    def default_alias(self, target: Target) -> str:
        """The alias that the agent uses which answers where none is named."""
        return agents.default_alias(target.wish, complete(Config.of(target.files)))

    def tool(self, target: Target) -> str:
        """The tool that reads a file."""
        return turns.READ

    def turn(self, target: Target, turn: Turn) -> Command:
        """A turn through the gateway that runs, else by a run apart."""
        return turns.command(target, turn)

    def seen(self, target: Target, turn: Turn, done: Done) -> Seen:
        """What its envelope tells."""
        return evidence.seen(target, turn, done)


def _site_questions(wish: Wish, facts: Facts, site: Site) -> set[Question]:
    """What must be known of one profile, as far as it is known where to look."""
    config = _config(facts, site)
    included = (Read(path) for path in _included(config))
    sources = Sources(wish, facts, site, complete(config), config)
    return {
        Read(site.config), audit.database(site), *included, *stale.questions(site),
        *_plugins(site), *places(sources),
    }


def _included(config: Config) -> frozenset[str]:
    """The files that are included; none where one cannot be followed (targets() says so)."""
    try:
        return config.includes()
    except DocumentError:
        return frozenset()


def _plugins(site: Site) -> tuple[Read, ...]:
    """Where plugins of the user's own lie: they take part in what is a valid file."""
    return tuple(
        Read(f"{site.state}/{place}", content=False)
        for place in ("extensions/*", "npm/package.json")
    )


def _config(facts: Facts, site: Site) -> Config:
    """The configuration as far as it was read."""
    root = facts.file(Read(site.config))
    config = Config(root.path, {root.path: root})
    for _ in range(len(facts.answers)):
        new = _included(config) - set(config.files)
        asked = ((path, facts.files(Read(path))) for path in new)
        found = {path: files[0] for path, files in asked if files}
        if not found:
            break
        config = Config(config.root, {**config.files, **found})
    return config


def _target(wish: Wish, facts: Facts, site: Site) -> Target:
    config, found = _config(facts, site), PROGRAM.found(wish, facts)
    installations = tuple(filter(PROGRAM.owns, found))
    sources = Sources(wish, facts, site, complete(config), config, installations)
    why = (*refusals.of_site(site, facts), *refusals.of_installations(found))
    return Target(
        client=OpenClawAdapter.name,
        name=f"openclaw/{site.profile}" if site.profile else "openclaw",
        wish=wish,
        files=config.roles,
        installations=installations,
        credential=_gate(sources),
        refusals=(*why, *refusals.of_files(config, wish)),
        notes=tuple(_notes(sources, config, installations)),
        absent=PROGRAM.absent(wish, found),
        context={**_context(sources), **_of_turns(sources), **keeping.noted(sources)},
    )


def _gate(sources: Sources) -> Credential:
    """The gate; where the file cannot be read, the places alone (the file is refused)."""
    if sources.config is None:
        return Credential(looks(sources, sources.wish.credential))
    return judge(sources)


def _context(sources: Sources) -> dict[str, str]:
    """What the loader's commands need to know of the host."""
    site, home = sources.site, _home(sources)
    suffix = f"-{site.profile}" if site.profile else ""
    uid = "" if sources.facts.host is None else str(sources.facts.host.uid)
    return {
        "home": home,
        "uid": uid,
        "profile": site.profile,
        "default": f"{home}/.openclaw{suffix}/openclaw.json",
        "plugins": absolute(site.state, home) if _has_plugins(sources) else "",
        "gateway": "remote" if at(sources.config, "gateway", "mode") == "remote" else "local",
    }


def _of_turns(sources: Sources) -> dict[str, str]:
    """What a turn needs to know: a gateway takes it where one runs that lets us in."""
    auth = at(sources.config, "gateway", "auth")
    known = at(auth, "token") or at(auth, "password") or at(auth, "mode") == "none"
    local = at(sources.config, "gateway", "mode") != "remote"
    versions = _versions(sources.installations)[:1]
    able = all(version.is_new for version in versions)
    direct = able and known and local and runs(sources.site, sources.facts)
    return {
        turns.THROUGH: turns.GATEWAY if direct else turns.EXEC,
        turns.AGENT: agents.default(sources.config),
        turns.STATE: absolute(sources.site.state, _home(sources)),
        turns.STORED: "yes" if in_database(sources) or _has_plugins(sources) else "",
    }


def _home(sources: Sources) -> str:
    return "" if sources.facts.host is None else str(sources.facts.host.home)


def _has_plugins(sources: Sources) -> bool:
    """Whether plugins of the user's own take part in what is a valid file."""
    return any(
        fact.kind is not FileKind.ABSENT
        for question in _plugins(sources.site)
        for fact in sources.facts.files(question)
    )


def _versions(installations: Iterable[Installation]) -> tuple[Version, ...]:
    found = (parse(installation.version) for installation in installations)
    return tuple(version for version in found if version is not None)


def _notes(
    sources: Sources, config: Config, installations: tuple[Installation, ...]
) -> Iterator[str]:
    site, facts = sources.site, sources.facts
    if site.told:
        yield f"configuration {site.config} ({site.told})"
    others = sorted({unit.profile for unit in installed_units(facts)} - {site.profile})
    for profile in others:
        yield (
            f"profile {profile or 'default'} has a gateway here too: it is a target where "
            "[hosts.NAME.openclaw] profiles names it"
        )
    for fact in config.files.values():
        if fact.is_link and tilde(fact.real, facts) != tilde(fact.path, facts):
            yield (
                f"{fact.path} is a link: {fact.real} is edited and the link kept; OpenClaw's own "
                "next write replaces the link by a file"
            )
    yield from _installed(sources, installations)
    yield from stale.notes(sources, config)


def _installed(sources: Sources, installations: tuple[Installation, ...]) -> Iterator[str]:
    """What the operator should know of the versions that are installed."""
    yield from shared(installations, "configuration")
    for version in _versions(installations):
        if version.notice:
            yield version.notice
        if version.is_new and at(sources.config, "meta", "lastTouchedAt") is not None:
            yield (
                f"the file has keys of an older OpenClaw (meta.lastTouchedAt): {version.text} "
                "rejects them until its gateway's next start brings it up to date; checked at apply"
            )
