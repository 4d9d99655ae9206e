"""A host with a stand-in Pi: the demo's launcher at a version of our choice."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import fleetsync.demo
from fleetsync.adapter import Wish
from fleetsync.catalog import Alias, Policy

CLIENT = Path(fleetsync.demo.__file__).parent / "client"
NAME = "ROUTER_API_KEY"
ALIASES = ("llm.primary", "llm.secondary")
KEY = "the-hosts-own-key-1"
URL = "https://router.example.net/v1"


def install(home: Path, version: str = "1.6.0", directory: str = ".local/bin") -> Path:
    """Lay the stand-in below `home`; answers its launcher."""
    package = home / ".local/lib" / f"pi-{version}"
    (package / "dist/bundle").mkdir(parents=True)
    manifest = {"name": "@earendil-works/pi-coding-agent", "version": version}
    (package / "package.json").write_text(json.dumps(manifest))
    (package / "dist/bundle/cli-runtime.js").write_text("// stand-in client\n")
    for name in ("pi", "models.awk"):
        shutil.copy(CLIENT / name, package / "dist/bundle" / name)
    (package / "dist/bundle/pi").chmod(0o755)
    launcher = home / directory / "pi"
    launcher.parent.mkdir(parents=True, exist_ok=True)
    launcher.symlink_to(package / "dist/bundle/pi")
    return launcher


def models(
    window: int = 524288, output: int = 8192, key: str = f"${NAME}", url: str = URL
) -> str:
    """A models.json with a comment, the router's provider and another one."""
    rows = ",\n".join(
        f'        {{ "id": "{alias}", "contextWindow": {window}, "maxTokens": {output}, '
        '"input": ["text"] }'
        for alias in ALIASES
    )
    return (
        '{ // mine\n  "providers": {\n    "anvil": {\n'
        f'      "baseUrl": "{url}",\n'
        f'      "api": "openai-completions",\n      "apiKey": "{key}",\n'
        f'      "models": [\n{rows}\n      ]\n    }},\n'
        '    "other": { "baseUrl": "http://127.0.0.1:9/v1", "apiKey": "other-secret-key-1" }\n'
        "  }\n}\n"
    )


def write_models(home: Path, text: str) -> Path:
    """Put `text` where Pi reads it."""
    file = home / ".pi/agent/models.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def give_key(home: Path) -> None:
    """The host's own key, as its login shells see it."""
    (home / ".profile").write_text(f"export {NAME}={KEY}\n")


def wish(
    window: int = 393216, output: int = 4096, client: str = "pi", url: str = URL
) -> Wish:
    """What an operator wants of it."""
    aliases = tuple(
        Alias(name=name, context_window=window, max_output_tokens=output) for name in ALIASES
    )
    return Wish(client, "anvil", url, NAME, aliases, frozenset(ALIASES), Policy())
