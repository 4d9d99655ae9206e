"""The demo's hosts serving SSH, and the inventory that leads to them and to the router."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from fleetsync.demo.hosts import VARIABLE, DemoHost, catalog
from fleetsync.testing.server import EmbeddedHost

_ROUTER = f"""\
[router]
provider   = "anvil"
base_url   = "@ROUTER@"
credential = "{VARIABLE}"
[clients.hermes.policy]
manage_max_output = true
"""


@contextlib.contextmanager
def serving(root: Path, hosts: Sequence[DemoHost]) -> Iterator[None]:
    """Serve every host, with an inventory of them in `root / "inventory"`."""
    with contextlib.ExitStack() as stack:
        tables = [
            _table(host, stack.enter_context(EmbeddedHost(host.home, host.name, host.environment)))
            for host in hosts
        ]
        directory = root / "inventory"
        directory.mkdir()
        router = _ROUTER.replace("@ROUTER@", hosts[0].router)
        (directory / "fleet.toml").write_text("\n".join((router, *tables)), "utf-8")
        (directory / "catalog.toml").write_text(catalog(), "utf-8")
        yield


def _table(host: DemoHost, served: EmbeddedHost) -> str:
    # A TOML literal string: a path may hold what a basic string would take as an escape.
    commands = (
        f"[hosts.{host.name}.{client}]\ncommands = [['{launcher}']]\n"
        for client, launcher in host.launchers
    )
    return (
        f"[hosts.{host.name}]\n"
        f"address = '{served.address}'\nport = {served.port}\nuser = '{served.user}'\n"
        f"identity = '{served.identity}'\nknown_hosts = '{served.known_hosts}'\n"
        f"clients = {json.dumps(host.clients)}\n"
        f"{''.join(commands)}"
    )
