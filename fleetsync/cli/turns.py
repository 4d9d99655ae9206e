"""What smoke says: every turn, the ledger of gates, and how many were accepted. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from fleetsync.cli.output import Paint, cell, plain, table
from fleetsync.cli.render import entries, headlines, next_step
from fleetsync.gates import TURN, all_targets_verified
from fleetsync.outcome import (
    CheckRow,
    GateRow,
    GateState,
    HostResult,
    Outcome,
    TargetResult,
    TurnRow,
    TurnVerdict,
)


def turned(
    hosts: Sequence[HostResult], *, quiet: bool, verbose: bool, paint: Paint = plain
) -> Iterator[str]:
    """Every target with its turns and its gates; with `quiet` only what did not pass."""
    found = [entry for host in hosts for entry in entries(host)]
    for entry, line in zip(found, headlines(found, paint), strict=True):
        if quiet and entry.outcome in {Outcome.IN_STEP, Outcome.HELD}:
            continue
        yield line
        yield from next_step(entry.step)
        if entry.target:
            yield from _target(entry.target, verbose=verbose)
        if not quiet:
            yield from (f"  note: {cell(note)}" for note in entry.notes)
    for host in hosts:
        yield from (f"{cell(host.host)}  {cell(line)}" for line in host.settled)
        yield from (f"{cell(host.host)}  interrupted transaction: {cell(line)}"
                    for line in host.interrupted)


def _target(target: TargetResult, *, verbose: bool) -> Iterator[str]:
    for row in target.turns:
        yield from _turn(row, verbose=verbose)
    yield from table(map(_gate, target.gates), "  gate  ")


def _turn(row: TurnRow, *, verbose: bool) -> Iterator[str]:
    kind = "image turn" if row.image else "turn"
    through = f" through {row.through}" if row.through else ""
    again = f", attempt {row.attempt}" if row.attempt > 1 else ""
    told = f": {row.reason}" if row.reason else ""
    yield cell(
        f"  {kind} of {row.alias}{through}: {row.verdict.value}{told} "
        f"({row.seconds:.1f} s by the client's clock{again})"
    )
    shown = [check for check in row.checks if verbose or check.holds is not True]
    if row.verdict is not TurnVerdict.PASSED or verbose:
        yield from table(map(_check, shown), "    ")
    yield from (f"    the client warns: {cell(warning)}" for warning in row.warnings)


def _check(row: CheckRow) -> tuple[str, str, str]:
    word = {True: "ok", False: "wrong", None: "unavailable"}[row.holds]
    wanted = f"seen {row.seen}, wanted {row.wanted}" if row.holds is False else row.seen
    return row.name, word, wanted if row.holds is not None else ""


def _gate(row: GateRow) -> tuple[str, str, str]:
    name = f"{row.gate}: {row.alias}" if row.alias else row.gate
    note = "" if row.required else "optional"
    detail = "; ".join(filter(None, (note, row.detail)))
    return name, row.state.value, detail


def counts(hosts: Sequence[HostResult]) -> Iterator[str]:
    """How many turns there were, how many count as proof, and what was left out and why."""
    rows = [row for host in hosts for target in host.targets for row in target.turns]
    sent = [row for row in rows if row.verdict is not TurnVerdict.SETUP]
    accepted = sum(row.verdict is TurnVerdict.PASSED for row in sent)
    yield f"turns: {len(sent)}  accepted: {accepted}{_excluded(hosts, len(rows) - len(sent))}"
    verified = "yes" if all_targets_verified(hosts) else "no"
    yield f"all targets verified: {verified}"


def _excluded(hosts: Sequence[HostResult], unstarted: int) -> str:
    gates = [gate for host in hosts for target in host.targets for gate in target.gates]
    counted = Counter(
        gate.state.value
        for gate in gates
        if gate.gate == TURN
        and gate.state in {GateState.HELD, GateState.OPEN, GateState.NOT_CHECKED}
    )
    if unstarted:
        counted["not started"] = unstarted
    told = ", ".join(f"{number} {word}" for word, number in counted.items())
    return f"  excluded: {told}" if told else ""
