"""The stand-in clients: labelled programs in the place of Pi, OpenClaw and Hermes.

Each lies on disk as its installer would have laid the real one, so that it is found in the
same way. It is a small shell script that answers what fleetsync asks, and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

_LIB = ".local/lib/stand-in-client"
_PI = f"{_LIB}/node_modules/@earendil-works/pi-coding-agent"
_OPENCLAW = f"{_LIB}/node_modules/openclaw"
_HERMES = f"{_LIB}/hermes"
_PACKAGES = f"{_HERMES}/lib/python3.11/site-packages"

_PROGRAMS = {
    "pi": f"{_PI}/dist/bundle/cli.js",
    "openclaw": f"{_OPENCLAW}/openclaw.mjs",
    "hermes": f"{_HERMES}/bin/hermes",
}
_COPIES = {
    "pi": {
        f"{_PI}/package.json": "pi.json",
        f"{_PI}/dist/bundle/cli.js": "pi",
        f"{_PI}/dist/bundle/models.awk": "models.awk",
    },
    "openclaw": {
        f"{_OPENCLAW}/package.json": "openclaw.json",
        f"{_OPENCLAW}/openclaw.mjs": "openclaw",
        f"{_OPENCLAW}/models.awk": "models.awk",
    },
    "hermes": {
        f"{_HERMES}/bin/python": "python",
        f"{_HERMES}/resolve.awk": "resolve.awk",
        f"{_PACKAGES}/hermes_agent-0.19.0.dist-info/METADATA": "METADATA",
    },
}
_RUNTIME = {
    "pi": (f"{_PI}/dist/bundle/cli-runtime.js",),
    "openclaw": (f"{_OPENCLAW}/dist/build-info.json", f"{_OPENCLAW}/dist/entry.js"),
    "hermes": tuple(
        f"{_PACKAGES}/hermes_cli/{name}.py" for name in ("__init__", "config", "runtime_provider")
    ),
}
"""The files by which fleetsync tells one state of a client's code from another."""
_SCRIPT = """\
#!/bin/sh
'''exec' "{python}" "$0" "$@"
' '''
# stand-in client: nothing runs here
"""
"""A Python program's launcher as pip writes it where the interpreter's path is long."""


def launcher(client: str, home: Path) -> Path:
    """What starts the stand-in of `client` below `home`."""
    return home / ".local" / "bin" / client


def install(client: str, home: Path) -> None:
    """Lay the stand-in of `client` below `home`."""
    for name, data in _contents(client, home):
        file = home / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
        file.chmod(0o755 if data.startswith(b"#!") else 0o644)
    link = launcher(client, home)
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(home / _PROGRAMS[client])


def _contents(client: str, home: Path) -> Iterator[tuple[str, bytes]]:
    stored = files("fleetsync.demo").joinpath("client")
    for name, source in _COPIES[client].items():
        yield name, stored.joinpath(source).read_bytes()
    for name in _RUNTIME[client]:
        yield name, b"stand-in client: nothing runs here\n"
    if client == "hermes":
        python = home / _HERMES / "bin" / "python"
        yield _PROGRAMS[client], _SCRIPT.format(python=python).encode()
