"""Exchanges with a real sshd: exact bytes, the end seen early, and every way to lose it."""

from __future__ import annotations

import os
import socket
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from fleetsync.errors import Away, HostKeyRefused, Lost
from fleetsync.ssh import SshRemote, Timeouts
from tests.integration.sshd import RemoteHost, Sshd

BRIEF = Timeouts(connect=0.5, banner=0.5, auth=2, channel=2)


def descriptors() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


@pytest.fixture
def host(sshd_host: Sshd) -> RemoteHost:
    return sshd_host("primary-node")


@pytest.fixture
def remote(host: RemoteHost) -> Iterator[SshRemote]:
    remote = host.remote()
    yield remote
    remote.close()


def ask(remote: SshRemote, command: str, stdin: bytes = b"", seconds: float = 20) -> bytes:
    return remote.exchange(command, stdin, b"@@ END", seconds=seconds)


def test_every_byte_arrives_as_it_was_sent(remote: SshRemote) -> None:
    data = bytes(range(256)) * 3
    assert ask(remote, "cat; echo; echo @@ END", data) == data + b"\n@@ END\n"


def test_two_megabytes_go_up_and_down_at_once(remote: SshRemote) -> None:
    data = os.urandom(1024) * 2048
    assert ask(remote, "cat; echo; echo @@ END", data) == data + b"\n@@ END\n"


def test_standard_error_is_not_mixed_in_however_much_it_is(remote: SshRemote) -> None:
    command = "head -c 5000000 /dev/zero >&2; cat; echo @@ END"
    assert ask(remote, command, b"in\n") == b"in\n@@ END\n"


def test_noise_before_the_answer_is_kept_for_the_parser(remote: SshRemote) -> None:
    assert ask(remote, "printf 'motd \\033[1m'; echo; echo @@ END") == b"motd \x1b[1m\n@@ END\n"


def test_the_end_is_seen_while_a_job_keeps_the_channel_open(remote: SshRemote) -> None:
    # Were the EOF waited for, the exchange would be lost after its 5 seconds.
    assert ask(remote, "sleep 8 & echo @@ END", seconds=5) == b"@@ END\n"


def test_several_exchanges_share_one_connection(host: RemoteHost, remote: SshRemote) -> None:
    assert [ask(remote, f"echo {n}; echo @@ END") for n in "ab"] == [b"a\n@@ END\n", b"b\n@@ END\n"]
    assert host.log.count("Accepted publickey") == 1


def test_output_without_end_is_returned_when_the_command_ends(remote: SshRemote) -> None:
    assert ask(remote, "echo closed; exit 3", b"x" * 100000) == b"closed\n"


