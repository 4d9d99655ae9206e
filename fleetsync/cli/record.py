"""The receipt of a command that writes, kept while the command goes on."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path

from fleetsync import receipt
from fleetsync.cli.conduct import Conducted
from fleetsync.cli.output import Problem, Report
from fleetsync.cli.render import writable
from fleetsync.cli.selection import Selection
from fleetsync.errors import ConfigError
from fleetsync.job import Step
from fleetsync.receipt import Attempt, Receipt


@dataclass(slots=True)
class Record:
    """The receipt of this run while the run goes on."""

    receipt: Receipt
    directory: Path
    path: Path | None = None
    problem: ConfigError | None = None

    def end(
        self,
        made: Report,
        done: Conducted,
        final: Conducted,
        again: Conducted | None = None,
        turned: Conducted | None = None,
    ) -> None:
        """Add what the command came to, what looking `again` showed, and what turns proved.
        What was not tried stays open."""
        command = self.receipt.command
        lost = receipt.unknown(command, done.begun, "interrupted before its answer came")
        seen = receipt.attempts(Step.AGAIN.value, again.hosts) if again else ()
        seen += receipt.attempts(Step.SMOKE.value, turned.hosts) if turned else ()
        self._finish(
            receipt.INTERRUPTED if final.interrupted else receipt.DONE,
            made.exit_code,
            (*receipt.attempts(command, done.hosts), *lost, *seen),
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
def recorded(
    command: str, selection: Selection, seen: Conducted, *, writes: bool
) -> Iterator[Record]:
    """Keep the receipt: begun before the first write, ended whatever happens.

    Raises ConfigError, before anything is written, where it cannot be kept.
    """
    run = selection.run
    record = Record(
        Receipt(
            run=run.identity,
            command=command,
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
