"""Run one step over hosts from a terminal: progress on stderr, and what ^C means.

The first ^C starts no further host and lets those begun finish; the second leaves.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import FrameType

from fleetsync import fleet
from fleetsync.cli.output import Output
from fleetsync.cli.progress import Progress, progress
from fleetsync.job import Job
from fleetsync.outcome import HostResult


@dataclass(frozen=True, slots=True)
class Conducted:
    """What became of a step. `begun` are hosts whose answer is not known, `open` those
    that were not started; both are empty unless the step was `interrupted`."""

    hosts: tuple[HostResult, ...]
    begun: tuple[str, ...] = ()
    open: tuple[str, ...] = ()
    interrupted: bool = False


class _Watch:
    """What is known of a running step. Its methods are called from worker threads."""

    def __init__(self, shown: Progress) -> None:
        self._shown = shown
        self._lock = threading.Lock()
        self.begun: list[str] = []
        self.done: dict[str, HostResult] = {}
        self.stop = False

    def started(self, host: str) -> None:
        """A host was begun."""
        with self._lock:
            self.begun.append(host)
            self._shown.started(host)

    def finished(self, result: HostResult) -> None:
        """A host's result came."""
        with self._lock:
            self.done[result.host] = result
            self._shown.finished(result)

    def stopped(self) -> bool:
        """Whether no further host may be started."""
        return self.stop


def conduct(
    jobs: Sequence[Job], *, workers: int, output: Output, quiet: bool = False
) -> Conducted:
    """Do all jobs; see `fleet.run`. Never raises KeyboardInterrupt."""
    names = [job.host.name for job in jobs]
    if not jobs:
        return Conducted(())
    with progress(output, jobs[0].step.value, len(jobs), quiet=quiet) as shown:
        watch = _Watch(shown)
        try:
            with _first_interrupt(watch, output):
                hosts = fleet.run(
                    jobs,
                    workers=workers,
                    started=watch.started,
                    finished=watch.finished,
                    stopped=watch.stopped,
                )
        except KeyboardInterrupt:
            hosts = tuple(watch.done[name] for name in names if name in watch.done)
    return _conducted(hosts, names, watch)


def _conducted(hosts: tuple[HostResult, ...], names: Sequence[str], watch: _Watch) -> Conducted:
    known = {host.host for host in hosts}
    missing = [name for name in names if name not in known]
    return Conducted(
        hosts,
        begun=tuple(name for name in missing if name in watch.begun),
        open=tuple(name for name in missing if name not in watch.begun),
        interrupted=watch.stop,
    )


@contextlib.contextmanager
def _first_interrupt(watch: _Watch, output: Output) -> Iterator[None]:
    """Make the first ^C set `watch.stop`, and the second raise KeyboardInterrupt."""

    def stop(number: int, frame: FrameType | None) -> None:
        watch.stop = True
        signal.signal(signal.SIGINT, signal.default_int_handler)
        output.say("interrupted: hosts already begun are finished; ^C again leaves at once")

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)

