"""Where one profile of OpenClaw keeps its files on a host, and who says so.

Measured on 2026.9.6 with `config file --json`: OPENCLAW_CONFIG_PATH names the file,
else it is openclaw.json in OPENCLAW_STATE_DIR, else in `.openclaw` (a profile:
`.openclaw-NAME`) of OPENCLAW_HOME or the home. A gateway's unit has variables of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from fleetsync.adapter import Wish
from fleetsync.facts import Facts, Question, Variable

from . import units as unit_files
from .units import Unit

CONFIG_PATH, STATE_DIR, HOME = "OPENCLAW_CONFIG_PATH", "OPENCLAW_STATE_DIR", "OPENCLAW_HOME"
_PATHS = (CONFIG_PATH, STATE_DIR, HOME)
VARIABLES = tuple(map(Variable, _PATHS))
TITLE = "openclaw-gateway"
"""The title that a running gateway gives its process (2026.6.11, 2026.9.6)."""
RUNNING = tuple(Variable(name, TITLE) for name in _PATHS)
_ALIVE = Variable("HOME", TITLE)
"""What every gateway has, and nobody where none runs."""


@dataclass(frozen=True, slots=True)
class Site:
    """One profile: its file, its state directory, and the units that start it.

    `told` says which variables or unit decided; `others` are what contradicts it. `alone`:
    no other profile is known here, so a running gateway is this one's.
    """

    profile: str
    config: str
    state: str
    units: tuple[Unit, ...] = ()
    told: str = ""
    others: tuple[str, ...] = ()
    alone: bool = True

    @property
    def is_default_state(self) -> bool:
        """Whether the state directory is the one OpenClaw takes by itself."""
        return self.state == "~/.openclaw"


def sites(wish: Wish, facts: Facts) -> tuple[Site, ...]:
    """The profiles that the inventory names, or the default one."""
    named = wish.options.get("profiles") or ("default",)
    found = installed_units(facts)
    profiles = ["" if name == "default" else name for name in named]
    alone = len({*profiles, *(unit.profile for unit in found)}) == 1
    return tuple(_with_gateway(_site(name, found, facts), facts, alone) for name in profiles)


def installed_units(facts: Facts) -> tuple[Unit, ...]:
    """Every gateway unit of this account."""
    files = (fact for question in unit_files.QUESTIONS for fact in facts.files(question))
    return unit_files.units(files, "" if facts.host is None else facts.host.user)


def questions() -> frozenset[Question]:
    """What must be known to find the files."""
    return frozenset({*VARIABLES, *RUNNING, _ALIVE, *unit_files.QUESTIONS})


def runs(site: Site, facts: Facts) -> bool:
    """Whether a gateway runs that can be no other profile's."""
    alive = facts.variable(_ALIVE)
    return site.alone and alive is not None and alive.running is not None


def _site(profile: str, found: tuple[Unit, ...], facts: Facts) -> Site:
    """A gateway's unit decides where there is one: it is what answers turns."""
    shell = dict(_variables(facts))
    config, state = derived(shell, profile, facts)
    told = ", ".join(name for name in (CONFIG_PATH, STATE_DIR, HOME) if name in shell)
    mine = tuple(unit for unit in found if unit.profile == profile)
    if not mine:
        return Site(profile, config, state, told=told)
    first, *rest = [(unit, *derived(unit.environment, profile, facts)) for unit in mine]
    others = [f"{unit.name} reads {where}" for unit, where, _ in rest if where != first[1]]
    if config != first[1]:
        others.append(f"`openclaw` in a login shell reads {config}")
    return Site(profile, first[1], first[2], mine, first[0].name, tuple(others))


def _with_gateway(site: Site, facts: Facts, alone: bool) -> Site:
    """A running gateway's own variables decide where no unit does; else they are told."""
    answers = ((question.name, facts.variable(question)) for question in RUNNING)
    own = {name: found.running for name, found in answers if found and found.running}
    if not (own and alone):
        return replace(site, alone=alone)
    config, state = derived(own, site.profile, facts)
    if config == site.config:
        return replace(site, alone=alone)
    if site.units:
        told = f"the gateway that runs reads {config}"
        return replace(site, alone=alone, others=(*site.others, told))
    told = f"`openclaw` in a login shell reads {site.config}"
    gateway = f"{', '.join(own)} of the gateway that runs"
    return Site(site.profile, config, state, told=gateway, others=(told,), alone=alone)


def _variables(facts: Facts) -> Iterator[tuple[str, str]]:
    for question in VARIABLES:
        answer = facts.variable(question)
        value = (answer.value or "").strip() if answer else ""
        if value:
            yield question.name, value


def wandering(facts: Facts) -> Iterator[str]:
    """The variables whose relative path depends on where OpenClaw is started."""
    for name, value in _variables(facts):
        if not value.startswith(("/", "~")):
            yield f"{name} is the relative path {value}"


def derived(variables: Mapping[str, str], profile: str, facts: Facts) -> tuple[str, str]:
    """The config file and the state directory that these variables lead to."""
    home = tilde(variables.get(HOME, "") or "~", facts)
    own = f"{home}/.openclaw-{profile}" if profile else f"{home}/.openclaw"
    state = tilde(variables.get(STATE_DIR, "") or own, facts)
    return tilde(variables.get(CONFIG_PATH, "") or f"{state}/openclaw.json", facts), state


def tilde(path: str, facts: Facts) -> str:
    """`path` with the home spelled `~` and no final slash: one spelling for each file."""
    home = "" if facts.host is None else str(facts.host.home)
    path = path.rstrip("/") or "/"
    if home and (path == home or path.startswith(f"{home}/")):
        return "~" + path[len(home) :]
    return path


def absolute(path: str, home: str) -> str:
    """`path` with a leading `~` spelled out."""
    return home + path[1:] if path.startswith("~") else path
