"""One real turn through Pi: JSON events of a print run, in a scratch agent directory.

Measured on 0.73.1, 0.84.4 and 1.6.0 (`events` reads what comes out). The directory holds
a copy of models.json as planned; of auth.json where Pi takes its key from there; and
settings of ours, with retries and compaction off, so that one turn is two requests. The
user's agent directory is not touched.
"""

from __future__ import annotations

import json

from fleetsync.adapter import SCRATCH, Command, ScratchFile, Target, Turn
from fleetsync.facts import Resolve

from .files import MODELS, auth_path
from .launch import QUIET, environment, start
from .settings import Settings
from .versions import parse

READ = "read"
"""The tool that reads a file, in every version."""
_NONCE = "fleetsync-nonce.txt"
_LEAST, _MARGIN = 1, 5
"""Seconds before the turn's end at which Pi itself gives a silent router up."""
_PNG = b"\x89PNG"


def command(target: Target, turn: Turn) -> Command:
    """The turn, by the target's first installation."""
    installation = target.installations[0]
    version = parse(installation.version)
    trust = ("--no-approve",) if version and version.asks_for_trust else ()
    return Command(
        argv=(
            *start(installation), "--mode", "json", *QUIET, *trust, *_prompt(turn),
            "--provider", target.wish.provider, "--model", turn.alias.name, "--thinking", "off",
        ),
        env=environment(installation, *_account(target)),
        files=(
            ScratchFile("models.json", source=target.files[MODELS].path),
            ScratchFile("settings.json", content=json.dumps(_settings(target, turn)).encode()),
            *_stored(target),
            _shown(turn),
        ),
        seconds=turn.seconds,
        keys=target.credential.variables,
    )


def _prompt(turn: Turn) -> tuple[str, ...]:
    if turn.image:
        told = "Reply with the text in this image and nothing else."
        return ("--no-tools", "-p", f"@{SCRATCH}/{_picture(turn)}", told)
    told = (
        f"Use the {READ} tool exactly once to read the file {SCRATCH}/{_NONCE} then reply with "
        "its content and nothing else."
    )
    return ("--tools", READ, "-p", told)


def _shown(turn: Turn) -> ScratchFile:
    if turn.image:
        return ScratchFile(_picture(turn), content=turn.image)
    return ScratchFile(_NONCE, content=f"{turn.nonce}\n".encode())


def _picture(turn: Turn) -> str:
    return "image.png" if turn.image.startswith(_PNG) else "image.jpg"


def _stored(target: Target) -> tuple[ScratchFile, ...]:
    """auth.json, copied on the host, where the provider has an entry in it."""
    held = target.context.get("stored", "")
    return (ScratchFile("auth.json", source=auth_path(target)),) if held else ()


def _account(target: Target) -> tuple[str, str]:
    """A command for the key runs in the account's home; nothing else needs it."""
    if isinstance(target.credential.source, Resolve):
        return target.context.get("home", SCRATCH), target.context.get("path", "")
    return SCRATCH, ""


def _settings(target: Target, turn: Turn) -> dict[str, object]:
    """Ours, with the user's own patterns for the router's aliases: Pi warns of stale ones."""
    own = (p for p in Settings.of(target).patterns if p.startswith(f"{target.wish.provider}/"))
    patience = max(turn.seconds - _MARGIN, turn.seconds // 2, _LEAST) * 1000
    return {
        "retry": {"enabled": False, "provider": {"timeoutMs": patience, "maxRetries": 0}},
        "httpIdleTimeoutMs": patience,
        "compaction": {"enabled": False},
        "enabledModels": list(own),
    }
