"""The demo's fleet on disk: homes with a stand-in client, and the operator's files.

Everything lies in one directory. No file here is a real client's or a real key's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

PRIMARY, COMPANION, MID = "primary-node", "companion-node", "mid-mod"
ALIASES = ("llm.primary", "llm.secondary", "vision.general", "vision.ocr")
OLD, NEW = (524288, 8192), (393216, 4096)
"""Context window and maximum output, in tokens, before and after the catalog moved."""
VARIABLE = "ROUTER_API_KEY"
KEY = "key-of-this-host-alone"
_PACKAGE = ".local/lib/stand-in-client/node_modules/@earendil-works/pi-coding-agent"

_MODELS = """\
{
  // the limits come from the catalog; names and prices are ours
  "providers": {
    "anvil": {
      "baseUrl": "https://router.example.net/v1",
      "api": "openai-completions",
      "apiKey": "$ROUTER_API_KEY",
      "models": [
        MODELS,
      ],
    },
    "local": { // stays as it is
      "baseUrl": "http://localhost:11434/v1", "api": "openai-completions", "apiKey": "none",
      "models": [{ "id": "small", "contextWindow": 8192, "maxTokens": 8192 }],
    },
  },
}
"""
_ROW = (
    '{ "id": "%s", "name": "%s", "input": ["text", "image"],\n'
    '          "contextWindow": 524288, "maxTokens": 8192, "cost": { "input": %s, "output": 2 } }'
)


@dataclass(frozen=True, slots=True)
class DemoHost:
    """One host: its home, and the environment of its account."""

    name: str
    home: Path
    environment: Mapping[str, str]

    @property
    def models(self) -> Path:
        """The client's catalog file."""
        return self.home / ".pi" / "agent" / "models.json"

    @property
    def launcher(self) -> Path:
        """What starts the stand-in client."""
        return self.home / ".local" / "bin" / "pi"

    def listing(self) -> dict[str, bytes]:
        """Every file below the home with its bytes; directories and links by name."""
        return {
            str(path.relative_to(self.home)): path.read_bytes() if path.is_file() else b""
            for path in sorted(self.home.rglob("*"))
        }


def lay_out(root: Path) -> tuple[DemoHost, ...]:
    """Make the three homes below `root`."""
    primary = _host(root, PRIMARY)
    companion = _host(root, COMPANION, {VARIABLE: KEY})
    auth = primary.models.with_name("auth.json")
    auth.write_text(f'{{"anvil": {{"type": "api_key", "key": "{KEY}"}}}}\n', "ascii")
    auth.chmod(0o600)
    return primary, companion, _host(root, MID)


def _host(root: Path, name: str, more: Mapping[str, str] | None = None) -> DemoHost:
    home = root / name
    path = f"{home}/.local/bin:/usr/local/bin:/usr/bin:/bin"
    host = DemoHost(name, home, {"HOME": str(home), "PATH": path, **(more or {})})
    _install(home)
    host.launcher.parent.mkdir(parents=True)
    host.launcher.symlink_to(home / _PACKAGE / "dist" / "bundle" / "cli.js")
    host.models.parent.mkdir(parents=True)
    host.models.write_text(models(), "ascii")
    host.models.chmod(0o600)
    return host


def _install(home: Path) -> None:
    """Lay the stand-in client out as npm would lay out Pi 1.6.0."""
    client = files("fleetsync.demo").joinpath("client")
    bundle = home / _PACKAGE / "dist" / "bundle"
    bundle.mkdir(parents=True)
    for target, name in (
        (home / _PACKAGE / "package.json", "package.json"),
        (bundle / "cli.js", "pi"),
        (bundle / "models.awk", "models.awk"),
    ):
        target.write_bytes(client.joinpath(name).read_bytes())
    (bundle / "cli-runtime.js").write_text("// stand-in client: nothing runs here\n", "ascii")
    (bundle / "cli.js").chmod(0o755)


def models() -> str:
    """A models.json with the catalog before the move, as a person keeps it."""
    rows = (
        _ROW % (alias, name, price)
        for alias, name, price in zip(
            ALIASES, ("Primary", "Secondary", "Eyes", "Reader"), (0.5, 0.2, 0.4, 0.1), strict=True
        )
    )
    return _MODELS.replace("MODELS", ",\n        ".join(rows))


def moved(text: str) -> str:
    """What a models.json must be after apply, and nothing else of it may differ."""
    head, mark, rest = text.partition('"local"')
    for old, new in zip(OLD, NEW, strict=True):
        head = head.replace(f": {old}", f": {new}")
    return head + mark + rest


def catalog() -> str:
    """The operator's catalog.toml after the move."""
    return "\n".join(
        f'[aliases."{alias}"]\n'
        f"context_window    = {NEW[0]}\nmax_output_tokens = {NEW[1]}\n"
        'input             = ["text", "image"]\n'
        for alias in ALIASES
    )
