"""A small SSH server in this process: a host for demonstrations, with a real `sh`.

It is Paramiko's server side on a loopback port, with keys that are made at the start and
gone at the end. Each command runs as the user who runs fleetsync, in an environment and
a home of its own; nothing else of SSH is served (no terminal, forwarding, sftp). It is
no sandbox.
"""

from __future__ import annotations

import contextlib
import logging
import os
import selectors
import shutil
import socket
import subprocess
import tempfile
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO

import paramiko
from paramiko.common import (
    AUTH_FAILED,
    AUTH_SUCCESSFUL,
    OPEN_FAILED_ADMINISTRATIVELY_PROHIBITED,
    OPEN_SUCCEEDED,
    cMSG_CHANNEL_SUCCESS,
)
from paramiko.packet import Packetizer

ADDRESS = "127.0.0.1"
"""Where every embedded host listens: the one loopback address that macOS has."""
_USER = "demo"
_CONNECTIONS = 16
"""Connections at once; further ones wait."""
_COMMANDS = 10
"""Commands at once in one connection, as sshd has it."""
_TICK = 0.1
_BLOCK = 32768
_ENDING_SECONDS = 5

# Paramiko logs what it raises, with tracebacks; without this they'd reach stderr.
logging.getLogger("paramiko").addHandler(logging.NullHandler())


class EmbeddedHost:
    """A host on 127.0.0.1, from entering the context to leaving it.

    `home` is its HOME and must exist. `environment` is added to what a command gets: HOME,
    PATH, USER, LOGNAME, SHELL. Once entered: `port`, `identity` (a private key file that
    opens it, for `user`), `known_hosts` (a file that holds its key, `known_hosts_line`).
    """

    user = _USER
    address = ADDRESS

    def __init__(self, home: Path, name: str, environment: Mapping[str, str] | None = None) -> None:
        self.name = name
        self._environment = {
            "HOME": str(home), "PATH": os.defpath, "USER": _USER, "LOGNAME": _USER,
            "SHELL": "/bin/sh", **(environment or {}),
        }
        self._closing = threading.Event()
        self._transports: list[paramiko.Transport] = []
        self._commands: list[_Command] = []

    def __enter__(self) -> EmbeddedHost:
        self._host_key = paramiko.ECDSAKey.generate()
        self._client_key = paramiko.ECDSAKey.generate()
        self._listener = socket.create_server((ADDRESS, 0))
        self._listener.settimeout(_TICK)
        self.port: int = self._listener.getsockname()[1]
        self.known_hosts_line = (
            f"[{ADDRESS}]:{self.port} {self._host_key.get_name()} {self._host_key.get_base64()}"
        )
        self._keys = Path(tempfile.mkdtemp(prefix="fleetsync-embedded-"))
        self.identity, self.known_hosts = self._keys / "identity", self._keys / "known_hosts"
        self._client_key.write_private_key_file(str(self.identity))
        self.known_hosts.write_text(self.known_hosts_line + "\n", "ascii")
        self._acceptor = threading.Thread(target=self._accept, name=f"ssh {self.name}")
        self._acceptor.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.set()
        self._acceptor.join()
        self._listener.close()
        for transport in self._transports:
            transport.close()
            transport.join(_ENDING_SECONDS)
        for command in self._commands:
            command.join(_ENDING_SECONDS)
        shutil.rmtree(self._keys)

    def _accept(self) -> None:
        while not self._closing.is_set():
            self._transports = [one for one in self._transports if one.is_alive()]
            if len(self._transports) >= _CONNECTIONS:
                self._closing.wait(_TICK)
                continue
            with contextlib.suppress(TimeoutError, OSError, EOFError, paramiko.SSHException):
                self._serve(self._listener.accept()[0])

    def _serve(self, connection: socket.socket) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        transport = paramiko.Transport(connection, packetizer_class=_Packetizer)
        self._transports.append(transport)
        transport.add_server_key(self._host_key)
        # With an event, this starts the handshake and does not wait for it.
        transport.start_server(threading.Event(), _Session(self._client_key, self._start))

    def _start(self, channel: paramiko.Channel, command: str) -> bool:
        self._commands = [one for one in self._commands if one.is_alive()]
        if len(self._commands) >= _COMMANDS * _CONNECTIONS or self._closing.is_set():
            return False
        self._commands.append(_Command(channel, command, self._environment, self._closing))
        self._commands[-1].start()
        return True


