"""The demo's fleet on disk: homes with stand-in clients, and the files that people keep.

Everything lies in one directory. No file here is a real client's or a real key's.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from fleetsync.demo import standins

PRIMARY, COMPANION, MID = "primary-node", "companion-node", "mid-mod"
ALIASES = ("llm.primary", "llm.secondary", "vision.general", "vision.ocr")
OLD, NEW = (524288, 8192), (393216, 4096)
"""Context window and maximum output, in tokens, before and after the catalog moved."""
VARIABLE = "ROUTER_API_KEY"
_LINE = f"{VARIABLE}=@KEY@\n"
_SECRETS = {
    "pi": {".pi/agent/auth.json": '{"anvil": {"type": "api_key", "key": "@KEY@"}}\n'},
    "openclaw": {".openclaw/.env": _LINE},
    "hermes": {".hermes/.env": _LINE, ".hermes/profiles/work/.env": _LINE},
}
"""Where each client reads a key of its own."""
_SETTINGS = f'{{"defaultProvider": "anvil", "defaultModel": "{ALIASES[0]}"}}\n'
"""What Pi uses where nobody names a model."""


def key(name: str) -> str:
    """The router key of the host of that name, and of no other."""
    return f"key-of-{name}-alone"


@dataclass(frozen=True, slots=True)
class CatalogFile:
    """A client's catalog file on a host: whose it is, where below the home, and how many
    values move in it."""

    target: str
    path: str
    changes: int
    template: str

    def text(self, limits: tuple[int, int], router: str) -> bytes:
        """The file as a person keeps it, with these limits and this router's address; all
        else is the same text."""
        kept = files("fleetsync.demo").joinpath("kept", self.template).read_bytes()
        kept = kept.replace(b"@ROUTER@", router.encode())
        for mark, limit in zip((b"@WINDOW@", b"@OUTPUT@"), limits, strict=True):
            kept = kept.replace(mark, b"%d" % limit)
        return kept


_CATALOG_FILES = {
    "pi": (CatalogFile("pi", ".pi/agent/models.json", 8, "models.json"),),
    "openclaw": (CatalogFile("openclaw", ".openclaw/openclaw.json", 8, "openclaw.json"),),
    "hermes": (
        # Hermes has a window for each alias, and one output limit for a whole profile.
        CatalogFile("hermes/default", ".hermes/config.yaml", 5, "hermes.yaml"),
        CatalogFile("hermes/work", ".hermes/profiles/work/config.yaml", 5, "hermes-work.yaml"),
    ),
}


@dataclass(frozen=True, slots=True)
class DemoHost:
    """One host: its home, the environment of its account, its clients, and the router's
    address."""

    name: str
    home: Path
    environment: Mapping[str, str]
    clients: tuple[str, ...]
    router: str

    @property
    def catalog_files(self) -> tuple[CatalogFile, ...]:
        """The catalog files of all its clients."""
        return tuple(file for client in self.clients for file in _CATALOG_FILES[client])

    @property
    def launchers(self) -> Iterator[tuple[str, Path]]:
        """Each client with what starts its stand-in."""
        return ((client, standins.launcher(client, self.home)) for client in self.clients)

    def listing(self) -> dict[str, bytes]:
        """Every file below the home with its bytes; directories and links by name."""
        return {
            str(path.relative_to(self.home)): path.read_bytes() if path.is_file() else b""
            for path in sorted(self.home.rglob("*"))
        }

    def moved_alone(self, before: Mapping[str, bytes], *, besides: Collection[str] = ()) -> bool:
        """Whether the catalog files hold the new limits and everything else of the home, and
        of those files, is what it was in the listing `before`.

        What fleetsync keeps on a host (originals, manifest) is left out, and the files that
        `besides` names.
        """
        after = {
            name: data
            for name, data in self.listing().items()
            if not f"{name}/".startswith(".local/state/") and name not in besides
        }
        moved = {file.path: file.text(NEW, self.router) for file in self.catalog_files}
        return after == {**before, **moved}


def lay_out(root: Path, router: str) -> tuple[DemoHost, ...]:
    """Make the three homes below `root`: one with keys in each client's own place, one with
    a key in the account's environment, one without any. Their files name `router`."""
    primary = _host(root, PRIMARY, ("pi", "openclaw", "hermes"), router)
    _give_keys(primary)
    companion = _host(root, COMPANION, ("pi", "openclaw"), router, {VARIABLE: key(COMPANION)})
    return primary, companion, _host(root, MID, ("pi",), router)


def lay_out_real(root: Path, router: str, start: Mapping[str, Path]) -> DemoHost:
    """Make one home below `root` with a key of its own, where a real Pi is the client: its
    programs by their names in `start`."""
    def install(client: str, home: Path) -> None:
        programs = standins.launcher(client, home).parent
        programs.mkdir(parents=True)
        for name, program in start.items():
            (programs / name).symlink_to(program)

    host = _host(root, PRIMARY, ("pi",), router, install=install)
    _write(host.home / ".pi/agent/settings.json", _SETTINGS.encode())
    _give_keys(host)
    return host


def _give_keys(host: DemoHost) -> None:
    for client in host.clients:
        for name, text in _SECRETS[client].items():
            _write(host.home / name, text.replace("@KEY@", key(host.name)).encode())


def _host(
    root: Path,
    name: str,
    clients: tuple[str, ...],
    router: str,
    more: Mapping[str, str] | None = None,
    install: Callable[[str, Path], None] = standins.install,
) -> DemoHost:
    home = root / name
    # The Python of this process can show a key to the router where there is no curl.
    python = Path(sys.executable).parent
    environment = {
        "HOME": str(home),
        "PATH": f"{home}/.local/bin:/usr/local/bin:/usr/bin:/bin:{python}",
        # Else what an administrator pins for Hermes on this machine would count.
        "HERMES_MANAGED_DIR": f"{home}/etc/hermes",
        **(more or {}),
    }
    host = DemoHost(name, home, environment, clients, router)
    for client in clients:
        install(client, home)
    for file in host.catalog_files:
        _write(home / file.path, file.text(OLD, router))
    return host


def _write(file: Path, data: bytes) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)
    file.chmod(0o600)


def catalog() -> str:
    """The operator's catalog.toml after the move."""
    return "\n".join(
        f'[aliases."{alias}"]\n'
        f"context_window    = {NEW[0]}\nmax_output_tokens = {NEW[1]}\n"
        'input             = ["text", "image"]\n'
        for alias in ALIASES
    )
