"""Sockets as SSH wants them: prompt TCP, and a ProxyCommand's standard streams."""

from __future__ import annotations

import socket
import subprocess

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
