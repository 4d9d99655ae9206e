"""A question on the terminal whose answer is not shown: the operator's own SSH secrets."""

from __future__ import annotations

import contextlib
import os
import select
import sys
import termios
from collections.abc import Callable, Iterator

import click

from fleetsync.cli.output import cell

_TICK = 0.1
_LONGEST = 4096


def at_terminal() -> bool:
    """Whether somebody sits at standard input; closed, it is None."""
    return sys.stdin is not None and sys.stdin.isatty()


def may_ask() -> bool:
    """Whether somebody sits there to be asked: a terminal, no --yes, and no CI."""
    context = click.get_current_context(silent=True)
    agreed = context is not None and context.params.get("yes")
    return at_terminal() and not agreed and not os.environ.get("CI")


def ask_hidden(question: str, stopped: Callable[[], bool]) -> str | None:
    """What is typed in answer; None for nothing, or once `stopped`. From any thread."""
    try:
        terminal = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY)
    except OSError:
        return None
    try:
        with _without_echo(terminal):
            os.write(terminal, os.fsencode(cell(question)))
            answer = _line(terminal, stopped)
            os.write(terminal, b"\n")
    except (OSError, termios.error):
        return None    # the terminal went away
    finally:
        os.close(terminal)
    return os.fsdecode(answer) or None


@contextlib.contextmanager
def _without_echo(terminal: int) -> Iterator[None]:
    before = termios.tcgetattr(terminal)
    hidden = [*before]
    hidden[3] &= ~termios.ECHO
    termios.tcsetattr(terminal, termios.TCSAFLUSH, hidden)
    try:
        yield
    finally:
        termios.tcsetattr(terminal, termios.TCSAFLUSH, before)


def _line(terminal: int, stopped: Callable[[], bool]) -> bytes:
    """A line as the terminal gives it, which is whole."""
    while not stopped():
        if select.select([terminal], [], [], _TICK)[0]:
            return os.read(terminal, _LONGEST).rstrip(b"\n")
    return b""
