"""What every client must agree on: the aliases, their limits, and the policy of a sync."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from fleetsync.tables import Table

Compat: TypeAlias = bool | int | str | tuple[str, ...]
"""A value of an alias's `compat` table."""

Listed = Field(strict=False)
"""TOML gives lists; the types hold tuples."""


class Policy(Table):
    """What fleetsync may do beyond the limits; every key has the safe default."""

    prune: bool = False
    dangling: Literal["refuse", "report"] = "refuse"
    manage_max_output: bool = False
    manage_reasoning: bool = False
    credential_scope: Literal["persistent", "interactive"] = "persistent"
    preset: Literal["", "anvil"] = ""


class AliasTable(Table):
    """The contract of one alias as `[aliases.NAME]` holds it; limits are tokens."""

    context_window: int
    max_output_tokens: int
    input: Annotated[tuple[Literal["text", "image"], ...], Listed] = ("text",)
    reasoning: bool = False
    compat: Mapping[str, Compat] = {}
    served_as: Annotated[tuple[str, ...], Listed] = ()
    hold: str = ""


class Alias(AliasTable):
    """One stable model name that the router serves, with its contract."""

    name: str


@dataclass(frozen=True)
class Catalog:
    """The wished contract, its aliases in the file's order."""

    aliases: tuple[Alias, ...]

    @cached_property
    def generation(self) -> str:
        """The digest that names this state: sha256 in hex; people are shown the first 12.

        Comments, the order of tables and spelled-out defaults do not change it.
        """
        tables = {alias.name: alias.model_dump(exclude_defaults=True) for alias in self.aliases}
        text = json.dumps(tables, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def names(self) -> frozenset[str]:
        """The names of all aliases."""
        return frozenset(alias.name for alias in self.aliases)
