"""Hosts without SSH: a local shell, scripted answers, and failures at a chosen moment."""

from __future__ import annotations

import contextlib
import enum
import subprocess
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from fleetsync.errors import Away, Lost
from fleetsync.remote import ANSWER_CAP, Remote


@dataclass(frozen=True, slots=True)
class Exchange:
    """What was sent to a host and what it answered."""

    command: str
    stdin: bytes
    output: bytes


@dataclass(slots=True)
class LocalRemote:
    """An account whose home is `home`, on this machine.

    `shell` runs the command as sshd has the login shell do it; the `sh` of the script is
    the one on the PATH of `environment`, which is all that the shell is given beside
    HOME, SHELL and a plain PATH. A `user` other than ours needs root. `within` is the
    beginning of a command line that runs the rest of it, such as unshare's.
    """

    home: Path
    shell: str = "/bin/sh"
    environment: Mapping[str, str] = field(default_factory=dict)
    user: int | None = None
    within: tuple[str, ...] = ()
    exchanges: list[Exchange] = field(default_factory=list)

    def connect(self) -> None:
        """Nothing to reach."""

    def exchange(
        self, command: str, stdin: bytes, end: bytes, *, seconds: float, cap: int = ANSWER_CAP,
        hold: bool = False,
    ) -> bytes:
        """Run `command` to its end. Raises Lost after `seconds` or `cap` bytes."""
        with subprocess.Popen(
            [*self.within, self.shell, "-c", command], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=self.home,
            env=self._environment(), user=self.user,
        ) as process:
            output = _converse(process, stdin, seconds, hold=hold)
        if output is None:
            raise Lost(f"no answer in {seconds:g} seconds", "")
        if len(output) > cap:
            raise Lost(f"the answer is longer than {cap} bytes", "")
        self.exchanges.append(Exchange(command, stdin, output))
        return output

    def close(self) -> None:
        """Nothing to let go of."""

    def _environment(self) -> dict[str, str]:
        plain = {"HOME": str(self.home), "SHELL": self.shell, "PATH": "/usr/bin:/bin"}
        return {**plain, **self.environment}


def _converse(
    process: subprocess.Popen[bytes], stdin: bytes, seconds: float, *, hold: bool
) -> bytes | None:
    """All that `process` prints, None where it does not end in time."""
    with contextlib.ExitStack() as until_answered:
        if hold and process.stdin:
            # communicate() would close it; a host reads all of it before it answers.
            with contextlib.suppress(BrokenPipeError):
                process.stdin.write(stdin)
                process.stdin.flush()
            until_answered.enter_context(process.stdin)
            process.stdin = None
        try:
            return process.communicate(stdin, timeout=seconds)[0]
        except subprocess.TimeoutExpired:
            process.kill()
            return None


@dataclass(slots=True)
class MemoryRemote:
    """A host that answers from `answers`, in order: bytes, an error to raise, or a
    function of what was sent on standard input (where the nonce is)."""

    answers: Iterable[bytes | Exception | Callable[[bytes], bytes]]
    sent: list[bytes] = field(default_factory=list)
    closed: bool = False

    def __post_init__(self) -> None:
        self.answers = iter(self.answers)

    def connect(self) -> None:
        """Always there."""

    def exchange(
        self, command: str, stdin: bytes, end: bytes, *, seconds: float, cap: int = ANSWER_CAP,
        hold: bool = False,
    ) -> bytes:
        """The next answer. Raises Lost when there is none left."""
        self.sent.append(stdin)
        for answer in self.answers:
            if isinstance(answer, Exception):
                raise answer
            return answer(stdin) if callable(answer) else answer
        raise Lost("no answer is scripted", "")

    def close(self) -> None:
        """Note that the connection was let go."""
        self.closed = True


class How(enum.Enum):
    """How a connection fails."""

    AWAY = "away"
    """before anything was sent: the host did nothing"""
    LOST = "lost"
    """after: the host did all that it was told, and the answer is gone"""


@dataclass(slots=True)
class FailingRemote:
    """`inner`, until `after` exchanges went well; then every one fails, as `how` says."""

    inner: Remote
    after: int
    how: How = How.LOST
    done: int = 0

    def connect(self) -> None:
        """Reach the inner host. Raises Away once the failures are due, for AWAY."""
        if self.how is How.AWAY and self.done >= self.after:
            raise Away("the host is not reachable", "")
        self.inner.connect()

    def exchange(
        self, command: str, stdin: bytes, end: bytes, *, seconds: float, cap: int = ANSWER_CAP,
        hold: bool = False,
    ) -> bytes:
        """The inner host's answer. Raises Away or Lost once the failures are due."""
        self.connect()
        output = self.inner.exchange(command, stdin, end, seconds=seconds, cap=cap, hold=hold)
        self.done += 1
        if self.done > self.after:
            raise Lost("the connection broke", "")
        return output

    def close(self) -> None:
        """Let go of the inner connection."""
        self.inner.close()
