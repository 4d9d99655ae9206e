"""What preview, apply and verify say of a fleet, in the order of an operator's questions.

Pure: results in, lines out. A host that is in step takes one line.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from fleetsync.cli.output import Paint, cell, plain, table, visible
from fleetsync.outcome import (
    AGREES,
    ChangeRow,
    FileDiff,
    FileRow,
    HostResult,
    InstallationRow,
    Outcome,
    TargetResult,
    TraceRow,
)


@dataclass(frozen=True, slots=True)
class Entry:
    """One headline: a target, or a host that has an outcome as a whole."""

    host: str
    label: str
    outcome: Outcome
    reason: str
    step: str
    notes: tuple[str, ...]
    target: TargetResult | None = None

    @property
    def detail(self) -> str:
        """What the headline ends with."""
        if self.outcome in {Outcome.DRIFT, Outcome.CHANGED} and self.target:
            return changes_phrase(self.target)
        return self.reason.partition("\n")[0]


def entries(host: HostResult) -> list[Entry]:
    """The headlines of one host."""
    if host.outcome:
        return [Entry(host.host, "", host.outcome, host.reason, host.step, host.notes)]
    return [
        Entry(host.host, label(t), t.outcome, t.reason, t.step, t.notes, t) for t in host.targets
    ]


def label(target: TargetResult) -> str:
    """The client, and which of its targets where it has several."""
    return target.label


def changes_phrase(target: TargetResult) -> str:
    """`4 changes`."""
    return counted(len(target.changes), "change")


def counted(number: int, word: str) -> str:
    """The number with its word."""
    return f"{number} {word}{'' if number == 1 else 's'}"


def headlines(found: Sequence[Entry], paint: Paint = plain) -> list[str]:
    """One aligned line for each entry."""
    rows = [(e.host, e.label, e.outcome.value) for e in found]
    aligned = table([(*row, "") for row in rows])
    widest = max(map(len, aligned), default=0)
    return [
        _headline(line, entry, widest, paint) for line, entry in zip(aligned, found, strict=True)
    ]


def _headline(line: str, entry: Entry, width: int, paint: Paint) -> str:
    word = entry.outcome.value
    start = line.removesuffix(word)
    detail = cell(entry.detail)
    padding = " " * (width - len(line) + 2) if detail else ""
    return f"{start}{paint(word, word)}{padding}{detail}"


def blocks(
    hosts: Sequence[HostResult], *, quiet: bool, verbose: bool, paint: Paint = plain
) -> Iterator[str]:
    """Every host with all that an operator asks about it next."""
    found = [entry for host in hosts for entry in entries(host)]
    for entry, line in zip(found, headlines(found, paint), strict=True):
        if quiet and entry.outcome is Outcome.IN_STEP:
            continue
        yield line
        if not quiet:
            yield from _body(entry, verbose=verbose, paint=paint)
    for host in hosts:
        cut = [f"interrupted transaction: {line}" for line in host.interrupted]
        notes = [f"note: {note}" for note in host.notes] if host.outcome is None else []
        last = [host.account.last_writer] if host.account and not quiet else []
        lines = (*cut, *notes, *filter(None, last))
        yield from (f"{cell(host.host)}  {cell(line)}" for line in lines)


def _body(entry: Entry, *, verbose: bool, paint: Paint) -> Iterator[str]:
    yield from (f"  {cell(line)}" for line in entry.reason.split("\n")[1:])
    yield from next_step(entry.step)
    target = entry.target
    if target:
        if target.outcome is Outcome.REFUSED or target.credential == "indeterminate":
            yield from trace(target.trace)
        if target.outcome is Outcome.REFUSED and target.changes:
            yield f"  drift all the same: {changes_phrase(target)}"
        yield from changes(target.changes)
        yield from diffs(target.diffs, paint)
    yield from (f"  note: {cell(note)}" for note in entry.notes)
    if target:
        yield from _circumstances(target, verbose=verbose)


def next_step(step: str) -> Iterator[str]:
    """What to do next, its lines kept apart so that they can be pasted."""
    for number, line in enumerate(step.split("\n") if step else ()):
        yield f"  {'next: ' if number == 0 else '      '}{visible(line)}"


def trace(rows: Sequence[TraceRow]) -> Iterator[str]:
    """Every place where a credential was looked for, in order, with its verdict."""
    own = [row for row in rows if not row.explains]
    other = [row for row in rows if row.explains]
    if own:
        yield "  looked for the credential, in the client's own order:"
        yield from table(
            ((f"{number}.", row.verdict, _place(row)) for number, row in enumerate(own, 1)), "    "
        )
    if other:
        yield "  and where the client does not look:"
        yield from table(_together(other), "    ")


def _place(row: TraceRow) -> str:
    return f"{row.place} ({row.detail})" if row.detail else row.place


def _together(rows: Iterable[TraceRow]) -> Iterator[tuple[str, str]]:
    """Neighbours that differ only in their file, as one row: `NAME in FILE, FILE`."""
    for (verdict, lead, detail), same in itertools.groupby(rows, _kind):
        files = ", ".join(row.place.removeprefix(lead) for row in same)
        yield verdict, f"{lead}{files} ({detail})" if detail else f"{lead}{files}"


def _kind(row: TraceRow) -> tuple[str, str, str]:
    lead, mark, _ = row.place.rpartition(" in ")
    return row.verdict, lead + mark, row.detail


def changes(rows: Sequence[ChangeRow], indent: str = "  ") -> Iterator[str]:
    """Every managed value with its before and after, by file where there are several."""
    files = {row.file: None for row in rows}
    for file in files:
        if len(files) > 1:
            yield f"{indent}{cell(file)}"
        yield from table(
            ((r.subject, r.key, _movement(r)) for r in rows if r.file == file), indent
        )


def router(target: TargetResult) -> Iterator[str]:
    """What the router answered to the host's own key, where it was to be asked."""
    row = target.router
    if row:
        detail = f"  ({row.detail})" if row.detail else ""
        proxies = f"  through {', '.join(row.proxies)}" if row.proxies else ""
        yield f"  router from this host  {cell(f'{row.verdict.value}  {row.url}{detail}{proxies}')}"


