"""What an operator should be told about a valid fleet.toml."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator

from fleetsync.fleetfile import CLIENTS, FleetTable
from fleetsync.tables import dotted

_SSH = 22
"""The port of a host that names none."""
_NOT_YET = "is accepted, its feature is not in this version"


def notices(fleet: FleetTable, adapters: Collection[str]) -> Iterator[str]:
    """One line for each key whose feature is not there yet, and for each likely slip."""
    for key in _pending_keys(fleet):
        yield f"{key} {_NOT_YET}"
    for client in CLIENTS:
        hosts = [name for name, host in fleet.hosts.items() if client in host.clients]
        if hosts and client not in adapters:
            yield f'"{client}" in clients ({", ".join(hosts)}) {_NOT_YET}'
    yield from _tables_without_effect(fleet)
    yield from _shared_accounts(fleet)


def _pending_keys(fleet: FleetTable) -> Iterator[str]:
    if fleet.catalog_source is not None:
        yield "catalog_source"


def _tables_without_effect(fleet: FleetTable) -> Iterator[str]:
    for name, host in fleet.hosts.items():
        for client, _ in host.client_tables():
            if client not in host.clients:
                key = dotted(("hosts", name, client))
                yield f"{key} has no effect: the host's clients do not list {client}"


def _shared_accounts(fleet: FleetTable) -> Iterator[str]:
    accounts: dict[tuple[str, str | None, int | None], list[str]] = defaultdict(list)
    for name, host in fleet.hosts.items():
        address = (host.address or name).lower()
        accounts[address, host.user, host.port or _SSH].append(name)
    for names in accounts.values():
        if len(names) > 1:
            yield (
                f"hosts {', '.join(names)} are the same account: one address, user and port; "
                "list its clients below one name, else one command meets itself there"
            )
