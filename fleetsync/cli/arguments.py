"""What the commands share: their arguments, and how one is carried out.

Only click is imported before a command has something to do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import click

from fleetsync.cli.options import options

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from fleetsync.cli.options import Options
    from fleetsync.cli.output import Output, Report
    from fleetsync.cli.selection import Selection


def complete_host(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """The inventory's hosts and groups that begin so."""
    from fleetsync.cli.completion import hosts

    return hosts(context, incomplete)


named_hosts = click.argument(
    "hosts", nargs=-1, metavar="[HOST|@group|glob]...", shell_complete=complete_host
)


def not_empty(context: click.Context, option: click.Parameter, value: str) -> str:
    """Refuse `--run ""`: what a script with an unset variable says is not "the newest"."""
    if not value and context.get_parameter_source(option.name or "") is not _DEFAULT:
        raise click.BadParameter("it is empty")
    return value


_DEFAULT = click.core.ParameterSource.DEFAULT
yes_option = click.option("--yes", is_flag=True, help="Do not ask.")
offline_option = click.option(
    "--offline", is_flag=True, help="Do not have the hosts ask the router about their keys."
)
bundle_option = click.option(
    "--bundle", metavar="ID", default="", callback=not_empty, help="This bundle of the host."
)


def carry_out(
    context: click.Context,
    words: Sequence[str],
    do: Callable[[Selection, Options, Output], Report],
    *,
    again: bool = False,
) -> int:
    """Read the operator's files, do it, report it, and return the exit code."""
    from dataclasses import replace

    from fleetsync.cli.output import Output
    from fleetsync.cli.selection import select

    given = options(context)
    output = Output(as_json=given.json)
    selection = select(words, given, again=again)
    report = do(selection, given, output)
    output.report(replace(report, notices=selection.notices))
    return report.exit_code or int(output.lost)


def keep_house(
    context: click.Context,
    words: Sequence[str],
    do: Callable[[Selection, Options, Output], Report],
) -> int:
    """As `carry_out`, for what needs no catalog."""
    from fleetsync.cli.output import Output
    from fleetsync.cli.selection import select_hosts

    given = options(context)
    output = Output(as_json=given.json)
    report = do(select_hosts(words, given), given, output)
    output.report(report)
    return report.exit_code or int(output.lost)
