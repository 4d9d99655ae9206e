"""What can go wrong, and the exit code each kind ends with.

FleetsyncError                  1   something failed
├─ UsageError                   2   the command line asks for something impossible
├─ ConfigError                  2   the operator's files: every problem at once
├─ HostError                        one host; never stops the others
│  ├─ Away                      4   not reached: nothing was sent
│  ├─ Lost                      1   no answer after sending: the outcome is unknown
│  ├─ HostKeyRefused            5   unknown, changed or revoked host key
│  ├─ AuthenticationRefused     5   the host did not accept the operator
│  └─ HostUnusable              1   the host answered, but not as a POSIX sh does
└─ DocumentError                    a client's file, with line and column
   ├─ Unreadable                5   it does not parse, so it is never edited
   └─ EditRefused               5   it parses, but this edit could change something else

Every field of an exception is in its `args`, so that it survives pickling.
A message says what happened; a hint says what to do next.
"""

from __future__ import annotations


class FleetsyncError(Exception):
    """Root of all errors that fleetsync raises on purpose."""

    exit_code = 1

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message, hint)

    @property
    def message(self) -> str:
        """What happened, and to what."""
        return str(self.args[0])

    @property
    def hint(self) -> str:
        """What to do next; empty where there is nothing to add."""
        return str(self.args[1])

    def __str__(self) -> str:
        return f"{self.message}\n{self.hint}" if self.hint else self.message


class UsageError(FleetsyncError):
    """The command line asks for something impossible; nothing was touched."""

    exit_code = 2


class ConfigError(FleetsyncError):
    """The operator's files are wrong; `problems` holds one line for each fault."""

    exit_code = 2

    def __init__(self, problems: tuple[str, ...], hint: str = "") -> None:
        Exception.__init__(self, tuple(problems), hint)

    @property
    def problems(self) -> tuple[str, ...]:
        """One line for each fault: file, line, key, found, expected."""
        return tuple(self.args[0])

    @property
    def message(self) -> str:
        """All problems, one a line."""
        return "\n".join(self.problems)


class HostError(FleetsyncError):
    """Something about one host; it never changes another host's outcome."""


class Away(HostError):
    """The host was not reached; no script was sent, so nothing can have changed."""

    exit_code = 4


class Lost(HostError):
    """The script was sent and no complete answer came: what it did is unknown."""


class HostKeyRefused(HostError):
    """The host's key is unknown, changed or revoked."""

    exit_code = 5


class AuthenticationRefused(HostError):
    """The host did not accept any identity that the operator offered."""

    exit_code = 5


class HostUnusable(HostError):
    """The host ran something, but it did not answer as a POSIX sh does."""


class DocumentError(FleetsyncError):
    """A client's file; `line` and `column` count from 1, 0 where there is no place."""

    exit_code = 5

    def __init__(self, reason: str, line: int = 0, column: int = 0, hint: str = "") -> None:
        Exception.__init__(self, reason, line, column, hint)

    @property
    def reason(self) -> str:
        """What is wrong, without the place."""
        return str(self.args[0])

    @property
    def line(self) -> int:
        """Line of the fault, from 1."""
        return int(self.args[1])

    @property
    def column(self) -> int:
        """Column of the fault in characters, from 1."""
        return int(self.args[2])

    @property
    def message(self) -> str:
        """The reason with its place."""
        place = f"line {self.line}, column {self.column}: " if self.line else ""
        return f"{place}{self.reason}"

    @property
    def hint(self) -> str:
        """What to do next."""
        return str(self.args[3])


class Unreadable(DocumentError):
    """The bytes do not parse in their dialect; they are never treated as empty."""


class EditRefused(DocumentError):
    """The edit is not made, because it could change more than was asked for."""
