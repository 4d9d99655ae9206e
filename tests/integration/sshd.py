"""Real OpenSSH servers for tests, each a host with an address and a home of its own.

A host listens on a loopback address 127.77.W.N (W: the pytest worker) and a free port.
HOME is a throw-away directory (`SetEnv`); commands start in the account's passwd home,
or in / where that does not exist.

Login shells. sshd runs a command by the login shell that passwd names, so only an
account of its own proves anything about one. The account that runs the tests serves for
its own shell. As root, each other shell that is asked for gets a throw-away system user,
deleted at the end of the session (a session that was killed leaves it to the next).
Otherwise a ForceCommand execs that shell with the command that was sent: the same shell,
arguments, streams and environment, started by the shell of the account that runs the
tests; `forced_shell` asks for that in any case.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import pwd
import re
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from fleetsync.ssh import Address, SshRemote, Timeouts

WORKER = os.environ.get("PYTEST_XDIST_WORKER", "main")
_READY_SECONDS = 10
_NO_SUCH_USER = 6    # of userdel
_USER_PREFIX = "fleetsync-test-"
_numbers = itertools.count(1)
_REAL_SSH = shutil.which("ssh")


@dataclass(frozen=True)
class RemoteHost:
    """One account on one real sshd. `process` is the listening server."""

    name: str
    address: str
    port: int
    user: str
    base: Path
    process: subprocess.Popen[bytes]

    @property
    def home(self) -> Path:
        """The account's HOME."""
        return self.base / "home"

    @property
    def known_hosts(self) -> Path:
        """A known_hosts file that holds all of this host's keys."""
        return self.base / "known_hosts"

    @property
    def identity(self) -> Path:
        """A private key that the host accepts (`.pub` beside it)."""
        return self.base / "client_key"

    @property
    def authorized_keys(self) -> Path:
        """The keys that the host accepts."""
        return self.base / "authorized_keys"

    @property
    def log(self) -> str:
        """What the server said so far."""
        return (self.base / "sshd.log").read_text("utf-8", "replace")

    @property
    def entry(self) -> str:
        """The host's name in known_hosts."""
        return f"[{self.address}]:{self.port}"

    def public_key(self, kind: str = "ed25519") -> str:
        """Type and text of one host key, as known_hosts holds them."""
        words = (self.base / f"host_{kind}.pub").read_text("ascii").split()
        return " ".join(words[:2])

    def at(self, **changes: str | int) -> Address:
        """How the inventory would say it; `changes` replace fields."""
        said: dict[str, str | int] = {
            "name": self.name, "address": self.address, "user": self.user, "port": self.port,
            "identity": str(self.identity), "known_hosts": str(self.known_hosts),
        }
        return Address(**{**said, **changes})  # type: ignore[arg-type]  # one dict, two types

    def remote(self, timeouts: Timeouts | None = None, **changes: str | int) -> SshRemote:
        """A remote for this host; the operator's own ssh configuration is left out."""
        return SshRemote(self.at(**changes), timeouts, use_ssh_config=False)

    def inventory_table(self) -> dict[str, str | int]:
        """The keys of `[hosts.NAME]` that say how to reach it."""
        return {
            "address": self.address, "user": self.user, "port": self.port,
            "identity": str(self.identity), "known_hosts": str(self.known_hosts),
        }

    def ssh(self, *command: str) -> list[str]:
        """The argv by which the real ssh client runs `command` there."""
        return [
            "ssh", "-F", "none", "-p", str(self.port), "-l", self.user, "-i", str(self.identity),
            "-o", f"UserKnownHostsFile={self.known_hosts}", "-o", "GlobalKnownHostsFile=none",
            "-o", "IdentitiesOnly=yes", "-o", "IdentityAgent=none", "-o", "BatchMode=yes",
            self.address, *command,
        ]

    def plant(self, path: str, text: str, mode: int = 0o644) -> Path:
        """Write a file below the home, owned by the account as its directories are."""
        file = self.home / path
        owner = pwd.getpwnam(self.user)
        for directory in reversed(file.parents):
            if directory.is_relative_to(self.home) and not directory.exists():
                directory.mkdir()
                os.chown(directory, owner.pw_uid, owner.pw_gid)
        file.write_text(text, "utf-8")
        file.chmod(mode)
        os.chown(file, owner.pw_uid, owner.pw_gid)
        return file


class Sshd:
    """Starts hosts, and ends them all on leaving the context."""

    def __init__(self) -> None:
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> Sshd:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def __call__(
        self,
        name: str = "",
        *,
        login_shell: str = "",
        forced_shell: bool = False,
        host_keys: tuple[str, ...] = ("ed25519",),
        config: str = "",
    ) -> RemoteHost:
        """A host that is ready. `login_shell` is a program's name (`zsh`); `config` holds
        more lines of sshd_config, before ours, so they win."""
        number = next(_numbers)
        base = Path(tempfile.mkdtemp(prefix="fleetsync-host-"))
        self._stack.callback(shutil.rmtree, base, ignore_errors=True)
        base.chmod(0o755)
        (base / "home").mkdir()
        user, shell = _account(login_shell, forced_shell)
        owner = pwd.getpwnam(user)
        os.chown(base / "home", owner.pw_uid, owner.pw_gid)
        for kind in host_keys:
            _make_key(base / f"host_{kind}", kind)
        _make_key(base / "client_key", "ed25519")
        shutil.copyfile(base / "client_key.pub", base / "authorized_keys")
        address = f"127.77.{_worker_number()}.{number % 254 + 1}"
        host = _start(base, name or f"host-{number}", address, user, config + _forced(shell))
        self._stack.callback(_stop, host.process)
        lines = (f"{host.entry} {host.public_key(kind)}\n" for kind in host_keys)
        host.known_hosts.write_text("".join(lines), "ascii")
        return host


