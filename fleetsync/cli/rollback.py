"""`rollback`: show what goes back, ask, write it, keep a receipt."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace

from fleetsync import receipt, withdrawn
from fleetsync.cli.answers import ending, look, report, show
from fleetsync.cli.conduct import Conducted, conduct
from fleetsync.cli.options import Options
from fleetsync.cli.output import Output, Report
from fleetsync.cli.record import recorded
from fleetsync.cli.render import notes, question, results, writable
from fleetsync.cli.repeat import to_repeat
from fleetsync.cli.selection import Selection, select_hosts
from fleetsync.cli.writing import agreed, approved, declined, final, need_terminal
from fleetsync.errors import UsageError
from fleetsync.job import Order, Step
from fleetsync.outcome import HostResult, Outcome
from fleetsync.receipt import Receipt
from fleetsync.withdrawn import Withdrawal


def rollback(
    words: Sequence[str], options: Options, output: Output, *, order: Order, yes: bool
) -> Report:
    """Show what would go back, ask, write it, and keep a receipt.

    Raises UsageError where it is not clear what is meant, or nobody could answer.
    """
    selection, taken = _meant(words, options, order)
    need_terminal("rollback", selection, yes=yes, look="bundles list")
    order = replace(order, clients=options.client)
    seen = look(Step.TAKE_BACK, selection, options, output, order)
    ready = () if seen.interrupted else writable(seen.hosts)
    briefly = options.quiet and yes
    if not briefly:
        show(seen, options, output)
    if ready and not yes and not agreed(tuple(question(seen.hosts)), output):
        return _reported(declined(report("rollback", selection, seen)), selection)
    with recorded("rollback", selection, seen, writes=bool(ready)) as record:
        _withdraw(selection, taken, ready)
        done = _write(ready, seen.hosts, selection, options, output, order)
        last = final(seen, done)
        made = report("rollback", selection, last)
        record.end(made, done, last)
    if ready or briefly:
        told = frozenset() if briefly else notes(seen.hosts)
        output.answer(
            *results(last.hosts, quiet=options.quiet, told=told, paint=output.paint),
            *ending(last),
        )
    if record.path:
        output.answer(f"receipt: {record.path}")
    if not options.quiet:
        output.answer(*_next(last.hosts, selection))
    return _reported(record.reported(made), selection)


def _reported(made: Report, selection: Selection) -> Report:
    return replace(made, notices=selection.notices)


def _meant(
    words: Sequence[str], options: Options, order: Order
) -> tuple[Selection, Receipt | None]:
    """The hosts that are meant, and the receipt of the run where it goes back as a whole."""
    if order.bundle and order.run:
        raise UsageError("--bundle and --run exclude each other", "fleetsync rollback --help")
    if not words and not order.run:
        raise UsageError(
            "rollback wants a HOST, or the RUN that is to be taken back",
            f"`{shlex.join(('fleetsync', 'bundles', 'list', *to_repeat(options)))}` shows what "
            "there is; the receipts name the runs",
        )
    selection = select_hosts(words, options)
    if order.bundle and len(selection.wishes) != 1:
        raise UsageError("--bundle names a bundle of one host", "name that host alone")
    if order.run and not words:
        taken = receipt.find(selection.receipts, order.run)
        return _of_run(selection, order.run, taken), taken
    return selection, None


def _of_run(selection: Selection, run: str, taken: Receipt | None) -> Selection:
    """The selection narrowed to the hosts that the run wrote to, or was about to."""
    if taken is None:
        raise UsageError(
            f"there is no receipt of run {run} in {selection.receipts}",
            f"name the hosts: {selection.command('rollback', ('HOST',))} --run {run}",
        )
    names = {*taken.open, *(one.host for one in taken.attempts if one.step != "preview")}
    wishes = tuple(one for one in selection.wishes if one[0].name in names)
    if not wishes:
        raise UsageError(f"run {run} wrote to no host of this inventory", "look at its receipt")
    gone = sorted(names - {host.name for host, _ in wishes})
    told = (f"not in the inventory any more: {', '.join(gone)}",) if gone else ()
    here = tuple(host.name for host, _ in wishes)
    return replace(
        selection, wishes=wishes, words=here, notices=(*selection.notices, *told)
    )


def _withdraw(selection: Selection, taken: Receipt | None, ready: Sequence[str]) -> None:
    """Note, before the first write, that the run's generation is not to come again."""
    if taken and taken.generation and ready:
        run = selection.run
        withdrawn.withdraw(
            selection.receipts,
            Withdrawal(taken.generation, taken.run, run.operator, receipt.now()),
        )


def _write(
    ready: Sequence[str],
    seen: Sequence[HostResult],
    selection: Selection,
    options: Options,
    output: Output,
    order: Order,
) -> Conducted:
    jobs = [
        replace(job, approved=approved(host))
        for job in selection.jobs(Step.ROLLBACK, ready, order)
        for host in seen
        if host.host == job.host.name
    ]
    return conduct(jobs, workers=options.workers, output=output, quiet=options.quiet)


def _next(hosts: Sequence[HostResult], selection: Selection) -> Iterator[str]:
    changed = [host.host for host in hosts if Outcome.CHANGED in host.outcomes]
    if changed:
        back = selection.command("rollback", changed)
        yield f"take this back in turn: {back} --run {selection.run.identity}"
