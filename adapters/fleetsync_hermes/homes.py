"""Where Hermes keeps its profiles on a host, and what of each is asked.

The default profile's home is `~/.hermes`, or where HERMES_HOME leads (Docker images set
it); a named profile's is `profiles/NAME` below. A profile inherits nothing from the
default one (0.18.2 and 0.19.0, hermes_constants.get_default_hermes_root).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from fleetsync.facts import Facts, FileKind, Question, Read, Variable

HERMES_HOME = Variable("HERMES_HOME")
MANAGED = Variable("HERMES_MANAGED")
MANAGED_DIR = Variable("HERMES_MANAGED_DIR")
DEFAULT = "default"
"""The name that Hermes itself gives the profile in the root (`hermes -p default`)."""
_NATIVE = "~/.hermes"
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_SMALL = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Home:
    """One profile's directory, as it is asked for (`~` not expanded)."""

    name: str
    directory: str

    @property
    def config(self) -> Read:
        """The file that holds the catalog."""
        return Read(f"{self.directory}/config.yaml")

    @property
    def cache(self) -> Read:
        """Windows that Hermes once learned from a router, kept without an end."""
        return Read(f"{self.directory}/context_length_cache.yaml", cap=_SMALL)

    @property
    def marker(self) -> Read:
        """What a package manager leaves where it owns the configuration."""
        return Read(f"{self.directory}/.managed", content=False)

    @property
    def questions(self) -> frozenset[Question]:
        """The files of this profile that are read."""
        return frozenset({self.config, self.cache, self.marker})


def questions(facts: Facts) -> frozenset[Question]:
    """What tells which profiles there are, with the files of those known so far."""
    known = (question for home in homes(facts) for question in home.questions)
    listing = {_listing(root(facts)), managed_config(facts)}
    return frozenset({HERMES_HOME, MANAGED, MANAGED_DIR, *listing, *known})


def homes(facts: Facts) -> tuple[Home, ...]:
    """Every profile of this host: the default one, then those below `profiles`."""
    base = root(facts)
    named = (Home(name, path) for name, path in _named(facts, base))
    return (Home(DEFAULT, base), *named)


def root(facts: Facts) -> str:
    """The default profile's directory."""
    value = variable(facts, HERMES_HOME)
    if not value.startswith("/"):
        return _NATIVE
    path = PurePosixPath(value)
    native = facts.host.home / ".hermes" if facts.host else None
    if native is not None and path.is_relative_to(native):
        return _NATIVE
    return str(path.parent.parent if path.parent.name == "profiles" else path)


def managed_config(facts: Facts) -> Read:
    """Where an administrator's configuration would lie (hermes_cli.managed_scope)."""
    return Read(f"{managed_directory(facts)}/config.yaml", cap=_SMALL)


def managed_directory(facts: Facts) -> str:
    """The directory whose config.yaml and .env beat every profile's."""
    value = variable(facts, MANAGED_DIR)
    return value.rstrip("/") if value.startswith("/") else "/etc/hermes"


def variable(facts: Facts, question: Variable) -> str:
    """A variable's value as the client would most likely see it; "" where it has none."""
    answer = facts.variable(question)
    return (answer.value or "").strip() if answer else ""


def _listing(base: str) -> Read:
    return Read(f"{base}/profiles/*", content=False)


def _named(facts: Facts, base: str) -> Iterator[tuple[str, str]]:
    for row in facts.files(_listing(base)):
        name = PurePosixPath(row.path).name
        if row.kind is FileKind.DIRECTORY and name != DEFAULT and _NAME.fullmatch(name):
            yield name, row.path
