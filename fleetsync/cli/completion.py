"""Shell completion: the script of a shell, and the names an inventory has."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path

import click
from click.shell_completion import CompletionItem, get_completion_class

VARIABLE = "_FLEETSYNC_COMPLETE"


def script(command: click.Command, shell: str) -> str:
    """What the shell must evaluate. Raises UsageError for a shell that has none."""
    found = get_completion_class(shell)
    if found is None:
        raise click.UsageError(f"no completion for {shell}")
    return found(command, {}, "fleetsync", VARIABLE).source()


def hosts(context: click.Context, incomplete: str) -> list[CompletionItem]:
    """The hosts and groups that begin with `incomplete`; none where no inventory reads.

    The file is read without being judged: completion has no place for an error.
    """
    given = context.ensure_object(dict).get("inventory")
    directory = given or Path(os.environ.get("FLEETSYNC_INVENTORY") or "inventory")
    try:
        tables = tomllib.loads((directory / "fleet.toml").read_text("utf-8"))["hosts"]
        groups = {f"@{group}" for table in tables.values() for group in table.get("groups", ())}
        names = [*tables, *sorted(groups)]
    except (OSError, ValueError, KeyError, AttributeError, TypeError):
        return []
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]
