"""Who is in the fleet, and what the operator wants of each client on each host."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from fleetsync.adapter import Wish
from fleetsync.catalog import FILE as CATALOG_FILE
from fleetsync.catalog import Alias, Catalog, Policy, judge_catalog
from fleetsync.errors import ConfigError, UsageError
from fleetsync.fleetfile import (
    CLIENTS,
    FILE,
    ClientTable,
    FleetTable,
    HostClientTable,
    HostTable,
    fleet_table,
)
from fleetsync.notices import notices
from fleetsync.tables import judge, problem, quoted
from fleetsync.toml import Source, read

VARIABLE = "FLEETSYNC_INVENTORY"


@dataclass(frozen=True, slots=True)
class Router:
    """The OpenAI-compatible endpoint as one host spells it.

    `provider` names its entry inside the clients' files; `credential` is the variable
    under which the host keeps its own key.
    """

    provider: str
    base_url: str
    credential: str


@dataclass(frozen=True, slots=True)
class Host:
    """One account on one machine.

    `address` is any name ssh understands ("" means `name`). `user`, `port` (0),
    `identity` and `known_hosts` are empty where ssh's own configuration decides; the two
    paths are as written, `~` not expanded. A `hold` says why no command contacts it.
    """

    name: str
    address: str = ""
    user: str = ""
    port: int = 0
    identity: str = ""
    known_hosts: str = ""
    groups: tuple[str, ...] = ()
    clients: tuple[str, ...] = ()
    hold: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "address", self.address or self.name)


@dataclass(frozen=True)
class Inventory:
    """The fleet as fleet.toml tells, with the catalog beside it.

    `adapters` are the clients that can be synced. `notices` are lines for the operator:
    what was accepted and does nothing yet, and what looks like a slip.
    """

    directory: Path
    router: Router
    hosts: tuple[Host, ...]
    catalog: Catalog
    adapters: frozenset[str]
    notices: tuple[str, ...]
    fleet: FleetTable

    def select(self, patterns: Sequence[str] = ()) -> tuple[Host, ...]:
        """The hosts that any of `patterns` names, in the inventory's order; none means all.

        A pattern is a host's name, `@group`, or a glob over host names. Raises UsageError
        for a pattern that names no host.
        """
        if not patterns:
            return self.hosts
        chosen = {host.name for pattern in patterns for host in self._named(pattern)}
        return tuple(host for host in self.hosts if host.name in chosen)

    def clients_of(self, host: Host) -> tuple[str, ...]:
        """The clients listed for `host` that have an adapter."""
        return tuple(client for client in host.clients if client in self.adapters)

    def router_of(self, host: Host) -> Router:
        """The router as `host` spells it."""
        table = self.fleet.hosts[host.name].router
        return Router(
            table.provider or self.router.provider,
            table.base_url or self.router.base_url,
            table.credential or self.router.credential,
        )

    def _named(self, pattern: str) -> list[Host]:
        found = [host for host in self.hosts if _matches(host, pattern)]
        if found:
            return found
        names = [host.name for host in self.hosts]
        names += sorted({f"@{group}" for host in self.hosts for group in host.groups})
        close = difflib.get_close_matches(pattern, names, n=3)
        hint = "did you mean" if close else "the inventory has"
        shown = ", ".join(close or names[:20])
        raise UsageError(f"no host or group is named {quoted(pattern)}", f"{hint} {shown}")


def _matches(host: Host, pattern: str) -> bool:
    if pattern.startswith("@"):
        return pattern[1:] in host.groups
    return fnmatchcase(host.name, pattern)


def find(explicit: Path | None, environ: Mapping[str, str], cwd: Path) -> Path:
    """The inventory directory: `--inventory`, else FLEETSYNC_INVENTORY, else ./inventory.

    The first of the three that is given decides. Raises UsageError when it holds no
    fleet.toml.
    """
    named = environ.get(VARIABLE, "")
    directory = explicit or cwd / (named or "inventory")
    if (directory / FILE).is_file():
        return directory
    used = "--inventory" if explicit else VARIABLE if named else "the default"
    raise UsageError(
        f"no inventory: {directory / FILE} is not a file ({used})",
        f"an inventory is a directory with {FILE} and {CATALOG_FILE}, looked for in this "
        f"order: --inventory DIR, {VARIABLE}, ./inventory; `fleetsync demo` shows a whole one",
    )


def load(directory: Path, adapters: Collection[str]) -> Inventory:
    """The inventory in `directory`; `adapters` are the clients that can be synced.

    Raises ConfigError with every problem of both files.
    """
    source, catalog_source = read(directory / FILE), read(directory / CATALOG_FILE)
    catalog, problems = judge_catalog(catalog_source)
    clients = (*CLIENTS, *(name for name in sorted(adapters) if name not in CLIENTS))
    context = {"clients": clients, "aliases": _alias_names(catalog_source)}
    fleet, more = judge(fleet_table(clients), source, context)
    if fleet is not None and catalog is not None:
        more = tuple(_empty_selections(source, fleet, catalog))
    if fleet is None or catalog is None or more:
        raise ConfigError((*more, *problems))
    hosts = tuple(_host(name, table) for name, table in fleet.hosts.items())
    router = Router(fleet.router.provider, fleet.router.base_url, fleet.router.credential)
    told = tuple(notices(fleet, adapters))
    return Inventory(directory, router, hosts, catalog, frozenset(adapters), told, fleet)


def load_hosts(directory: Path, adapters: Collection[str]) -> Inventory:
    """The fleet without its catalog, whatever state that is in: the catalog is empty.

    Raises ConfigError with every problem of fleet.toml.
    """
    source = read(directory / FILE)
    clients = (*CLIENTS, *(name for name in sorted(adapters) if name not in CLIENTS))
    fleet, problems = judge(fleet_table(clients), source, {"clients": clients, "aliases": None})
    if fleet is None:
        raise ConfigError(tuple(problems))
    hosts = tuple(_host(name, table) for name, table in fleet.hosts.items())
    router = Router(fleet.router.provider, fleet.router.base_url, fleet.router.credential)
    return Inventory(directory, router, hosts, Catalog(()), frozenset(adapters), (), fleet)


def _alias_names(source: Source) -> list[str] | None:
    """The names in catalog.toml, right or wrong otherwise; None where it can't be read."""
    aliases = source.tables.get("aliases")
    return list(aliases) if isinstance(aliases, dict) else None


