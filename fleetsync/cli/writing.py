"""What all commands that write have in common: the terminal, the question, the ending."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace

from fleetsync.cli.answers import DECLINED
from fleetsync.cli.conduct import Conducted
from fleetsync.cli.hidden import at_terminal
from fleetsync.cli.output import Output, Problem, Report
from fleetsync.cli.selection import Selection
from fleetsync.errors import UsageError
from fleetsync.job import Approved
from fleetsync.outcome import HostResult, Outcome
from fleetsync.sharing import kept


def need_terminal(command: str, selection: Selection, *, yes: bool, look: str) -> None:
    """Raise UsageError where the command will ask and nobody could answer.

    The hint does not spell the command: it must not widen what was typed.
    """
    if not yes and not at_terminal():
        raise UsageError(
            f"{command} asks before it writes, and there is no terminal to ask on",
            f"look with `{selection.command(look, selection.words)}`, "
            "then give the same command with --yes",
        )


def agreed(question: Sequence[str], output: Output) -> bool:
    """Ask on stderr; anything but yes, and the end of the input, means no."""
    output.ask(*question)
    return sys.stdin.readline().strip().lower() in {"y", "yes"}


def declined(made: Report) -> Report:
    """The report of a command that was not to write."""
    problem = Problem("declined", "declined: nothing was written")
    return replace(made, exit_code=DECLINED, status="declined", errors=(problem,))


def approved(host: HostResult) -> tuple[Approved, ...]:
    """What the operator saw and agreed to: each file's digest before and after."""
    return tuple(
        Approved(target.label, file.path, file.before, file.after)
        for target in host.targets
        if target.outcome is Outcome.DRIFT
        for file in target.diffs
    )


def final(seen: Conducted, done: Conducted) -> Conducted:
    """The last known result of every host; what was begun without answer is unknown."""
    before = {host.host: host for host in seen.hosts}
    answers = {host.host: kept(before.get(host.host, host), host) for host in done.hosts}
    answers |= {name: _unknown(name) for name in done.begun}
    return Conducted(
        tuple(answers.get(host.host, host) for host in seen.hosts),
        begun=seen.begun,
        open=(*seen.open, *done.open),
        interrupted=seen.interrupted or done.interrupted,
    )


def _unknown(name: str) -> HostResult:
    return HostResult(
        name,
        outcome=Outcome.UNKNOWN,
        reason="interrupted before its answer came",
        step="preview the host: it tells what it holds now",
    )
