"""The operator's own secrets, with real sshds: encrypted identities, passwords, a terminal."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import signal
import socket
import subprocess
import sys
import termios
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import paramiko
import pytest

from fleetsync import ssh_config
from fleetsync.errors import AuthenticationRefused
from fleetsync.own_secrets import OwnSecrets
from fleetsync.ssh import Address, SshRemote
from fleetsync.ssh_config import Endpoint
from tests.integration.sshd import RemoteHost, Sshd, configured_ssh

PASSPHRASE = "correct pässphrase 9f27"
WRONG = "wrong passphrase 51ab"
_SECONDS = 60


class Operator:
    """Somebody at a terminal, who types the same to every question."""

    def __init__(self, types: str | None) -> None:
        self.types = types
        self.asked: list[str] = []

    def __call__(self, question: str) -> str | None:
        self.asked.append(question)
        return self.types


@pytest.fixture(autouse=True)
def nothing_of_the_testers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither an agent nor a keyring."""
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.null.Keyring")


@pytest.fixture
def keep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """Puts an entry into a keyring of keyring's own making, as `keyring set` would."""
    ring = tmp_path / "ring.json"
    (tmp_path / "file_ring.py").write_text(
        "import json, pathlib\nfrom keyring.backend import KeyringBackend\n\n"
        "class Ring(KeyringBackend):\n    priority = 1\n"
        "    def set_password(self, service, username, password): ...\n"
        "    def get_password(self, service, username):\n"
        f"        kept = json.loads(pathlib.Path({str(ring)!r}).read_text())\n"
        "        return kept.get(f'{service} {username}')\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "file_ring.Ring")

    def put(name: str, secret: str) -> None:
        ring.write_text(json.dumps({f"fleetsync {name}": secret}))

    return put


@pytest.fixture
def host(sshd_host: Sshd) -> RemoteHost:
    return encrypted(sshd_host("primary-node"))


def encrypted(host: RemoteHost, *, public: bool = False) -> RemoteHost:
    """The host, its client's key encrypted; FILE.pub goes unless it is to stay."""
    argv = ["ssh-keygen", "-q", "-p", "-P", "", "-N", PASSPHRASE, "-f", str(host.identity)]
    subprocess.run(argv, check=True, capture_output=True)
    if not public:
        Path(f"{host.identity}.pub").unlink()
    return host


def remote(host: RemoteHost, secrets: OwnSecrets) -> SshRemote:
    return SshRemote(host.at(), use_ssh_config=False, secrets=secrets)


def connects(subject: SshRemote) -> None:
    subject.connect()
    subject.close()


def refused(subject: SshRemote) -> AuthenticationRefused:
    with pytest.raises(AuthenticationRefused) as caught:
        subject.connect()
    return caught.value


# --- passphrases --------------------------------------------------------------------------


def test_the_keyrings_passphrase_opens_the_identity_unasked(
    host: RemoteHost, keep: Callable[[str, str], None]
) -> None:
    keep(str(host.identity), PASSPHRASE)
    operator = Operator(None)
    connects(remote(host, OwnSecrets(operator)))
    assert operator.asked == []


def test_the_keyring_serves_where_there_is_no_terminal(
    host: RemoteHost, keep: Callable[[str, str], None]
) -> None:
    keep(str(host.identity), PASSPHRASE)
    connects(host.remote())


def test_the_operator_is_asked_once_for_one_identity(host: RemoteHost) -> None:
    operator = Operator(PASSPHRASE)
    secrets = OwnSecrets(operator)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: connects(remote(host, secrets)), range(8)))
    assert operator.asked == [f"Passphrase for {host.identity}: "]


def test_no_login_fails_before_a_named_identity_is_opened(host: RemoteHost) -> None:
    connects(remote(host, OwnSecrets(Operator(PASSPHRASE))))
    assert host.log.count("Connection from") == 2    # the probe for readiness is one
    assert "Accepted publickey" in host.log


def test_a_wrong_passphrase_is_refused_with_the_next_step(host: RemoteHost) -> None:
    error = refused(remote(host, OwnSecrets(Operator(WRONG))))
    assert f"{host.identity} (encrypted, and the passphrase was wrong)" in error.message
    assert error.hint == f"ssh-add {host.identity}"


