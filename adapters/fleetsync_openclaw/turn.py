"""One real turn through OpenClaw: by the gateway that runs, else by a run of its own.

Measured on 2026.9.6. Through the gateway the turn has an incognito session: it is in
memory alone, in no list, and is deleted after the turn, without the archive that an
ordinary session leaves. It works in the scratch directory, where a first turn's files go
too; its permission mode is read-only, and more of the user's tool policy cannot be narrowed
for one session. `agent exec` (2026.6.11: `agent --local`) runs in a state
directory apart, so that no session, workspace or cooldown of the provider is left, and on
a configuration laid over the user's own that denies every tool but the reading ones.
"""

from __future__ import annotations

import json
import re
from pathlib import PurePosixPath

from fleetsync.adapter import SCRATCH, Command, ScratchFile, Target, Turn
from fleetsync.facts import Installation

from . import launch
from .config import CONFIG
from .versions import parse

READ = "read"
"""The tool that reads a file, in every version."""
GATEWAY, EXEC = "gateway", "exec"
START = 45
"""Seconds for starting, beside the turn's own: 10 to 20 were seen, 30 under load."""
OVERDUE = 124
"""The exit status where the turn was ended after its seconds."""
THROUGH, AGENT, STATE, STORED = "through", "agent", "state directory", "stored"
"""In a target's context."""
_OVERLAY, _ROOM = "openclaw.json", "turn"
_PNG = b"\x89PNG"
_RULES = ScratchFile(f"{_ROOM}/AGENTS.md", b"Do as the user asks.\n")
"""A room with this file is not taken for a new one, which the model is to furnish first."""
DENIED = (
    "group:runtime", "write", "edit", "apply_patch", "group:sessions", "group:memory",
    "group:web", "group:ui", "group:automation", "group:messaging", "group:nodes",
    "group:agents", "group:media", "group:plugins", "ls",
)
"""Tools that a turn apart is not offered: `read` alone is left."""
_THROUGH_GATEWAY = (
    "limit=$1 session=$2 made=$3 prompt=$4 agent=$5 model=$6 seconds=$7; shift 7; "
    '"$@" gateway call sessions.create --params "$made" --json >created || '
    "{ cat created; exit 1; }; "
    '"$@" agent --agent "$agent" --session-key "$session" --model "$model" '
    '--message "$prompt" --timeout "$seconds" --json & turn=$!; '
    '(sleep "$limit" && kill -s TERM "$turn") >/dev/null 2>&1 & '
    'wait "$turn"; status=$?; '
    # 143 is TERM, as a shell tells it: it was ours, and no crash.
    '[ "$status" != 143 ] || { status=124; '
    """"$@" gateway call logs.tail --params '{"limit": 300}' --json >&2; }; """
    """"$@" gateway call sessions.delete --params '{"key": "'"$session"'"}' --json >deleted """
    '|| echo "fleetsync: the session was not deleted" >&2; '
    'exit "$status"'
)
"""Makes the session, takes the turn, ends it where it overstays (then the gateway's log says
what it tries again and again), deletes the session."""


def command(target: Target, turn: Turn) -> Command:
    """The turn, by the target's first installation."""
    one = target.installations[0]
    if target.context[THROUGH] == GATEWAY:
        return _command(target, turn, _through_gateway(target, turn, one), {}, (_RULES,))
    version = parse(one.version)
    is_new = version is None or version.is_new
    words = _exec if is_new else _local
    overlay = ScratchFile(_OVERLAY, json.dumps(_laid_over(target, is_new)).encode())
    own = {
        "OPENCLAW_CONFIG_PATH": f"{SCRATCH}/{_OVERLAY}",
        "OPENCLAW_INCLUDE_ROOTS": str(PurePosixPath(_config(target)).parent),
    }
    return _command(target, turn, (*launch.start(one), *words(target, turn)), own, (overlay,))


def _command(
    target: Target,
    turn: Turn,
    words: tuple[str, ...],
    own: dict[str, str],
    files: tuple[ScratchFile, ...],
) -> Command:
    direct = target.context[THROUGH] == GATEWAY
    stored = target.context[STORED] == "yes" and not direct
    env = launch.environment(target.installations[0], target.context["home"], _config(target))
    return Command(
        launch.apart(target.context[STATE], *words, stored=stored),
        tuple({**env, **own}.items()),
        (*files, _shown(turn)),
        seconds=turn.seconds + START,
        keys=() if direct else target.credential.variables,
    )


def _config(target: Target) -> str:
    return target.files[CONFIG].path


def _through_gateway(target: Target, turn: Turn, one: Installation) -> tuple[str, ...]:
    agent = target.context[AGENT]
    session = f"agent:{agent}:dashboard:incognito-{_plain(turn.session)}"
    room = f"{SCRATCH}/{_ROOM}"
    made = {"key": session, "incognito": True, "permissionMode": "read-only", "cwd": room}
    return (
        "/bin/sh", "-c", _THROUGH_GATEWAY, "sh", str(turn.seconds + START // 3), session,
        json.dumps(made), _prompt(turn), agent, _model(target, turn), str(turn.seconds),
        *launch.start(one),
    )


def _exec(target: Target, turn: Turn) -> tuple[str, ...]:
    return (
        "agent", "exec", _prompt(turn), "--cwd", f"{SCRATCH}/{_ROOM}",
        "--model", _model(target, turn), "--timeout", str(turn.seconds), "--json",
    )


def _local(target: Target, turn: Turn) -> tuple[str, ...]:
    return (
        "agent", "--local", "--agent", target.context[AGENT], "--session-id",
        _plain(turn.session), "--message", _prompt(turn), "--model", _model(target, turn),
        "--timeout", str(turn.seconds), "--json",
    )


def _plain(session: str) -> str:
    """A session's name as OpenClaw keeps it."""
    return re.sub(r"[^a-z0-9-]", "-", session.lower())


def _model(target: Target, turn: Turn) -> str:
    return f"{target.wish.provider}/{turn.alias.name}"


def _laid_over(target: Target, is_new: bool) -> dict[str, object]:
    """The user's configuration with what only this run needs. Newer versions offer a search
    for the tools that they hold back."""
    room = f"{SCRATCH}/{_ROOM}"
    search = {"toolSearch": False} if is_new else {}
    return {
        "$include": _config(target),
        "tools": {"profile": "coding", "deny": list(DENIED), **search},
        "agents": {"defaults": {"workspace": room, "skipBootstrap": True}},
    }


def _prompt(turn: Turn) -> str:
    if turn.image:
        return f"What text is in this image? Answer with that text alone: {_file(turn)}"
    return (
        f"READ: {_file(turn)} with the {READ} tool, exactly once, and answer with the content "
        "of that file and nothing else."
    )


def _file(turn: Turn) -> str:
    return f"{SCRATCH}/{_name(turn)}"


def _shown(turn: Turn) -> ScratchFile:
    return ScratchFile(_name(turn), turn.image or f"{turn.nonce}\n".encode())


def _name(turn: Turn) -> str:
    if not turn.image:
        return f"{_ROOM}/nonce.txt"
    return f"{_ROOM}/image.{'png' if turn.image.startswith(_PNG) else 'jpg'}"
