"""Run one client program on a host, bounded, and tell how it ended.

The host does it all (`host/bounded.sh`): it lays the files into a private scratch
directory, starts the program in a process group of its own, keeps the deadline, ends
what outlives it and removes the directory. Nothing outside that directory is written.
`answer` asks what only such a run can tell.
"""

from __future__ import annotations

import dataclasses
import secrets
from collections.abc import Collection, Iterator, Mapping
from pathlib import PurePosixPath

from fleetsync.adapter import SCRATCH, Command, Done, FileEdit, ScratchFile
from fleetsync.answers import answered, by_number
from fleetsync.facts import (
    Answer,
    Ask,
    AskFact,
    Question,
    Resolve,
    RunningQuestion,
)
from fleetsync.payload import building, payload
from fleetsync.probe import Salts, opening
from fleetsync.questions import place, unaskable, variable
from fleetsync.remote import Call, Record, Runner
from fleetsync.sealed import Sealed

GRACE = 45
"""Seconds that a host may need beyond the command's own limit: TERM, KILL, cleaning."""


def run(
    runner: Runner, command: Command, sources: Mapping[str, FileEdit], run_id: str = "",
    *, lifeline: bool = False,
) -> Done:
    """Run `command`. `sources` are the planned edits of the files that its scratch files
    copy, by path; a file that has none is copied as it stands on the host. `run_id` (hex)
    names the scratch directory and tags the processes; without one a random one does.
    With `lifeline` the host ends the run when the link is lost, not only at its limit.

    Done.started is False when a source is no longer what was read, a key has no value at
    its place any more, or the host cannot lay the files: then nothing was run. Raises
    HostError; after Lost the host ends the run by itself within the command's seconds.
    """
    calls = tuple(_calls(command, sources, run_id or secrets.token_hex(16)))
    patient = dataclasses.replace(
        runner, seconds=command.seconds + GRACE, lifeline=lifeline
    )
    if not command.keys:
        return _done(patient.call(calls))
    places = [place for _, place in command.keys]
    return _done(patient.with_keys((*opening(Salts.fresh(), places), *calls)))


def answer(
    runner: Runner, questions: Collection[RunningQuestion], salts: Salts
) -> dict[Question, Answer]:
    """Answer `questions`, each by a bounded run of its own. Raises HostError."""
    answers: dict[Question, Answer] = {}
    for question in sorted(questions, key=repr):
        match question:
            case Ask():
                answers[question] = _ask(runner, question)
            case Resolve():
                answers[question] = _resolve(runner, question, salts)
    return answers


def _ask(runner: Runner, question: Ask) -> AskFact:
    done = run(runner, Command(question.argv, question.env, seconds=question.seconds), {})
    ended = done.started and not done.signal and not done.timed_out
    return AskFact(done.status if ended else None, done.stdout)


def _resolve(runner: Runner, question: Resolve, salts: Salts) -> Answer:
    known = unaskable(question.place)
    if known is not None:
        return known
    call = Call("fs_resolve_place", ("0", str(question.seconds), *place(question.place)))
    patient = dataclasses.replace(runner, seconds=question.seconds + GRACE)
    records = patient.with_keys((*opening(salts, (question.place,)), call))
    account, found = by_number(records)
    return answered(question.place, found["0"], account)


def _calls(command: Command, sources: Mapping[str, FileEdit], run_id: str) -> Iterator[Call]:
    yield Call("fs_scratch", (run_id,))
    for file in command.files:
        yield from _laying(file, sources)
    if command.stdin:
        yield Call("fs_stdin")
        yield from payload(command.stdin)
    for name, value in command.env:
        yield Call("fs_env", (name, *value.split(SCRATCH)))
    for name, where in command.keys:
        yield Call("fs_env_place", (variable(name), where.told, *place(where)))
    for word in command.argv:
        yield Call("fs_arg", tuple(word.split(SCRATCH)))
    for name in command.returns:
        yield Call("fs_return", (_inside(name),))
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
    status, signal, late, over, swept, hundredths = map(int, by_tag["RAN"].fields)
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
        files=tuple(
            (record.fields[0], Sealed(record.body or b""))
            for record in records if record.tag == "FILE"
        ),
        seconds=hundredths / 100,
    )
