"""A host over SSH, by Fabric and Paramiko: with `login`, the only module that knows them.

Fabric keeps the connection, its gateway and its settings; what it would do by itself is
replaced where it would be wrong here: it accepts any host key (ours are checked before
anything of the operator is offered), reads `~/.fabric.yaml` (a lazy `Config` does not),
reads ssh's configuration incompletely (`ssh -G` does it) and decodes output lossily (a
raw channel keeps the bytes). Errors of the libraries end here, as those of `errors`.
"""

from __future__ import annotations

import contextlib
import logging
import socket
import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace

import fabric
import paramiko
from paramiko.packet import Packetizer
from paramiko.ssh_exception import (
    ChannelException,
    IncompatiblePeer,
    NoValidConnectionsError,
)

from fleetsync.errors import AuthenticationRefused, Away, HostUnusable, Lost
from fleetsync.exchange import converse
from fleetsync.known_hosts import HostKey, Trust
from fleetsync.login import Login
from fleetsync.own_secrets import OwnSecrets
from fleetsync.remote import ANSWER_CAP
from fleetsync.sockets import PromptSocket, ProxyCommand, Tunnel
from fleetsync.ssh_config import Address, Endpoint, Timeouts, route

__all__ = ["Address", "SshRemote", "Timeouts"]

_KEEPALIVE_SECONDS = 15
_UNAUTHENTICATED = 8
"""Logins under way at once to one address and port: sshd drops some of more than 10."""
_CLOSING_SECONDS = 5
_FIRST_CIPHER = "aes128-gcm@openssh.com"
"""Paramiko compares the MACs of other ciphers byte by byte in Python."""
_ASK_AGAIN = "run the command again: it asks the host what was done"

# Paramiko logs what it raises, with tracebacks; without this they'd reach stderr.
logging.getLogger("paramiko").addHandler(logging.NullHandler())
_gates: dict[tuple[str, int], threading.BoundedSemaphore] = {}


class SshRemote:
    """One account on one machine, reached over SSH (a `fleetsync.remote.Remote`).

    Connects at the first use, and again after a loss. For one thread at a time.
    """

    def __init__(
        self, address: Address, timeouts: Timeouts | None = None, *, use_ssh_config: bool = True,
        secrets: OwnSecrets | None = None,
    ) -> None:
        """`use_ssh_config` False: what the inventory says is all there is. `secrets` are
        the operator's, shared by all remotes of a run; without, nobody is asked for one."""
        self.address = address
        self.timeouts = timeouts or Timeouts()
        self.notices: tuple[str, ...] = ()
        """what of ssh's configuration is not honoured; filled by `connect`"""
        self._use_ssh_config = use_ssh_config
        self._secrets = secrets or OwnSecrets()
        self._hops: list[_Hop] = []

    def connect(self) -> None:
        """Reach the host, over its jump hosts, check its key, authenticate. Idempotent.

        Raises Away, HostKeyRefused or AuthenticationRefused; then nothing stays open. The
        operator is asked for a secret while nothing is open: no login waits for an answer.
        """
        if self._hops and self._hops[-1].alive:
            return
        self.close()
        endpoints = route(self.address, use_ssh=self._use_ssh_config)
        self.notices = tuple(notice for endpoint in endpoints for notice in endpoint.notices)
        logins = [Login(one, self.timeouts.auth, self._secrets) for one in endpoints]
        for login in logins:
            login.prepare()
        try:
            self._open(logins)
        except AuthenticationRefused:
            if not any([login.found_more() for login in logins]):
                raise
            self._open(logins)

    def exchange(
        self, command: str, stdin: bytes, end: bytes, *, seconds: float, cap: int = ANSWER_CAP,
        hold: bool = False,
    ) -> bytes:
        """Run `command`, feed it `stdin`, return its output; see `fleetsync.remote.Remote`.

        HostUnusable where the host runs no command for this account. After any error the
        connection is closed, as nobody knows what still comes through it.
        """
        self.connect()
        hop = self._hops[-1]
        with contextlib.ExitStack() as undo, hop.within(seconds) as overdue:
            undo.callback(self.close)
            channel = self._start(hop, command, seconds, overdue)
            try:
                answer = converse(channel, stdin, end, cap, hold=hold)
            except (ConnectionError, OverflowError) as error:
                reason = f"no complete answer within {seconds:g} s" if overdue.is_set() else error
                raise Lost(f"{self.address.name}: {reason}", _ASK_AGAIN) from error
            channel.close()
            undo.pop_all()
            return answer

    def close(self) -> None:
        """Let go of the connection, its threads and descriptors. Idempotent."""
        while self._hops:
            self._hops.pop().close()

    def _open(self, logins: Sequence[Login]) -> None:
        with contextlib.ExitStack() as undo:
            undo.callback(self.close)
            for login in logins:
                gateway = self._hops[-1] if self._hops else None
                self._hops.append(_Hop(login, self.timeouts, gateway))
                self._hops[-1].open()
            undo.pop_all()

    def _start(
        self, hop: _Hop, command: str, seconds: float, overdue: threading.Event
    ) -> paramiko.Channel:
        try:
            return hop.execute(command)
        except (paramiko.SSHException, OSError, EOFError) as error:
            name = self.address.name
            if overdue.is_set():
                raise Away(f"{name}: started no command within {seconds:g} s") from error
            if hop.alive and not isinstance(error, ChannelException):
                raise HostUnusable(
                    f"{name}: the host refuses to run a command for {hop.endpoint.account}",
                    "the account may be limited to something else than commands",
                ) from error
            raise Away(f"{name}: no session could be opened: {error}") from error


