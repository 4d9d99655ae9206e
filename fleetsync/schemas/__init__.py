"""JSON Schemas of the operator's files, for editors: generated, shipped beside this module."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from fleetsync.catalog import CatalogTable
from fleetsync.fleetfile import CLIENTS, fleet_table


def schemas() -> dict[str, dict[str, Any]]:
    """The schema of fleet.toml as "fleet" and that of catalog.toml as "catalog"."""
    return {
        "fleet": fleet_table(CLIENTS).model_json_schema(),
        "catalog": CatalogTable.model_json_schema(),
    }


def written() -> dict[str, str]:
    """Each shipped file's name with the text that it must hold."""
    return {
        f"{name}.json": json.dumps(schema, indent=2) + "\n" for name, schema in schemas().items()
    }


def write(directory: Path) -> None:
    """Write every schema into `directory`."""
    for name, text in written().items():
        (directory / name).write_text(text, encoding="utf-8")