def _movement(row: ChangeRow) -> str:
    before = "(absent)" if row.before is None else row.before
    after = "(removed)" if row.after is None else row.after
    return f"{before} -> {after}"


def diffs(files: Iterable[FileDiff], paint: Paint = plain) -> Iterator[str]:
    """The unified diffs as they are; a link is named, for what changes is where it leads."""
    for file in files:
        if file.real not in {"", file.path}:
            yield f"  {cell(file.path)} is a link: the file is {cell(file.real)}"
        yield from (f"  {_coloured(line, paint)}" for line in file.text.split("\n") if line)


def _coloured(line: str, paint: Paint) -> str:
    shown = visible(line)
    word = "head" if line.startswith(("---", "+++", "@@")) else line[:1]
    return paint(shown, word) if word in {"head", "+", "-"} else shown


def _circumstances(target: TargetResult, *, verbose: bool) -> Iterator[str]:
    yield from loader(target)
    yield from router(target)
    if verbose:
        yield from installations(target.installations)
        yield from files(target.files)


def loader(target: TargetResult) -> Iterator[str]:
    """That the client's own loader agrees, where it was asked and does."""
    # Why it does not agree is the target's reason, which its headline tells.
    if target.loader == AGREES:
        yield "  the client's own loader agrees"


def installations(rows: Iterable[InstallationRow]) -> list[str]:
    """Which version is started how."""
    return table(
        (
            (row.version or "version unknown", row.launcher, row.problem or f"({row.found})")
            for row in rows
        ),
        "  installation  ",
    )


def files(rows: Iterable[FileRow]) -> list[str]:
    """Each catalog file with its state, mode and where a link leads."""
    return table(
        ((row.role, row.path, row.state, row.mode, _link(row)) for row in rows), "  file  "
    )


def _link(row: FileRow) -> str:
    return f"-> {row.real}" if row.real not in {"", row.path} else ""


