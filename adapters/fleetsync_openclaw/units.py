"""What starts OpenClaw's gateway on a host, read from files alone.

systemd units with their drop-ins, and LaunchAgents of macOS. A unit may hold keys, so
its environment shows in no repr and is judged, never told (the OPENCLAW_ paths apart).
"""

from __future__ import annotations

import plistlib
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from xml.parsers.expat import ExpatError

from fleetsync.facts import FileFact, Read

SYSTEMD = ("~/.config/systemd/user", "/etc/systemd/system")
_PATTERNS = (
    *(f"{root}/openclaw*.service" for root in SYSTEMD),
    *(f"{root}/openclaw*.service.d/*.conf" for root in SYSTEMD),
    "~/Library/LaunchAgents/ai.openclaw.*.plist",
)
QUESTIONS = tuple(Read(pattern, cap=256 * 1024) for pattern in _PATTERNS)

_NAME = re.compile(r"(?:openclaw-gateway|ai\.openclaw)[.-]([A-Za-z0-9][\w-]*)", re.ASCII)


@dataclass(frozen=True, slots=True)
class Unit:
    """One service that starts a gateway: `environment` and `files` (EnvironmentFile=) in
    the order they are read, `argv` what it runs, `user` the account it names."""

    path: str
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    files: tuple[str, ...] = ()
    argv: tuple[str, ...] = field(default=(), repr=False)
    user: str = ""

    @property
    def name(self) -> str:
        """Its file's name."""
        return PurePosixPath(self.path).name

    @property
    def is_gateway(self) -> bool:
        """Whether it starts a gateway, and not a node host."""
        if self.environment.get("OPENCLAW_SERVICE_KIND") == "node":
            return False
        return "gateway" in self.argv or "node" not in self.argv[1:3]

    @property
    def profile(self) -> str:
        """The profile that it starts, "" for the default one."""
        told = self.environment.get("OPENCLAW_PROFILE", "") or self._flag()
        if not told and (found := _NAME.match(self.name.removesuffix(".service"))):
            told = found[1].removesuffix(".plist")
        return "" if told in ("default", "gateway", "plist") else told

    def _flag(self) -> str:
        for at, word in enumerate(self.argv):
            if word.startswith("--profile="):
                return word.partition("=")[2]
            if word == "--profile":
                return "".join(self.argv[at + 1 : at + 2])
        return ""


def units(files: Iterable[FileFact], user: str) -> tuple[Unit, ...]:
    """The gateways that these unit files start for `user`, drop-ins laid over them."""
    facts = [fact for fact in files if fact.content is not None]
    bases = {fact.path: _read(fact) for fact in facts if not fact.path.endswith(".conf")}
    for fact in sorted(facts, key=lambda fact: fact.path):
        base = str(PurePosixPath(fact.path).parent).removesuffix(".d")
        if fact.path.endswith(".conf") and base in bases:
            bases[base] = _systemd(bases[base], _text(fact))
    return tuple(
        unit for unit in bases.values()
        if unit.is_gateway and (not unit.path.startswith("/etc/") or unit.user == user)
    )


def _text(fact: FileFact) -> str:
    return "" if fact.content is None else fact.content.reveal().decode("utf-8", "replace")


def _read(fact: FileFact) -> Unit:
    if fact.path.endswith(".plist"):
        return _launchd(fact)
    return _systemd(Unit(fact.path), _text(fact))


def _systemd(unit: Unit, text: str) -> Unit:
    """`unit` after the lines of `text`, as systemd reads them (systemd.syntax(7))."""
    environment, files, argv, user = dict(unit.environment), unit.files, unit.argv, unit.user
    for key, value in _lines(text):
        match key:
            case "Environment":
                environment = {**environment, **dict(_assignments(value))} if value else {}
            case "EnvironmentFile":
                files = (*files, value.removeprefix("-")) if value else ()
            case "ExecStart":
                argv = tuple(_words(value)) if value else ()
            case "User":
                user = value
    return replace(unit, environment=environment, files=files, argv=argv, user=user)


def _lines(text: str) -> Iterator[tuple[str, str]]:
    """Key and value of each line of [Service]."""
    section = ""
    for raw in re.sub(r"\\\r?\n", " ", text).splitlines():
        line = raw.strip()
        if line.startswith("["):
            section = line
        elif section == "[Service]" and line[:1] not in ("#", ";", ""):
            key, _, value = line.partition("=")
            yield key.strip(), re.sub(r"%[%h]", _specifier, value.strip())


def _specifier(found: re.Match[str]) -> str:
    return "%" if found[0] == "%%" else "~"


def _words(value: str) -> Iterator[str]:
    try:
        yield from shlex.split(value)
    except ValueError:
        yield from value.split()


def _assignments(value: str) -> Iterator[tuple[str, str]]:
    for word in _words(value):
        name, equals, held = word.partition("=")
        if equals:
            yield name, held


def _launchd(fact: FileFact) -> Unit:
    content = b"" if fact.content is None else fact.content.reveal()
    try:
        table = plistlib.loads(content)
    except (plistlib.InvalidFileException, ExpatError, ValueError):
        table = {}
    held, argv = table.get("EnvironmentVariables"), table.get("ProgramArguments")
    return Unit(
        fact.path,
        {str(k): str(v) for k, v in held.items()} if isinstance(held, dict) else {},
        argv=tuple(map(str, argv)) if isinstance(argv, list) else (),
    )
