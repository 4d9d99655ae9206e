"""Where a real Pi comes from: this machine's PATH, else npm, into a directory of our cache.

Both were measured with Pi 1.6.0: what its `package.json` is called and which Node it takes.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from fleetsync.errors import FleetsyncError, UsageError
from fleetsync.releases import number

PACKAGE, VERSION = "@earendil-works/pi-coding-agent", "1.6.0"
NODE = "22.19.0"
"""The oldest Node that starts this Pi."""
_NPM = (
    "install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier",
    "--loglevel=error",
)
_START_SECONDS, _INSTALL_SECONDS = 30, 600
_DEPTH = 4
"""How far above its program Pi's `package.json` lies at most."""


@dataclass(frozen=True, slots=True)
class RealPi:
    """A real Pi: its program, its version, and the Node that runs it."""

    program: Path
    version: str
    node: Path


def find(say: Callable[[str], None]) -> RealPi:
    """The Pi on PATH, or the one in our cache, which npm puts there the first time.

    Raises UsageError where Node, or both Pi and npm, are missing, and FleetsyncError where
    npm fails.
    """
    node = _node()
    program = _on_path() or _installed(say)
    return RealPi(program, _version(program), node)


def _node() -> Path:
    again = f"install Node.js {NODE} or newer, so that `node` starts it, then repeat this"
    found = shutil.which("node")
    if found is None:
        raise UsageError(f"a real turn needs Node.js {NODE} or newer; PATH has no node", again)
    version = number(_output([found, "--version"]))
    if version is None or version < (number(NODE) or ()):
        told = ".".join(map(str, version)) if version else "of no version"
        raise UsageError(f"a real turn needs Node.js {NODE} or newer; {found} is {told}", again)
    return Path(found)


def _output(argv: list[str]) -> str:
    try:
        done = subprocess.run(
            argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
            timeout=_START_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip().removeprefix("v")


def _on_path() -> Path | None:
    found = shutil.which("pi")
    program = Path(found).resolve() if found else None
    return program if program and _version(program) else None


def _version(program: Path) -> str:
    """The version of the Pi that `program` belongs to; "" where it is no Pi."""
    for directory in program.parents[:_DEPTH]:
        try:
            package = json.loads((directory / "package.json").read_bytes())
        except (OSError, ValueError):
            continue
        if isinstance(package, dict) and package.get("name") == PACKAGE:
            return str(package.get("version", ""))
    return ""


def _installed(say: Callable[[str], None]) -> Path:
    """Our own Pi. It appears by one rename, whole."""
    root = _cache() / f"pi-{VERSION}"
    launcher = root / "node_modules" / ".bin" / "pi"
    if not launcher.exists():
        root.parent.mkdir(parents=True, exist_ok=True)
        say(f"installing {PACKAGE} {VERSION} by npm into {root}")
        with tempfile.TemporaryDirectory(prefix=".partial-", dir=root.parent) as scratch:
            made = Path(scratch) / root.name
            made.mkdir()
            _npm(made)
            made.rename(root)
    return launcher.resolve(strict=True)


def _cache() -> Path:
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "fleetsync"


def _npm(directory: Path) -> None:
    wanted = f"{PACKAGE}@{VERSION}"
    npm = shutil.which("npm")
    if npm is None:
        raise UsageError(
            "a real turn needs Pi; PATH has none, and no npm to install it",
            f"install npm, or Pi itself ({wanted}), then repeat this",
        )
    try:
        subprocess.run(
            [npm, *_NPM, "--prefix", str(directory), wanted], cwd=directory,
            stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True,
            timeout=_INSTALL_SECONDS,
        )
    except subprocess.TimeoutExpired as error:
        raise FleetsyncError(f"npm has not installed Pi in {_INSTALL_SECONDS} seconds") from error
    except subprocess.CalledProcessError as error:
        told = (error.stderr or error.stdout).strip() or f"it ends with {error.returncode}"
        raise FleetsyncError(
            f"npm cannot install {wanted}:\n{told}",
            "see that npm reaches its registry, or put a Pi on PATH",
        ) from error
