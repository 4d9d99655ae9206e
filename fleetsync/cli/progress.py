"""Progress on stderr: one live line on a terminal, else a plain line at start and end."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol

from fleetsync.cli.output import Output, cell
from fleetsync.cli.render import counted
from fleetsync.outcome import HostResult

if TYPE_CHECKING:
    import rich.progress


class Progress(Protocol):
    """Told of every host's start and end, one call at a time."""

    def started(self, host: str) -> None:
        """A host was begun."""

    def finished(self, result: HostResult) -> None:
        """A host's result came."""

    def paused(self) -> contextlib.AbstractContextManager[None]:
        """While inside, nothing is drawn: the terminal is for a question."""


@contextlib.contextmanager
def progress(output: Output, step: str, total: int, *, quiet: bool) -> Iterator[Progress]:
    """The progress that fits stderr; none when `quiet` or where nobody watches a terminal."""
    if quiet:
        yield _Silent()
    elif sys.stderr.isatty() and os.environ.get("TERM") != "dumb":
        with _live(step, total) as live:
            yield live
    else:
        output.say(f"{step}: {counted(total, 'host')}")
        yield _Lines(output)


class _Silent:
    def started(self, host: str) -> None:
        pass

    def finished(self, result: HostResult) -> None:
        pass

    def paused(self) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext()


class _Lines:
    def __init__(self, output: Output) -> None:
        self._output = output

    def started(self, host: str) -> None:
        self._output.say(f"  {cell(host)}: begun")

    def finished(self, result: HostResult) -> None:
        self._output.say(f"  {cell(result.host)}: {outcomes(result)} ({result.seconds:.1f} s)")

    def paused(self) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext()


def outcomes(result: HostResult) -> str:
    """A host's outcomes in words; a command that only looks comes to none."""
    return ", ".join(dict.fromkeys(o.value for o in result.outcomes)) or "answered"


@contextlib.contextmanager
def _live(step: str, total: int) -> Iterator[Progress]:
    """One line that rich redraws, and removes at the end."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=20),
        MofNCompleteColumn(),
        TextColumn("{task.fields[waiting]}", markup=False),
    )
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        yield _Live(bar, bar.add_task(step, total=total, waiting=""))


class _Live:
    def __init__(self, bar: rich.progress.Progress, task: rich.progress.TaskID) -> None:
        self._bar = bar
        self._task = task
        self._waiting: dict[str, None] = {}

    def started(self, host: str) -> None:
        self._waiting[cell(host)] = None
        self._show(0)

    def finished(self, result: HostResult) -> None:
        self._waiting.pop(cell(result.host), None)
        self._show(1)

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        self._bar.stop()
        try:
            yield
        finally:
            self._bar.start()

    def _show(self, advance: int) -> None:
        self._bar.update(self._task, advance=advance, waiting=" ".join(self._waiting))
