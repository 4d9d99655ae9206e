"""What ssh's configuration and the inventory make of a name, by the real `ssh -G`."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from fleetsync import ssh_config
from fleetsync.errors import Away
from fleetsync.ssh_config import Address, Endpoint, account_home, route
from tests.integration.sshd import configured_ssh

Configure = Callable[[str], None]


@pytest.fixture
def configure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Configure:
    """Makes a text the only ssh configuration."""
    path = os.environ["PATH"]
    monkeypatch.setenv("SSH_AUTH_SOCK", "/run/agent")

    def write(text: str) -> None:
        monkeypatch.setenv("PATH", f"{configured_ssh(tmp_path, text)}:{path}")

    write("")
    return write


def target(address: Address) -> Endpoint:
    return route(address)[-1]


def test_a_bare_name_gets_the_defaults_of_ssh(configure: Configure) -> None:
    endpoint = target(Address("web"))
    assert (endpoint.host, endpoint.port, endpoint.agent) == ("web", 22, "/run/agent")
    assert not endpoint.chosen
    assert account_home() / ".ssh/id_ed25519" in endpoint.identities
    assert account_home() / ".ssh/known_hosts" in endpoint.trust.files


def test_the_inventorys_words_win_over_the_configuration(configure: Configure) -> None:
    configure("Host web\n User eve\n Port 9\n IdentityFile /etc/eve\n HostName 10.0.0.1\n")
    endpoint = target(Address("fred", "web", "adam", 2222, "/keys/adam", "/keys/hosts"))
    assert (endpoint.label, endpoint.host) == ("fred", "10.0.0.1")
    assert (endpoint.user, endpoint.port) == ("adam", 2222)
    assert endpoint.identities[0] == Path("/keys/adam")
    assert endpoint.trust.files[0] == Path("/keys/hosts")


def test_include_and_match_are_read(configure: Configure, tmp_path: Path) -> None:
    (tmp_path / "more").write_text("Match exec true\n User matched\nHost *\n Port 44\n")
    configure(f"Include {tmp_path}/more\n")
    endpoint = target(Address("web"))
    assert (endpoint.user, endpoint.port) == ("matched", 44)


def test_tokens_home_and_variables_are_expanded(
    configure: Configure, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEYS", "/keys")
    configure(
        "Host web\n HostName %h.example.net\n User adam\n Port 44\n"
        " IdentityFile ~/.ssh/%r@%h:%p\n IdentityFile ${KEYS}/%n\n IdentityFile none\n"
        " UserKnownHostsFile ~/a/%h /b/%%\n ProxyCommand connect %h %p as %r\n"
    )
    endpoint = target(Address("web"))
    assert endpoint.identities == (
        account_home() / ".ssh/adam@web.example.net:44", Path("/keys/web"),
    )
    assert endpoint.trust.files[:2] == (account_home() / "a/web.example.net", Path("/b/%"))
    assert endpoint.proxy_command == "connect web.example.net 44 as adam"


def test_named_identities_count_as_chosen(configure: Configure) -> None:
    configure("Host web\n IdentityFile ~/.ssh/work\n IdentitiesOnly yes\n ConnectTimeout 7\n")
    endpoint = target(Address("web"))
    assert endpoint.chosen
    assert endpoint.identities_only
    assert endpoint.connect_seconds == 7


@pytest.mark.parametrize(("setting", "socket"), [
    ("none", ""), ("SSH_AUTH_SOCK", "/run/agent"), ("$OTHER_SOCK", "/run/other"),
    ("/run/%r", "/run/adam"),
])
def test_the_agent_is_the_configured_one(
    configure: Configure, monkeypatch: pytest.MonkeyPatch, setting: str, socket: str
) -> None:
    monkeypatch.setenv("OTHER_SOCK", "/run/other")
    configure(f"Host web\n User adam\n IdentityAgent {setting}\n")
    assert target(Address("web")).agent == socket


def test_host_key_alias_replaces_name_and_port(configure: Configure) -> None:
    configure("Host web\n HostName 10.0.0.1\n Port 44\n HostKeyAlias %n-key\n")
    assert target(Address("web")).trust.entry == "web-key"


def test_another_port_is_part_of_the_name_in_known_hosts(configure: Configure) -> None:
    assert target(Address("Web", port=44)).trust.entry == "[web]:44"


def test_files_of_revoked_keys_and_no_known_hosts_are_understood(configure: Configure) -> None:
    configure("Host web\n RevokedHostKeys /r\n UserKnownHostsFile none\n"
              " GlobalKnownHostsFile none\n")
    trust = target(Address("web")).trust
    assert (trust.revoked, trust.files) == (Path("/r"), ())


@pytest.mark.parametrize("word", ["no", "off", "accept-new"])
def test_a_weaker_check_of_host_keys_is_not_honoured_and_says_so(
    configure: Configure, word: str
) -> None:
    configure(f"Host web\n StrictHostKeyChecking {word}\n")
    (notice,) = target(Address("web")).notices
    assert "is not honoured: an unknown host key is always refused" in notice


@pytest.mark.parametrize("word", ["yes", "ask"])
def test_a_strict_check_of_host_keys_needs_no_notice(configure: Configure, word: str) -> None:
    configure(f"Host web\n StrictHostKeyChecking {word}\n KnownHostsCommand none\n")
    assert target(Address("web")).notices == ()


def test_a_known_hosts_command_is_named_as_ignored(configure: Configure) -> None:
    configure("Host web\n KnownHostsCommand /bin/true\n")
    assert "KnownHostsCommand is not run" in target(Address("web")).notices[0]


def test_proxy_jump_leads_over_each_hop_with_its_own_configuration(configure: Configure) -> None:
    configure("Host web\n ProxyJump adam@gate:44,[fd00::1]:45\n"
              "Host gate\n HostName 10.0.0.9\n IdentityFile /keys/gate\n User eve\n")
    gate, second, web = route(Address("web"))
    assert (gate.host, gate.port, gate.user) == ("10.0.0.9", 44, "adam")
    assert gate.identities == (Path("/keys/gate"),)
    assert gate.label == "web: jump host gate"
    assert (second.host, second.port) == ("fd00::1", 45)
    assert web.label == "web"


def test_the_first_hop_may_have_a_jump_of_its_own(configure: Configure) -> None:
    configure("Host web\n ProxyJump gate\nHost gate\n ProxyJump door\n")
    assert [hop.host for hop in route(Address("web"))] == ["door", "gate", "web"]


def test_a_circle_of_jumps_is_away(configure: Configure) -> None:
    configure("Host web\n ProxyJump gate\nHost gate\n ProxyJump web\n")
    with pytest.raises(Away, match="in a circle"):
        route(Address("web"))


def test_a_configuration_that_ssh_cannot_read_is_away_with_its_reason(
    configure: Configure,
) -> None:
    configure("Nonsense yes\n")
    with pytest.raises(Away, match=r"web: ssh cannot read .*[Bb]ad configuration option"):
        route(Address("web"))


@pytest.mark.parametrize("address", [
    Address("-oProxyCommand=x"), Address("web", "-x"), Address("web", user="-x"),
    Address("web", "a b"), Address("web", "a\nb"),
])
@pytest.mark.parametrize("use_ssh", [True, False])
def test_a_name_that_could_be_an_option_is_refused(
    configure: Configure, address: Address, use_ssh: bool
) -> None:
    with pytest.raises(Away, match="is no name of a host or user"):
        route(address, use_ssh=use_ssh)


def test_a_jump_host_that_could_be_an_option_is_refused(configure: Configure) -> None:
    # ssh itself refuses to read it.
    configure("Host web\n ProxyJump -oProxyCommand=x\n")
    with pytest.raises(Away):
        route(Address("web"))


def test_a_configuration_that_hangs_is_away(
    configure: Configure, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ssh_config, "_RESOLVE_SECONDS", 0.3)
    configure("Match exec \"sleep 2\"\n User x\n")
    with pytest.raises(Away, match="did not read its configuration"):
        route(Address("web"))


def test_without_an_ssh_program_the_inventory_counts_and_an_ignored_file_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".ssh/config").write_text("Host web\n Port 9\n")
    monkeypatch.setattr(ssh_config, "account_home", lambda: tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    (endpoint,) = route(Address("web", "10.0.0.1", "adam", 0, "~/key"))
    assert (endpoint.host, endpoint.port, endpoint.user) == ("10.0.0.1", 22, "adam")
    assert endpoint.identities == (tmp_path / "key",)
    assert endpoint.trust.files[0] == tmp_path / ".ssh/known_hosts"
    assert endpoint.notices == (
        f"web: there is no ssh program, so {tmp_path}/.ssh/config is not read",
    )


def test_without_an_ssh_program_and_file_there_is_no_notice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ssh_config, "account_home", lambda: tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert route(Address("web"))[0].notices == ()
