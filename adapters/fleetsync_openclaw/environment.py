"""Where OpenClaw finds a variable's value on a host, in its own order.

Measured on 2026.9.6: the process's environment, the state directory's `.env`,
`~/.config/openclaw/gateway.env` (not for a state directory of one's own), then `env` of the
configuration. The first place that defines a variable counts, even if it is empty there.
The process is the gateway's where a unit starts one or it runs already, else what a
shell starts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from fleetsync.adapter import Look, Wish
from fleetsync.facts import Facts, Place, PlaceFact, PlaceKind, Verdict

from .config import at
from .router import provider_keys
from .site import TITLE, Site

GATEWAY_ENV = "~/.config/openclaw/gateway.env"
USABLE = (Verdict.RESOLVES, Verdict.LOOSE)
_DEFINED = (
    *USABLE, Verdict.EMPTY, Verdict.PLACEHOLDER, Verdict.MALFORMED, Verdict.REFERENCE,
)
_SHELLS = (PlaceKind.SESSION, PlaceKind.LOGIN, PlaceKind.INTERACTIVE)
PLACEHOLDER = re.compile(
    r"(?i)<.*>|x{3,}|\*{3,}|\.{3}|change[-_ ]?me|replace.*|your[-_ ].*|__openclaw_redacted__"
    r"|none|null|todo|dummy|placeholder"
)


@dataclass(frozen=True, slots=True)
class Sources:
    """Where one profile's OpenClaw takes its key from: `config` is the effective one."""

    wish: Wish
    facts: Facts
    site: Site
    config: object

    @property
    def api_key(self) -> object:
        """The provider's apiKey: a text, a SecretRef, or None."""
        return at(self.config, *provider_keys(self.wish), "apiKey")

    @property
    def where(self) -> str:
        """The apiKey's place in words."""
        return f"{self.site.config} models.providers.{self.wish.provider}.apiKey"

    def fact(self, place: Place) -> PlaceFact:
        """The host's verdict on `place`."""
        answer = self.facts.answers.get(place)
        return answer if isinstance(answer, PlaceFact) else PlaceFact(Verdict.UNKNOWN)


def judged_on_host(sources: Sources, name: str) -> tuple[Place, ...]:
    """The places for `name` that the host must judge."""
    return (*_process(sources, name), *_stored(sources, name))


def _process(sources: Sources, name: str) -> tuple[Place, ...]:
    if sources.site.units:
        # systemd lays EnvironmentFile= over Environment=, and a later file over an earlier.
        files = reversed(sources.site.units[0].files)
        return tuple(Place(PlaceKind.DOTENV, file, name) for file in files)
    interactive = sources.wish.policy.credential_scope == "interactive"
    shells = (Place(kind, "", name) for kind in _SHELLS[: 3 if interactive else 2])
    return (*shells, *_running(sources.site, name))


def _running(site: Site, name: str) -> tuple[Place, ...]:
    return (running(name),) if site.alone else ()


def running(name: str) -> Place:
    """The environment of a running gateway."""
    return Place(PlaceKind.SERVICE, TITLE, name)


def _stored(sources: Sources, name: str) -> tuple[Place, ...]:
    site = sources.site
    manager: tuple[Place, ...] = ()
    if site.units:
        manager = (Place(PlaceKind.USER_MANAGER, "", name), *_running(site, name))
    files = [f"{site.state}/.env", *([GATEWAY_ENV] if site.is_default_state else [])]
    return (*manager, *(Place(PlaceKind.DOTENV, file, name) for file in files))


def looks(sources: Sources, name: str) -> tuple[Look, ...]:
    """Every place for `name` in OpenClaw's order; the one it takes its value from opens."""
    found = [
        *(Look(place.told, sources.fact(place)) for place in _process(sources, name)),
        *_unit(sources, name),
        *(Look(place.told, sources.fact(place)) for place in _stored(sources, name)),
        *_configured(sources, name),
    ]
    started = 0 if sources.site.units else len(_process(sources, name))
    usable = [at for at in range(started) if found[at].fact.verdict in USABLE]
    defined = [at for at, look in enumerate(found) if look.fact.verdict in _DEFINED]
    for first in (usable or defined)[:1]:
        found[first] = replace(found[first], opens=found[first].fact.verdict in USABLE)
    return tuple(found)


def _unit(sources: Sources, name: str) -> Iterator[Look]:
    for unit in sources.site.units[:1]:
        yield Look(unit_place(sources, name), judged(unit.environment.get(name)))


def unit_place(sources: Sources, name: str) -> str:
    """The gateway unit's own line for `name`, in words."""
    return f"{name} in Environment= of {sources.site.units[0].path}"


def _configured(sources: Sources, name: str) -> Iterator[Look]:
    for keys in (("env", "vars", name), ("env", name)):
        value = at(sources.config, *keys)
        if isinstance(value, str):
            yield Look(f"{sources.site.config} {'.'.join(keys)}", judged(value))


def judged(value: str | None) -> PlaceFact:
    """The verdict on a value that stands in a file we read."""
    if value is None:
        return PlaceFact(Verdict.ABSENT)
    if not value.strip():
        return PlaceFact(Verdict.EMPTY)
    placeholder = PLACEHOLDER.fullmatch(value.strip()) or value.startswith("${")
    return PlaceFact(Verdict.PLACEHOLDER if placeholder else Verdict.RESOLVES)
