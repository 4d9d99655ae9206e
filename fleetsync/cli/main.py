"""The commands as an operator types them.

Only click is imported before a command has something to do.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fleetsync.cli.options import Amount, Commands, Options, options

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from fleetsync.cli.output import Output, Report
    from fleetsync.cli.selection import Selection

INTERRUPTED = 130
SHELLS = ("bash", "zsh", "fish")
_CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 96}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code.

    Without `argv` it is this process's own; then a second ^C leaves at once, although
    threads still wait for their hosts.
    """
    arguments = sys.argv[1:] if argv is None else list(argv)
    code = _run(arguments)
    if argv is None and code == INTERRUPTED and threading.active_count() > 1:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    return code


def _run(arguments: Sequence[str]) -> int:
    try:
        code = fleetsync.main(list(arguments), prog_name="fleetsync", standalone_mode=False)
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - the last resort
        from fleetsync.cli.failure import end

        return end(error, arguments, tuple(fleetsync.commands))
    return code if isinstance(code, int) else 0


def _version(context: click.Context, parameter: click.Parameter, asked: bool) -> None:
    if asked and not context.resilient_parsing:
        from fleetsync import __version__

        click.echo(f"fleetsync {__version__}")
        context.exit()


@click.group(cls=Commands, context_settings=_CONTEXT)
@click.option("--version", is_flag=True, is_eager=True, expose_value=False, callback=_version,
              help="Show the version and exit.")
def fleetsync() -> None:
    """Keep the model catalogs of AI clients in step across a fleet, over SSH.

    \b
      fleetsync demo                  the whole story, on three throw-away hosts
      fleetsync preview               what would change, and who is refused
      fleetsync apply primary-node    show, ask, write, verify
      fleetsync verify                exit code 3 where a host drifted

    HOST is a host's name, @group or a glob; none means all. Exit codes are in the README.
    """


