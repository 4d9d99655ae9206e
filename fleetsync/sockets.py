"""Sockets as SSH wants them: prompt TCP, a way through a jump host, and a ProxyCommand's
standard streams."""

from __future__ import annotations

import contextlib
import socket
import subprocess
from typing import Protocol

_CLOSING_SECONDS = 5


class PromptSocket(socket.socket):
    """A TCP socket that sends at once, and acknowledges at once where that can be asked.

    sshd leaves Nagle's algorithm on for commands, so each delayed acknowledgement would
    cost 40 ms; Linux forgets the setting, so it is made anew after each read.
    """

    def __init__(self, connected: socket.socket) -> None:
        """Takes over `connected`, which is of no use afterwards."""
        super().__init__(fileno=connected.detach())
        self.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def recv(self, size: int, flags: int = 0, /) -> bytes:
        """As `socket.recv`."""
        data = super().recv(size, flags)
        if hasattr(socket, "TCP_QUICKACK"):
            self.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)
        return data


class Channel(Protocol):
    """What a tunnel needs of an SSH channel; Paramiko's has it."""

    closed: bool

    def settimeout(self, timeout: float | None) -> None:
        """Bound each `recv` and `send`, in seconds."""

    def send(self, s: bytes) -> int:
        """Send some of `s`; how many bytes."""

    def recv(self, nbytes: int) -> bytes:
        """Some bytes, b"" after the last."""

    def close(self) -> None:
        """Say goodbye; fails where the jump host is gone."""


class Tunnel:
    """A channel through a jump host, as a socket that can always be closed.

    Paramiko closes its socket from a thread of its own, which an error would end with a
    traceback on stderr.
    """

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self.send, self.recv = channel.send, channel.recv
        self.settimeout = channel.settimeout

    @property
    def _closed(self) -> bool:
        # Paramiko asks its sockets for this.
        return self._channel.closed

    def close(self) -> None:
        """Close it, whatever became of the jump host."""
        with contextlib.suppress(OSError, EOFError):
            self._channel.close()

    def shutdown(self, _how: int) -> None:
        """Close it: a channel cannot wake its reader otherwise."""
        self.close()


class ProxyCommand:
    """A ProxyCommand of ssh's configuration, with a socket for its standard streams.

    Run as ssh runs it, by a shell that execs it. `socket` belongs to the caller.
    """

    def __init__(self, command: str) -> None:
        self.socket, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                ["/bin/sh", "-c", f"exec {command}"],
                stdin=theirs.fileno(), stdout=theirs.fileno(), stderr=subprocess.DEVNULL,
            )

    def close(self) -> None:
        """End the program and take its status."""
        self.socket.close()
        self._process.terminate()
        try:
            self._process.wait(_CLOSING_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
