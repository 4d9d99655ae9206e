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
from fleetsync.facts import Facts, Installation, Place, PlaceFact, PlaceKind, Verdict

from . import spans
from .config import Config, at
from .router import provider_keys
from .site import TITLE, Site

GATEWAY_ENV = "~/.config/openclaw/gateway.env"
USABLE = (Verdict.RESOLVES, Verdict.LOOSE)
_DEFINED = (
    *USABLE, Verdict.EMPTY, Verdict.PLACEHOLDER, Verdict.MALFORMED, Verdict.REFERENCE,
)
_GIVEN = (PlaceKind.USER_MANAGER, PlaceKind.SERVICE)
"""What a gateway is given when it is started, beside its unit."""
_SHELLS = (PlaceKind.SESSION, PlaceKind.LOGIN, PlaceKind.INTERACTIVE)
_NOTED = ("readable by others", "writable by others")
"""What a host notes of a file that holds a key (`host/place.sh`)."""
PLACEHOLDER = re.compile(
    r"(?i)<.*>|x{3,}|\*{3,}|\.{3}|change[-_ ]?me|replace.*|your[-_ ].*|__openclaw_redacted__"
    r"|none|null|todo|dummy|placeholder"
)


@dataclass(frozen=True, slots=True)
class Sources:
    """Where one profile's OpenClaw takes its key from: `config` is the effective one of
    `files`, and `installations` are what can be asked there."""

    wish: Wish
    facts: Facts
    site: Site
    config: object
    files: Config
    installations: tuple[Installation, ...] = ()

    @property
    def api_key(self) -> object:
        """The provider's apiKey: a text, a SecretRef, or None."""
        return at(self.config, *provider_keys(self.wish), "apiKey")

    @property
    def where(self) -> str:
        """The apiKey's place in words."""
        return f"{self.site.config} models.providers.{self.wish.provider}.apiKey"

    @property
    def advice(self) -> str:
        """The way that works however OpenClaw is started."""
        name = self.wish.credential
        return (
            f'on the host, write apiKey: "${{{name}}}" into the provider and {name}=… into '
            f"{self.site.state}/.env (mode 0600)"
        )

    def fact(self, place: Place) -> PlaceFact:
        """The host's verdict on `place`; LOOSE where it notes that others use the file."""
        fact = self.facts.place(place)
        loose = fact.verdict is Verdict.RESOLVES and fact.detail.startswith(_NOTED)
        return replace(fact, verdict=Verdict.LOOSE) if loose else fact


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
    shared = (Place(PlaceKind.DOTENV, GATEWAY_ENV, name),) if site.is_default_state else ()
    return (*manager, _dotenv(site, name), *shared)


@dataclass(frozen=True, slots=True)
class Stand:
    """One place where a variable can have its value. `place` is where the host itself finds
    it, None where it does not; `of_unit`: only what the gateway's unit starts sees it."""

    told: str
    fact: PlaceFact
    place: Place | None
    of_unit: bool = False

    @property
    def usable(self) -> bool:
        """Whether OpenClaw would take it for a value."""
        return self.fact.verdict in USABLE


def opening(sources: Sources, name: str) -> Stand | None:
    """Where OpenClaw takes the value of `name` from; None where it has none."""
    found = _stands(sources, name)
    at = _taken(sources, found)
    return found[at] if at is not None and found[at].usable else None


def looks(sources: Sources, name: str) -> tuple[Look, ...]:
    """Every place for `name` in OpenClaw's order; the one it takes its value from opens."""
    found = _stands(sources, name)
    taken = _taken(sources, found)
    return tuple(_look(found, at, opens=at == taken) for at in range(len(found)))


def before_dotenv(sources: Sources, name: str) -> str:
    """What gives `name` a value, even an empty one, before the `.env` of the state directory
    would; "" where nothing does. A gateway that runs may have it from there itself."""
    for stand in _stands(sources, name):
        if stand.place == _dotenv(sources.site, name):
            return ""
        running_one = stand.place and stand.place.kind is PlaceKind.SERVICE
        if stand.fact.verdict in _DEFINED and not running_one:
            return f"{stand.told} {'has a value' if stand.usable else 'is no key'}"
    return ""


def _dotenv(site: Site, name: str) -> Place:
    return Place(PlaceKind.DOTENV, f"{site.state}/.env", name)


def _look(found: list[Stand], at: int, *, opens: bool) -> Look:
    stand = found[at]
    opens = opens and stand.usable
    elsewhere = any(other.usable and not other.of_unit for other in found)
    only = opens and stand.of_unit and not elsewhere
    fact = replace(stand.fact, verdict=Verdict.SERVICE_ONLY) if only else stand.fact
    return Look(stand.told, fact, opens)


def _taken(sources: Sources, found: list[Stand]) -> int | None:
    """The index of the place that decides: of what shells give, any that has a value."""
    started = 0 if sources.site.units else len(_process(sources, ""))
    usable = [at for at in range(started) if found[at].usable]
    defined = [at for at, stand in enumerate(found) if stand.fact.verdict in _DEFINED]
    return next(iter(usable or defined), None)


def _stands(sources: Sources, name: str) -> list[Stand]:
    """All places for `name`, in OpenClaw's order."""
    of_unit = bool(sources.site.units)
    return [
        *(_asked(sources, place, of_unit) for place in _process(sources, name)),
        *_unit(sources, name),
        *(_asked(sources, place, False) for place in _stored(sources, name)),
        *_configured(sources, name),
    ]


def _asked(sources: Sources, place: Place, of_unit: bool) -> Stand:
    return Stand(place.told, sources.fact(place), place, of_unit or place.kind in _GIVEN)


def _unit(sources: Sources, name: str) -> Iterator[Stand]:
    for unit in sources.site.units[:1]:
        place = spans.of_line(sources.facts, unit, name)
        yield Stand(unit_place(sources, name), judged(unit.environment.get(name)), place, True)


def unit_place(sources: Sources, name: str) -> str:
    """The gateway unit's own line for `name`, in words."""
    return f"{name} in Environment= of {sources.site.units[0].path}"


def _configured(sources: Sources, name: str) -> Iterator[Stand]:
    for keys in (("env", "vars", name), ("env", name)):
        value = at(sources.config, *keys)
        if isinstance(value, str):
            told = f"{sources.site.config} {'.'.join(keys)}"
            yield Stand(told, judged(value), spans.of_value(sources.files, *keys))


def judged(value: str | None) -> PlaceFact:
    """The verdict on a value that stands in a file we read."""
    if value is None:
        return PlaceFact(Verdict.ABSENT)
    if not value.strip():
        return PlaceFact(Verdict.EMPTY)
    placeholder = PLACEHOLDER.fullmatch(value.strip()) or value.startswith("${")
    return PlaceFact(Verdict.PLACEHOLDER if placeholder else Verdict.RESOLVES)
