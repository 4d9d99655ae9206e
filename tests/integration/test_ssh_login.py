"""Logging in to a real sshd: identities, the agent, ssh's configuration, jump hosts."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fleetsync.errors import AuthenticationRefused, Away, HostKeyRefused, Lost
from fleetsync.ssh import Address, SshRemote, Timeouts
from tests.integration.sshd import RemoteHost, Sshd, configured_ssh

Configure = Callable[[str], None]


@pytest.fixture
def host(sshd_host: Sshd) -> RemoteHost:
    return sshd_host("primary-node")


@pytest.fixture
def configure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Configure:
    """Makes a text the only ssh configuration; no agent."""
    path = os.environ["PATH"]
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)

    def write(text: str) -> None:
        monkeypatch.setenv("PATH", f"{configured_ssh(tmp_path, text)}:{path}")

    write("")
    return write


@pytest.fixture
def agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A real ssh-agent without keys, in SSH_AUTH_SOCK."""
    socket = tmp_path / "agent"
    argv = ["ssh-agent", "-D", "-a", str(socket)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout
        process.stdout.readline()    # it listens once it has printed its variables
        monkeypatch.setenv("SSH_AUTH_SOCK", str(socket))
        yield socket
        process.terminate()


@pytest.fixture(autouse=True)
def no_agent(monkeypatch: pytest.MonkeyPatch) -> None:
    """The operator's own agent stays out of it."""
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)


def make_key(path: Path, *options: str, kind: str = "ed25519", passphrase: str = "") -> Path:
    argv = ["ssh-keygen", "-q", "-t", kind, "-N", passphrase, "-C", "", "-f", str(path), *options]
    subprocess.run(argv, check=True)
    return path


def add_to_agent(*keys: Path) -> None:
    subprocess.run(["ssh-add", "-q", *map(str, keys)], check=True, capture_output=True)


def connects(remote: SshRemote) -> None:
    remote.connect()
    remote.close()


def refused(remote: SshRemote) -> AuthenticationRefused:
    with pytest.raises(AuthenticationRefused) as caught:
        remote.connect()
    return caught.value


# --- identities ------------------------------------------------------------------


def test_a_wrong_key_is_refused_naming_account_and_file(host: RemoteHost, tmp_path: Path) -> None:
    wrong = make_key(tmp_path / "wrong")
    error = refused(host.remote(identity=str(wrong)))
    assert error.message == (
        f"primary-node: {host.user}@{host.address}:{host.port} "
        f"accepts none of the identities offered; offered: {wrong}"
    )
    assert "authorized_keys" in error.hint


def test_a_refusal_holds_nothing_of_the_key(host: RemoteHost, tmp_path: Path) -> None:
    wrong = make_key(tmp_path / "wrong")
    said = str(refused(host.remote(identity=str(wrong))))
    secret = wrong.read_text().splitlines()[1:-1]
    assert not [line for line in secret if line in said]


def test_an_encrypted_key_is_refused_with_the_command_that_unlocks_it(
    host: RemoteHost, tmp_path: Path
) -> None:
    locked = make_key(tmp_path / "locked", passphrase="a passphrase")
    error = refused(host.remote(identity=str(locked)))
    assert f"not usable: {locked} (encrypted, and not in the agent)" in error.message
    assert error.hint == f"ssh-add {locked}"


def test_an_encrypted_key_in_the_old_format_is_told_alike(host: RemoteHost, tmp_path: Path) -> None:
    locked = make_key(tmp_path / "locked", "-m", "PEM", kind="rsa", passphrase="a passphrase")
    assert refused(host.remote(identity=str(locked))).hint == f"ssh-add {locked}"


@pytest.mark.parametrize("content", ["", "not a key\n"])
def test_a_file_that_is_no_key_is_refused_by_name(
    host: RemoteHost, tmp_path: Path, content: str
) -> None:
    (tmp_path / "junk").write_text(content)
    message = refused(host.remote(identity=str(tmp_path / "junk"))).message
    assert "no identity at all; not usable" in message
    assert "junk (not a private key that can be used)" in message


def test_a_missing_key_is_refused_by_name(host: RemoteHost, tmp_path: Path) -> None:
    message = refused(host.remote(identity=str(tmp_path / "absent"))).message
    assert f"{tmp_path}/absent (not found)" in message


def test_a_server_that_takes_no_keys_is_refused_with_what_it_takes(sshd_host: Sshd) -> None:
    host = sshd_host(config="PubkeyAuthentication no\nPasswordAuthentication yes\n")
    assert "takes no key, but password" in refused(host.remote()).message


def test_a_server_that_wants_more_than_a_key_is_refused(sshd_host: Sshd) -> None:
    host = sshd_host(config="AuthenticationMethods publickey,password\n"
                            "PasswordAuthentication yes\n")
    assert "wants more than a key: password" in refused(host.remote()).message