def test_a_wrong_passphrase_in_the_keyring_is_refused_with_the_next_step(
    host: RemoteHost, keep: Callable[[str, str], None]
) -> None:
    keep(str(host.identity), WRONG)
    error = refused(host.remote())
    assert f"{host.identity} (encrypted, and the keyring has a wrong passphrase)" in error.message
    assert error.hint == f"keyring set fleetsync {host.identity}"


def test_no_answer_is_refused_as_without_a_terminal(host: RemoteHost) -> None:
    secrets = OwnSecrets(Operator(None))
    for _ in range(2):
        error = refused(remote(host, secrets))
        assert f"{host.identity} (encrypted, and not in the agent)" in error.message
    assert isinstance(secrets.prompt, Operator)
    assert len(secrets.prompt.asked) == 1


@pytest.mark.parametrize("typed", [PASSPHRASE, WRONG])
def test_no_passphrase_is_told_by_an_error_a_log_or_a_repr(
    host: RemoteHost, typed: str, caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    caplog.set_level(1)
    host.authorized_keys.write_text("")
    subject = remote(host, OwnSecrets(Operator(typed)))
    error = refused(subject)
    told = "".join(traceback.format_exception(error)) + caplog.text + "".join(capfd.readouterr())
    assert typed not in told + repr(vars(error)) + repr(vars(subject)) + host.log


@pytest.fixture
def agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Path], None]]:
    """Adds a key to a real ssh-agent, which is in SSH_AUTH_SOCK."""
    argv = ["ssh-agent", "-D", "-a", str(tmp_path / "agent")]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout
        process.stdout.readline()
        monkeypatch.setenv("SSH_AUTH_SOCK", str(tmp_path / "agent"))
        yield lambda key: (subprocess.run(["ssh-add", "-q", key], check=True), None)[1]
        process.terminate()


@pytest.mark.parametrize("public", [True, False])
def test_an_identity_that_the_agent_holds_is_used_there_unasked(
    sshd_host: Sshd, agent: Callable[[Path], None], public: bool
) -> None:
    host = sshd_host("primary-node")
    agent(host.identity)
    encrypted(host, public=public)
    operator = Operator(PASSPHRASE)
    connects(remote(host, OwnSecrets(operator)))
    assert operator.asked == []


@pytest.fixture
def unnamed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Identities count as ssh's default ones, which nobody named."""

    def route(address: Address, *, use_ssh: bool) -> tuple[Endpoint, ...]:
        found = ssh_config.route(address, use_ssh=use_ssh)
        return tuple(replace(endpoint, chosen=False) for endpoint in found)

    monkeypatch.setattr("fleetsync.ssh.route", route)


@pytest.mark.usefixtures("unnamed")
def test_a_default_identity_stays_closed_where_the_agents_key_opens_the_host(
    sshd_host: Sshd, agent: Callable[[Path], None], tmp_path: Path
) -> None:
    host = sshd_host("primary-node")
    agent(host.identity)
    locked = tmp_path / "id_ed25519"
    argv = ["ssh-keygen", "-q", "-t", "ed25519", "-N", PASSPHRASE, "-f", str(locked)]
    subprocess.run(argv, check=True)
    operator = Operator(PASSPHRASE)
    address = host.at(identity=str(locked))
    connects(SshRemote(address, use_ssh_config=False, secrets=OwnSecrets(operator)))
    assert operator.asked == []


@pytest.mark.usefixtures("unnamed")
def test_a_default_identity_is_opened_where_nothing_else_opens_the_host(host: RemoteHost) -> None:
    operator = Operator(PASSPHRASE)
    connects(remote(host, OwnSecrets(operator)))
    assert len(operator.asked) == 1


@pytest.mark.usefixtures("unnamed")
def test_a_wrong_passphrase_of_a_default_identity_is_told_alike(host: RemoteHost) -> None:
    error = refused(remote(host, OwnSecrets(Operator(WRONG))))
    assert f"{host.identity} (encrypted, and the passphrase was wrong)" in error.message


