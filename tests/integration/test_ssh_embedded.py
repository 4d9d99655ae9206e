"""The embedded host, asked by our remote and by the real ssh client."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from fleetsync.errors import AuthenticationRefused, Away, HostKeyRefused, HostUnusable, Lost
from fleetsync.ssh import Address, SshRemote
from fleetsync.testing import server
from fleetsync.testing.server import EmbeddedHost


@pytest.fixture
def host(tmp_path: Path) -> Iterator[EmbeddedHost]:
    home = tmp_path / "home"
    home.mkdir()
    with EmbeddedHost(home, "primary-node", {"GREETING": "hello"}) as host:
        yield host


def reach(host: EmbeddedHost, **changes: str) -> SshRemote:
    said: dict[str, str] = {
        "user": host.user, "identity": str(host.identity), "known_hosts": str(host.known_hosts),
        **changes,
    }
    address = Address(host.name, host.address, port=host.port, **said)
    return SshRemote(address, use_ssh_config=False)


def ask(host: EmbeddedHost, command: str, stdin: bytes = b"", seconds: float = 20) -> bytes:
    remote = reach(host)
    try:
        return remote.exchange(command, stdin, b"@@ END", seconds=seconds)
    finally:
        remote.close()


def real_ssh(host: EmbeddedHost, command: str, stdin: bytes = b"") -> tuple[int, bytes, bytes]:
    argv = [
        "ssh", "-F", "none", "-p", str(host.port), "-l", host.user, "-i", str(host.identity),
        "-o", f"UserKnownHostsFile={host.known_hosts}", "-o", "GlobalKnownHostsFile=none",
        "-o", "IdentitiesOnly=yes", "-o", "IdentityAgent=none", "-o", "BatchMode=yes",
        host.address, command,
    ]
    done = subprocess.run(argv, input=stdin, capture_output=True, timeout=30, check=False)
    return done.returncode, done.stdout, done.stderr


def test_two_megabytes_of_every_byte_go_up_and_down(host: EmbeddedHost) -> None:
    data = bytes(range(256)) * 8192
    assert ask(host, "cat; echo; echo @@ END", data) == data + b"\n@@ END\n"


def test_the_real_client_gets_exact_bytes_streams_and_status(host: EmbeddedHost) -> None:
    data = bytes(range(256)) * 4096
    assert real_ssh(host, "cat; echo oops >&2; exit 7", data) == (7, data, b"oops\n")


def test_the_real_client_is_told_of_a_death_by_signal(host: EmbeddedHost) -> None:
    assert real_ssh(host, "kill -TERM $$")[0] == 128 + 15


def test_a_command_runs_in_the_hosts_home_with_its_own_environment_alone(
    host: EmbeddedHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROUTER_API_KEY", "of the operator")
    command = 'pwd; echo "$HOME $USER $GREETING key=$ROUTER_API_KEY"; echo @@ END'
    home = tmp_path / "home"
    assert ask(host, command) == f"{home}\n{home} demo hello key=\n@@ END\n".encode()


def test_a_command_that_ignores_its_input_does_not_block(host: EmbeddedHost) -> None:
    assert ask(host, "echo done; exit 0", b"x" * 5_000_000) == b"done\n"


def test_a_background_job_does_not_delay_the_end(host: EmbeddedHost) -> None:
    assert ask(host, "sleep 8 & echo @@ END", seconds=5) == b"@@ END\n"


def test_a_deadline_is_kept(host: EmbeddedHost) -> None:
    with pytest.raises(Lost):
        ask(host, "sleep 5", seconds=0.3)


def test_a_command_goes_on_when_the_client_leaves(host: EmbeddedHost, tmp_path: Path) -> None:
    with pytest.raises(Lost):
        ask(host, "sleep 0.5; echo kept > proof", seconds=0.2)
    assert ask(host, "until test -s proof; do sleep 0.05; done; cat proof; echo @@ END") == (
        b"kept\n@@ END\n"
    )


def test_many_clients_are_served_at_once(host: EmbeddedHost) -> None:
    with ThreadPoolExecutor(8) as pool:
        answers = set(pool.map(lambda _: ask(host, "echo @@ END"), range(24)))
    assert answers == {b"@@ END\n"}


def test_another_key_does_not_open_it(host: EmbeddedHost, tmp_path: Path) -> None:
    argv = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(tmp_path / "wrong")]
    subprocess.run(argv, check=True)
    with pytest.raises(AuthenticationRefused):
        reach(host, identity=str(tmp_path / "wrong")).connect()


def test_another_user_is_not_known(host: EmbeddedHost) -> None:
    with pytest.raises(AuthenticationRefused):
        reach(host, user="root").connect()


def test_its_key_is_checked_like_any_hosts(host: EmbeddedHost, tmp_path: Path) -> None:
    with pytest.raises(HostKeyRefused):
        reach(host, known_hosts=str(tmp_path / "none")).connect()


def test_nothing_but_commands_is_served(host: EmbeddedHost) -> None:
    argv = ["sftp", "-F", "none", "-P", str(host.port), "-i", str(host.identity),
            "-o", f"UserKnownHostsFile={host.known_hosts}", "-o", "BatchMode=yes",
            f"{host.user}@{host.address}"]
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    assert b"subsystem request failed" in done.stderr


def test_leaving_ends_running_commands_and_leaves_nothing(tmp_path: Path) -> None:
    before = threading.active_count(), sorted(Path("/proc/self/fd").iterdir())
    with EmbeddedHost(tmp_path, "mid-mod") as host:
        identity = host.identity
        remote = reach(host)
        with pytest.raises(Lost):
            remote.exchange("exec sleep 60", b"", b"@@", seconds=0.3)
    assert (threading.active_count(), sorted(Path("/proc/self/fd").iterdir())) == before
    assert not identity.parent.exists()


def test_a_host_that_is_gone_is_away(tmp_path: Path) -> None:
    with EmbeddedHost(tmp_path, "mid-mod") as host:
        remote = reach(host)
        remote.connect()
        remote.close()
    with pytest.raises(Away, match="cannot connect"):
        remote.connect()


def test_a_host_that_refuses_to_run_commands_is_unusable(
    host: EmbeddedHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server._Session, "check_channel_exec_request", lambda *_: False)
    with pytest.raises(HostUnusable, match="refuses to run a command for demo@"):
        ask(host, "echo @@ END")
