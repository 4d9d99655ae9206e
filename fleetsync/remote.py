"""The port to a host, and the frame in which every script and answer travels.

One 7-bit POSIX sh script goes to stdin of one fixed command; everything in it is in
functions that its last line calls, so a cut script does nothing. The answer stands
between a BEGIN and an END line that carry a 128-bit nonce: start-up noise comes before
BEGIN, and the end is recognised by END, never by EOF or an exit status.

`Reader`, `Prover`, `Runner` and `Writer` are what is built on the port. Each sends only
its own library of functions, so what a step can do to a host is visible in its types.
"""

from __future__ import annotations

import functools
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Protocol

from fleetsync.errors import HostUnusable, Lost

ANSWER_CAP = 64 * 1024 * 1024
"""Bytes of one answer beyond which a host is not listened to."""
_CHUNK = 500
_SWALLOWED = 64
"""Bytes that a start-up file may take off a script that is read by its length."""
_READING = (
    "frame.sh", "read.sh", "json.sh", "parse.sh", "login.sh", "locate.sh", "place.sh",
    "desktop.sh", "veil.sh", "bundles.sh",
)
_RUNNING = ("bytes.sh", "bounded.sh", "settle.sh")
_WRITING = (
    "frame.sh", "bytes.sh", "json.sh", "veil.sh", "keep.sh", "lock.sh", "guard.sh", "swap.sh",
    "transaction.sh", "recover.sh", "prune.sh",
)


class Remote(Protocol):
    """One account on one machine.

    Raises Away, HostKeyRefused or AuthenticationRefused before anything was sent, and
    Lost after.
    """

    def connect(self) -> None:
        """Reach the host, check its key, authenticate. Idempotent."""

    def exchange(
        self, command: str, stdin: bytes, end: bytes, *, seconds: float, cap: int = ANSWER_CAP,
        hold: bool = False,
    ) -> bytes:
        """Run `command`, feed it `stdin`, close stdin, return its output. With `hold`,
        stdin is closed only after the answer: then its end tells the host of a lost link.

        Returns as soon as a line that starts with `end` is complete, or when the output
        ends without one. The bytes are exact. Raises Lost after `seconds`, after `cap`
        bytes, or when the connection breaks.
        """

    def close(self) -> None:
        """Let go of the connection. Idempotent."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a host function; its arguments are quoted, so they are only data."""

    function: str
    arguments: tuple[str, ...] = ()

    def render(self) -> str:
        """The call as one line of sh."""
        return " ".join((self.function, *map(quote, self.arguments)))


@dataclass(frozen=True, slots=True)
class Record:
    """One line of an answer: a tag, its fields, and the raw bytes sent with it."""

    tag: str
    fields: tuple[str, ...] = ()
    body: bytes | None = None


def quote(text: str) -> str:
    """`text` as one word of sh in printable ASCII. Text with a line end is a mistake
    of the caller (paths with one are refused earlier) and raises ValueError."""
    if "\n" in text or "\0" in text:
        raise ValueError("a word for the host holds a line end")
    data = text.encode("utf-8", "surrogateescape")
    if all(32 <= byte < 127 for byte in data):
        return "'" + text.replace("'", "'\\''") + "'"
    return f"\"$(printf '{octal(data)}')\""


def octal(data: bytes) -> str:
    """`data` as a printf format: octal throughout, so that 7 bits carry it exactly."""
    return "".join(f"\\{byte:03o}" for byte in data)


def chunks(data: bytes) -> Iterator[str]:
    """`data` as printf formats short enough for a host whose printf is a program."""
    for at in range(0, len(data), _CHUNK):
        yield octal(data[at : at + _CHUNK])


@functools.cache
def library(name: str) -> str:
    """The text of one file of `fleetsync/host/`."""
    return files("fleetsync").joinpath("host", name).read_text("ascii")


def script(
    libraries: Sequence[str], calls: Sequence[Call], nonce: str, more: str = ""
) -> bytes:
    """The whole script. Its first line is empty: a start-up file may swallow it. `more`
    are redirections of its last line."""
    body = "\n".join(call.render() for call in calls)
    text = "\n".join((
        "", *map(library, libraries), f"fs_calls() {{\n:\n{body}\n}}", f"fs_main {nonce}{more}", "",
    ))
    return text.encode("ascii")


def parse(output: bytes, nonce: str) -> tuple[Record, ...]:
    """The records between BEGIN and END. Raises HostUnusable or Lost."""
    mark = f"\n@@{nonce} ".encode()
    _, begin, rest = output.partition(mark + b"BEGIN")
    if not begin:
        raise HostUnusable(*_why_no_answer(output))
    answer, end, _ = rest.rpartition(mark + b"END ")
    if not end:
        raise Lost(
            "the answer was cut off", "run the command again: it asks the host what was done"
        )
    return tuple(_records(answer.removesuffix(b"\n").split(mark)[1:]))


