"""Run one client program on a host, bounded, and tell how it ended.

The host does it all (`host/bounded.sh`): it lays the files into a private scratch
directory, starts the program in a process group of its own, keeps the deadline, ends
what outlives it and removes the directory. Nothing outside that directory is written.
"""

from __future__ import annotations

import dataclasses
import secrets
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath

from fleetsync.adapter import SCRATCH, Command, Done, FileEdit, ScratchFile
from fleetsync.facts import Sealed
from fleetsync.payload import building, payload
from fleetsync.remote import Call, Record, Runner

GRACE = 45
"""Seconds that a host may need beyond the command's own limit: TERM, KILL, cleaning."""


def run(runner: Runner, command: Command, sources: Mapping[str, FileEdit]) -> Done:
    """Run `command`. `sources` are the planned edits of the files that its scratch files
    copy, by path; a file that has none is copied as it stands on the host.

    Done.started is False when a source is no longer what was read, or the host cannot lay
    the files: then nothing was run. Raises HostError; after Lost the host ends the run by
    itself within the command's seconds.
    """
    calls = tuple(_calls(command, sources, secrets.token_hex(16)))
    patient = dataclasses.replace(runner, seconds=command.seconds + GRACE)
    return _done(patient.call(calls))


def _calls(command: Command, sources: Mapping[str, FileEdit], run_id: str) -> Iterator[Call]:
    yield Call("fs_scratch", (run_id,))
    for file in command.files:
        yield from _laying(file, sources)
    if command.stdin:
        yield Call("fs_stdin")
        yield from payload(command.stdin)
    for name, value in command.env:
        yield Call("fs_env", (name, *value.split(SCRATCH)))
    for word in command.argv:
        yield Call("fs_arg", tuple(word.split(SCRATCH)))
    yield Call("fs_run", (str(command.seconds), str(command.cap), command.until))


def _laying(file: ScratchFile, sources: Mapping[str, FileEdit]) -> Iterator[Call]:
    name = _inside(file.name)
    if not file.source:
        yield Call("fs_lay", (name,))
        for index, part in enumerate(file.content.split(SCRATCH.encode())):
            if index:
                yield Call("fs_lay_here")
            yield from payload(part)
        yield Call("fs_laid", (name, "-"))
        return
    edit = sources.get(file.source)
    if edit is None:
        yield Call("fs_lay_from", (name, file.source, "-"))
        yield Call("fs_keep", ("0", "-"))
        yield Call("fs_laid", (name, "-"))
        return
    if edit.file.exists:
        live = edit.file.real or edit.file.path
        yield Call("fs_lay_from", (name, live, edit.file.sha256))
        yield from building(edit.splices, edit.file.size)
    else:
        yield Call("fs_lay", (name,))
        yield from payload(edit.after.reveal())
    yield Call("fs_laid", (name, edit.after.sha256))


def _inside(name: str) -> str:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or not path.parts:
        raise ValueError(f"{name!r} is not a name inside the scratch directory")
    return name


def _done(records: tuple[Record, ...]) -> Done:
    by_tag = {record.tag: record for record in reversed(records)}
    digests = tuple(
        (record.fields[0], record.fields[1]) for record in records if record.tag == "LAID"
    )
    if "PROBLEM" in by_tag:
        return Done(started=False, digests=digests, problem=by_tag["PROBLEM"].fields[0])
    status, signal, late, over, swept = map(int, by_tag["RAN"].fields)
    return Done(
        started=True,
        status=status,
        signal=signal,
        timed_out=bool(late),
        truncated=bool(over),
        stdout=Sealed(by_tag["OUT"].body or b""),
        stderr=Sealed(by_tag["ERR"].body or b""),
        digests=digests,
        swept=swept,
    )
