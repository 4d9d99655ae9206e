"""Settle turns whose answer was lost: prove first that nothing of them lives on the host.

A lost turn is never sent again by itself. What it came to stays unknown, and is on
record as that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from fleetsync import journal
from fleetsync.errors import ConfigError
from fleetsync.job import Job
from fleetsync.journal import Journal, Unsettled
from fleetsync.outcome import TurnVerdict
from fleetsync.remote import Call, Runner


def required(found: Sequence[Unsettled]) -> Iterator[str]:
    """What every other command says of them, a line each."""
    return (f"{one.told}: recovery required" for one in found)


def left_open(job: Job) -> tuple[Unsettled, ...]:
    """The turns on the job's host that have no end on record now: of earlier runs, and of
    this one. Where the journals cannot be read any more, those known before."""
    try:
        return journal.still_open(job.unsettled, journal_of(job).path)
    except ConfigError:
        return job.unsettled


def journal_of(job: Job) -> Journal:
    """Where the job puts down its turns."""
    directory, stem = job.turns.journal
    return Journal(Path(directory), stem)


def scratch_of(runner: Runner) -> str:
    """The directory in which the host lays scratch. Raises HostError."""
    (record,) = runner.call((Call("fs_where"),))
    return record.fields[0]


def settle(runner: Runner, found: Sequence[Unsettled]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Settle each of them: what was done, and what is still to be settled, a line each.

    Raises HostError, and ConfigError where a journal cannot be written.
    """
    done, left = [], []
    for one in found:
        (record,) = runner.call((Call("fs_settle", (one.dispatch.identity,)),))
        ended, had, living = map(int, record.fields)
        if living:
            left.append(f"{one.told}: {living} of its processes cannot be ended")
            continue
        journal.settle(one, TurnVerdict.LOST.value)
        done.append(f"{one.told}: settled as lost ({_found(ended, had)})")
    return tuple(done), tuple(left)


def _found(ended: int, had: int) -> str:
    told = [f"{ended} of its processes were ended"] if ended else []
    told += ["its scratch directory was removed"] if had else []
    return " and ".join(told) or "nothing of it was left on the host"