def configured_ssh(directory: Path, config: str) -> Path:
    """A directory for PATH, whose `ssh` is the real one reading `config` alone: the real
    one takes the operator's own files from passwd, whatever HOME says."""
    (directory / "ssh_config").write_text(config, "utf-8")
    program = directory / "bin" / "ssh"
    program.parent.mkdir(exist_ok=True)
    program.write_text(f'#!/bin/sh\nexec {_REAL_SSH} -F {directory}/ssh_config "$@"\n', "ascii")
    program.chmod(0o755)
    return program.parent


@contextlib.contextmanager
def throw_away_users() -> Iterator[None]:
    """Deletes the users of sessions that are gone, and on leaving those of this one."""
    if os.geteuid() == 0:
        _delete_users(lambda pid: not Path(f"/proc/{pid}").exists())
    yield
    if os.geteuid() == 0:
        _delete_users(lambda pid: pid == os.getpid())


def _delete_users(choose: Callable[[int], bool]) -> None:
    for entry in pwd.getpwall():
        match = re.fullmatch(re.escape(_USER_PREFIX) + r"[a-z0-9]+-(\d+)-[a-z]+", entry.pw_name)
        if match and choose(int(match[1])):
            _delete_user(entry.pw_name)


def _delete_user(user: str) -> None:
    """Waits for its last background job, and for others who change passwd. Never with
    --force, which would remove the directory that passwd calls its home."""
    deadline = time.monotonic() + _READY_SECONDS
    while True:
        done = subprocess.run(["userdel", user], capture_output=True, text=True, check=False)
        if done.returncode in (0, _NO_SUCH_USER):
            return
        if time.monotonic() > deadline:
            raise RuntimeError(f"user {user} cannot be deleted: {done.stderr}")
        time.sleep(0.1)


def _account(login_shell: str, forced: bool) -> tuple[str, str]:
    """The user to log in as, and the shell that must be forced on it, "" for none."""
    own, own_shell = pwd.getpwuid(os.getuid()).pw_name, pwd.getpwuid(os.getuid()).pw_shell
    if not login_shell or (Path(own_shell).name == login_shell and not forced):
        return own, ""
    shell = _program(login_shell)
    if os.geteuid() or forced:
        return own, shell
    user = f"{_USER_PREFIX}{WORKER}-{os.getpid()}-{login_shell}"
    if user not in {entry.pw_name for entry in pwd.getpwall()}:
        # With the default password sshd takes the account for a locked one.
        subprocess.run(
            ["useradd", "-M", "-N", "-d", "/nonexistent", "-p", "*", "-s", shell, user],
            check=True, capture_output=True,
        )
    return user, ""


def _program(name: str) -> str:
    path = shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin:/usr/local/sbin")
    if path is None:
        raise FileNotFoundError(f"{name} is not installed: run `make tools`")
    return path


def _forced(shell: str) -> str:
    if not shell:
        return ""
    # SHELL too, as sshd would set it: `env` for it, as only one SetEnv line counts.
    return f'ForceCommand exec env SHELL={shell} {shell} -c "$SSH_ORIGINAL_COMMAND"\n'


def _worker_number() -> int:
    digits = re.sub(r"\D", "", WORKER)
    return int(digits) % 200 if digits else 200


def _make_key(path: Path, kind: str) -> None:
    subprocess.run(
        ["ssh-keygen", "-q", "-t", kind, "-N", "", "-C", "", "-f", str(path)], check=True
    )


def _start(base: Path, name: str, address: str, user: str, more: str) -> RemoteHost:
    program = _program("sshd")
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)    # sshd wants it as root
    for _ in range(5):
        port = _free_port(address)
        (base / "sshd_config").write_text(_config(base, address, port, more), "utf-8")
        with (base / "sshd.log").open("wb") as log:
            process = subprocess.Popen(
                [program, "-D", "-e", "-f", str(base / "sshd_config")],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            )
        if _is_ready(process, address, port):
            return RemoteHost(name, address, port, user, base, process)
        _stop(process)
    raise RuntimeError(f"sshd does not start: {(base / 'sshd.log').read_text()}")


def _config(base: Path, address: str, port: int, more: str) -> str:
    keys = "".join(f"HostKey {key.with_suffix('')}\n" for key in sorted(base.glob("host_*.pub")))
    return more + (
        f"ListenAddress {address}:{port}\n{keys}"
        f"AuthorizedKeysFile {base}/authorized_keys\n"
        f"SetEnv HOME={base}/home\n"
        "PidFile none\nUsePAM no\nStrictModes no\nUseDNS no\nLogLevel VERBOSE\n"
        "PasswordAuthentication no\nKbdInteractiveAuthentication no\n"
    )


def _free_port(address: str) -> int:
    with socket.socket() as probe:
        probe.bind((address, 0))
        return int(probe.getsockname()[1])


def _is_ready(process: subprocess.Popen[bytes], address: str, port: int) -> bool:
    deadline = time.monotonic() + _READY_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        with contextlib.suppress(OSError), socket.create_connection((address, port), 1):
            return True
        time.sleep(0.01)
    return False


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    process.wait()