def _empty_selections(source: Source, fleet: FleetTable, catalog: Catalog) -> Iterator[str]:
    found = "include and exclude that leave no alias"
    for name, host in fleet.hosts.items():
        for client in host.clients:
            if not _selected(fleet, host, client, catalog):
                keys = ("hosts", name, client)
                yield problem(source, keys, found, "at least one alias for each client")


def _host(name: str, table: HostTable) -> Host:
    return Host(
        name=name,
        address=table.address or "",
        user=table.user or "",
        port=table.port or 0,
        identity=table.identity or "",
        known_hosts=table.known_hosts or "",
        groups=table.groups,
        clients=table.clients,
        hold=table.hold or "",
    )


def wish(inventory: Inventory, catalog: Catalog, host: Host, client: str) -> Wish:
    """What the operator wants of `client` on `host`, by the contract of `catalog`."""
    fleet, router = inventory.fleet, inventory.router_of(host)
    table = fleet.hosts[host.name]
    return Wish(
        client=client,
        provider=router.provider,
        base_url=router.base_url,
        credential=router.credential,
        aliases=_selected(fleet, table, client, catalog),
        known=frozenset(catalog.names),
        policy=_policy(fleet, table, client),
        options=_options(table.client(client)),
    )


def _selected(
    fleet: FleetTable, host: HostTable, client: str, catalog: Catalog
) -> tuple[Alias, ...]:
    """The client's aliases; a host's `include` or `exclude` replaces the client's own."""
    wide, narrow = fleet.clients.get(client, ClientTable()), host.client(client)
    include = wide.include if narrow.include is None else narrow.include
    exclude = wide.exclude if narrow.exclude is None else narrow.exclude
    return tuple(
        alias
        for alias in catalog.aliases
        if (include is None or alias.name in include) and alias.name not in (exclude or ())
    )


def _policy(fleet: FleetTable, host: HostTable, client: str) -> Policy:
    """The policy key by key, the narrowest table that spells a key deciding it."""
    wide = fleet.clients.get(client, ClientTable())
    layers = (fleet.policy, wide.policy, host.policy, host.client(client).policy)
    spelled: dict[str, Any] = {}
    for layer in layers:
        spelled |= layer.model_dump(exclude_unset=True)
    return Policy(**spelled)


def _options(table: HostClientTable) -> dict[str, Any]:
    options = {"commands": table.commands, "profiles": table.profiles}
    return {key: value for key, value in options.items() if value is not None}
