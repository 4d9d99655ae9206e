"""How a command line ends that did not get to its own report."""

from __future__ import annotations

import os
import sys
import tempfile
import traceback
from collections.abc import Sequence

import click

from fleetsync import __version__
from fleetsync.cli.output import Output, Problem, Report
from fleetsync.errors import ConfigError, FleetsyncError, UsageError

USAGE, INTERRUPTED, BUG = 2, 130, 70


def end(error: BaseException, arguments: Sequence[str], commands: Sequence[str]) -> int:
    """Tell what went wrong, as text or as the envelope, and return the exit code."""
    words = arguments[: arguments.index("--")] if "--" in arguments else arguments
    if isinstance(error, click.exceptions.NoArgsIsHelpError) and "--json" not in words:
        Output().say(error.format_message())
        return USAGE
    code, status, problems = _judge(error)
    if "--debug" in words and code != BUG:
        traceback.print_exception(error)
    Output(as_json="--json" in words).report(
        Report(
            command=next((word for word in words if word in commands), ""),
            status=status,
            exit_code=code,
            errors=problems,
        )
    )
    return code


def _judge(error: BaseException) -> tuple[int, str, tuple[Problem, ...]]:
    match error:
        case click.Abort() | KeyboardInterrupt():
            return INTERRUPTED, "interrupted", (Problem("interrupted", "interrupted"),)
        case click.ClickException():
            return USAGE, "usage", (_usage(error),)
        case ConfigError():
            hint = error.hint
            return USAGE, "configuration", tuple(
                Problem("configuration", text, hint if text is error.problems[-1] else "")
                for text in error.problems
            )
        case UsageError():
            return USAGE, "usage", (Problem("usage", error.message, error.hint),)
        case FleetsyncError():
            return error.exit_code, "failed", (Problem("failed", error.message, error.hint),)
    return BUG, "bug", (_bug(error),)


def _usage(error: click.ClickException) -> Problem:
    context = getattr(error, "ctx", None)
    path = context.command_path if context else "fleetsync"
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        return Problem("usage", "no command was given", f"{path} --help")
    return Problem("usage", error.format_message(), f"{path} --help")


def _bug(error: BaseException) -> Problem:
    """A fault that ended the run: its traceback, without the values of variables."""
    return bug(type(error).__name__, "".join(traceback.format_exception(error)))


def bug(name: str, trace: str) -> Problem:
    """Keep a fault's trace in a file for the operator alone, and say where it is."""
    handle, path = tempfile.mkstemp(prefix="fleetsync-bug-", suffix=".txt")
    with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
        file.write(f"fleetsync {__version__}, Python {sys.version}\n{trace}\n")
        file.flush()
        os.fsync(file.fileno())
    return Problem(
        "bug",
        f"a fault in fleetsync ({name}); its trace is in {path} - look through it and report it",
    )
