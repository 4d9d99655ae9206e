"""The commands as an operator types them.

Only click is imported before a command has something to do.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Sequence
from typing import Any

import click

from fleetsync.cli.arguments import (
    carry_out,
    complete_host,
    first_given,
    named_hosts,
    not_empty,
    offline_option,
    turn_options,
    yes_option,
)
from fleetsync.cli.options import Amount, Commands, options
from fleetsync.cli.originals import COMMANDS

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


@fleetsync.command(short_help="Show what apply would change; change nothing")
@named_hosts
@click.option("--exit-code", "drift_is_3", is_flag=True, help="End with 3 where a host drifted.")
@click.option("--prove", is_flag=True,
              help="Have each host ask the router whether it takes the host's key.")
@offline_option
@click.pass_context
def preview(
    context: click.Context, hosts: tuple[str, ...], drift_is_3: bool, prove: bool, offline: bool
) -> int:
    """Show what apply would change, and who is refused and why. Changes nothing."""
    from fleetsync.cli import commands

    return carry_out(context, hosts, lambda s, o, out: commands.preview(
        s, o, out, drift_is_3=drift_is_3, prove=prove, offline=offline
    ))


@fleetsync.command(short_help="Show, ask, write, verify, keep a receipt")
@named_hosts
@yes_option
@click.option("--check-after", type=Amount(0, 86400), metavar="SECONDS", default=0,
              help="Look again that long after, and name who changed a file since.")
@click.option("--again", is_flag=True, help="Also a catalog that a rollback --run took back.")
@click.option("--smoke", "turns", is_flag=True,
              help="Then prove it by a real turn, as smoke does; the next five say how.")
@turn_options
@offline_option
@click.pass_context
def apply(
    context: click.Context,
    /,
    hosts: tuple[str, ...],
    yes: bool,
    check_after: float,
    again: bool,
    turns: bool,
    offline: bool,
    **how: Any,    # the fields of Wanted
) -> int:
    """Show what would change, ask, write it, verify it, and keep a receipt."""
    from fleetsync.cli import apply as applying
    from fleetsync.cli.smoke import Wanted

    if not turns and (alone := first_given(context, *how)):
        raise click.UsageError(f"{alone} tells how turns are taken, and there is no --smoke")
    wanted = Wanted(**how) if turns else None
    return carry_out(context, hosts, lambda s, o, out: applying.apply(
        s, o, out, yes=yes, again=again, check_after=check_after, offline=offline, wanted=wanted
    ), again=again)


@fleetsync.command(short_help="Tell whether every target holds the catalog")
@named_hosts
@click.pass_context
def verify(context: click.Context, hosts: tuple[str, ...]) -> int:
    """Tell whether every target holds the catalog. Drift ends with 3."""
    from fleetsync.cli import commands

    return carry_out(context, hosts, commands.verify)


@fleetsync.command(short_help="Prove targets by a real turn through their client")
@named_hosts
@turn_options
@offline_option
@click.pass_context
def smoke(
    context: click.Context,
    /,
    hosts: tuple[str, ...],
    offline: bool,
    **how: Any,    # the fields of Wanted
) -> int:
    """Prove targets by a bounded real turn through their client, with the host's own key.

    A turn is graded by what answered (provider, alias, tool call, nonce), never by its
    text alone. What failed or was not tried is told, and kept in the receipt. Drift ends
    with 3.
    """
    from fleetsync.cli import smoke as smoking

    wanted = smoking.Wanted(**how)
    return carry_out(
        context, hosts, lambda s, o, out: smoking.smoke(s, o, out, wanted, offline=offline)
    )


@fleetsync.command(short_help="Show what was found on every host, and a next step")
@named_hosts
@click.option("--deep", is_flag=True,
              help="Ask an interactive shell too; its start-up files may do anything.")
@offline_option
@click.pass_context
def doctor(context: click.Context, hosts: tuple[str, ...], deep: bool, offline: bool) -> int:
    """Show what was found on every host, with one next step for each target.

    Each host asks the router whether it takes the host's key. Several hosts end with one
    table of their keys.
    """
    from fleetsync.cli import commands

    return carry_out(context, hosts, lambda s, o, out: commands.doctor(
        s, o, out, deep=deep, offline=offline
    ))


for _command in COMMANDS:
    fleetsync.add_command(_command)


@fleetsync.group(short_help="The keys that the hosts keep of their own")
def credential() -> None:
    """The router key that each host keeps of its own, for each of its clients."""


@credential.command("set", short_help="Put a new one where a client keeps its own")
@click.argument("hosts", nargs=-1, metavar="HOST", shell_complete=complete_host)
@click.option("--target", metavar="LABEL", default="", callback=not_empty,
              help="Whose key, where the host has several targets: pi, hermes/work.")
@yes_option
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
@click.option("--turn", is_flag=True,
              help="Instead, take one real turn through a real Pi on one such host.")
@click.pass_context
def demo(context: click.Context, turn: bool) -> int:
    """Play the whole story on three embedded hosts. Touches nothing else.

    With --turn the client is a real one: the pi on PATH, else Pi 1.6.0, which npm installs
    once, into fleetsync's own directory of the user's cache. It needs Node.js.
    """
    from fleetsync.cli import demonstration
    from fleetsync.cli.output import Output

    output = Output(as_json=options(context).json)
    report = demonstration.demo(main, output, turn=turn)
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
