"""The options that every command has, before its name and after it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

SECONDS = 60.0
"""How long one host may take for one exchange, unless `--timeout` says otherwise."""


@dataclass(frozen=True, slots=True)
class Options:
    """What the common options say. `inventory` and `receipts` are None where not given."""

    inventory: Path | None = None
    receipts: Path | None = None
    client: tuple[str, ...] = ()
    workers: int = 32
    timeout: float = SECONDS
    json: bool = False
    quiet: bool = False
    verbose: bool = False
    debug: bool = False


def options(context: click.Context) -> Options:
    """The common options as given before and after the command's name.

    Raises UsageError where they contradict each other.
    """
    given = Options(**context.ensure_object(dict))
    if given.quiet and given.verbose:
        raise click.UsageError("-q and -v exclude each other", context)
    return given


def _keep(context: click.Context, parameter: click.Parameter, value: object) -> None:
    """Remember a given value, so that both places add up and the later one wins."""
    kept: dict[str, Any] = context.ensure_object(dict)
    name = str(parameter.name)
    if isinstance(value, tuple):
        kept[name] = (*kept.get(name, ()), *value)
    elif value not in (None, False):
        kept[name] = value


class CommonOption(click.Option):
    """An option that all commands share; help shows it in a section of its own."""


class Amount(click.FloatRange):
    """A finite number in a range: click itself lets `nan` through every range."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """The number. Fails as a usage error. (`value` is Any: click 8 has no narrower type.)"""
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{value} is no amount.", param, ctx)
        return number


def common() -> list[click.Parameter]:
    """New common options, for one command or for the group."""
    return [
        _option("--inventory", type=_directory(), metavar="DIR",
                help="Holds fleet.toml and catalog.toml  [inventory/]"),
        _option("--receipts", type=_directory(), metavar="DIR",
                help="Holds the receipts  [backups/ beside the inventory]"),
        _option("--client", metavar="NAME", multiple=True,
                help="Only this client; may be repeated"),
        _option("--workers", type=click.IntRange(1, 256), metavar="N",
                help="Hosts at a time  [32]"),
        _option("--timeout", type=Amount(1, 3600), metavar="SECONDS",
                help="Time for one exchange with a host  [60]"),
        _option("--json", is_flag=True, help="Print one JSON envelope, also on failure"),
        _option("-q", "--quiet", is_flag=True,
                help="Only what is not in step, and the summary"),
        _option("-v", "--verbose", is_flag=True, help="Also files and installations"),
        _option("--debug", is_flag=True, help="Say where an error came from"),
    ]


def _option(*names: str, **attributes: Any) -> CommonOption:
    # Any: click's own signature of an option is a set of keyword arguments.
    return CommonOption(names, expose_value=False, callback=_keep, **attributes)


def _directory() -> click.Path:
    return click.Path(file_okay=False, path_type=Path)


class _Sections(click.Command):
    """Prints the common options apart from the command's own."""

    def format_options(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """Write both sections, and the commands of a group after them."""
        shown = [(p, p.get_help_record(context)) for p in self.get_params(context)]
        options = [(p, row) for p, row in shown if isinstance(p, click.Option)]
        own = [row for p, row in options if row and not isinstance(p, CommonOption)]
        shared = [row for p, row in options if row and isinstance(p, CommonOption)]
        if isinstance(self, click.Group):
            self.format_commands(context, formatter)
        for title, rows in (("Options", own), ("Common options", shared)):
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)


class Command(_Sections):
    """One command: its own options, then the common ones."""

    def __init__(self, *arguments: Any, **attributes: Any) -> None:
        # Any: passed on to click as it is.
        super().__init__(*arguments, **attributes)
        self.params += common()


class Commands(_Sections, click.Group):
    """The group of all commands, in the order they are written."""

    command_class = Command
    group_class = type

    def __init__(self, *arguments: Any, **attributes: Any) -> None:
        # Any: passed on to click as it is.
        super().__init__(*arguments, **attributes)
        self.params += common()

    def list_commands(self, context: click.Context) -> list[str]:
        """The commands as an operator meets them, not by the alphabet."""
        return list(self.commands)