class _Hop:
    """The connection to one machine on the way, the last of which is the host."""

    def __init__(self, login: Login, timeouts: Timeouts, gateway: _Hop | None) -> None:
        endpoint = login.endpoint
        connect = endpoint.connect_seconds or timeouts.connect
        self.endpoint = endpoint
        self._timeouts = replace(timeouts, connect=connect)
        self._transport: paramiko.Transport | None = None
        self._proxy: ProxyCommand | None = None
        self._gateway = gateway
        self._connection: fabric.Connection = fabric.Connection(
            host=endpoint.host,
            user=endpoint.user,
            port=endpoint.port,
            config=fabric.Config(lazy=True),    # its own: a Connection writes to it
            gateway=gateway and gateway._connection,
            forward_agent=False,
            connect_kwargs={
                "timeout": connect,    # `connect_timeout` would be cut to whole seconds
                "banner_timeout": min(timeouts.banner, connect),
                "auth_timeout": timeouts.auth,
                "channel_timeout": timeouts.channel,
                "transport_factory": self._make_transport,
                "auth_strategy": login,
            },
        )
        self._connection.client.set_missing_host_key_policy(_CheckHostKey(endpoint.trust))

    @property
    def alive(self) -> bool:
        """Whether the machine is reached and the connection stands."""
        return self._transport is not None and self._transport.is_active()

    def open(self) -> None:
        """Connect, check the key, authenticate."""
        endpoint = self.endpoint
        gate = _gates.setdefault(
            (endpoint.host, endpoint.port), threading.BoundedSemaphore(_UNAUTHENTICATED)
        )
        with gate, _as_away(endpoint, self._timeouts.connect):
            if endpoint.proxy_command and self._gateway is None:
                self._proxy = ProxyCommand(endpoint.proxy_command)
                self._connection.connect_kwargs["sock"] = self._proxy.socket
            self._connection.open()
        self._connection.transport.set_keepalive(_KEEPALIVE_SECONDS)

    def execute(self, command: str) -> paramiko.Channel:
        """A session of its own that runs `command`, without terminal and agent."""
        channel: paramiko.Channel = self._connection.create_session()
        channel.exec_command(command)
        return channel

    @contextlib.contextmanager
    def within(self, seconds: float) -> Iterator[threading.Event]:
        """Cut the connection after `seconds`, whatever waits for it; the event tells."""
        overdue = threading.Event()

        def cut() -> None:
            overdue.set()
            self._hang_up()

        watch = threading.Timer(seconds, cut)
        watch.start()
        try:
            yield overdue
        finally:
            watch.cancel()
            watch.join()

    def close(self) -> None:
        """Close, and wait until the connection's thread has ended."""
        self._hang_up()
        self._connection.client.close()
        if self._transport and self._transport.ident:
            self._transport.join(_CLOSING_SECONDS)
        if self._proxy:
            self._proxy.close()

    def _hang_up(self) -> None:
        # Nearest to us first: a goodbye through a jump host that stands still would block.
        if self._gateway:
            self._gateway._hang_up()
        if self._transport is None:
            return
        # A thread that waits in recv wakes by shutdown at once, by close only later.
        with contextlib.suppress(OSError):
            self._transport.sock.shutdown(socket.SHUT_RDWR)
        self._transport.close()
        self._transport.sock.close()

    def _tuned(self, sock: socket.socket | paramiko.Channel) -> socket.socket | Tunnel:
        if isinstance(sock, paramiko.Channel):
            return Tunnel(sock)
        return sock if self._proxy else PromptSocket(sock)

    def _make_transport(
        self, sock: socket.socket | paramiko.Channel, **options: object
    ) -> paramiko.Transport:
        transport = self._transport = paramiko.Transport(
            self._tuned(sock),  # type: ignore[arg-type]  # a Tunnel has all that it uses
            packetizer_class=_Packetizer,
        )
        preferred = transport.get_security_options()
        preferred.ciphers = sorted(preferred.ciphers, key=lambda name: name != _FIRST_CIPHER)
        known = self.endpoint.trust.kinds()
        preferred.key_types = sorted(
            preferred.key_types, key=lambda name: name.replace("rsa-sha2-512", "ssh-rsa")
            .replace("rsa-sha2-256", "ssh-rsa") not in known,
        )
        return transport


