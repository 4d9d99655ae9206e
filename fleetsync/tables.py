"""The operator's tables: a strict base for every table of fleet.toml and catalog.toml."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Table(BaseModel):
    """A frozen table without unknown keys and without conversions: `"4096"` is no number."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)
