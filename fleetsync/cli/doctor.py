"""What doctor says of a host: a sheet for it and for each target, with one next step each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

from fleetsync.cli.output import Paint, cell, plain, table
from fleetsync.cli.render import (
    Entry,
    changes,
    entries,
    files,
    headlines,
    installations,
    loader,
    next_step,
    router,
    trace,
)
from fleetsync.inventory import Host
from fleetsync.outcome import (
    AccountRow,
    HostResult,
    Outcome,
    RouterVerdict,
    TargetResult,
    TraceRow,
)

Command: TypeAlias = Callable[[str, Sequence[str]], str]
"""Spells a command for some hosts as it is to be typed, with the options of this run."""


def examination(
    hosts: Sequence[HostResult],
    command: Command,
    *,
    quiet: bool,
    paint: Paint = plain,
    known: Mapping[str, Host] | None = None,
) -> Iterator[str]:
    """Every host; with `quiet` only the headlines of what is not in step. `known` is what
    the inventory tells of hosts that could not be looked at."""
    for host in hosts:
        found = entries(host)
        if quiet:
            yield from headlines([e for e in found if e.outcome is not Outcome.IN_STEP], paint)
            continue
        yield from _host(host)
        for entry, line in zip(found, headlines(found, paint), strict=True):
            yield line
            yield from _findings(entry, host, command)
        if host.outcome and known and host.host in known:
            yield _listed(known[host.host])
    if len(hosts) > 1 and not quiet:
        yield from keys(hosts)


def _listed(host: Host) -> str:
    user = f", user {host.user}" if host.user else ""
    clients = ", ".join(host.clients) or "none"
    return f"  known   from the inventory alone: address {cell(host.address)}{cell(user)}, " \
        f"clients {cell(clients)}"


def _host(host: HostResult) -> Iterator[str]:
    if host.account:
        yield f"{cell(host.host)}  reachable in {host.seconds:.1f} s as {cell(host.account.user)}"
        yield from _account(host.account)
    elif host.outcome is None:
        yield f"{cell(host.host)}  reachable in {host.seconds:.1f} s"
    if host.outcome is None:
        yield from _writers(host)
    yield from (f"  interrupted transaction: {cell(line)}" for line in host.interrupted)
    if host.outcome is None:
        yield from (f"  note: {cell(note)}" for note in host.notes)


def _account(account: AccountRow) -> Iterator[str]:
    noise = "; its start-up files print into ssh commands" if account.noise else ""
    yield f"  system  {cell(account.system)}, home {cell(account.home)}"
    yield f"  shell   {cell(account.shell)}{noise}"
    locked = f"; locked by {cell(account.locked_by)}" if account.locked_by else ""
    told = account.last_writer or (account.last and f"last change: {account.last}")
    last = f"; {cell(told or 'no change of ours yet')}"
    if account.state:
        yield f"  state   {cell(account.state)}{last}{locked}"


def _writers(host: HostResult) -> Iterator[str]:
    """Who else writes the clients' files there."""
    if host.writers:
        told = f"used here and known to write such files: {', '.join(host.writers)}"
        yield f"  writers {cell(told)}"


def _findings(entry: Entry, host: HostResult, command: Command) -> Iterator[str]:
    yield from (f"  {cell(line)}" for line in entry.reason.split("\n")[1:])
    yield from next_step(_step(entry, host, command))
    if entry.target:
        yield from _target(entry.target)
    yield from (f"  note: {cell(note)}" for note in entry.notes)


def _target(target: TargetResult) -> Iterator[str]:
    if target.credential:
        yield f"  credential  {cell(target.credential)}"
    yield from trace(_telling(target))
    yield from router(target)
    yield from _limits(target)
    yield from installations(target.installations)
    yield from (
        f"  interpreter of {cell(row.launcher)}: {cell(row.interpreter)} "
        f"{cell(row.interpreter_version or '(version unknown)')}"
        for row in target.installations
        if row.interpreter
    )
    yield from files(target.files)
    yield from loader(target)


def _telling(target: TargetResult) -> list[TraceRow]:
    """The places that matter: a gate that is open needs no list of where no key stands, and
    a client that is not there has no gate."""
    if target.outcome is Outcome.ABSENT:
        return []
    if target.credential != "open":
        return list(target.trace)
    return [row for row in target.trace if not (row.explains and row.verdict == "absent")]


def _limits(target: TargetResult) -> Iterator[str]:
    """What the client's files declare beside what is wished."""
    if target.changes:
        yield "  limits  declared -> wished:"
        yield from changes(target.changes, "    ")
    elif target.credential:
        yield f"  limits  {target.limits or 'not known'}"


def _step(entry: Entry, host: HostResult, command: Command) -> str:
    """The one thing to do next."""
    if host.interrupted:
        return command("recover", (entry.host,))
    if entry.step:
        return entry.step
    match entry.outcome:
        case Outcome.IN_STEP:
            return _open_end(entry, command) or "nothing to do"
        case Outcome.DRIFT:
            return command("preview", (entry.host,))
        case Outcome.HELD:
            return "remove `hold` from the inventory when the host may be used again"
        case Outcome.AWAY:
            again = command("doctor", (entry.host,))
            return f"see that it is on and its SSH server reachable, then: {again}"
        case _:
            return command("preview", ("-v", entry.host))


def _open_end(entry: Entry, command: Command) -> str:
    """What a target in step leaves to do: what the router said, or a key that is shared."""
    row = entry.target.router if entry.target else None
    again = command("doctor", (entry.host,))
    match row.verdict if row else None:
        case RouterVerdict.UNREACHABLE:
            return f"let the host reach the router (name, route, firewall, proxy), then: {again}"
        case RouterVerdict.NOT_A_ROUTER:
            return f"correct base_url in the inventory, or what answers there, then: {again}"
        case RouterVerdict.ALIAS_MISSING:
            return f"have the router serve them, or take them out of the catalog, then: {again}"
    if entry.target and entry.target.shared_with:
        given = command("credential set", (entry.host,))
        return f"give the host a key of its own: {given} --target {entry.label}"
    return ""


def keys(hosts: Sequence[HostResult]) -> Iterator[str]:
    """One table of all keys: whether each client finds one, what the router said to it,
    and which other hosts hold the same. Held hosts were not asked and are left out."""
    rows = [row for host in hosts for row in _key_rows(host)]
    if rows:
        yield "router keys:"
        yield from table([("host", "target", "credential", "router", "shared with"), *rows], "  ")


def _key_rows(host: HostResult) -> Iterator[tuple[str, str, str, str, str]]:
    if host.outcome and host.outcome is not Outcome.HELD:
        yield host.host, "", f"not known: {host.outcome.value}", "", ""
    for target in host.targets:
        row = target.router
        yield (
            host.host, target.label, target.credential or target.outcome.value,
            row.verdict.value if row else "", ", ".join(target.shared_with),
        )
