"""fleet.toml as the operator writes it: its tables, and what each key accepts."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from functools import cache
from typing import Annotated, Any, Final, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, ValidationInfo, create_model

from fleetsync.catalog import Policy
from fleetsync.tables import LISTED, Label, Name, Sentence, Table, faulty, near

FILE = "fleet.toml"
CLIENTS: Final = ("pi", "openclaw", "hermes")
"""The names fleet.toml always accepts, whether or not their adapter is installed."""


def _router_address(text: str) -> str:
    """A router's address, kept as it is spelled: clients compare it letter by letter."""
    if not _ADDRESS.fullmatch(text):
        raise faulty("an address that starts with http:// or https://, without spaces")
    try:
        parts = urlsplit(text)
        complete = bool(parts.hostname) and parts.port != 0
    except ValueError:
        complete = False
    if not complete:
        raise faulty("an address with a host name, and a port from 1 to 65535 if any")
    if "@" in parts.netloc:
        raise faulty("an address without user and password; a key has its own place")
    if "?" in text or "#" in text:
        raise faulty("an address without query and fragment")
    return text


_ADDRESS = re.compile(r"""(?i:https?)://[^\x00-\x20\x7f-\U0010ffff"<>\\^`{|}]+""")


def _of_catalog(name: str, info: ValidationInfo) -> str:
    known: Collection[str] | None = (info.context or {}).get("aliases")
    if known is None or name in known:
        return name
    raise faulty(f"an alias of the catalog{near(name, known)}", of_names=True)


def _known_client(name: str, info: ValidationInfo) -> str:
    known: Collection[str] = (info.context or {}).get("clients", CLIENTS)
    if name in known:
        return name
    raise faulty(f"a client{near(name, known)}", of_names=True)


def _once(names: tuple[str, ...]) -> tuple[str, ...]:
    if len(set(names)) == len(names):
        return names
    raise faulty("each name once")


Url = Annotated[str, AfterValidator(_router_address), Field(
    description="an address that starts with http:// or https://, "
    "without user, password, query and fragment",
)]  # fmt: skip
Variable = Annotated[str, Field(
    pattern="^[A-Za-z_][A-Za-z0-9_]*$",
    description="the name of an environment variable: letters, digits and '_'",
)]  # fmt: skip
Address = Annotated[str, Field(
    pattern=r"^[A-Za-z0-9_:\[][A-Za-z0-9_.:%\[\]-]*$",
    description="a name or address that ssh understands, which begins with no '-'",
)]  # fmt: skip
User = Annotated[str, Field(
    pattern=r"^[A-Za-z0-9_.]([A-Za-z0-9_.@+\\-]*[A-Za-z0-9_.@+-])?$",
    description="a user name without spaces that begins with no '-'",
)]  # fmt: skip
LocalFile = Annotated[str, Field(
    pattern=r"^[^-\x00-\x1f\x7f][^\x00-\x1f\x7f]*$",
    description="a path on this machine that begins with no '-'; '~' is your home",
)]  # fmt: skip
RemoteFile = Annotated[str, Field(
    pattern=r"^/[^\x00-\x1f\x7f]*$",
    description="an absolute path on the host, on one line",
)]  # fmt: skip
Launcher = Annotated[tuple[RemoteFile, ...], LISTED, Field(
    min_length=1, description='a list of absolute paths, such as ["/opt/bin/node", "/opt/bin/pi"]'
)]  # fmt: skip
AliasName = Annotated[Label, AfterValidator(_of_catalog)]
ClientName = Annotated[str, AfterValidator(_known_client), Field(
    description="a client with an adapter, or one of pi, openclaw, hermes",
)]  # fmt: skip
Aliases = Annotated[tuple[AliasName, ...], LISTED, AfterValidator(_once)]
Names = Annotated[tuple[Name, ...], LISTED, AfterValidator(_once)]


