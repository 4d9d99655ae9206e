"""Host keys of a real sshd are checked before anything of the operator is offered."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from fleetsync.errors import HostKeyRefused
from fleetsync.ssh import SshRemote
from tests.integration.sshd import RemoteHost, Sshd, configured_ssh


def refused(host: RemoteHost) -> HostKeyRefused:
    with pytest.raises(HostKeyRefused) as caught:
        host.remote().connect()
    return caught.value


def connects(remote: SshRemote) -> None:
    remote.connect()
    remote.close()


def fingerprint(host: RemoteHost, kind: str = "ed25519") -> str:
    argv = ["ssh-keygen", "-l", "-f", str(host.base / f"host_{kind}.pub")]
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout.split()[1]


@pytest.fixture
def host(sshd_host: Sshd) -> RemoteHost:
    return sshd_host("primary-node")


def test_an_unknown_key_is_refused_with_what_ssh_keygen_calls_it(host: RemoteHost) -> None:
    host.known_hosts.write_text("")
    error = refused(host)
    assert f"unknown host key: ssh-ed25519 {fingerprint(host)}" in error.message
    assert f"no line for {host.entry} in {host.known_hosts}" in error.message


def test_a_refused_host_is_offered_no_identity_and_learns_no_user(host: RemoteHost) -> None:
    host.known_hosts.write_text("")
    refused(host)
    assert "publickey" not in host.log
    assert f"user {host.user}" not in host.log


def test_a_refusal_writes_nothing(host: RemoteHost) -> None:
    host.known_hosts.write_text("")
    refused(host)
    assert host.known_hosts.read_text() == ""


def test_the_printed_line_makes_the_host_known(host: RemoteHost) -> None:
    host.known_hosts.write_text("")
    host.known_hosts.write_text(refused(host).hint.splitlines()[-1].strip() + "\n")
    connects(host.remote())


def test_a_changed_key_is_refused_and_the_printed_command_and_line_repair_it(
    host: RemoteHost, sshd_host: Sshd
) -> None:
    other = sshd_host()
    host.known_hosts.write_text(f"{host.entry} {other.public_key()}\n")
    error = refused(host)
    assert f"{host.known_hosts}:1 holds ssh-ed25519 {fingerprint(other)}" in error.message
    command = next(line for line in error.hint.splitlines() if "ssh-keygen -R" in line)
    subprocess.run(command, shell=True, check=True, capture_output=True)
    with host.known_hosts.open("a") as file:
        file.write(error.hint.splitlines()[-1].strip() + "\n")
    connects(host.remote())


def test_a_revoked_key_is_refused(host: RemoteHost) -> None:
    with host.known_hosts.open("a") as file:
        file.write(f"@revoked * {host.public_key()}\n")
    assert "revoked host key" in refused(host).message


def test_entries_that_ssh_keygen_hashed_are_known(host: RemoteHost) -> None:
    argv = ["ssh-keygen", "-q", "-H", "-f", str(host.known_hosts)]
    subprocess.run(argv, check=True, capture_output=True)
    assert host.known_hosts.read_text().startswith("|1|")
    connects(host.remote())


def test_a_host_trusted_by_a_certificate_authority_alone_is_refused(host: RemoteHost) -> None:
    host.known_hosts.write_text(f"@cert-authority [127.77.*]:* {host.public_key()}\n")
    assert "by a @cert-authority, and host certificates cannot be checked" in refused(host).message


@pytest.mark.parametrize("known", ["rsa", "ecdsa", "ed25519"])
def test_the_known_type_is_asked_for_though_the_server_has_others(
    sshd_host: Sshd, known: str
) -> None:
    host = sshd_host(host_keys=("rsa", "ecdsa", "ed25519"))
    host.known_hosts.write_text(f"{host.entry} {host.public_key(known)}\n")
    connects(host.remote())


def test_a_host_key_alias_is_looked_up_instead_of_the_address(
    host: RemoteHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    host.known_hosts.write_text(f"the-alias {host.public_key()}\n")
    config = f"Host {host.address}\n HostKeyAlias the-alias\n"
    path = str(Path(shutil.which("sh") or "").parent)
    monkeypatch.setenv("PATH", f"{configured_ssh(tmp_path, config)}:{path}")
    connects(SshRemote(host.at()))


def test_accept_new_is_not_honoured(
    host: RemoteHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    host.known_hosts.write_text("")
    config = "Host *\n StrictHostKeyChecking accept-new\n"
    path = str(Path(shutil.which("sh") or "").parent)
    monkeypatch.setenv("PATH", f"{configured_ssh(tmp_path, config)}:{path}")
    remote = SshRemote(host.at())
    with pytest.raises(HostKeyRefused):
        remote.connect()
    assert "accept-new is not honoured" in remote.notices[0]
