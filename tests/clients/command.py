"""The command line against one host with real clients. Nothing secret ever shows."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tests.integration.sshd import RemoteHost

URL = "https://router.example.net/v1"
NAME, KEY = "ROUTER_API_KEY", "canary-of-this-host-4c0ffee"
OTHER, TOKEN = "a-literal-key-of-another", "a-gateway-token-of-the-host"
"""What else stands in the hosts' files and belongs to nobody but them."""
ALIASES = ("llm.primary", "llm.secondary", "vision.general", "vision.ocr")
VISION = ALIASES[2:]

Fleetsync = Callable[..., tuple[int, dict[str, Any]]]
"""Takes the words of a command; answers its exit code and its JSON."""
Commands = Callable[..., Fleetsync]
"""Takes a host and its clients, and what `command` takes besides."""


def catalog(seeing: Sequence[str] = ()) -> str:
    """A catalog.toml after the promotion; those `seeing` take images."""
    return "\n".join(
        f'[aliases."{alias}"]\ncontext_window = 393216\nmax_output_tokens = 4096\n'
        + ('input = ["text", "image"]\n' if alias in seeing else "")
        for alias in ALIASES
    )


def fleet(hosts: dict[str, RemoteHost], clients: Sequence[str], more: str = "") -> str:
    """A fleet.toml of hosts with these clients; `more` belongs to the last one."""
    tables = "\n".join(
        f"[hosts.{name}]\n"
        + "".join(f"{key} = {json.dumps(value)}\n" for key, value in host.inventory_table().items())
        + f"clients = {json.dumps(clients)}\n"
        for name, host in hosts.items()
    )
    return (
        f'[router]\nprovider = "anvil"\nbase_url = "{URL}"\ncredential = "{NAME}"\n\n{tables}{more}'
    )


def command(
    directory: Path, hosts: dict[str, RemoteHost], clients: Sequence[str],
    *, more: str = "", seeing: Sequence[str] = (),
) -> Fleetsync:
    """Runs fleetsync with an inventory below `directory`."""
    inventory = directory / "inventory"
    inventory.mkdir(exist_ok=True)
    (inventory / "fleet.toml").write_text(fleet(hosts, clients, more))
    (inventory / "catalog.toml").write_text(catalog(seeing))

    def run(*words: str) -> tuple[int, dict[str, Any]]:
        # No test asks a router that is not on this machine.
        words += ("--offline",) if words[0] in {"apply", "doctor"} else ()
        done = subprocess.run(
            [sys.executable, "-m", "fleetsync", "--inventory", str(inventory), *words, "--json"],
            capture_output=True, text=True, timeout=900, stdin=subprocess.DEVNULL, check=False,
            env={**os.environ, NAME: "the-operators-own-key"},
        )
        kept = (path for part in ("inventory", "backups") for path in (directory / part).rglob("*"))
        texts = (path.read_text("utf-8", "replace") for path in kept if path.is_file())
        told = done.stdout + done.stderr + "".join(texts)
        assert [secret for secret in (KEY, OTHER, TOKEN) if secret in told] == []
        return done.returncode, json.loads(done.stdout)

    return run
