"""What every client must agree on: the aliases, their limits, and the policy of a sync."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo, field_validator

from fleetsync.errors import ConfigError
from fleetsync.tables import LARGEST, LISTED, Label, Sentence, Table, faulty, judge
from fleetsync.toml import Source, read

FILE = "catalog.toml"

Compat: TypeAlias = bool | int | str | tuple[str, ...]
"""A value of an alias's `compat` table."""


def _compat(value: object) -> object:
    match value:
        case bool() | str():
            return value
        case int() if abs(value) <= LARGEST:
            return value
        case list() | tuple() if all(isinstance(item, str) for item in value):
            return tuple(value)
        case _:
            raise faulty("true, false, a whole number, a text or a list of texts")


def _text_first(value: tuple[str, ...]) -> tuple[str, ...]:
    if value in (("text",), ("text", "image")):
        return value
    raise faulty('["text"] or ["text", "image"]')


CompatKey = Annotated[str, Field(
    pattern="^[A-Za-z][A-Za-z0-9_]*$",
    description="a name of letters, digits and '_' that begins with a letter",
)]  # fmt: skip
CompatValue = Annotated[Compat, BeforeValidator(_compat), Field(
    description="true, false, a whole number, a text or a list of texts",
)]  # fmt: skip
Medium = Annotated[Literal["text", "image"], Field(description='"text" or "image"')]
Tokens = Annotated[int, Field(ge=1, le=LARGEST)]


class Policy(Table):
    """What fleetsync may do beyond the limits; every key has the safe default."""

    prune: bool = Field(default=False, description="true or false: remove what left the catalog")
    dangling: Literal["refuse", "report"] = Field(
        default="refuse",
        description='"refuse" or "report": references to an alias that leaves',
    )
    manage_max_output: bool = Field(
        default=False,
        description="true or false: manage Hermes's model.max_tokens, global to a profile",
    )
    manage_reasoning: bool = Field(
        default=False,
        description="true or false: manage Hermes's agent.reasoning_overrides",
    )
    credential_scope: Literal["persistent", "interactive"] = Field(
        default="persistent",
        description='"persistent" or "interactive": accept keys only interactive shells see',
    )
    preset: Literal["", "anvil"] = Field(
        default="",
        description='"" or "anvil": anvil-serving\'s alias sets and compaction checks',
    )


class AliasTable(Table):
    """The contract of one alias as `[aliases.NAME]` holds it."""

    context_window: Tokens = Field(
        description="the context window in tokens, a whole number from 1; "
        "an unknown limit is refused, never guessed"
    )
    max_output_tokens: Tokens = Field(
        description="the most tokens of one answer, a whole number from 1 to context_window; "
        "an unknown limit is refused, never guessed"
    )
    input: Annotated[tuple[Medium, ...], LISTED, AfterValidator(_text_first)] = Field(
        default=("text",), description='["text"] or ["text", "image"]'
    )
    reasoning: bool = Field(default=False, description="true or false: it thinks before it answers")
    compat: Mapping[CompatKey, CompatValue] = Field(
        default_factory=dict, description="a table of what the alias's API supports"
    )
    served_as: Annotated[tuple[Label, ...], LISTED] = Field(
        default=(), description="a list of the model names that the router may answer with"
    )
    hold: Sentence = Field(default="", description="why turns are held, in a few words on one line")

    @field_validator("max_output_tokens")
    @classmethod
    def _fits(cls, value: int, info: ValidationInfo) -> int:
        context = info.data.get("context_window")
        if context is not None and value > context:
            raise faulty(f"at most the context_window, which is {context}")
        return value


class Alias(AliasTable):
    """One stable model name that the router serves, with its contract; limits are tokens.

    `served_as` are names the router may answer with. A `hold` says why turns are held.
    """

    name: Label


class CatalogTable(Table):
    """catalog.toml: the aliases that the router serves, and their limits."""

    aliases: dict[Label, AliasTable] = Field(
        min_length=1, description="at least one table [aliases.NAME]"
    )


@dataclass(frozen=True)
class Catalog:
    """The wished contract, its aliases in the file's order."""

    aliases: tuple[Alias, ...]

    @cached_property
    def generation(self) -> str:
        """The digest that names this state: sha256 in hex; people are shown the first 12.

        Comments, the order of tables and spelled-out defaults do not change it.
        """
        tables = {
            alias.name: alias.model_dump(exclude_defaults=True, exclude={"name"})
            for alias in self.aliases
        }
        text = json.dumps(tables, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all aliases."""
        return tuple(alias.name for alias in self.aliases)


def load_catalog(directory: Path) -> Catalog:
    """The catalog of an inventory directory. Raises ConfigError with every problem."""
    catalog, problems = judge_catalog(read(directory / FILE))
    if catalog is None:
        raise ConfigError(problems)
    return catalog


def judge_catalog(source: Source) -> tuple[Catalog | None, tuple[str, ...]]:
    """The catalog that catalog.toml holds, or every problem of it."""
    table, problems = judge(CatalogTable, source)
    if table is None:
        return None, problems
    aliases = (
        Alias(name=name, **held.model_dump(exclude_unset=True))
        for name, held in table.aliases.items()
    )
    return Catalog(tuple(aliases)), ()
