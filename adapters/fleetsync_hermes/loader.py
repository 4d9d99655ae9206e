"""Ask Hermes itself what it makes of a profile's config.yaml.

No command of it tells (0.19.0: `hermes config check` is content with a broken file), so
`resolve.py` calls its own functions, with its own interpreter, in a scratch home: an
ordinary start creates directories in the home, changes its mode, and may rewrite .env.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from pathlib import PurePosixPath
from typing import Any

from fleetsync.adapter import SCRATCH, Command, Done, Loaded, Planned, ScratchFile, Target
from fleetsync.documents import Dialect, Document
from fleetsync.documents import parse as parse_document
from fleetsync.draft import spell
from fleetsync.facts import Installation

from .catalog import output_cap, same, wished
from .entry import enabled, same_url
from .files import CONFIG, document
from .profile import whole
from .router import Seen
from .versions import Version, parse

_MARK = b"fleetsync {"
_SECONDS = 60
"""Hermes answers in under a second; under load 10 s were seen."""


def command(target: Target, installation: Installation) -> Command:
    """The question to one installation about the candidate."""
    wish = target.wish
    asked = {
        "provider": wish.provider,
        "url": wish.base_url,
        "aliases": [alias.name for alias in wish.aliases],
        "reasoning": _overrides(target, parse(installation.version)),
    }
    return Command(
        argv=(interpreter(installation), "-I", "-B", f"{SCRATCH}/resolve.py", json.dumps(asked)),
        env=(
            ("HOME", SCRATCH),
            ("HERMES_HOME", f"{SCRATCH}/home"),
            ("PATH", "/usr/bin:/bin"),
            ("TMPDIR", SCRATCH),
            ("LANG", "C.UTF-8"),
        ),
        files=(
            ScratchFile("resolve.py", content=_script()),
            ScratchFile("home/config.yaml", source=target.files[CONFIG].path),
        ),
        seconds=_SECONDS,
    )


@cache
def _script() -> bytes:
    return files(__package__).joinpath("resolve.py").read_bytes()


def interpreter(installation: Installation) -> str:
    """The interpreter that its first line names; else the one that lies beside it."""
    if PurePosixPath(installation.interpreter).name.startswith("python"):
        return installation.interpreter
    return str(PurePosixPath(installation.real).parent / "python")


def _overrides(target: Target, version: Version | None) -> bool:
    manages = target.wish.policy.manage_reasoning
    return manages and version is not None and version.reasoning_overrides


def judge(target: Target, planned: Planned, done: tuple[Done, ...]) -> Loaded:
    """Whether every installation sees exactly the wish in the candidate."""
    found = _candidate(target, planned)
    if found is None:
        return Loaded(False, "config.yaml is absent")
    seen = Seen.of(target.wish, found)
    pairs = zip(target.installations, done, strict=True)
    reasons = [
        f"Hermes {installation.version} ({installation.path}): {reason}"
        for installation, answer in pairs
        if (reason := _why(target, seen, parse(installation.version), answer))
    ]
    return Loaded(not reasons, "; ".join(reasons))


def _candidate(target: Target, planned: Planned) -> Document | None:
    for edit in planned.edits:
        return parse_document(edit.after.reveal(), Dialect.YAML)
    return document(target.files[CONFIG])


def _why(target: Target, seen: Seen, version: Version | None, done: Done) -> str:
    """Why this installation does not agree; "" when it does."""
    if not done.started:
        return done.problem or "it could not be started"
    if done.timed_out:
        return f"its loader gave no answer in {_SECONDS} s"
    told = _told(done.stdout.reveal())
    if told is None:
        ended = f"signal {done.signal}" if done.signal else f"exit status {done.status}"
        return f"its loader gave no answer ({ended})"
    if "moved" in told:
        return "the functions by which it reads its configuration are not those tested"
    return ", ".join((*_address(seen, version, told), *_differences(target, seen, version, told)))


def _told(output: bytes) -> Mapping[str, Any] | None:
    """The answer, None where none stands in `output`."""
    for line in output.splitlines():
        if line.startswith(_MARK):
            try:
                answer = json.loads(line.removeprefix(b"fleetsync "))
            except (ValueError, RecursionError):
                return None
            return answer if isinstance(answer, dict) else None
    return None


def _address(seen: Seen, version: Version | None, told: Mapping[str, Any]) -> Iterator[str]:
    """Where a turn with this provider would go."""
    hidden = seen.entry is not None and not enabled(seen.found, seen.entry)
    if hidden and version is not None and version.disables:
        return
    url = str(told.get("address"))
    if url.startswith("!"):
        yield f"it cannot resolve the provider {seen.wish.provider} ({url[1:]})"
    elif same_url(url) != same_url(seen.wish.base_url):
        yield f"it would send turns of {seen.wish.provider} to another address"


def _differences(
    target: Target, seen: Seen, version: Version | None, told: Mapping[str, Any]
) -> Iterator[str]:
    rows = told.get("aliases")
    shadow = seen.profile.supports_vision
    for alias in seen.wish.aliases:
        row = rows.get(alias.name) if isinstance(rows, dict) else None
        if not isinstance(row, dict):
            yield f"{alias.name} is missing"
            continue
        for key, wanted in wished(alias).items():
            if key == "supports_vision" and isinstance(shadow, bool):
                wanted = shadow
            if not same(row.get(key), wanted):
                yield f"{alias.name} {key} is {_number(row.get(key))}, not {spell(wanted)}"
        reasoning = row.get("reasoning")
        if _overrides(target, version) and _reasons(reasoning) is (not alias.reasoning):
            yield f"{alias.name} reasoning is not {spell(alias.reasoning)}"
    yield from _output(seen, version, told)


def _output(seen: Seen, version: Version | None, told: Mapping[str, Any]) -> Iterator[str]:
    cap, found = output_cap(seen), told.get("max_tokens")
    if cap is not None and version is not None and version.sends_max_tokens and whole(found) != cap:
        yield f"model.max_tokens is {_number(found)}, not {cap}"


def _reasons(told: object) -> bool | None:
    """Whether Hermes asks for reasoning; None where it leaves that to the router."""
    return bool(told.get("enabled")) if isinstance(told, dict) else None


def _number(seen: object) -> str:
    """What may be shown of an answer: a number, a switch, or that there is none."""
    if seen is None:
        return "not set"
    return spell(seen) if isinstance(seen, bool | int) else "something else"
