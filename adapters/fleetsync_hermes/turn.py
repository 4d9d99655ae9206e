"""One real turn of a profile: Hermes' own one-shot mode, in a scratch home.

The scratch home holds the profile's config.yaml and, copied on the host, its .env and
auth.json, so that what Hermes writes stays there (0.18.2 and 0.19.0: sessions, the pool's
state, directories). Beside it lies a managed scope of ours, the way in which Hermes lets
an administrator set a value: one attempt at each request. Where the host has a managed
config.yaml of its own, that one counts instead, and Hermes tries a request three times.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from pathlib import PurePosixPath

from fleetsync.adapter import SCRATCH, Command, ScratchFile, Target, Turn

from .files import CONFIG
from .homes import DEFAULT
from .loader import interpreter

TOOL = "read_file"
USAGE, SESSION = "usage.json", "session.jsonl"
MANAGED, PINNED = "managed", "pinned"
"""In a target's context: the administrator's directory; not empty where it has a config.yaml."""
_NONCE = "nonce.txt"
_RECORD = 30
"""Seconds beyond the turn's own for ending it and exporting its session."""
_CAP = 1024 * 1024
_ONCE = b"agent:\n  api_max_retries: 1\n"
_FOREVER = 4102444800
"""A time to come: Hermes asks no package registry whether it is the newest."""
_REQUEST_LIMITS = (
    "HERMES_API_TIMEOUT",
    "HERMES_API_CALL_STALE_TIMEOUT",
    "HERMES_STREAM_READ_TIMEOUT",
    "HERMES_STREAM_STALE_TIMEOUT",
    "HERMES_LOCAL_STREAM_STALE_TIMEOUT",
)
"""What bounds one request; without them it waits for up to half an hour (0.19.0)."""


def command(target: Target, turn: Turn) -> Command:
    """The turn through the installation that is found first."""
    installation = target.installations[0]
    asked = {
        "copies": _copies(target),
        "seconds": turn.seconds,
        "record": [*installation.argv, "sessions", "export", "-"],
    }
    script = (interpreter(installation), "-I", "-B", f"{SCRATCH}/oneshot.py", json.dumps(asked))
    return Command(
        argv=(*script, *installation.argv, *_words(target, turn)),
        env=(*_homes(target), *_environment(turn)),
        files=(*_files(target, turn), ScratchFile("oneshot.py", content=_script())),
        seconds=turn.seconds + _RECORD,
        cap=_CAP,
        keys=target.credential.variables,
        returns=(USAGE, SESSION),
    )


def _home(target: Target) -> str:
    """The scratch home: a named profile stays one, which reads its root's pool as well."""
    return "home" if target.name == DEFAULT else f"home/profiles/{target.name}"


def _copies(target: Target) -> dict[str, str]:
    """What the host itself lays into the scratch home: its keys never come to us."""
    real, here = PurePosixPath(target.files[CONFIG].path).parent, _home(target)
    found = {f"{real}/{name}": f"{here}/{name}" for name in (".env", ".op.env", "auth.json")}
    if target.name != DEFAULT:
        found[f"{real.parent.parent}/auth.json"] = "home/auth.json"
    if not target.context[PINNED]:
        found[f"{target.context[MANAGED]}/.env"] = "managed/.env"
    return found


def _homes(target: Target) -> tuple[tuple[str, str], ...]:
    managed = target.context[MANAGED] if target.context[PINNED] else f"{SCRATCH}/managed"
    return ("HERMES_HOME", f"{SCRATCH}/{_home(target)}"), ("HERMES_MANAGED_DIR", managed)


def _words(target: Target, turn: Turn) -> tuple[str, ...]:
    """The provider is named, so that no model's name can lead to another (0.19.0,
    hermes_cli.oneshot). Of the toolsets with a reading tool this is the smallest."""
    chosen = ("-m", turn.alias.name, "--provider", f"custom:{target.wish.provider}", "-t", "file")
    if turn.image:
        asked = "Which text does the image show? Answer with that text alone. Use no tool."
        shown = ("--image", f"{SCRATCH}/{_image(turn)}")
        return ("chat", "-q", asked, "-Q", *shown, "--max-turns", "2", *chosen)
    asked = (
        f'READ: "{SCRATCH}/{_NONCE}". Read this one file with one call of {TOOL}, then answer '
        "with the text that stands in it and nothing else. Use no other tool."
    )
    return ("-z", asked, *chosen, "--usage-file", f"{SCRATCH}/{USAGE}")


def _image(turn: Turn) -> str:
    return "image.png" if turn.image.startswith(b"\x89PNG") else "image.jpg"


def _environment(turn: Turn) -> tuple[tuple[str, str], ...]:
    """The one-shot mode approves by itself whatever a tool asks for: nothing can be written
    but below a directory that does not exist, and plugins, hooks and servers stay out."""
    return (
        ("HOME", SCRATCH),
        ("PATH", "/usr/local/bin:/usr/bin:/bin"),
        ("TMPDIR", SCRATCH),
        ("LANG", "C.UTF-8"),
        ("PYTHONDONTWRITEBYTECODE", "1"),
        ("HERMES_SESSION_SOURCE", turn.session),
        ("HERMES_SAFE_MODE", "1"),
        ("HERMES_WRITE_SAFE_ROOT", f"{SCRATCH}/nothing"),
        ("HERMES_DISABLE_LAZY_INSTALLS", "1"),
        ("TIRITH_ENABLED", "false"),
        ("HERMES_STREAM_RETRIES", "0"),
        *((name, str(turn.seconds)) for name in _REQUEST_LIMITS),
    )


def _files(target: Target, turn: Turn) -> tuple[ScratchFile, ...]:
    here, version = _home(target), target.installations[0].version
    checked = {"ts": _FOREVER, "behind": 0, "rev": None, "ver": version}
    shown = ScratchFile(_NONCE, content=f"{turn.nonce}\n".encode())
    if turn.image:
        shown = ScratchFile(_image(turn), content=turn.image)
    return (
        ScratchFile(f"{here}/config.yaml", source=target.files[CONFIG].path),
        ScratchFile(f"{here}/.update_check", content=json.dumps(checked).encode()),
        ScratchFile("managed/config.yaml", content=_ONCE),
        shown,
    )


@cache
def _script() -> bytes:
    return files(__package__).joinpath("oneshot.py").read_bytes()
