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

import click

from fleetsync import fleet
from fleetsync.cli.hidden import ask_hidden, may_ask
from fleetsync.cli.output import Output
from fleetsync.cli.progress import Progress, progress
from fleetsync.cli.repeat import repeated
from fleetsync.job import Job
from fleetsync.outcome import HostResult
from fleetsync.own_secrets import OwnSecrets

_SECRETS = "fleetsync.own_secrets"
"""Where click's context of a command has them."""


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

    def ask(self, question: str) -> str | None:
        """Ask on the terminal, where nobody else writes meanwhile; see `ask_hidden`."""
        with self._lock, self._shown.paused():
            return ask_hidden(question, self.stopped)


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
                    secrets=_secrets(watch),
                )
        except KeyboardInterrupt:
            hosts = tuple(watch.done[name] for name in names if name in watch.done)
    return _conducted(repeated(hosts), names, watch)


def _secrets(watch: _Watch) -> OwnSecrets:
    """The operator's own, the same in all steps of one command: nobody is asked twice."""
    context = click.get_current_context(silent=True)
    kept = context.meta if context else {}
    secrets: OwnSecrets = kept.setdefault(_SECRETS, OwnSecrets())
    secrets.prompt = watch.ask if may_ask() else None
    return secrets


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