def test_the_identity_of_a_jump_host_is_opened_too(
    host: RemoteHost, sshd_host: Sshd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = encrypted(sshd_host("gate"))
    entries = "".join(
        f"Host {name}\n HostName {one.address}\n Port {one.port}\n User {one.user}\n"
        f" IdentityFile {one.identity}\n UserKnownHostsFile {one.known_hosts}\n{more}"
        for name, one, more in (("gate", gate, ""), ("web", host, " ProxyJump gate\n"))
    )
    path = f"{configured_ssh(tmp_path, entries)}:{os.environ['PATH']}"
    monkeypatch.setenv("PATH", path)
    operator = Operator(PASSPHRASE)
    connects(SshRemote(Address("web"), secrets=OwnSecrets(operator)))
    assert operator.asked == [
        f"Passphrase for {gate.identity}: ", f"Passphrase for {host.identity}: ",
    ]


def test_the_old_format_is_opened_alike(sshd_host: Sshd, tmp_path: Path) -> None:
    host, key = sshd_host("primary-node"), tmp_path / "rsa"
    argv = ["ssh-keygen", "-q", "-t", "rsa", "-m", "PEM", "-N", PASSPHRASE, "-f", str(key)]
    subprocess.run(argv, check=True)
    host.authorized_keys.write_text(Path(f"{key}.pub").read_text())
    address = host.at(identity=str(key))
    connects(SshRemote(address, use_ssh_config=False, secrets=OwnSecrets(Operator(PASSPHRASE))))


# --- passwords ----------------------------------------------------------------------------


class PasswordHost(paramiko.ServerInterface):
    """A host that takes one password and no key; `tried` are those that came."""

    def __init__(self, password: str, methods: str) -> None:
        self.password, self.methods = password, methods
        self.tried: list[str] = []

    def get_allowed_auths(self, username: str) -> str:
        return self.methods

    def check_auth_password(self, username: str, password: str) -> int:
        self.tried.append(password)
        right = password == self.password
        return paramiko.common.AUTH_SUCCESSFUL if right else paramiko.common.AUTH_FAILED


class Listening:
    """A `PasswordHost` on a port, and how the inventory says it."""

    def __init__(self, directory: Path, server: PasswordHost) -> None:
        self.server = server
        self._key = paramiko.ECDSAKey.generate()
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._transports: list[paramiko.Transport] = []
        port = self._socket.getsockname()[1]
        known = directory / "known"
        known.write_text(
            f"[127.0.0.1]:{port} {self._key.get_name()} {self._key.get_base64()}\n"
        )
        self.address = Address("door", "127.0.0.1", "me", port, known_hosts=str(known))
        self._thread = threading.Thread(target=self._accept)

    def __enter__(self) -> Listening:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join()
        for transport in self._transports:
            transport.close()
            transport.join()

    def remote(self, secrets: OwnSecrets, identity: Path | None = None) -> SshRemote:
        address = replace(self.address, identity=str(identity or ""))
        return SshRemote(address, use_ssh_config=False, secrets=secrets)

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            transport = paramiko.Transport(connection)
            self._transports.append(transport)
            transport.add_server_key(self._key)
            transport.start_server(threading.Event(), self.server)


@pytest.fixture
def door(tmp_path: Path) -> Iterator[Listening]:
    with Listening(tmp_path, PasswordHost(PASSPHRASE, "password")) as listening:
        yield listening


def test_a_password_is_asked_for_once_where_the_host_takes_nothing_else(door: Listening) -> None:
    operator = Operator(PASSPHRASE)
    secrets = OwnSecrets(operator)
    connects(door.remote(secrets))
    connects(door.remote(secrets))
    assert operator.asked == ["Password of me@127.0.0.1: "]
    assert door.server.tried == [PASSPHRASE] * 2


def test_a_password_may_stand_in_the_keyring(
    door: Listening, keep: Callable[[str, str], None]
) -> None:
    keep("me@127.0.0.1", PASSPHRASE)
    operator = Operator(None)
    connects(door.remote(OwnSecrets(operator)))
    assert operator.asked == []


def test_a_wrong_password_is_refused_and_not_tried_again(door: Listening) -> None:
    secrets = OwnSecrets(Operator(WRONG))
    error = refused(door.remote(secrets))
    assert "me@127.0.0.1" in error.message
    assert "does not accept the password" in error.message
    assert "type the password" in error.hint
    assert WRONG not in str(error)
    assert "takes no key, but password" in refused(door.remote(secrets)).message
    assert door.server.tried == [WRONG]


def test_a_wrong_password_of_the_keyring_is_refused_with_the_next_step(
    door: Listening, keep: Callable[[str, str], None]
) -> None:
    keep("me@127.0.0.1", WRONG)
    error = refused(door.remote(OwnSecrets(Operator(None))))
    assert error.hint == "keyring set fleetsync me@127.0.0.1"


def test_without_a_terminal_no_password_is_sent(
    door: Listening, keep: Callable[[str, str], None]
) -> None:
    keep("me@127.0.0.1", PASSPHRASE)
    assert "takes no key, but password" in refused(door.remote(OwnSecrets())).message
    assert door.server.tried == []


@pytest.mark.parametrize("methods", ["publickey,password", "hostbased", "password,hostbased"])
def test_no_password_is_sent_where_the_host_takes_something_else(
    tmp_path: Path, methods: str
) -> None:
    operator = Operator(PASSPHRASE)
    with Listening(tmp_path, PasswordHost(PASSPHRASE, methods)) as door:
        refused(door.remote(OwnSecrets(operator)))
    assert (operator.asked, door.server.tried) == ([], [])


def test_a_password_is_asked_for_though_there_is_an_identity(
    door: Listening, sshd_host: Sshd
) -> None:
    identity = sshd_host("another").identity
    connects(door.remote(OwnSecrets(Operator(PASSPHRASE)), identity))
    assert door.server.tried == [PASSPHRASE]


# --- a terminal ---------------------------------------------------------------------------


class Terminal:
    """`fleetsync` on a terminal of its own, as a person has it."""

    def __init__(self, inventory: Path, *words: str, **more: str) -> None:
        self._master, slave = pty.openpty()
        environment = {
            **os.environ, "CI": "", "FLEETSYNC_INVENTORY": str(inventory), "TERM": "xterm", **more,
        }
        program = [sys.executable, "-m", "fleetsync", *words]
        self.process = subprocess.Popen(
            ["env", "--default-signal=INT", "setsid", "--ctty", "--wait", *program],
            stdin=slave, stdout=slave, stderr=slave, env=environment,
        )
        self._slave = slave
        self.screen = b""

    def read_until(self, text: str) -> None:
        """Raises TimeoutError where it does not come."""
        deadline = time.monotonic() + _SECONDS
        while text.encode() not in self.screen:
            if not select.select([self._master], [], [], 0.1)[0]:
                if time.monotonic() > deadline or self.process.poll() is not None:
                    raise TimeoutError(f"no {text!r} in {self.screen!r}")
                continue
            self.screen += os.read(self._master, 65536)

    def type(self, text: str) -> None:
        os.write(self._master, text.encode())

    @property
    def echoes(self) -> bool:
        return bool(termios.tcgetattr(self._slave)[3] & termios.ECHO)

    def end(self) -> int:
        """Its exit code, once all was read."""
        deadline = time.monotonic() + _SECONDS
        while self.process.poll() is None and time.monotonic() < deadline:
            if select.select([self._master], [], [], 0.1)[0]:
                self.screen += os.read(self._master, 65536)
        while select.select([self._master], [], [], 0)[0]:
            self.screen += os.read(self._master, 65536)
        return self.process.wait(timeout=1)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        os.close(self._slave)
        os.close(self._master)


@pytest.fixture
def inventory(host: RemoteHost, sshd_host: Sshd, tmp_path: Path) -> Path:
    """Two hosts that one encrypted identity opens."""
    other = sshd_host("second-node")
    public = subprocess.run(
        ["ssh-keygen", "-y", "-P", PASSPHRASE, "-f", str(host.identity)],
        check=True, capture_output=True,
    )
    with other.authorized_keys.open("ab") as keys:
        keys.write(public.stdout)
    directory = tmp_path / "inventory"
    directory.mkdir()
    tables = "".join(
        f"\n[hosts.{name}]\nclients = ['pi']\n" + "".join(
            f"{key} = {json.dumps(value)}\n" for key, value in
            {**one.inventory_table(), "identity": str(host.identity)}.items()
        )
        for name, one in (("first", host), ("second", other))
    ) + f"# its own: {other.identity}\n"
    (directory / "fleet.toml").write_text(
        "[router]\nprovider = 'a'\nbase_url = 'https://router.example.net/v1'\n"
        f"credential = 'KEY'\n{tables}"
    )
    (directory / "catalog.toml").write_text(
        "[aliases.'llm.primary']\ncontext_window = 393216\nmax_output_tokens = 4096\n"
    )
    return directory


@pytest.fixture
def terminal(inventory: Path) -> Iterator[Callable[..., Terminal]]:
    started: list[Terminal] = []

    def start(*words: str, **more: str) -> Terminal:
        started.append(Terminal(inventory, *words, **more))
        return started[-1]

    yield start
    for one in started:
        one.close()


ABSENT, REFUSED = r"2 hosts.*2 absent", r"2 hosts.*2 refused"


def test_one_answer_on_the_terminal_opens_both_hosts(
    host: RemoteHost, terminal: Callable[..., Terminal]
) -> None:
    subject = terminal("preview")
    question = f"Passphrase for {host.identity}: "
    subject.read_until(question)
    assert not subject.echoes
    subject.type(PASSPHRASE + "\n")
    assert subject.end() == 5
    screen = subject.screen.decode()
    assert re.search(ABSENT, screen)
    assert screen.count("Passphrase for") == 1
    assert PASSPHRASE not in screen
    assert subject.echoes


@pytest.mark.parametrize("kind", ["xterm", "dumb"])
def test_nothing_is_written_between_the_question_and_its_answer(
    host: RemoteHost, inventory: Path, terminal: Callable[..., Terminal], kind: str
) -> None:
    fleet = inventory / "fleet.toml"
    before, _, after = fleet.read_text().rpartition(f'"{host.identity}"')
    own = after.rpartition("# its own: ")[2].strip()
    fleet.write_text(f'{before}"{own}"{after}')
    (Path(own).parent / "home" / ".profile").write_text("sleep 2\n")
    subject = terminal("preview", TERM=kind)
    question = f"Passphrase for {host.identity}: "
    subject.read_until(question)
    time.sleep(5)    # the other host, which needs no answer, has ended by then
    subject.type(PASSPHRASE + "\n")
    assert subject.end() == 5
    shown, _, rest = subject.screen.decode().partition(question)
    assert rest.startswith("\r\n")
    assert shown.endswith(("\n", "\r", "\x1b[2K"))
    assert re.search(ABSENT, rest)


def test_a_wrong_answer_is_refused_without_its_text(
    host: RemoteHost, terminal: Callable[..., Terminal]
) -> None:
    subject = terminal("preview", "--debug")
    subject.read_until("Passphrase for")
    subject.type(WRONG + "\n")
    assert subject.end() == 5
    screen = subject.screen.decode()
    assert re.search(REFUSED, screen)
    assert "the passphrase was wrong" in screen
    assert WRONG not in screen


def test_the_interrupt_key_ends_the_question_and_shows_typing_again(
    terminal: Callable[..., Terminal]
) -> None:
    subject = terminal("preview")
    subject.read_until("Passphrase for")
    subject.type("half of it\x03")
    assert subject.end() == 130
    assert subject.echoes
    assert b"half of it" not in subject.screen


@pytest.mark.parametrize(("words", "more"), [
    (("apply", "--yes", "--offline"), {}),
    (("preview",), {"CI": "true"}),
])
def test_nobody_is_asked_where_nobody_is_expected(
    terminal: Callable[..., Terminal], words: tuple[str, ...], more: dict[str, str]
) -> None:
    subject = terminal(*words, **more)
    assert subject.end() == 5
    screen = subject.screen.decode()
    assert "Passphrase" not in screen
    assert re.search(REFUSED, screen)


def test_nobody_is_asked_without_a_terminal(inventory: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "fleetsync", "preview"], stdin=subprocess.DEVNULL,
        env={**os.environ, "FLEETSYNC_INVENTORY": str(inventory)}, capture_output=True, text=True,
        timeout=_SECONDS, check=False,
    )
    assert re.search(REFUSED, done.stdout)
    assert "ssh-add" in done.stdout


def test_the_answer_serves_all_steps_of_a_command(terminal: Callable[..., Terminal]) -> None:
    subject = terminal("doctor")
    subject.read_until("Passphrase for")
    subject.type(PASSPHRASE + "\n")
    subject.end()
    assert subject.screen.count(b"Passphrase for") == 1
