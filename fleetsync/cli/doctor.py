"""What doctor says of a host: all that was found, and one next step for each target."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from fleetsync.cli.output import Paint, cell, plain
from fleetsync.cli.render import (
    Entry,
    entries,
    files,
    headlines,
    installations,
    loader,
    next_step,
    trace,
)
from fleetsync.outcome import AccountRow, HostResult, Outcome, TargetResult

Command: TypeAlias = Callable[[str, Sequence[str]], str]
"""Spells a command for some hosts as it is to be typed, with the options of this run."""


def examination(
    hosts: Sequence[HostResult], command: Command, *, quiet: bool, paint: Paint = plain
) -> Iterator[str]:
    """Every host; with `quiet` only the headlines of what is not in step."""
    for host in hosts:
        found = entries(host)
        if quiet:
            yield from headlines([e for e in found if e.outcome is not Outcome.IN_STEP], paint)
            continue
        yield from _host(host)
        for entry, line in zip(found, headlines(found, paint), strict=True):
            yield line
            yield from _findings(entry, command)


def _host(host: HostResult) -> Iterator[str]:
    if host.account:
        yield f"{cell(host.host)}  reachable in {host.seconds:.1f} s as {cell(host.account.user)}"
        yield from _account(host.account)
    elif host.outcome is None:
        yield f"{cell(host.host)}  reachable in {host.seconds:.1f} s"
    yield from (f"  interrupted transaction: {cell(line)}" for line in host.interrupted)
    if host.outcome is None:
        yield from (f"  note: {cell(note)}" for note in host.notes)


def _account(account: AccountRow) -> Iterator[str]:
    noise = "; its start-up files print into ssh commands" if account.noise else ""
    yield f"  system  {cell(account.system)}, home {cell(account.home)}"
    yield f"  shell   {cell(account.shell)}{noise}"
    locked = f"; locked by {cell(account.locked_by)}" if account.locked_by else ""
    last = f"; last change: {cell(account.last)}" if account.last else "; no change of ours yet"
    if account.state:
        yield f"  state   {cell(account.state)}{last}{locked}"


def _findings(entry: Entry, command: Command) -> Iterator[str]:
    yield from (f"  {cell(line)}" for line in entry.reason.split("\n")[1:])
    if entry.target:
        yield from _target(entry.target)
    yield from (f"  note: {cell(note)}" for note in entry.notes)
    yield from next_step(entry.step or _step(entry, command))


def _target(target: TargetResult) -> Iterator[str]:
    yield from installations(target.installations)
    yield from (
        f"  interpreter of {cell(row.launcher)}: {cell(row.interpreter)} "
        f"{cell(row.interpreter_version or '(version unknown)')}"
        for row in target.installations
        if row.interpreter
    )
    yield from files(target.files)
    yield from loader(target)
    yield from trace(target.trace)


def _step(entry: Entry, command: Command) -> str:
    match entry.outcome:
        case Outcome.IN_STEP:
            return "nothing to do"
        case Outcome.DRIFT:
            return command("preview", (entry.host,))
        case Outcome.HELD:
            return "remove `hold` from the inventory when the host may be used again"
        case Outcome.AWAY:
            again = command("doctor", (entry.host,))
            return f"see that it is on and its SSH server reachable, then: {again}"
        case _:
            return command("preview", ("-v", entry.host))
