"""`bundles list|show|verify|prune`: what the hosts keep for a rollback."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from fleetsync.bundles import DAY, disposable
from fleetsync.cli.answers import ending, look, report
from fleetsync.cli.conduct import Conducted, conduct
from fleetsync.cli.options import Options
from fleetsync.cli.output import Output, Report, cell, table
from fleetsync.cli.render import counted, entries, headlines, next_step
from fleetsync.cli.selection import Selection
from fleetsync.cli.writing import agreed, declined, final, need_terminal
from fleetsync.job import Order, Step
from fleetsync.outcome import BundleFileRow, BundleRow, HostResult
from fleetsync.upkeep import NEWEST


def listed(selection: Selection, options: Options, output: Output) -> Report:
    """List the bundles of the selected hosts."""
    seen = look(Step.BUNDLES, selection, options, output)
    output.answer(*_table(seen.hosts), *_ending(seen, output))
    return report("bundles", selection, seen)


def shown(selection: Selection, options: Options, output: Output, *, bundle: str) -> Report:
    """Show one bundle, the newest that is done unless named, with digests and sizes."""
    order = Order(bundle=bundle or NEWEST, digests=True)
    seen = look(Step.BUNDLES, selection, options, output, order)
    for host in seen.hosts:
        output.answer(*(line for row in host.bundles for line in _whole(host.host, row)))
    output.answer(*_ending(seen, output))
    return report("bundles", selection, seen)


def verified(selection: Selection, options: Options, output: Output, *, bundle: str) -> Report:
    """Hash every original on its host again."""
    order = Order(bundle=bundle, digests=True)
    seen = look(Step.BUNDLES, selection, options, output, order)
    for host in seen.hosts:
        output.answer(*_verdicts(host))
    output.answer(*_ending(seen, output))
    return report("bundles", selection, seen)


def pruned(
    selection: Selection,
    options: Options,
    output: Output,
    *,
    keep: int,
    days: float,
    yes: bool,
) -> Report:
    """Show which bundles may go, ask, and remove them.

    Raises UsageError where nobody could answer the question.
    """
    need_terminal("bundles prune", selection, yes=yes, look="bundles list")
    seen = look(Step.BUNDLES, selection, options, output, Order(digests=True))
    going = {
        host.host: disposable(host.bundles, keep=keep, seconds=round(days * DAY))
        for host in seen.hosts
    }
    leaving = replace(seen, hosts=tuple(
        replace(host, bundles=going[host.host]) for host in seen.hosts
    ))
    count = sum(map(len, going.values()))
    output.answer(*_table(leaving.hosts))
    if not count or seen.interrupted:
        output.answer("nothing to prune", *_ending(seen, output))
        return report("bundles", selection, leaving)
    question = f"Remove {counted(count, 'bundle')} for good? [y/N] "
    if not yes and not agreed((question,), output):
        return declined(report("bundles", selection, leaving))
    done = _prune(going, selection, options, output)
    last = final(leaving, done)
    gone = sum(len(host.bundles) for host in done.hosts)
    output.answer(f"removed: {counted(gone, 'bundle')}", *_ending(last, output))
    return report("bundles", selection, last)


def _prune(
    going: Mapping[str, Sequence[BundleRow]],
    selection: Selection,
    options: Options,
    output: Output,
) -> Conducted:
    names = [host for host, rows in going.items() if rows]
    jobs = [
        replace(job, order=Order(prune=tuple(row.identity for row in going[job.host.name])))
        for job in selection.jobs(Step.PRUNE, names)
    ]
    return conduct(jobs, workers=options.workers, output=output, quiet=options.quiet)


def age(seconds: int) -> str:
    """How long ago, in the largest unit that leaves more than one."""
    for unit, size in (("d", DAY), ("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"


def _table(hosts: Sequence[HostResult]) -> list[str]:
    return table(
        (host.host, row.identity, row.state, f"{age(row.age)} ago", row.operator,
         f"run {row.run}", f"generation {row.generation[:12]}" if row.generation else "",
         _targets(row), counted(len(row.files), "file") + _undoes(row))
        for host in hosts
        for row in host.bundles
    )


def _targets(row: BundleRow) -> str:
    return ", ".join(dict.fromkeys(file.target for file in row.files))


def _undoes(row: BundleRow) -> str:
    return f", takes back {', '.join(row.undoes)}" if row.undoes else ""


def _whole(host: str, row: BundleRow) -> Iterator[str]:
    yield f"{cell(host)}  {row.identity}  {row.state}  {age(row.age)} ago{cell(_undoes(row))}"
    generation = f", generation {row.generation[:12]}" if row.generation else ""
    yield f"  by {cell(row.operator)} in run {cell(row.run)}{generation}"
    yield f"  {cell(row.directory)}"
    for file in row.files:
        yield f"  {cell(file.target)}  {cell(file.path)}  mode {file.mode}{_link(file)}"
        yield f"    before  {file.before or '(no file)'}{_size(file)}"
        yield f"    after   {file.after or '(no file)'}"


def _link(file: BundleFileRow) -> str:
    return f" -> {cell(file.real)}" if file.real != file.path else ""


def _size(file: BundleFileRow) -> str:
    return f"  {file.size} bytes, {file.verdict}" if file.verdict else ""


def _verdicts(host: HostResult) -> list[str]:
    return table(
        (host.host, row.identity, row.state, file.verdict or "nothing kept", file.path)
        for row in host.bundles
        for file in row.files
    )


def _ending(seen: Conducted, output: Output) -> Iterator[str]:
    found = [entry for host in seen.hosts for entry in entries(host)]
    for entry, line in zip(found, headlines(found, output.paint), strict=True):
        yield line
        yield from next_step(entry.step)
    quiet = [host for host in seen.hosts if host.outcome is None and not host.bundles]
    yield from (f"{cell(host.host)}  no bundle" for host in quiet)
    if found:
        yield from ending(seen)
