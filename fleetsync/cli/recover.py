"""`recover`: find what was cut off, ask, finish it or take it back; settle lost turns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from fleetsync.cli.answers import ending, look, report
from fleetsync.cli.conduct import Conducted, conduct
from fleetsync.cli.options import Options
from fleetsync.cli.output import Output, Report, cell
from fleetsync.cli.render import counted, entries, headlines, next_step
from fleetsync.cli.selection import Selection
from fleetsync.cli.writing import agreed, declined, final, need_terminal
from fleetsync.job import Order, Step
from fleetsync.outcome import HostResult, RecoveryRow

_NOW = {
    "done": "finished",
    "undone": "taken back",
    "dropped": "dropped: nothing had been written",
    "stuck": "still stuck",
}


def recover(
    selection: Selection, options: Options, output: Output, *, undo: bool, yes: bool
) -> Report:
    """Settle what was cut off on the selected hosts and say how.

    Raises UsageError where nobody could answer the question.
    """
    need_terminal("recover", selection, yes=yes, look="preview")
    seen = look(Step.FIND, selection, options, output)
    ready = [] if seen.interrupted else [
        h.host for h in seen.hosts if h.recoveries or (h.unsettled and h.outcome is None)
    ]
    output.answer(*_lines(seen.hosts, output, options))
    if ready and not yes and not agreed(tuple(_question(seen.hosts, undo=undo)), output):
        return declined(report("recover", selection, seen))
    done = _settle(ready, selection, options, output, undo=undo)
    last = final(seen, done)
    if ready:
        output.answer(*_lines(done.hosts, output, options))
    output.answer(*_ending(last, nothing=not ready))
    return report("recover", selection, last)


def _settle(
    ready: Sequence[str], selection: Selection, options: Options, output: Output, *, undo: bool
) -> Conducted:
    jobs = [
        replace(job, order=Order(undo=undo)) for job in selection.jobs(Step.RECOVER, ready)
    ]
    return conduct(jobs, workers=options.workers, output=output, quiet=options.quiet)


def _lines(hosts: Sequence[HostResult], output: Output, options: Options) -> Iterator[str]:
    found = [entry for host in hosts for entry in entries(host)]
    for entry, line in zip(found, headlines(found, output.paint), strict=True):
        yield line
        if not options.quiet:
            yield from next_step(entry.step)
    for host in hosts:
        yield from (f"{cell(host.host)}  {_told(row)}" for row in host.recoveries)
        yield from (f"{cell(host.host)}  {cell(line)}" for line in host.settled)
        yield from (f"{cell(host.host)}  note: {cell(note)}" for note in host.notes)


def _told(row: RecoveryRow) -> str:
    files = ", ".join(map(cell, row.files)) or "no file yet"
    now = f", {_NOW.get(row.now, row.now)}" if row.now else ""
    left = f"; left, changed by somebody else: {', '.join(map(cell, row.left))}"
    end = left if row.left else ""
    return f"{row.identity}  interrupted in state {row.found}{now}: {files}{end}"


def _question(hosts: Sequence[HostResult], *, undo: bool) -> Iterator[str]:
    count = sum(len(host.recoveries) for host in hosts)
    turns = sum(len(host.unsettled) for host in hosts)
    where = sum(bool(host.recoveries or host.unsettled) for host in hosts)
    what = "take back" if undo else "finish"
    told = [f"{what} {counted(count, 'transaction')}"] if count else []
    told += [f"settle {counted(turns, 'lost turn')}"] if turns else []
    for host in hosts:
        yield from (f"{cell(host.host)}  {cell(line)}" for line in host.unsettled)
    yield f"{' and '.join(told).capitalize()} on {counted(where, 'host')}? [y/N] "


def _ending(last: Conducted, *, nothing: bool) -> Iterator[str]:
    reached = [host for host in last.hosts if host.outcome is None]
    if nothing and reached:
        yield f"{counted(len(reached), 'host')}: nothing was interrupted"
    if len(reached) != len(last.hosts):
        yield from ending(last)
