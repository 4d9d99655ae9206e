"""What the commands share: their arguments, and how one is carried out.

Only click is imported before a command has something to do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
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
_TURNS = (
    click.option("--alias", "aliases", metavar="NAME", multiple=True,
                 help="Also this alias, besides each target's own default; may be repeated."),
    click.option("--image", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
                 help="Also show this PNG or JPEG, where the catalog says image."),
    click.option("--expect", metavar="TEXT", default="",
                 help="The text in the image that must come back."),
    click.option("--turn-timeout", "seconds", type=click.IntRange(5, 3600), metavar="SECONDS",
                 default=90, help="Time for one turn.  [90]"),
    click.option("--retries", type=click.IntRange(0, 5), metavar="N", default=1,
                 help="Try a failure that may pass again; every attempt is kept.  [1]"),
)


def turn_options(command: Callable[..., int]) -> Callable[..., int]:
    """How turns are taken: `fleetsync.cli.smoke.Wanted`, field by field."""
    for option in reversed(_TURNS):
        command = option(command)
    return command


def first_given(context: click.Context, *names: str) -> str:
    """The first of these options that the operator gave, as it is spelled; "" for none."""
    given = (name for name in names if context.get_parameter_source(name) is not _DEFAULT)
    spelled = {option.name: option.opts[0] for option in context.command.params}
    return next((spelled[name] for name in given), "")


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
