"""Why a target is left as it is, before anything is planned for it."""

from __future__ import annotations

from collections.abc import Iterator

from fleetsync.adapter import Refusal, Wish
from fleetsync.errors import DocumentError
from fleetsync.facts import Facts, FileKind, Installation

from .config import PATTERN, Config, is_pattern
from .router import stanza
from .site import Site, wandering
from .versions import PROGRAM, parse


def of_site(site: Site, facts: Facts) -> Iterator[Refusal]:
    """The service and the shell must mean one file, wherever they are started."""
    if site.others:
        yield Refusal(
            f"{site.told} reads {site.config}, but " + ", and ".join(site.others),
            "make them agree on the host: the same OPENCLAW_CONFIG_PATH, OPENCLAW_STATE_DIR and "
            "OPENCLAW_HOME in the unit and for the account",
        )
    if is_pattern(site.config):
        yield Refusal(f"{site.config} {PATTERN}", "give it a plain path on the host")
    for told in wandering(facts):
        yield Refusal(
            f"{told}: it depends on where OpenClaw is started", "make it absolute on the host"
        )


def of_installations(found: tuple[Installation, ...]) -> Iterator[Refusal]:
    """What keeps an installation from being asked."""
    yield from PROGRAM.unfit(found)
    for one in PROGRAM.fit(found):
        yield from _version(one)


def _version(one: Installation) -> Iterator[Refusal]:
    version = parse(one.version)
    if version is None:
        yield Refusal(f"{one.path}: its package.json gives no version", "reinstall OpenClaw there")
    elif not version.runs_on(one.interpreter_version):
        yield Refusal(
            f"{one.interpreter} is Node {one.interpreter_version}; OpenClaw {one.version} needs "
            f"{version.node}",
            f"update Node there, or name a launcher with a fitting one in {PROGRAM.launchers}",
        )


def of_files(config: Config, wish: Wish) -> Iterator[Refusal]:
    """What keeps the configuration from being read whole."""
    for path, fact in config.files.items():
        if fact.kind is FileKind.ABSENT and path == config.root:
            yield Refusal(
                f"{path} is absent, so OpenClaw has no provider {wish.provider}",
                'create it on the host with {"models": {"providers": {…}}} and this provider in '
                f"it:\n{stanza(wish)}",
            )
        elif fact.over_cap:
            yield Refusal(f"{path} has {fact.size} bytes, more than we read", "look into it")
        elif fact.kind is not FileKind.FILE:
            yield Refusal(f"{path}: {fact.kind.value}", "repair it on the host")
    if all(fact.content is not None for fact in config.files.values()):
        yield from _whole(config)


def _whole(config: Config) -> Iterator[Refusal]:
    try:
        config.effective()
    except DocumentError as error:
        hint = error.hint or "correct it there: OpenClaw cannot read it either"
        yield Refusal(f"{config.root}: {error.message}", hint)
