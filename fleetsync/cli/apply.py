"""`apply`: show, ask, record, write, report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from fleetsync import withdrawn
from fleetsync.cli.answers import ending, look, report, show
from fleetsync.cli.check_after import check
from fleetsync.cli.conduct import Conducted, conduct
from fleetsync.cli.options import Options
from fleetsync.cli.output import Output, Report
from fleetsync.cli.record import recorded
from fleetsync.cli.render import notes, question, results, writable
from fleetsync.cli.selection import Selection
from fleetsync.cli.smoke import Wanted, shown, taken, turns_of
from fleetsync.cli.writing import agreed, approved, declined, final, need_terminal
from fleetsync.errors import UsageError
from fleetsync.gates import all_targets_verified
from fleetsync.job import Proof, Step
from fleetsync.outcome import HostResult, Outcome


def apply(
    selection: Selection,
    options: Options,
    output: Output,
    *,
    yes: bool,
    again: bool = False,
    check_after: float = 0,
    offline: bool = False,
    wanted: Wanted | None = None,
) -> Report:
    """Show what would change, ask, write it, and keep a receipt.

    `again` allows a generation that was taken back; `check_after` (seconds) looks again
    that long after the write; `offline` has no host ask the router about its key. What
    then holds is proved by real turns as `wanted`. Raises UsageError as `turns_of` does,
    and where nobody could answer the question.
    """
    turns = turns_of(selection, wanted) if wanted else None
    need_terminal("apply", selection, yes=yes, look="preview")
    withdrawal = withdrawn.find(selection.receipts, selection.run.generation)
    if withdrawal and not again:
        raise UsageError(
            f"{withdrawal.told}; nothing was touched",
            "change the catalog, or give the same command with --again if it is wished after all",
        )
    seen = look(Step.PREVIEW, selection, options, output)
    ready = () if seen.interrupted else writable(seen.hosts)
    briefly = options.quiet and yes
    if not briefly:
        show(seen, options, output)
    if ready and not yes and not agreed(tuple(question(seen.hosts)), output):
        return declined(report("apply", selection, seen))
    proof = Proof.OFFLINE if offline else Proof.ASK
    with recorded("apply", selection, seen, writes=bool(ready)) as record:
        done = _write(ready, seen.hosts, selection, options, output, proof)
        last, later = final(seen, done), None
        if check_after:
            last, later = check(last, selection, options, output, seconds=check_after)
        turned = None
        if turns and not last.interrupted:
            last, turned = taken(last, selection, options, output, turns, offline=offline)
        made = report("apply", selection, last)
        if turned:
            made = replace(made, all_targets_verified=all_targets_verified(last.hosts))
        record.end(made, done, last, later, turned)
    if withdrawal and ready:
        withdrawn.restore(selection.receipts, selection.run.generation)
    if ready or briefly:
        told = frozenset() if briefly else notes(seen.hosts)
        output.answer(
            *results(last.hosts, quiet=options.quiet, told=told, before=seen.hosts,
                     paint=output.paint),
            *ending(last),
        )
    if turned:
        shown(turned, options, output)
    if record.path:
        output.answer(f"receipt: {record.path}")
    if not options.quiet:
        output.answer(*_next(last.hosts, selection))
    return record.reported(made)


def _write(
    ready: Sequence[str],
    seen: Sequence[HostResult],
    selection: Selection,
    options: Options,
    output: Output,
    proof: Proof,
) -> Conducted:
    jobs = [
        replace(job, approved=approved(host), proof=proof)
        for job in selection.jobs(Step.APPLY, ready)
        for host in seen
        if host.host == job.host.name
    ]
    return conduct(jobs, workers=options.workers, output=output, quiet=options.quiet)


def _next(hosts: Sequence[HostResult], selection: Selection) -> Iterator[str]:
    changed = _hosts_with({Outcome.CHANGED}, hosts)
    if changed:
        back = selection.command("rollback", ())
        yield f"take it back: {back} --run {selection.run.identity}"
        yield f"repeat, and nothing changes: {selection.command('apply', changed)}"
    unseen = tuple(host.host for host in hosts if host.later)
    if unseen:
        yield f"look again when they answer: {selection.command('verify', unseen)}"
    troubled = _hosts_with({Outcome.FAILED, Outcome.ROLLED_BACK, Outcome.CONFLICT}, hosts)
    if troubled:
        yield f"next: {selection.command('doctor', troubled)}"


def _hosts_with(outcomes: set[Outcome], hosts: Sequence[HostResult]) -> tuple[str, ...]:
    return tuple(host.host for host in hosts if outcomes & set(host.outcomes))
