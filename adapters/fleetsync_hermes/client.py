"""The Hermes adapter: which facts it needs, what its targets are, and what must change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from fleetsync.adapter import (
    Command,
    Credential,
    Done,
    Keep,
    Loaded,
    Planned,
    Refusal,
    Seen,
    Target,
    Turn,
    Wish,
)
from fleetsync.errors import DocumentError
from fleetsync.facts import (
    Facts,
    FileFact,
    FileKind,
    Installation,
    Question,
)
from fleetsync.programs import foremost, linked, shared

from . import catalog, keeping, loader, managed, seen, turn
from .credential import judge
from .entry import MAP
from .files import CACHE, CONFIG, document
from .homes import (
    HERMES_HOME,
    Home,
    homes,
    managed_config,
    managed_directory,
    questions,
    root,
    variable,
)
from .router import stanza
from .sources import Sources, places, sources, written
from .versions import PROGRAM, Version, parse


class HermesAdapter:
    """Hermes keeps its contract in the `config.yaml` of each profile: a target each."""

    name = "hermes"

    def questions(self, wish: Wish, facts: Facts) -> frozenset[Question]:
        """The profiles, their files, and where each could have its key."""
        asked = (place for home in _wanted(wish, facts) for place in places(
            sources(wish, facts, home, facts.file(home.config))
        ))
        return frozenset({PROGRAM.locate(wish), *questions(facts), *asked})

    def targets(self, wish: Wish, facts: Facts) -> tuple[Target, ...]:
        """One for each profile that the inventory wants; all that are there by default."""
        host = _Host(wish, facts, PROGRAM.found(wish, facts))
        if absent := PROGRAM.absent(wish, host.found):
            return (Target(self.name, self.name, wish, {}, (), Credential(()), absent=absent),)
        there = {home.name for home in homes(facts)}
        missing = (name for name in wish.options.get("profiles") or () if name not in there)
        return (
            *(_target(host, home) for home in _wanted(wish, facts)),
            *(_missing(host, name) for name in missing),
        )

    def plan(self, target: Target) -> Planned:
        """The edits of the profile's config.yaml."""
        return catalog.plan(target, _versions(target.installations))

    def loaders(self, target: Target, planned: Planned) -> tuple[Command, ...]:
        """Hermes' own functions, called under every installation."""
        return tuple(loader.command(target, one) for one in target.installations)

    def loaded(self, target: Target, planned: Planned, done: tuple[Done, ...]) -> Loaded:
        """Whether every installation sees exactly the wished contract."""
        return loader.judge(target, planned, done)

    def keep(self, target: Target) -> Keep:
        """The variable in the profile's .env that its provider entry names."""
        return keeping.keep(target)

    def default_alias(self, target: Target) -> str:
        """The profile's model.default, where its provider is the router's."""
        return catalog.default_alias(target)

    def tool(self, target: Target) -> str:
        """Hermes' tool that reads a file."""
        return turn.TOOL

    def turn(self, target: Target, turn_: Turn) -> Command:
        """One-shot mode in a scratch home."""
        return turn.command(target, turn_)

    def seen(self, target: Target, turn_: Turn, done: Done) -> Seen:
        """What its usage file and the export of its session tell."""
        return seen.told(target, turn_, done)


@dataclass(frozen=True, slots=True)
class _Host:
    """What all profiles of one host share."""

    wish: Wish
    facts: Facts
    found: tuple[Installation, ...]

    @property
    def installations(self) -> tuple[Installation, ...]:
        return tuple(filter(PROGRAM.owns, self.found))

    @property
    def versions(self) -> tuple[Version, ...]:
        return _versions(self.installations)


def _wanted(wish: Wish, facts: Facts) -> tuple[Home, ...]:
    chosen = wish.options.get("profiles")
    return tuple(home for home in homes(facts) if not chosen or home.name in chosen)


def _versions(installations: tuple[Installation, ...]) -> tuple[Version, ...]:
    found = (parse(installation.version) for installation in installations)
    return tuple(version for version in found if version is not None)


# --- one profile --------------------------------------------------------------------