def _complete_host(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    from fleetsync.cli.completion import hosts

    return hosts(context, incomplete)


_hosts = click.argument(
    "hosts", nargs=-1, metavar="[HOST|@group|glob]...", shell_complete=_complete_host
)



def _not_empty(context: click.Context, option: click.Parameter, value: str) -> str:
    """Refuse `--run ""`: what a script with an unset variable says is not "the newest"."""
    if not value and context.get_parameter_source(option.name or "") is not _DEFAULT:
        raise click.BadParameter("it is empty")
    return value


_DEFAULT = click.core.ParameterSource.DEFAULT
_yes = click.option("--yes", is_flag=True, help="Do not ask.")
_offline = click.option(
    "--offline", is_flag=True, help="Do not have the hosts ask the router about their keys."
)
_bundle = click.option(
    "--bundle", metavar="ID", default="", callback=_not_empty, help="This bundle of the host."
)


def _carry_out(
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


@fleetsync.command(short_help="Show what apply would change; change nothing")
@_hosts
@click.option("--exit-code", "drift_is_3", is_flag=True, help="End with 3 where a host drifted.")
@click.option("--prove", is_flag=True,
              help="Have each host ask the router whether it takes the host's key.")
@_offline
@click.pass_context
def preview(
    context: click.Context, hosts: tuple[str, ...], drift_is_3: bool, prove: bool, offline: bool
) -> int:
    """Show what apply would change, and who is refused and why. Changes nothing."""
    from fleetsync.cli import commands

    return _carry_out(context, hosts, lambda s, o, out: commands.preview(
        s, o, out, drift_is_3=drift_is_3, prove=prove, offline=offline
    ))


@fleetsync.command(short_help="Show, ask, write, verify, keep a receipt")
@_hosts
@_yes
@click.option("--check-after", type=Amount(0, 86400), metavar="SECONDS", default=0,
              help="Look again that long after, and name who changed a file since.")
@click.option("--again", is_flag=True, help="Also a catalog that a rollback --run took back.")
@click.option("--smoke", "turns", is_flag=True, help="Then prove it by a real turn; see smoke.")
@_offline
@click.pass_context
def apply(
    context: click.Context,
    hosts: tuple[str, ...],
    yes: bool,
    check_after: float,
    again: bool,
    turns: bool,
    offline: bool,
) -> int:
    """Show what would change, ask, write it, verify it, and keep a receipt."""
    from fleetsync.cli import apply as applying

    return _carry_out(context, hosts, lambda s, o, out: applying.apply(
        s, o, out, yes=yes, again=again, check_after=check_after, offline=offline, turns=turns
    ), again=again)


@fleetsync.command(short_help="Tell whether every target holds the catalog")
@_hosts
@click.pass_context
def verify(context: click.Context, hosts: tuple[str, ...]) -> int:
    """Tell whether every target holds the catalog. Drift ends with 3."""
    from fleetsync.cli import commands

    return _carry_out(context, hosts, commands.verify)


@fleetsync.command(short_help="Prove targets by a real turn through their client")
@_hosts
@click.option("--alias", "aliases", metavar="NAME", multiple=True,
              help="Also this alias, besides each target's own default; may be repeated.")
@click.option("--image", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
              help="Also show this PNG or JPEG, where the catalog says image.")
@click.option("--expect", metavar="TEXT", default="",
              help="The text in the image that must come back.")
@click.option("--turn-timeout", type=click.IntRange(5, 3600), metavar="SECONDS", default=90,
              help="Time for one turn.  [90]")
@click.option("--retries", type=click.IntRange(0, 5), metavar="N", default=1,
              help="Try a failure that may pass again; every attempt is kept.  [1]")
@_offline
@click.pass_context
def smoke(
    context: click.Context,
    hosts: tuple[str, ...],
    aliases: tuple[str, ...],
    image: Path | None,
    expect: str,
    turn_timeout: int,
    retries: int,
    offline: bool,
) -> int:
    """Prove targets by a bounded real turn through their client, with the host's own key.

    A turn is graded by what answered (provider, alias, tool call, nonce), never by its
    text alone. What failed or was not tried is told, and kept in the receipt. Drift ends
    with 3.
    """
    from fleetsync.cli import smoke as smoking

    wanted = smoking.Wanted(aliases, image, expect, turn_timeout, retries)
    return _carry_out(
        context, hosts, lambda s, o, out: smoking.smoke(s, o, out, wanted, offline=offline)
    )


@fleetsync.command(short_help="Show what was found on every host, and a next step")
@_hosts
@click.option("--deep", is_flag=True,
              help="Ask an interactive shell too; its start-up files may do anything.")
@_offline
@click.pass_context
def doctor(context: click.Context, hosts: tuple[str, ...], deep: bool, offline: bool) -> int:
    """Show what was found on every host, with one next step for each target.

    Each host asks the router whether it takes the host's key. Several hosts end with one
    table of their keys.
    """
    from fleetsync.cli import commands

    return _carry_out(context, hosts, lambda s, o, out: commands.doctor(
        s, o, out, deep=deep, offline=offline
    ))


def _keep_house(
    context: click.Context,
    words: Sequence[str],
    do: Callable[[Selection, Options, Output], Report],
) -> int:
    """As `_carry_out`, for what needs no catalog."""
    from fleetsync.cli.output import Output
    from fleetsync.cli.selection import select_hosts

    given = options(context)
    output = Output(as_json=given.json)
    report = do(select_hosts(words, given), given, output)
    output.report(report)
    return report.exit_code or int(output.lost)


@fleetsync.command(short_help="Put back what was there before, and keep later edits")
@_hosts
@_bundle
@click.option(
    "--run", metavar="RUN", default="", callback=_not_empty,
    help="All that this run wrote, on every host.",
)
@click.option("--force", is_flag=True, help="Put originals over what others changed since.")
@_yes
@click.pass_context
def rollback(
    context: click.Context, hosts: tuple[str, ...], bundle: str, run: str, force: bool, yes: bool
) -> int:
    """Put back what was there before the newest change, and keep later edits.

    It wants a HOST or --run. A key that was changed by both is a conflict: shown, and left
    without --force. A rollback makes its own bundle: it can itself be rolled back.
    """
    from fleetsync.cli import rollback as rolling
    from fleetsync.cli.output import Output
    from fleetsync.job import Order

    given = options(context)
    output = Output(as_json=given.json)
    order = Order(bundle=bundle, run=run, force=force)
    report = rolling.rollback(hosts, given, output, order=order, yes=yes)
    output.report(report)
    return report.exit_code or int(output.lost)


@fleetsync.command(short_help="Finish or undo what was cut off on a host")
@_hosts
@click.option("--undo", is_flag=True, help="Take it back instead of finishing it.")
@_yes
@click.pass_context
def recover(context: click.Context, hosts: tuple[str, ...], undo: bool, yes: bool) -> int:
    """Finish the transactions that were cut off, or take them back."""
    from fleetsync.cli import recover as recovering

    return _keep_house(
        context, hosts, lambda s, o, out: recovering.recover(s, o, out, undo=undo, yes=yes)
    )


@fleetsync.group(short_help="The originals that the hosts keep")
def bundles() -> None:
    """The originals that the hosts keep for a rollback. They never leave their host."""


@bundles.command("list", short_help="List them")
@_hosts
@click.pass_context
def bundles_list(context: click.Context, hosts: tuple[str, ...]) -> int:
    """List the bundles of hosts, the newest first."""
    from fleetsync.cli import bundles as keeping

    return _keep_house(context, hosts, keeping.listed)


@bundles.command("show", short_help="Show one with digests and sizes")
@_hosts
@_bundle
@click.pass_context
def bundles_show(context: click.Context, hosts: tuple[str, ...], bundle: str) -> int:
    """Show the newest bundle, or the one named, with digests and sizes."""
    from fleetsync.cli import bundles as keeping

    return _keep_house(
        context, hosts, lambda s, o, out: keeping.shown(s, o, out, bundle=bundle)
    )


@bundles.command("verify", short_help="Hash every original again")
@_hosts
@_bundle
@click.pass_context
def bundles_verify(context: click.Context, hosts: tuple[str, ...], bundle: str) -> int:
    """Hash every original on its host again."""
    from fleetsync.cli import bundles as keeping

    return _keep_house(
        context, hosts, lambda s, o, out: keeping.verified(s, o, out, bundle=bundle)
    )


@bundles.command("prune", short_help="Remove old ones")
@_hosts
@click.option("--keep", type=click.IntRange(0), metavar="N", default=10,
              help="The newest N of each host stay.  [10]")
@click.option("--older-than", type=Amount(0), metavar="DAYS", default=0,
              help="Of the others only those older than that go.")
@_yes
@click.pass_context
def bundles_prune(
    context: click.Context, hosts: tuple[str, ...], keep: int, older_than: float, yes: bool
) -> int:
    """Remove old bundles. The newest good one of each target always stays."""
    from fleetsync.cli import bundles as keeping

    return _keep_house(context, hosts, lambda s, o, out: keeping.pruned(
        s, o, out, keep=keep, days=older_than, yes=yes
    ))


@fleetsync.group(short_help="The keys that the hosts keep of their own")
def credential() -> None:
    """The router key that each host keeps of its own, for each of its clients."""


@credential.command("set", short_help="Put a new one where a client keeps its own")
@click.argument("hosts", nargs=-1, metavar="HOST", shell_complete=_complete_host)
@click.option("--target", metavar="LABEL", default="", callback=_not_empty,
              help="Whose key, where the host has several targets: pi, hermes/work.")
@_yes
@click.pass_context
def credential_set(
    context: click.Context, hosts: tuple[str, ...], target: str, yes: bool
) -> int:
    """Put a new router key where one client of one host keeps its own.

    \b
      fleetsync credential set mid-mod                  asks for the key, hidden
      fleetsync credential set mid-mod --yes < FILE     one line, from standard input

    The key goes to that host alone and stays there. It is proved: the client must take it
    from there, and the router must accept it. A rollback puts the one before back. What the
    client's configuration says of where its key comes from is never changed.
    """
    from fleetsync.cli import credential as setting
    from fleetsync.cli.output import Output

    given = options(context)
    output = Output(as_json=given.json)
    report = setting.put(hosts, given, output, target=target, yes=yes)
    output.report(report)
    return report.exit_code or int(output.lost)


@fleetsync.command(short_help="Play the whole story on three embedded hosts")
@click.pass_context
def demo(context: click.Context) -> int:
    """Play the whole story on three embedded hosts. Touches nothing else."""
    from fleetsync.cli import demonstration
    from fleetsync.cli.output import Output

    output = Output(as_json=options(context).json)
    report = demonstration.demo(main, output)
    output.report(report)
    return report.exit_code


@fleetsync.command(short_help="Print the completion script of a shell")
@click.argument("shell", type=click.Choice(SHELLS))
def completion(shell: str) -> int:
    """Print the completion script of a shell.

    \b
      bash    eval "$(fleetsync completion bash)"
      zsh     eval "$(fleetsync completion zsh)"
      fish    fleetsync completion fish | source
    """
    from fleetsync.cli.completion import script

    click.echo(script(fleetsync, shell))
    return 0
