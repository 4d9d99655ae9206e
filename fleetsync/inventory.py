"""Who is in the fleet, and what the operator wants of each client on each host."""

from __future__ import annotations

from dataclasses import dataclass


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