def _records(lines: Sequence[bytes]) -> Iterator[Record]:
    waiting: Record | None = None
    for line in lines:
        tag, _, rest = line.partition(b"\t")
        if tag.startswith(b"RAW\n") and waiting:
            yield Record(waiting.tag, waiting.fields, line[len(b"RAW\n"):])
            waiting = None
        elif tag != b"EOR":
            if waiting:
                yield waiting
            fields = tuple(part.decode("utf-8", "surrogateescape") for part in rest.split(b"\t"))
            waiting = Record(tag.decode("ascii", "replace"), fields if rest else ())
    if waiting:
        yield waiting


def _why_no_answer(output: bytes) -> tuple[str, str]:
    text = output.decode("utf-8", "replace").strip()
    if not text:
        return (
            "the host ran nothing: a start-up file of its login shell swallowed the script, "
            "or the account may not run commands",
            "try: ssh HOST true </dev/null; then look at the shell's start-up files",
        )
    if "sftp connections only" in text:
        return ("the account is limited to sftp", "use an account that may run sh")
    if "not recognized as an internal or external command" in text or "CommandNotFound" in text:
        return ("the host is native Windows, which has no POSIX sh", "use WSL on that machine")
    return (
        "the host did not run our script under a POSIX sh",
        "a forced command, a restricted shell or a start-up file stands in the way",
    )


def _exchange(
    remote: Remote, libraries: Sequence[str], calls: Sequence[Call], seconds: float,
    hold: bool = False,
) -> tuple[Record, ...]:
    output, nonce = _send(remote, libraries, calls, seconds, hold)
    return parse(output, nonce)


def _send(
    remote: Remote, libraries: Sequence[str], calls: Sequence[Call], seconds: float,
    hold: bool = False,
) -> tuple[bytes, str]:
    nonce = secrets.token_hex(16)
    command = f"sh -c 'FS={nonce}; unset -f cat; eval \"$(cat)\"'"
    text = script(libraries, calls, nonce)
    if hold:
        # Standard input, which stays open, is descriptor 3 of the script. Line ends in
        # excess stand for what a start-up file may have swallowed.
        text = script(libraries, calls, nonce, " 3<&0")
        command = f"sh -c 'FS={nonce}; unset -f head; eval \"$(head -c {len(text)})\"'"
        text += b"\n" * _SWALLOWED
    remote.connect()
    output = remote.exchange(
        command, text, f"@@{nonce} END ".encode(), seconds=seconds, hold=hold
    )
    return output, nonce


@dataclass(frozen=True, slots=True)
class Reader:
    """Answers Read, Locate, Variable, Place and State. It has no function that writes,
    and none that starts a client program."""

    remote: Remote
    seconds: float = 60

    def call(self, calls: Sequence[Call]) -> tuple[Record, ...]:
        """Send `calls` of the reading libraries. Raises HostError.

        A last record `noise` tells that start-up files print even for such a command.
        """
        output, nonce = _send(self.remote, _READING, calls, self.seconds)
        records = parse(output, nonce)
        noise = output.partition(f"@@{nonce} BEGIN".encode())[0].strip()
        return (*records, Record("noise")) if noise else records


@dataclass(frozen=True, slots=True)
class Prover:
    """Asks the router from the host, with a key that the host itself reads. It has no
    function that writes, and none that starts a client program."""

    remote: Remote
    seconds: float = 60

    def call(self, calls: Sequence[Call]) -> tuple[Record, ...]:
        """Send `calls` of the reading libraries and router.sh. Raises HostError."""
        return _exchange(self.remote, (*_READING, "router.sh"), calls, self.seconds)


@dataclass(frozen=True, slots=True)
class Runner:
    """Runs client programs, bounded, in a scratch directory that it removes, and the
    commands that stand for a key. With `lifeline`, standard input is the lifeline of
    bounded.sh: a run ends when the link is lost."""

    remote: Remote
    seconds: float = 120
    lifeline: bool = False

    def call(self, calls: Sequence[Call]) -> tuple[Record, ...]:
        """Send `calls` of bounded.sh. Raises HostError."""
        return self._send(("frame.sh", *_RUNNING), calls)

    def with_keys(self, calls: Sequence[Call]) -> tuple[Record, ...]:
        """Send `calls` that take keys from their places: of the reading libraries,
        bounded.sh, resolve.sh and router.sh. Raises HostError."""
        return self._send((*_READING, *_RUNNING, "resolve.sh", "router.sh"), calls)

    def _send(self, libraries: Sequence[str], calls: Sequence[Call]) -> tuple[Record, ...]:
        hung = (Call("fs_lifeline"), *calls) if self.lifeline else calls
        return _exchange(self.remote, libraries, hung, self.seconds, self.lifeline)


@dataclass(frozen=True, slots=True)
class Writer:
    """Changes files, by transaction only."""

    remote: Remote
    seconds: float = 120

    def call(self, calls: Sequence[Call]) -> tuple[Record, ...]:
        """Send `calls` of transaction.sh. Raises HostError; Lost means: ask again."""
        return _exchange(self.remote, _WRITING, calls, self.seconds)