def _target(host: _Host, home: Home) -> Target:
    config = host.facts.file(home.config)
    return Target(
        client=host.wish.client,
        name=home.name,
        wish=host.wish,
        files={CONFIG: config, CACHE: host.facts.file(home.cache)},
        installations=host.installations,
        credential=_gate(sources(host.wish, host.facts, home, config), host.versions),
        refusals=(
            *_wandering(host.facts),
            *_unfit_installations(host),
            *managed.refusals(host.wish, host.facts, home),
            *_unfit_file(host.wish, home, config),
        ),
        notes=tuple(_notes(host, config)),
        context=_context(host, home, config),
    )


def _context(host: _Host, home: Home, config: FileFact) -> Mapping[str, str]:
    """What a turn and a new key need later on."""
    pinned = host.facts.file(managed_config(host.facts)).kind is not FileKind.ABSENT
    entry = written(host.wish, host.facts, home, config)
    return {
        turn.MANAGED: managed_directory(host.facts),
        turn.PINNED: "yes" if pinned else "",
        **keeping.noted(host.wish, entry, config, host.versions),
    }


def _missing(host: _Host, name: str) -> Target:
    """A profile of the inventory that the host lacks."""
    told = ", ".join(home.name for home in homes(host.facts))
    refusal = Refusal(
        f"the host has no profile {name} (it has {told})",
        f"create it there (hermes profile create {name}), or correct [hosts.NAME.hermes] profiles",
    )
    path = f"{root(host.facts)}/profiles/{name}/config.yaml"
    files = {CONFIG: FileFact(path, FileKind.ABSENT)}
    return Target(
        host.wish.client, name, host.wish, files, host.installations, Credential(()), (refusal,)
    )


def _gate(found: Sources, versions: tuple[Version, ...]) -> Credential:
    return foremost([judge(found, version) for version in versions])


def _wandering(facts: Facts) -> Iterator[Refusal]:
    value = variable(facts, HERMES_HOME)
    if value and not value.startswith("/"):
        yield Refusal(
            f"HERMES_HOME is the relative path {value}: it depends on where Hermes is started",
            "make it absolute on the host",
        )
    elif any(character in value for character in "*?["):
        yield Refusal(
            f"HERMES_HOME is {value}: it has a *, ? or [ in it, and could be taken for "
            "another directory",
            "give it a plain path on the host",
        )


def _unfit_installations(host: _Host) -> Iterator[Refusal]:
    yield from PROGRAM.unfit(host.found)
    for one in PROGRAM.fit(host.found):
        if parse(one.version) is None:
            yield Refusal(f"{one.path}: its package gives no version", "reinstall Hermes there")
        elif PurePosixPath(one.interpreter).name.startswith("node"):
            yield Refusal(
                f"{one.path} is the npm bridge, which holds no Hermes of its own",
                f"name the launcher that it installed: {PROGRAM.launchers}",
            )


def _unfit_file(wish: Wish, home: Home, config: FileFact) -> Iterator[Refusal]:
    if config.kind is FileKind.ABSENT:
        yield Refusal(
            f"{config.path} is absent, so the profile {home.name} has no provider {wish.provider}",
            f"create it on the host with this under `{MAP}:`, or name the profiles to sync in "
            "[hosts.NAME.hermes] profiles:\n" + stanza(wish),
        )
    elif config.kind is not FileKind.FILE:
        yield Refusal(f"{config.path}: {config.kind.value}", "repair it on the host")
    elif config.over_cap:
        yield Refusal(f"{config.path} has {config.size} bytes, more than we read", "look into it")
    else:
        yield from _unreadable(config)


def _unreadable(config: FileFact) -> Iterator[Refusal]:
    try:
        document(config)
    except DocumentError as error:
        yield Refusal(
            f"{config.path}: {error.message}",
            error.hint or "correct it on the host: Hermes goes on with its defaults instead",
        )


def _notes(host: _Host, config: FileFact) -> Iterator[str]:
    if value := variable(host.facts, HERMES_HOME):
        yield f"Hermes' root is {root(host.facts)} (HERMES_HOME is {value})"
    yield from shared(host.installations, "profile")
    yield from linked(config, "whatever manages that file may put it back")
    yield from (version.notice for version in host.versions if version.notice)