class _Packetizer(Packetizer):
    """Paramiko's, without its own clock for the handshake: a thread that would outlive a
    connection that fails. `timeout` bounds the handshake."""

    def start_handshake(self, timeout: float) -> None:
        """Nothing: no clock is started."""


class _CheckHostKey(paramiko.MissingHostKeyPolicy):
    """Asked for every key, as Paramiko is given no known_hosts of its own."""

    def __init__(self, trust: Trust) -> None:
        self._trust = trust

    def missing_host_key(
        self, client: paramiko.SSHClient, hostname: str, key: paramiko.PKey
    ) -> None:
        """Raises HostKeyRefused unless the key is trusted. Nothing is ever added."""
        self._trust.check(HostKey(key.get_name(), key.asbytes()))


@contextlib.contextmanager
def _as_away(endpoint: Endpoint, seconds: float) -> Iterator[None]:
    where = f"{endpoint.label}: {endpoint.account}"
    try:
        yield
    except socket.gaierror as error:
        raise Away(
            f"{endpoint.label}: the name {endpoint.host} does not resolve: {error.strerror}",
            "correct `address` in the inventory, or HostName in ~/.ssh/config",
        ) from error
    except NoValidConnectionsError as error:
        reasons = ", ".join(sorted({str(one) for one in error.errors.values()}))
        raise Away(f"{where}: cannot connect: {reasons}") from error
    except TimeoutError as error:
        raise Away(f"{where}: no answer within {seconds:g} s") from error
    except IncompatiblePeer as error:
        raise Away(
            f"{where}: no common algorithm: {error}", "the host's SSH server is too old"
        ) from error
    except ChannelException as error:
        raise Away(f"{where}: the jump host cannot reach it: {error.text}") from error
    except (paramiko.SSHException, OSError, EOFError, ValueError) as error:
        # Paramiko says "No existing session" when the handshake took too long.
        silent = "No existing session" in str(error) or isinstance(error, EOFError)
        reason = f"no SSH handshake within {seconds:g} s" if silent else str(error)
        raise Away(f"{where}: {reason}") from error
