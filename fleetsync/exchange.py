"""One exchange over an open channel: bytes in, bytes out, until the END line.

Sending and receiving go on at once, so that neither side can fill the other's window;
what comes on standard error is read and dropped for the same reason.
"""

from __future__ import annotations

from typing import Protocol

_TICK = 0.1
"""Seconds after which to look again at what does not wake a reader: window, stderr."""
_BLOCK = 32768


class Channel(Protocol):
    """What an exchange needs of an SSH channel; Paramiko's has it."""

    eof_received: int

    def settimeout(self, timeout: float | None) -> None:
        """Bound each `recv`, in seconds."""

    def send_ready(self) -> bool:
        """Whether `send` would return at once."""

    def send(self, s: bytes) -> int:
        """Send some of `s`; how many bytes."""

    def shutdown_write(self) -> None:
        """Send the EOF."""

    def recv_ready(self) -> bool:
        """Whether `recv` would return at once."""

    def recv(self, nbytes: int) -> bytes:
        """Some output, b"" after its end. Raises TimeoutError."""

    def recv_stderr_ready(self) -> bool:
        """Whether `recv_stderr` would return at once."""

    def recv_stderr(self, nbytes: int) -> bytes:
        """Some of what came on standard error."""


class _Answer:
    """Output as it comes in, until the line that ends it."""

    def __init__(self, end: bytes) -> None:
        self._mark = b"\n" + end
        self._data = bytearray(b"\n")
        self._searched = 0

    def __len__(self) -> int:
        return len(self._data) - 1

    def add(self, data: bytes) -> bool:
        """Take `data`; True once the END line is complete. What follows it is dropped."""
        self._data += data
        at = self._data.find(self._mark, self._searched)
        if at < 0:
            self._searched = max(0, len(self._data) - len(self._mark))
            return False
        self._searched = at
        stop = self._data.find(b"\n", at + len(self._mark))
        if stop < 0:
            return False
        del self._data[stop + 1 :]
        return True

    def taken(self) -> bytes:
        """All that was taken."""
        return bytes(self._data[1:])


def converse(
    channel: Channel, stdin: bytes, end: bytes, cap: int, *, hold: bool = False
) -> bytes:
    """Feed `stdin` and its EOF, and read until a line that starts with `end` is complete
    or the host says EOF. With `hold` no EOF is sent. Raises ConnectionError when the
    connection breaks before, and OverflowError after `cap` bytes."""
    answer, sent = _Answer(end), 0
    channel.settimeout(_TICK)
    while True:
        owed = sent < len(stdin) or (sent == len(stdin) and not hold)
        if owed and channel.send_ready():
            sent = _feed(channel, stdin, sent)
            if not channel.recv_ready():
                continue
        while channel.recv_stderr_ready():
            channel.recv_stderr(_BLOCK)
        try:
            data = channel.recv(_BLOCK)
        except TimeoutError:
            continue
        if answer.add(data):
            return answer.taken()
        if len(answer) > cap:
            raise OverflowError(f"the answer is longer than {cap} bytes")
        if not data:
            # Only a host that is still there sends an EOF.
            if channel.eof_received:
                return answer.taken()
            raise ConnectionError("the connection broke before the answer was complete")


def _feed(channel: Channel, stdin: bytes, sent: int) -> int:
    """Send one block, or the EOF after the last; how far `stdin` is sent, one more than
    all once the EOF is. A host that stopped listening may still have something to say."""
    try:
        if sent < len(stdin):
            return sent + channel.send(stdin[sent : sent + _BLOCK])
        channel.shutdown_write()
    except (OSError, EOFError):
        pass
    return len(stdin) + 1