class _Session(paramiko.ServerInterface):
    """What one connection may do: show the one key, and run commands."""

    def __init__(
        self, key: paramiko.PKey, start: Callable[[paramiko.Channel, str], bool]
    ) -> None:
        self._key = key
        self._start = start

    def get_allowed_auths(self, username: str) -> str:
        """Keys alone."""
        return "publickey"

    def check_auth_publickey(self, username: str, key: paramiko.PKey) -> int:
        """The throw-away key, for the one user."""
        accepted = username == _USER and key.asbytes() == self._key.asbytes()
        return AUTH_SUCCESSFUL if accepted else AUTH_FAILED

    def check_channel_request(self, kind: str, chanid: int) -> int:
        """Sessions alone."""
        if kind == "session":
            return OPEN_SUCCEEDED
        return OPEN_FAILED_ADMINISTRATIVELY_PROHIBITED

    def check_channel_exec_request(self, channel: paramiko.Channel, command: bytes) -> bool:
        """Start the command in a thread of its own; its answer follows ours."""
        return self._start(channel, os.fsdecode(command))


class _Packetizer(Packetizer):
    """Paramiko's, which also tells when the request for a command was answered."""

    def __init__(self, connection: socket.socket) -> None:
        super().__init__(connection)
        self._changed = threading.Condition()
        self._answered: set[int] = set()

    def send_message(self, data: paramiko.Message) -> None:
        """As Paramiko; remembers the channels of answered requests."""
        super().send_message(data)
        sent = data.asbytes()
        if sent.startswith(cMSG_CHANNEL_SUCCESS):
            with self._changed:
                self._answered.add(int.from_bytes(sent[1:5], "big"))
                self._changed.notify_all()

    def wait_for_answer(self, channel: paramiko.Channel) -> bool:
        """Wait until the client of `channel` was told that its command runs."""
        with self._changed:
            told = self._changed.wait_for(
                lambda: channel.remote_chanid in self._answered, _ENDING_SECONDS
            )
            self._answered.discard(channel.remote_chanid)    # a client may use it again
        return told


class _Command(threading.Thread):
    """One command under `sh`, its streams tied to a channel.

    As with sshd, a command goes on when the client leaves; it is killed only when the
    host goes away.
    """

    def __init__(
        self, channel: paramiko.Channel, command: str, environment: Mapping[str, str],
        closing: threading.Event,
    ) -> None:
        super().__init__(name=f"command of {environment['HOME']}")
        self._channel = channel
        self._command = command
        self._environment = environment
        self._closing = closing

    def run(self) -> None:
        """Start it, pass its bytes on, send its status."""
        # A client takes the end of a command that it was not told of for a refusal.
        packetizer = self._channel.get_transport().packetizer
        if not (isinstance(packetizer, _Packetizer) and packetizer.wait_for_answer(self._channel)):
            return
        process = subprocess.Popen(
            ["sh", "-c", self._command], cwd=self._environment["HOME"], env=self._environment,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            start_new_session=True, bufsize=0,
        )
        assert process.stdin and process.stdout and process.stderr    # they are pipes
        feeder = threading.Thread(target=self._feed, args=(process.stdin,))
        errors = threading.Thread(
            target=self._copy, args=(process.stderr, self._channel.sendall_stderr)
        )
        feeder.start()
        errors.start()
        self._copy(process.stdout, self._channel.sendall)
        errors.join()
        self._finish(process)
        feeder.join()

    def _feed(self, stdin: IO[bytes]) -> None:
        """Pass on what the client sends, until its EOF or the command's lack of interest."""
        with contextlib.suppress(OSError, EOFError), stdin:
            while data := self._channel.recv(_BLOCK):
                left = memoryview(data)
                while left:
                    left = left[os.write(stdin.fileno(), left) :]

    def _copy(self, stream: IO[bytes], send: Callable[[bytes], None]) -> None:
        """Pass on what the command prints, until its end or the client's."""
        gone = contextlib.suppress(OSError, EOFError)
        with gone, stream, selectors.DefaultSelector() as waiting:
            waiting.register(stream, selectors.EVENT_READ)
            while not (self._channel.closed or self._closing.is_set()):
                if waiting.select(_TICK):
                    data = os.read(stream.fileno(), _BLOCK)
                    if not data:
                        return
                    send(data)

    def _finish(self, process: subprocess.Popen[bytes]) -> None:
        while process.poll() is None:
            if self._closing.is_set():
                process.kill()
                process.wait()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_TICK)
        status = process.returncode if process.returncode >= 0 else 128 - process.returncode
        with contextlib.suppress(OSError, EOFError, paramiko.SSHException):
            self._channel.shutdown_write()
            self._channel.send_exit_status(status)
        with contextlib.suppress(OSError, EOFError, paramiko.SSHException):
            self._channel.close()    # it tells the client, who may be gone
