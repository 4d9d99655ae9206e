"""Where text leaves the process: the answer on stdout, everything else on stderr.

Nothing is interpreted as markup and nothing is wrapped. Whatever came from a host or a
file loses the characters that could steer a terminal.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from typing import TextIO, TypeAlias

import click

from fleetsync.outcome import HostResult, Outcome
from fleetsync.redact import printable

Paint: TypeAlias = Callable[[str, str], str]
"""Gives a text the colour of a word (an outcome's, or `+`, `-`, `head`)."""

_UNDECODED = re.compile("[\udc80-\udcff]")
_COLOURS = {
    Outcome.IN_STEP.value: "green",
    Outcome.CHANGED.value: "green",
    Outcome.DRIFT.value: "yellow",
    Outcome.HELD.value: "cyan",
    Outcome.AWAY.value: "magenta",
    "+": "green",
    "-": "red",
    "head": "cyan",
}


def plain(text: str, word: str) -> str:
    """The text without colour."""
    return text


def coloured(text: str, word: str) -> str:
    """The text in the colour that `word` has; red where it has none."""
    return click.style(text, fg=_COLOURS.get(word, "red"))


def takes_colour(stream: TextIO) -> bool:
    """Whether `stream` is a terminal that may get colour."""
    return (
        stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    )


def visible(text: str) -> str:
    """`text` with nothing in it that steers a terminal; bytes that were no UTF-8 by number."""
    return _UNDECODED.sub(lambda byte: f"\\x{ord(byte[0]) - 0xDC00:02x}", printable(text))


def cell(text: str) -> str:
    """`visible` text on one line."""
    return visible(text).replace("\n", "\\n").replace("\t", "\\t")


def table(rows: Iterable[Sequence[str]], indent: str = "") -> list[str]:
    """The rows as aligned lines. The last column is as long as it is."""
    cells = [[cell(text) for text in row] for row in rows]
    widths = [max(map(len, column), default=0) for column in zip(*cells, strict=True)]
    return [
        (indent + "  ".join(map(str.ljust, row[:-1], widths)) + f"  {row[-1]}").rstrip()
        for row in cells
    ]


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that went wrong, as the envelope carries it."""

    code: str
    message: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """A command's answer. `exit_code` is what the process ends with."""

    command: str
    status: str
    exit_code: int
    generation: str = ""
    run: str = ""
    receipt: str = ""
    hosts: tuple[HostResult, ...] = ()
    errors: tuple[Problem, ...] = ()
    notices: tuple[str, ...] = ()
    all_targets_verified: bool | None = None
    """whether every required gate of every target is settled; None where none was tried"""


def envelope(report: Report) -> str:
    """The report as the versioned JSON envelope, on one line."""
    return json.dumps({"fleetsync": 1, **_mapping(report)}, ensure_ascii=True)


def _mapping(value: object) -> dict[str, object]:
    """Every field but those that no repr shows either: they stay in this process."""
    assert is_dataclass(value)
    return {f.name: _plain(getattr(value, f.name)) for f in fields(value) if f.repr}


def _plain(value: object) -> object:
    """Dataclasses as objects, enumerations as their words, tuples as arrays."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    return _mapping(value) if is_dataclass(value) else value


class Output:
    """The two streams of one command. With `--json` the answer is the envelope alone.

    A reader that went away ends the answer, never the work; so does a full disk, but
    then `lost` tells that the answer is not whole.
    """

    def __init__(self, *, as_json: bool = False) -> None:
        self.as_json = as_json
        self.lost = False
        self.paint: Paint = coloured if takes_colour(sys.stdout) else plain

    def answer(self, *lines: str) -> None:
        """Lines of the answer for a person; not written with `--json`."""
        if not self.as_json:
            self._print("".join(f"{line}\n" for line in lines))

    def say(self, *lines: str) -> None:
        """Progress, questions and errors."""
        _write(sys.stderr, "".join(f"{line}\n" for line in lines))

    def ask(self, *lines: str) -> None:
        """A question: the last line stays open for the answer."""
        self.say(*lines[:-1])
        _write(sys.stderr, lines[-1])

    def report(self, report: Report) -> None:
        """The envelope, where it was asked for; else the notices and errors on stderr."""
        if self.as_json:
            return self._print(envelope(report) + "\n")
        self.say(*(f"notice: {cell(notice)}" for notice in report.notices))
        for problem in report.errors:
            self.say(*_error_lines(problem))

    def _print(self, text: str) -> None:
        try:
            _write(sys.stdout, text)
        except OSError as error:
            self.lost = True
            _silence(sys.stdout)
            self.say(f"error: the answer cannot be written: {error.strerror}")


def _error_lines(problem: Problem) -> list[str]:
    lines = [f"error: {problem.message}", *([f"  next: {problem.hint}"] if problem.hint else [])]
    return [visible(line) for line in lines]


def _write(stream: TextIO, text: str) -> None:
    encoding = stream.encoding or "utf-8"
    try:
        stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
        stream.flush()
    except BrokenPipeError:
        _silence(stream)


def _silence(stream: TextIO) -> None:
    """Lead a stream nobody reads to nowhere, so that no later write fails either."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