class RouterTable(Table):
    """[router]: the OpenAI-compatible endpoint."""

    provider: Name
    base_url: Url
    credential: Variable


class HostRouterTable(Table):
    """[hosts.NAME.router]: what this host spells differently."""

    provider: Name | None = None
    base_url: Url | None = None
    credential: Variable | None = None


class ClientTable(Table):
    """[clients.NAME]: what one client gets everywhere."""

    include: Annotated[Aliases, Field(min_length=1)] | None = Field(
        default=None, description="a list of at least one alias; absent: all"
    )
    exclude: Aliases | None = Field(default=None, description="a list of aliases")
    policy: Policy = Policy()


class HostClientTable(ClientTable):
    """[hosts.NAME.CLIENT]: what one client gets on one host, and how it is found there."""

    commands: Annotated[tuple[Launcher, ...], LISTED, Field(min_length=1)] | None = Field(
        default=None, description="a list of launchers, each a list of absolute paths"
    )
    profiles: Annotated[Names, Field(min_length=1)] | None = Field(
        default=None, description="a list of at least one profile name; absent: every profile found"
    )


class HostTable(Table):
    """[hosts.NAME]: one account on one machine; a table for each client may follow."""

    address: Address | None = None
    user: User | None = None
    port: int | None = Field(
        default=None, ge=1, le=65535, description="a whole number from 1 to 65535"
    )
    identity: LocalFile | None = None
    known_hosts: LocalFile | None = None
    groups: Names = Field(default=(), description="a list of group names")
    clients: Annotated[tuple[ClientName, ...], LISTED, AfterValidator(_once)] = Field(
        min_length=1, description="a list of at least one client"
    )
    hold: Sentence | None = Field(
        default=None, description="why no command contacts this host, in a few words on one line"
    )
    router: HostRouterTable = HostRouterTable()
    policy: Policy = Policy()

    def client(self, name: str) -> HostClientTable:
        """The host's own table for one client; an empty one where there is none."""
        return dict(self.client_tables()).get(name, HostClientTable())

    def client_tables(self) -> Iterator[tuple[str, HostClientTable]]:
        """Each client that has its own table here, with it."""
        for key, info in type(self).model_fields.items():
            table = getattr(self, key)
            if isinstance(table, HostClientTable) and info.alias is not None:
                yield info.alias, table


class SmokeTable(Table):
    """[smoke]: what is proved by real turns."""

    aliases: Aliases = Field(
        default=(), description="a list of aliases, besides each target's own default"
    )


class CatalogSourceTable(Table):
    """[catalog_source]: the router that the catalog can be pulled from."""

    kind: Literal["anvil"] = Field(description='"anvil"')
    url: Url
    credential: Variable


class FleetTable(Table):
    """fleet.toml: the router, the policy, the clients and the hosts."""

    router: RouterTable
    policy: Policy = Policy()
    smoke: SmokeTable = SmokeTable()
    catalog_source: CatalogSourceTable | None = None
    clients: dict[ClientName, ClientTable] = Field(default_factory=dict)
    hosts: dict[Name, HostTable] = Field(
        min_length=1, description="at least one table [hosts.NAME]"
    )


RESERVED: Final = frozenset(HostTable.model_fields)
"""Keys of a host's table that no client can have as its name."""


@cache
def fleet_table(clients: tuple[str, ...]) -> type[FleetTable]:
    """FleetTable with a table for each of `clients` in every host's table."""
    tables: dict[str, Any] = {
        f"client_{number}": (HostClientTable | None, Field(default=None, alias=name))
        for number, name in enumerate(clients)
    }
    host = create_model("HostTable", __base__=HostTable, __doc__=HostTable.__doc__, **tables)
    hosts = FleetTable.model_fields["hosts"]
    return create_model(
        "FleetTable",
        __base__=FleetTable,
        __doc__=FleetTable.__doc__,
        hosts=(dict[Name, host], hosts),  # type: ignore[valid-type]  # a model made just above
    )