@pytest.mark.parametrize("algorithm", ["rsa-sha2-512", "rsa-sha2-256"])
def test_an_rsa_key_serves_whichever_digest_the_server_takes(
    sshd_host: Sshd, tmp_path: Path, algorithm: str
) -> None:
    host = sshd_host(config=f"PubkeyAcceptedAlgorithms {algorithm}\n")
    key = make_key(tmp_path / "rsa", kind="rsa")
    host.authorized_keys.write_text((tmp_path / "rsa.pub").read_text())
    connects(host.remote(identity=str(key)))


# --- the agent -------------------------------------------------------------------


def test_the_agents_key_opens_a_host(host: RemoteHost, agent: Path) -> None:
    add_to_agent(host.identity)
    connects(host.remote(identity=""))


def test_an_encrypted_identity_is_used_through_the_agent(
    host: RemoteHost, agent: Path, tmp_path: Path
) -> None:
    add_to_agent(host.identity)
    locked = tmp_path / "locked"
    shutil.copy(host.identity, locked)
    shutil.copy(f"{host.identity}.pub", f"{locked}.pub")
    argv = ["ssh-keygen", "-q", "-p", "-P", "", "-N", "a passphrase", "-f", str(locked)]
    subprocess.run(argv, check=True, capture_output=True)
    connects(host.remote(identity=str(locked)))


def test_a_named_identity_comes_before_many_wrong_keys_of_the_agent(
    host: RemoteHost, agent: Path, tmp_path: Path
) -> None:
    add_to_agent(*(make_key(tmp_path / f"wrong-{number}") for number in range(7)))
    connects(host.remote())


def test_too_many_identities_are_refused_with_the_way_out(
    host: RemoteHost, agent: Path, tmp_path: Path
) -> None:
    add_to_agent(*(make_key(tmp_path / f"wrong-{number}") for number in range(7)))
    error = refused(host.remote(identity=""))
    assert "ended the connection while identities were offered" in error.message
    assert "agent key 6 of 7" in error.message
    assert "IdentitiesOnly" in error.hint


def test_a_refusal_counts_the_agents_keys(host: RemoteHost, agent: Path, tmp_path: Path) -> None:
    add_to_agent(make_key(tmp_path / "one"), make_key(tmp_path / "two"))
    message = refused(host.remote(identity="")).message
    assert "offered: agent key 1 of 2, agent key 2 of 2" in message


