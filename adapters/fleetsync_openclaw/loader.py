"""Ask OpenClaw itself: is the candidate valid, which rows does it see, who reads it?

Measured on 2026.6.11 and 2026.9.6. `config validate` and `config get` start no gateway,
send nothing and write nothing but their state directory (2026.6.11 makes one): it lies in
the scratch directory, unless plugins of the real one take part in the judgement.
`models list` shows no maxTokens and cannot be used; `config get` has every field.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from fleetsync.adapter import SCRATCH, Command, Planned, ScratchFile, Target
from fleetsync.facts import Installation

from .config import CONFIG
from .launch import path, start
from .router import provider_keys

CANDIDATE, ROWS, BASELINE, SERVICE, APPLIED = "candidate", "rows", "baseline", "service", "applied"
NO_STATE = "no-state-of-its-own"
"""A directory that only a service without a path of its own would read from."""
SECONDS = 120
"""A command takes 2 to 4 s; under load 22 s were seen."""


@dataclass(frozen=True, slots=True)
class Question:
    """One question to OpenClaw: what is asked, and which installation answers."""

    kind: str
    installation: Installation
    command: Command


def questions(target: Target, planned: Planned) -> tuple[Question, ...]:
    """All that is asked, in the order of the answers.

    Every installation judges the candidate. The first one also judges the file as it is,
    where it would change, and says what the service reads and what a running gateway has
    applied.
    """
    first = target.installations[:1]
    return tuple((
        *(q for one in target.installations for q in _candidate(target, one)),
        *(Question(BASELINE, one, _baseline(target, one)) for one in first if planned.edits),
        *(Question(SERVICE, one, _service(target, one)) for one in first),
        *(Question(APPLIED, one, _applied(target, one)) for one in first if _is_local(target)),
    ))


def _is_local(target: Target) -> bool:
    """Whether the gateway that `gateway call` would ask is this host's own."""
    return target.context["gateway"] == "local"


def _candidate(target: Target, one: Installation) -> Iterator[Question]:
    root = PurePosixPath(target.files[CONFIG].path).name
    files = tuple(
        ScratchFile(f"files/{root if role == CONFIG else role}", source=fact.path)
        for role, fact in target.files.items()
    )
    config = ("OPENCLAW_CONFIG_PATH", f"{SCRATCH}/files/{root}")
    models = ".".join((*provider_keys(target.wish), "models"))
    for kind, words in (
        (CANDIDATE, ("validate", "--json")),
        (ROWS, ("get", models, "--json")),
    ):
        yield Question(kind, one, _command(target, one, ("config", *words), (config,), files))


def _baseline(target: Target, one: Installation) -> Command:
    config = ("OPENCLAW_CONFIG_PATH", target.files[CONFIG].path)
    return _command(target, one, ("config", "validate", "--json"), (config,))


def _service(target: Target, one: Installation) -> Command:
    """What the service reads: asked in the real home, where its unit lies."""
    home, profile = target.context["home"], target.context["profile"]
    own = (
        ("HOME", home),
        ("XDG_RUNTIME_DIR", f"/run/user/{target.context['uid']}"),
        ("OPENCLAW_STATE_DIR", f"{SCRATCH}/{NO_STATE}"),
        *((("OPENCLAW_PROFILE", profile),) if profile else ()),
    )
    return _command(target, one, ("gateway", "status", "--json"), own)


def _applied(target: Target, one: Installation) -> Command:
    config = ("OPENCLAW_CONFIG_PATH", target.files[CONFIG].path)
    words = ("gateway", "call", "config.get", "--params", "{}", "--json")
    return _command(target, one, words, (config,))


def _command(
    target: Target,
    one: Installation,
    words: tuple[str, ...],
    own: tuple[tuple[str, str], ...],
    files: tuple[ScratchFile, ...] = (),
) -> Command:
    plugins = target.context.get("plugins", "")
    env = {
        "HOME": SCRATCH,
        "PATH": path(one),
        "TMPDIR": SCRATCH,
        "XDG_CACHE_HOME": f"{SCRATCH}/cache",
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "OPENCLAW_STATE_DIR": plugins or f"{SCRATCH}/state",
        **dict(own),
    }
    return Command((*start(one), *words), tuple(env.items()), files, seconds=SECONDS)
