"""What a next step must be told again, so that it works where it is pasted."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import replace

import click

from fleetsync.cli.options import Options, options
from fleetsync.outcome import HostResult


def to_repeat(given: Options) -> tuple[str, ...]:
    """The options of this command that a suggested one must repeat."""
    named: list[tuple[str, object]] = [
        ("--inventory", given.inventory),
        ("--receipts", given.receipts),
        *(("--client", name) for name in given.client),
    ]
    return tuple(word for name, value in named if value for word in (name, str(value)))


def repeated(hosts: Sequence[HostResult]) -> tuple[HostResult, ...]:
    """These results, with the options of the command that runs now in every command that
    a next step tells: who found the step on a host knows nothing of them."""
    context = click.get_current_context(silent=True)
    words = to_repeat(options(context)) if context else ()
    root = context.find_root().command if context else None
    if not words or not isinstance(root, click.Group):
        return tuple(hosts)
    ours = re.compile(rf"\bfleetsync (?=(?:{'|'.join(map(re.escape, root.commands))})\b)")
    spelled = f"fleetsync {shlex.join(words)} "
    return tuple(_host(host, ours, spelled) for host in hosts)


def _host(host: HostResult, ours: re.Pattern[str], spelled: str) -> HostResult:
    def again(step: str) -> str:
        return ours.sub(lambda _: spelled, step)

    targets = tuple(
        replace(
            target,
            step=again(target.step),
            turns=tuple(replace(turn, step=again(turn.step)) for turn in target.turns),
        )
        for target in host.targets
    )
    return replace(host, step=again(host.step), targets=targets)