def test_an_agent_that_is_gone_is_named(
    host: RemoteHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSH_AUTH_SOCK", str(tmp_path / "gone"))
    message = refused(host.remote(identity="")).message
    assert f"the agent at {tmp_path}/gone (no answer)" in message


def test_an_agent_that_is_gone_does_not_stop_a_file(
    host: RemoteHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSH_AUTH_SOCK", str(tmp_path / "gone"))
    connects(host.remote())


def test_the_agent_is_let_go_of(host: RemoteHost, agent: Path, tmp_path: Path) -> None:
    add_to_agent(make_key(tmp_path / "wrong"))
    before = sorted(Path("/proc/self/fd").iterdir())
    refused(host.remote(identity=""))
    connects(host.remote())
    assert sorted(Path("/proc/self/fd").iterdir()) == before


# --- ssh's configuration ---------------------------------------------------------


def entry(host: RemoteHost, name: str, *more: str) -> str:
    """A Host block that says all that is needed to reach `host`."""
    lines = (
        f"HostName {host.address}", f"Port {host.port}", f"User {host.user}",
        f"IdentityFile {host.identity}", f"UserKnownHostsFile {host.known_hosts}",
        "GlobalKnownHostsFile none", *more,
    )
    return f"Host {name}\n" + "".join(f"  {line}\n" for line in lines)


def where(remote: SshRemote) -> str:
    try:
        return remote.exchange("echo $HOME; echo @@", b"", b"@@", seconds=20).decode().split()[0]
    finally:
        remote.close()


def test_the_configuration_alone_reaches_a_host(
    host: RemoteHost, configure: Configure, tmp_path: Path
) -> None:
    (tmp_path / "included").write_text(entry(host, "node-*"))
    configure(f"Include {tmp_path}/included\n")
    assert where(SshRemote(Address("node-1"))) == str(host.home)


def test_a_match_block_decides_as_it_does_for_ssh(host: RemoteHost, configure: Configure) -> None:
    configure(f"Match originalhost web exec \"false\"\n Port 9\nMatch originalhost web exec true\n"
              f" Port {host.port}\n{entry(host, 'web')}")
    assert where(SshRemote(Address("fred", "web"))) == str(host.home)


def test_identities_only_keeps_the_agents_keys_back(
    host: RemoteHost, configure: Configure, agent: Path, tmp_path: Path
) -> None:
    add_to_agent(*(make_key(tmp_path / f"wrong-{number}") for number in range(7)))
    wrong = make_key(tmp_path / "wrong")
    text = entry(host, "web", "IdentitiesOnly yes", f"IdentityAgent {agent}")
    configure(text.replace(str(host.identity), str(wrong)))
    assert refused(SshRemote(Address("web"))).message.endswith(f"offered: {wrong}")


def test_the_configured_agent_is_asked(
    host: RemoteHost, configure: Configure, agent: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_to_agent(host.identity)
    monkeypatch.delenv("SSH_AUTH_SOCK")
    text = entry(host, "web", f"IdentityAgent {agent}")
    configure(text.replace(f"IdentityFile {host.identity}", "IdentityFile none"))
    assert where(SshRemote(Address("web"))) == str(host.home)


@pytest.fixture
def gate(sshd_host: Sshd) -> RemoteHost:
    return sshd_host("gate")


def test_a_jump_host_leads_to_the_host(
    host: RemoteHost, gate: RemoteHost, configure: Configure
) -> None:
    configure(entry(gate, "gate") + entry(host, "web", "ProxyJump gate"))
    assert where(SshRemote(Address("web"))) == str(host.home)
    assert "Accepted publickey" in gate.log


def test_two_jump_hosts_in_a_row_lead_to_the_host(
    host: RemoteHost, gate: RemoteHost, sshd_host: Sshd, configure: Configure
) -> None:
    door = sshd_host("door")
    configure(entry(gate, "gate") + entry(door, "door") + entry(host, "web", "ProxyJump door,gate"))
    assert where(SshRemote(Address("web"))) == str(host.home)
    assert "Accepted publickey" in gate.log
    assert "Accepted publickey" in door.log


def test_a_jump_hosts_unknown_key_is_refused_by_its_name(
    host: RemoteHost, gate: RemoteHost, configure: Configure
) -> None:
    gate.known_hosts.write_text("")
    configure(entry(gate, "gate") + entry(host, "web", "ProxyJump gate"))
    with pytest.raises(HostKeyRefused, match="web: jump host gate: unknown host key"):
        SshRemote(Address("web")).connect()
    assert "Accepted" not in host.log


def test_a_host_behind_the_jump_host_that_is_down_is_away(
    host: RemoteHost, gate: RemoteHost, configure: Configure
) -> None:
    configure(entry(gate, "gate") + entry(host, "web", "ProxyJump gate")
              .replace(f"Port {host.port}", "Port 1"))
    before = sorted(Path("/proc/self/fd").iterdir())
    with pytest.raises(Away, match="the jump host cannot reach it"):
        SshRemote(Address("web")).connect()
    assert sorted(Path("/proc/self/fd").iterdir()) == before


def test_a_jump_host_that_stands_still_is_lost_at_the_deadline(
    host: RemoteHost, gate: RemoteHost, configure: Configure
) -> None:
    configure(entry(gate, "gate") + entry(host, "web", "ProxyJump gate"))
    remote = SshRemote(Address("web"))
    remote.connect()
    children = Path(f"/proc/{gate.process.pid}/task/{gate.process.pid}/children")
    (pid,) = children.read_text().split()
    stand_still = f"kill -STOP {pid}; sleep 2; kill -CONT {pid}"
    with pytest.raises(Lost, match="within 1 s"):
        remote.exchange(stand_still, b"x" * 30_000_000, b"@@", seconds=1)


def test_a_way_over_a_jump_host_leaves_no_descriptor(
    host: RemoteHost, gate: RemoteHost, configure: Configure
) -> None:
    configure(entry(gate, "gate") + entry(host, "web", "ProxyJump gate"))
    before = sorted(Path("/proc/self/fd").iterdir())
    assert where(SshRemote(Address("web"))) == str(host.home)
    assert sorted(Path("/proc/self/fd").iterdir()) == before


def test_a_proxy_command_carries_the_connection_and_is_ended(
    host: RemoteHost, gate: RemoteHost, configure: Configure, tmp_path: Path
) -> None:
    inner = " ".join(gate.ssh("-W", "%h:%p")).replace(f" {gate.address} -W %h:%p", "")
    command = f"{inner} -W %h:%p {gate.address} 2>>{tmp_path}/proxy.log"
    configure(entry(host, "web", f"ProxyCommand {command}"))
    before = sorted(Path("/proc/self/fd").iterdir())
    assert where(SshRemote(Address("web"))) == str(host.home)
    assert sorted(Path("/proc/self/fd").iterdir()) == before


def test_a_proxy_command_that_fails_is_away(host: RemoteHost, configure: Configure) -> None:
    configure(entry(host, "web", "ProxyCommand exit 1"))
    with pytest.raises(Away):
        SshRemote(Address("web"), Timeouts(connect=2)).connect()
