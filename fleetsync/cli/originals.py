"""The commands that go back: rollback, recover, and the bundles that the hosts keep.

Only click is imported before a command has something to do.
"""

from __future__ import annotations

import click

from fleetsync.cli.arguments import (
    bundle_option,
    keep_house,
    named_hosts,
    not_empty,
    yes_option,
)
from fleetsync.cli.options import Amount, Command, Commands, options


@click.command(cls=Command, short_help="Put back what was there before, and keep later edits")
@named_hosts
@bundle_option
@click.option(
    "--run", metavar="RUN", default="", callback=not_empty,
    help="All that this run wrote, on every host.",
)
@click.option("--force", is_flag=True, help="Put originals over what others changed since.")
@yes_option
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


@click.command(cls=Command, short_help="Finish or undo what was cut off on a host")
@named_hosts
@click.option("--undo", is_flag=True, help="Take it back instead of finishing it.")
@yes_option
@click.pass_context
def recover(context: click.Context, hosts: tuple[str, ...], undo: bool, yes: bool) -> int:
    """Finish the transactions that were cut off, or take them back.

    Real turns without an end on record are settled as lost, once the host has shown that
    nothing of them lives there.
    """
    from fleetsync.cli import recover as recovering

    return keep_house(
        context, hosts, lambda s, o, out: recovering.recover(s, o, out, undo=undo, yes=yes)
    )


@click.group(cls=Commands, short_help="The originals that the hosts keep")
def bundles() -> None:
    """The originals that the hosts keep for a rollback. They never leave their host."""


@bundles.command("list", short_help="List them")
@named_hosts
@click.pass_context
def bundles_list(context: click.Context, hosts: tuple[str, ...]) -> int:
    """List the bundles of hosts, the newest first."""
    from fleetsync.cli import bundles as keeping

    return keep_house(context, hosts, keeping.listed)


@bundles.command("show", short_help="Show one with digests and sizes")
@named_hosts
@bundle_option
@click.pass_context
def bundles_show(context: click.Context, hosts: tuple[str, ...], bundle: str) -> int:
    """Show the newest bundle, or the one named, with digests and sizes."""
    from fleetsync.cli import bundles as keeping

    return keep_house(
        context, hosts, lambda s, o, out: keeping.shown(s, o, out, bundle=bundle)
    )


@bundles.command("verify", short_help="Hash every original again")
@named_hosts
@bundle_option
@click.pass_context
def bundles_verify(context: click.Context, hosts: tuple[str, ...], bundle: str) -> int:
    """Hash every original on its host again."""
    from fleetsync.cli import bundles as keeping

    return keep_house(
        context, hosts, lambda s, o, out: keeping.verified(s, o, out, bundle=bundle)
    )


@bundles.command("prune", short_help="Remove old ones")
@named_hosts
@click.option("--keep", type=click.IntRange(0), metavar="N", default=10,
              help="The newest N of each host stay.  [10]")
@click.option("--older-than", type=Amount(0), metavar="DAYS", default=0,
              help="Of the others only those older than that go.")
@yes_option
@click.pass_context
def bundles_prune(
    context: click.Context, hosts: tuple[str, ...], keep: int, older_than: float, yes: bool
) -> int:
    """Remove old bundles. The newest good one of each target always stays."""
    from fleetsync.cli import bundles as keeping

    return keep_house(context, hosts, lambda s, o, out: keeping.pruned(
        s, o, out, keep=keep, days=older_than, yes=yes
    ))


COMMANDS = (rollback, recover, bundles)
"""In the order in which help shows them."""