def notes(hosts: Iterable[HostResult], *, quiet: bool = False) -> frozenset[str]:
    """Every note of the hosts and their targets; `quiet` leaves out targets in step."""
    return frozenset(
        note
        for host in hosts
        for told in (host.notes, *(t.notes for t in host.targets if not (quiet and _fits(t))))
        for note in told
    )


def _fits(target: TargetResult) -> bool:
    return target.outcome is Outcome.IN_STEP


def results(
    hosts: Sequence[HostResult],
    *,
    quiet: bool,
    told: frozenset[str] = frozenset(),
    before: Sequence[HostResult] = (),
    paint: Paint = plain,
) -> Iterator[str]:
    """What apply did: a headline each, where the originals are, where a key was looked for
    if the preview, `before`, had not refused for want of it, and the notes that the preview
    had not `told`."""
    found = [entry for host in hosts for entry in entries(host)]
    untraced = set(_refused(hosts)) - set(_refused(before))
    last = {(e.host, e.target.bundle): e.target for e in found if e.target}
    for entry, line in zip(found, headlines(found, paint), strict=True):
        if quiet and entry.outcome is Outcome.IN_STEP:
            continue
        yield line
        if not quiet and entry.outcome is not Outcome.IN_STEP:
            yield from (f"  {cell(text)}" for text in entry.reason.split("\n")[1:])
            yield from next_step(entry.step)
        if entry.target:
            if not quiet:
                yield from loader(entry.target)
                if entry.target.outcome is not Outcome.REFUSED:
                    yield from router(entry.target)
                if (entry.host, entry.label) in untraced:
                    yield from trace(entry.target.trace)
            # One transaction has one bundle: it is named once, below the last of its targets.
            if last[entry.host, entry.target.bundle] is entry.target:
                yield from _originals(entry.target)
    for host in hosts:
        new = sorted(notes([host], quiet=quiet) - told)
        yield from (f"{cell(host.host)}  note: {cell(note)}" for note in new)


def _refused(hosts: Iterable[HostResult]) -> Iterator[tuple[str, str]]:
    """The targets refused for want of a key."""
    return (
        (target.host, target.label)
        for host in hosts
        for target in host.targets
        if target.outcome is Outcome.REFUSED and target.credential in {"closed", "indeterminate"}
    )


def _originals(target: TargetResult) -> Iterator[str]:
    if target.bundle:
        yield f"  originals: {cell(target.bundle)} on {cell(target.host)}"


def question(hosts: Sequence[HostResult]) -> Iterator[str]:
    """What apply is about to write, and where."""
    targets = [t for host in hosts for t in host.targets if t.outcome is Outcome.DRIFT]
    rows = [
        (t.host, label(t), file.real or file.path, changes_phrase(t))
        for t in targets
        for file in t.diffs
    ]
    cut = [(host.host, "", line, "to be finished or undone") for host in hosts
           for line in host.interrupted]
    yield "To be written:"
    yield from table((*rows, *cut), "  ")
    what = f"Write {counted(len(rows), 'file')}" if rows else "Go on"
    yield f"{what} on {counted(len(writable(hosts)), 'host')}? [y/N] "


def summary(hosts: Sequence[HostResult]) -> str:
    """`3 hosts: 2 drift, 1 refused`."""
    found = [entry for host in hosts for entry in entries(host)]
    counts = Counter(entry.outcome for entry in found)
    told = [f"{counts[outcome]} {outcome.value}" for outcome in Outcome if counts[outcome]]
    cut = sum(len(host.interrupted) for host in hosts)
    if cut:
        told.append(f"{counted(cut, 'interrupted transaction')} found")
    lost = sum(len(host.unsettled) for host in hosts)
    if lost:
        told.append(f"{counted(lost, 'turn')} without an end")
    size = counted(len(hosts), "host")
    if len(found) != len(hosts):
        size += f", {counted(len(found), 'target')}"
    return f"{size}: {', '.join(told) or 'nothing to do'}"


def writable(hosts: Iterable[HostResult]) -> tuple[str, ...]:
    """The hosts that apply would write to: drift, or a transaction that was cut off."""
    return tuple(
        host.host for host in hosts if Outcome.DRIFT in host.outcomes or host.interrupted
    )