def test_no_terminal_and_no_agent_reach_the_host(
    remote: SshRemote, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = "test -t 0 || echo none; echo agent=$SSH_AUTH_SOCK; echo @@ END"
    assert ask(remote, command) == b"none\nagent=\n@@ END\n"


def test_a_command_that_does_not_end_is_lost_at_the_deadline(remote: SshRemote) -> None:
    with pytest.raises(Lost, match=r"primary-node: no complete answer within 0\.5 s"):
        ask(remote, "cat; echo begun; sleep 5", b"script\n", seconds=0.5)


def test_a_host_that_reads_nothing_more_is_lost_at_the_deadline(remote: SshRemote) -> None:
    with pytest.raises(Lost, match="within 1 s"):
        ask(remote, "sleep 5", b"x" * 30_000_000, seconds=1)


def test_a_connection_that_takes_no_more_bytes_is_lost_at_the_deadline(remote: SshRemote) -> None:
    # The server's process for this connection stands still, so that sending itself blocks.
    with pytest.raises(Lost, match="within 1 s"):
        ask(remote, "kill -STOP $PPID; sleep 2; kill -CONT $PPID", b"x" * 30_000_000, seconds=1)


def test_a_session_killed_in_the_middle_is_lost(remote: SshRemote) -> None:
    # The parent of the command's shell is the server's process for this connection.
    with pytest.raises(Lost, match="the connection broke"):
        ask(remote, "cat; kill -9 $PPID; sleep 5", b"script\n")


def test_an_answer_beyond_the_cap_is_lost(remote: SshRemote) -> None:
    with pytest.raises(Lost, match="longer than 1000 bytes"):
        remote.exchange("head -c 5000 /dev/zero", b"", b"@@", seconds=20, cap=1000)


def test_after_a_loss_the_next_exchange_connects_anew(remote: SshRemote) -> None:
    with pytest.raises(Lost):
        ask(remote, "cat; kill -9 $PPID; sleep 5", b"x")
    assert ask(remote, "echo @@ END") == b"@@ END\n"


def test_a_dead_connection_found_before_sending_is_made_anew(
    host: RemoteHost, remote: SshRemote
) -> None:
    remote.connect()
    ask(remote, "(sleep 0.2; kill -9 $PPID) & echo @@ END")
    with pytest.raises(Lost):
        ask(remote, "sleep 5", b"x")
    assert ask(remote, "echo @@ END") == b"@@ END\n"


def test_connecting_twice_is_connecting_once(host: RemoteHost, remote: SshRemote) -> None:
    remote.connect()
    remote.connect()
    assert host.log.count("Accepted publickey") == 1


def test_a_host_that_opens_no_session_is_away(sshd_host: Sshd) -> None:
    remote = sshd_host("mid-mod", config="MaxSessions 0\n").remote()
    with pytest.raises(Away, match="mid-mod: no session could be opened"):
        ask(remote, "echo @@ END")


def test_an_sftp_account_says_so_in_its_output(sshd_host: Sshd) -> None:
    remote = sshd_host(config="ForceCommand internal-sftp\n").remote()
    assert b"sftp connections only" in ask(remote, "echo @@ END")
    remote.close()


# --- not reached -----------------------------------------------------------------


def test_a_closed_port_is_away(host: RemoteHost) -> None:
    with socket.socket() as bound:    # bound, but not listening
        bound.bind((host.address, 0))
        port = bound.getsockname()[1]
        with pytest.raises(Away, match=rf"@{host.address}:{port}: cannot connect"):
            host.remote(port=port).connect()


def test_a_name_that_does_not_resolve_is_away(host: RemoteHost) -> None:
    with pytest.raises(Away, match=r"the name no-such-host\.invalid does not resolve"):
        host.remote(address="no-such-host.invalid").connect()


@pytest.fixture
def silent_port(host: RemoteHost) -> Iterator[int]:
    """Accepts connections and says nothing."""
    with socket.create_server((host.address, 0)) as listener:
        yield listener.getsockname()[1]


def test_a_server_that_accepts_and_says_nothing_is_away_within_the_bound(
    host: RemoteHost, silent_port: int
) -> None:
    with pytest.raises(Away, match=r"no SSH handshake within 0\.5 s|SSH protocol banner"):
        host.remote(BRIEF, port=silent_port).connect()


def test_a_full_backlog_is_away_within_the_bound(host: RemoteHost) -> None:
    with socket.socket() as listener:
        listener.bind((host.address, 0))
        listener.listen(0)
        port = listener.getsockname()[1]
        with socket.create_connection((host.address, port)), pytest.raises(Away):
            host.remote(BRIEF, port=port).connect()


@pytest.mark.parametrize("words", [
    b"HTTP/1.1 400 Bad Request\r\n\r\n",
    b"\xff\xfe\0\0" * 50 + b"\n",
    b"SSH-2.0-x\r\n" + b"\xff" * 99,
    b"SSH-1.5-old\r\n",
], ids=["http", "bytes", "garbage after the banner", "ssh 1"])
def test_a_server_that_speaks_something_else_is_away(host: RemoteHost, words: bytes) -> None:
    def speak(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        with connection:
            connection.sendall(words)
            connection.settimeout(2)
            connection.recv(100)

    with socket.create_server((host.address, 0)) as listener:
        speaker = threading.Thread(target=speak, args=(listener,))
        speaker.start()
        with pytest.raises(Away):
            host.remote(BRIEF, port=listener.getsockname()[1]).connect()
        speaker.join()


def test_a_host_without_a_common_algorithm_is_away(sshd_host: Sshd) -> None:
    remote = sshd_host(config="KexAlgorithms diffie-hellman-group18-sha512\n").remote()
    with pytest.raises(Away, match="no common algorithm"):
        remote.connect()


# --- nothing stays ---------------------------------------------------------------


def test_after_close_no_thread_and_no_descriptor_stays(host: RemoteHost) -> None:
    before = threading.active_count(), descriptors()
    remote = host.remote()
    ask(remote, "echo @@ END")
    remote.close()
    remote.close()
    assert (threading.active_count(), descriptors()) == before


def test_after_each_failure_no_thread_and_no_descriptor_stays(
    host: RemoteHost, silent_port: int, tmp_path: Path
) -> None:
    before = threading.active_count(), descriptors()
    with pytest.raises(HostKeyRefused):
        host.remote(known_hosts=str(tmp_path / "none")).connect()
    with pytest.raises(Away):
        host.remote(BRIEF, port=silent_port).connect()
    with pytest.raises(Lost):
        ask(host.remote(), "cat; kill -9 $PPID; sleep 5", b"x")
    with pytest.raises(Lost):
        ask(host.remote(), "sleep 5", b"x", seconds=0.3)
    assert (threading.active_count(), descriptors()) == before


def test_three_hosts_answer_at_once(sshd_host: Sshd) -> None:
    hosts = [sshd_host(name) for name in ("primary-node", "companion-node", "mid-mod")]

    def own_name(host: RemoteHost) -> bytes:
        remote = host.remote()
        try:
            return ask(remote, "echo $HOME; echo @@ END")
        finally:
            remote.close()

    with ThreadPoolExecutor(3) as pool:
        answers = list(pool.map(own_name, hosts))
    assert answers == [f"{host.home}\n@@ END\n".encode() for host in hosts]


def test_twenty_connections_to_one_server_all_get_in(host: RemoteHost) -> None:
    def login(_: int) -> bytes:
        remote = host.remote()
        try:
            return ask(remote, "echo @@ END")
        finally:
            remote.close()

    with ThreadPoolExecutor(20) as pool:
        assert set(pool.map(login, range(20))) == {b"@@ END\n"}


def test_a_planted_fabric_file_changes_nothing(
    host: RemoteHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (".fabric.yaml", "fabric.yaml"):
        (tmp_path / name).write_text('user: eve\ngateway: "false"\n')
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("FABRIC_USER", "eve")
    monkeypatch.chdir(tmp_path)
    remote = host.remote()
    assert ask(remote, "id -un; echo @@ END") == f"{host.user}\n@@ END\n".encode()
    remote.close()


def test_connections_that_are_made_at_once_share_no_settings(host: RemoteHost) -> None:
    # One fabric.Config for all lost keys now and then, while another thread wrote to it.
    def is_away(_: int) -> bool:
        with pytest.raises(Away, match="cannot connect"):
            host.remote(port=1).connect()
        return True

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(16) as pool:
            assert all(pool.map(is_away, range(300)))
    finally:
        sys.setswitchinterval(interval)
