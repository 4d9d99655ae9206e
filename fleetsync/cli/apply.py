"""`apply`: show, ask, record, write, report."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path

from fleetsync import receipt
from fleetsync.cli.answers import DECLINED, ending, look, report, show
from fleetsync.cli.conduct import Conducted, conduct
from fleetsync.cli.options import Options
from fleetsync.cli.output import Output, Problem, Report
from fleetsync.cli.render import notes, question, results, writable
from fleetsync.cli.selection import Selection
from fleetsync.errors import ConfigError, UsageError
from fleetsync.job import Approved, Step
from fleetsync.outcome import HostResult, Outcome
from fleetsync.receipt import Attempt, Receipt


def apply(selection: Selection, options: Options, output: Output, *, yes: bool) -> Report:
    """Show what would change, ask, write it, and keep a receipt.

    Raises UsageError where nobody could answer the question.
    """
    if not yes and not sys.stdin.isatty():
        raise UsageError(
            "apply asks before it writes, and there is no terminal to ask on",
            "look with `fleetsync preview`, then run `fleetsync apply --yes`",
        )
    seen = look(Step.PREVIEW, selection, options, output)
    ready = () if seen.interrupted else writable(seen.hosts)
    briefly = options.quiet and yes
    if not briefly:
        show(seen, options, output)
    if ready and not yes and not _agreed(seen.hosts, output):
        return _declined(report("apply", selection, seen))
    with _recorded(selection, seen, writes=bool(ready)) as record:
        done = _write(ready, seen.hosts, selection, options, output)
        final = _final(seen, done)
        made = report("apply", selection, final)
        record.end(made, done, final)
    if ready or briefly:
        told = frozenset() if briefly else notes(seen.hosts)
        output.answer(
            *results(final.hosts, quiet=options.quiet, told=told, paint=output.paint),
            *ending(final),
        )
    if record.path:
        output.answer(f"receipt: {record.path}")
    if not options.quiet:
        output.answer(*_next(final.hosts, selection))
    return record.reported(made)


def _agreed(hosts: Sequence[HostResult], output: Output) -> bool:
    """Ask on stderr; anything but yes, and the end of the input, means no."""
    output.ask(*question(hosts))
    return sys.stdin.readline().strip().lower() in {"y", "yes"}


def _declined(made: Report) -> Report:
    problem = Problem("declined", "declined: nothing was written")
    return replace(made, exit_code=DECLINED, status="declined", errors=(problem,))


def _write(
    ready: Sequence[str],
    seen: Sequence[HostResult],
    selection: Selection,
    options: Options,
    output: Output,
) -> Conducted:
    jobs = [
        replace(job, approved=approved(host))
        for job in selection.jobs(Step.APPLY, ready)
        for host in seen
        if host.host == job.host.name
    ]
    return conduct(jobs, workers=options.workers, output=output, quiet=options.quiet)


def approved(host: HostResult) -> tuple[Approved, ...]:
    """What the operator saw and agreed to: each file's digest before and after."""
    return tuple(
        Approved(target.label, file.path, file.before, file.after)
        for target in host.targets
        if target.outcome is Outcome.DRIFT
        for file in target.diffs
    )


def _final(seen: Conducted, done: Conducted) -> Conducted:
    """The last known result of every host; what was begun without answer is unknown."""
    answers = {host.host: host for host in done.hosts}
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
        step=f"fleetsync preview {name}",
    )


def _next(hosts: Sequence[HostResult], selection: Selection) -> Iterator[str]:
    changed = _hosts_with({Outcome.CHANGED}, hosts)
    if changed:
        yield "put back by hand: copy old.N over the file that the manifest beside it names"
        yield f"repeat, and nothing changes: {selection.command('apply', changed)}"
    troubled = _hosts_with({Outcome.FAILED, Outcome.ROLLED_BACK, Outcome.CONFLICT}, hosts)
    if troubled:
        yield f"next: {selection.command('doctor', troubled)}"


def _hosts_with(outcomes: set[Outcome], hosts: Sequence[HostResult]) -> tuple[str, ...]:
    return tuple(host.host for host in hosts if outcomes & set(host.outcomes))


@dataclass(slots=True)
class _Record:
    """The receipt of this run while the run goes on."""

    receipt: Receipt
    directory: Path
    path: Path | None = None
    problem: ConfigError | None = None

    def end(self, made: Report, done: Conducted, final: Conducted) -> None:
        """Add what apply came to. What was not tried stays open."""
        lost = receipt.unknown("apply", done.begun, "interrupted before its answer came")
        self._finish(
            receipt.INTERRUPTED if final.interrupted else receipt.DONE,
            made.exit_code,
            (*receipt.attempts("apply", done.hosts), *lost),
            final.open,
        )

    def broken(self) -> None:
        """End the receipt of a run that did not get to its own end."""
        self._finish(receipt.BROKEN, None, (), self.receipt.open)

    def _finish(
        self, state: str, code: int | None, more: tuple[Attempt, ...], left: tuple[str, ...]
    ) -> None:
        self.receipt = replace(
            self.receipt,
            state=state,
            exit_code=code,
            ended=receipt.now(),
            attempts=(*self.receipt.attempts, *more),
            open=left,
        )
        try:
            self.path = receipt.save(self.receipt, self.directory)
        except ConfigError as error:
            self.problem = error

    def reported(self, made: Report) -> Report:
        """The report with this receipt's path; a receipt that could not be kept is a failure."""
        if not self.problem:
            return replace(made, receipt=str(self.path or ""))
        code = made.exit_code or 1
        problem = Problem("receipt", self.problem.message, self.problem.hint)
        return replace(
            made,
            exit_code=code,
            status="failed" if code == 1 else made.status,
            receipt=str(self.path or ""),
            errors=(*made.errors, problem),
        )


@contextlib.contextmanager
def _recorded(selection: Selection, seen: Conducted, *, writes: bool) -> Iterator[_Record]:
    """Keep the receipt: begun before the first write, ended whatever happens.

    Raises ConfigError, before anything is written, where it cannot be kept.
    """
    run = selection.run
    record = _Record(
        Receipt(
            run=run.identity,
            command="apply",
            state=receipt.BEGUN,
            begun=receipt.now(),
            ended="",
            operator=run.operator,
            controller=run.controller,
            generation=run.generation,
            fleetsync=version("fleetsync"),
            exit_code=None,
            attempts=receipt.attempts("preview", seen.hosts),
            open=writable(seen.hosts),
        ),
        selection.receipts,
    )
    if writes:
        record.path = receipt.save(record.receipt, record.directory)
    try:
        yield record
    finally:
        if record.receipt.state == receipt.BEGUN:
            record.broken()
