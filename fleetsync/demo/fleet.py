"""The demo's hosts serving SSH, and the inventory that leads to them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from fleetsync.demo.hosts import VARIABLE, DemoHost, catalog
from fleetsync.testing.server import EmbeddedHost

_ROUTER = f"""\
[router]
provider   = "anvil"
base_url   = "https://router.example.net/v1"
credential = "{VARIABLE}"
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
        (directory / "fleet.toml").write_text("\n".join((_ROUTER, *tables)), "utf-8")
        (directory / "catalog.toml").write_text(catalog(), "utf-8")
        yield


def _table(host: DemoHost, served: EmbeddedHost) -> str:
    # A TOML literal string: a path may hold what a basic string would take as an escape.
    return (
        f"[hosts.{host.name}]\n"
        f"address = '{served.address}'\nport = {served.port}\nuser = '{served.user}'\n"
        f"identity = '{served.identity}'\nknown_hosts = '{served.known_hosts}'\n"
        f'clients = ["pi"]\n'
        f"[hosts.{host.name}.pi]\ncommands = [['{host.launcher}']]\n"
    )
