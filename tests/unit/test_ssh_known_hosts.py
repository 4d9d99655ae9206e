"""The known_hosts files: which keys they trust, and what a refusal says."""

from __future__ import annotations

import base64
import hmac
from pathlib import Path

import pytest

from fleetsync.errors import HostKeyRefused
from fleetsync.known_hosts import HostKey, Trust

KEY = HostKey("ssh-ed25519", b"\0\0\0\x0bssh-ed25519-one")
OTHER = HostKey("ssh-ed25519", b"\0\0\0\x0bssh-ed25519-two")
RSA = HostKey("ssh-rsa", b"\0\0\0\x07ssh-rsa-three")


def text(key: HostKey) -> str:
    return f"{key.kind} {base64.b64encode(key.blob).decode()}"


def hashed(name: str) -> str:
    salt = b"0123456789abcdef0123"
    digest = hmac.digest(salt, name.encode(), "sha1")
    return f"|1|{base64.b64encode(salt).decode()}|{base64.b64encode(digest).decode()}"


def trust(tmp_path: Path, content: str, name: str = "web.example.net", port: int = 22) -> Trust:
    file = tmp_path / "known_hosts"
    file.write_text(content, "utf-8")
    return Trust("web", name, port, (file,))


@pytest.mark.parametrize("names", [
    "web.example.net",
    "WEB.example.net",
    "db.example.net,web.example.net",
    "*.example.net",
    "web.example.???",
    "!db.example.net,*.example.net",
    hashed("web.example.net"),
])
def test_a_key_is_trusted_under_every_spelling_of_the_name(tmp_path: Path, names: str) -> None:
    trust(tmp_path, f"# note\n\n{names} {text(KEY)} a comment\n").check(KEY)


@pytest.mark.parametrize("names", [
    "web.example.net.evil.org",
    "web-example.net",
    "!web.example.net,*.example.net",
    "*.example.net,!web.*",
    "[web.example.net]:2222",
    hashed("db.example.net"),
    "|1|broken",
    "|1|?|?",
])
def test_a_line_for_another_name_trusts_nothing(tmp_path: Path, names: str) -> None:
    with pytest.raises(HostKeyRefused, match="unknown host key"):
        trust(tmp_path, f"{names} {text(KEY)}\n").check(KEY)


@pytest.mark.parametrize("names", [
    "[web.example.net]:2222", "[web.*]:2222", hashed("[web.example.net]:2222"), "web.example.net",
])
def test_another_port_is_part_of_the_name_but_a_line_without_one_serves(
    tmp_path: Path, names: str
) -> None:
    trust(tmp_path, f"{names} {text(KEY)}\n", port=2222).check(KEY)


def test_a_line_without_port_does_not_count_where_one_names_the_port(tmp_path: Path) -> None:
    content = f"web.example.net {text(KEY)}\n[web.example.net]:2222 {text(OTHER)}\n"
    with pytest.raises(HostKeyRefused, match="not the known one"):
        trust(tmp_path, content, port=2222).check(KEY)


def test_any_of_several_keys_is_trusted(tmp_path: Path) -> None:
    host = trust(tmp_path, "".join(f"web.example.net {text(key)}\n" for key in (RSA, OTHER, KEY)))
    host.check(KEY)
    assert host.kinds() == {"ssh-rsa", "ssh-ed25519"}


def test_an_unknown_key_is_refused_with_fingerprint_file_and_the_line_to_add(
    tmp_path: Path,
) -> None:
    host = trust(tmp_path, "", port=2222)
    with pytest.raises(HostKeyRefused) as refused:
        host.check(KEY)
    file = tmp_path / "known_hosts"
    assert refused.value.message == (
        f"web: unknown host key: {KEY.kind} {KEY.fingerprint}; "
        f"no line for [web.example.net]:2222 in {file}"
    )
    assert refused.value.hint.endswith(
        f"then add this line to {file}:\n  [web.example.net]:2222 {text(KEY)}"
    )


def test_the_line_that_a_refusal_prints_makes_the_host_known(tmp_path: Path) -> None:
    host = trust(tmp_path, "", port=2222)
    with pytest.raises(HostKeyRefused) as refused:
        host.check(KEY)
    trust(tmp_path, refused.value.hint.rsplit("\n", 1)[1].strip() + "\n", port=2222).check(KEY)


def test_a_changed_key_is_refused_with_both_keys_and_the_command_that_forgets_the_old(
    tmp_path: Path,
) -> None:
    host = trust(tmp_path, f"# first\n[web.example.net]:2222 {text(OTHER)}\n", port=2222)
    with pytest.raises(HostKeyRefused) as refused:
        host.check(KEY)
    file = tmp_path / "known_hosts"
    assert refused.value.message == (
        f"web: the host key is not the known one: the host has {KEY}, {file}:2 holds {OTHER}"
    )
    assert f"ssh-keygen -R '[web.example.net]:2222' -f {file}\n" in refused.value.hint


def test_a_changed_key_under_a_pattern_names_the_line_to_remove(tmp_path: Path) -> None:
    with pytest.raises(HostKeyRefused) as refused:
        trust(tmp_path, f"*.example.net {text(OTHER)}\n").check(KEY)
    assert f"remove line 1 of {tmp_path / 'known_hosts'}" in refused.value.hint


def test_a_revoked_key_is_refused_though_another_line_trusts_it(tmp_path: Path) -> None:
    content = f"web.example.net {text(KEY)}\n@revoked * {text(KEY)}\n"
    with pytest.raises(HostKeyRefused, match=r"revoked host key.*known_hosts:2"):
        trust(tmp_path, content).check(KEY)


def test_a_revoked_key_leaves_the_hosts_other_key_trusted(tmp_path: Path) -> None:
    trust(tmp_path, f"web.example.net {text(KEY)}\n@revoked * {text(OTHER)}\n").check(KEY)


def test_a_certificate_authority_alone_is_refused_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(HostKeyRefused, match=r"known_hosts:1 trusts this host by a @cert-auth"):
        trust(tmp_path, f"@cert-authority *.example.net {text(KEY)}\n").check(KEY)


def test_a_certificate_authority_beside_the_hosts_own_key_does_no_harm(tmp_path: Path) -> None:
    content = f"@cert-authority *.example.net {text(OTHER)}\nweb.example.net {text(KEY)}\n"
    trust(tmp_path, content).check(KEY)


def test_a_line_with_an_unknown_marker_trusts_nothing(tmp_path: Path) -> None:
    with pytest.raises(HostKeyRefused, match="unknown host key"):
        trust(tmp_path, f"@future web.example.net {text(KEY)}\n").check(KEY)


def test_lines_that_do_not_parse_do_not_hide_those_that_do(tmp_path: Path) -> None:
    content = f"web.example.net ssh-rsa ***\nweb.example.net\n\xff\nweb.example.net {text(KEY)}\n"
    trust(tmp_path, content).check(KEY)


def test_a_changed_file_is_read_again(tmp_path: Path) -> None:
    with pytest.raises(HostKeyRefused):
        trust(tmp_path, "").check(KEY)
    trust(tmp_path, f"web.example.net {text(KEY)}\n").check(KEY)


def test_a_file_that_cannot_be_read_refuses(tmp_path: Path) -> None:
    (tmp_path / "known_hosts").mkdir()
    with pytest.raises(HostKeyRefused, match=r"known_hosts cannot be read"):
        Trust("web", "web", 22, (tmp_path / "known_hosts",)).check(KEY)


def test_a_file_of_revoked_keys_is_honoured(tmp_path: Path) -> None:
    (tmp_path / "revoked").write_text(f"# stolen\n{text(KEY)} old\n")
    host = trust(tmp_path, f"web.example.net {text(KEY)}\nweb.example.net {text(RSA)}\n")
    strict = Trust("web", host.name, 22, host.files, tmp_path / "revoked")
    strict.check(RSA)
    with pytest.raises(HostKeyRefused, match="revoked at"):
        strict.check(KEY)


@pytest.mark.parametrize("content", [None, b"SSHKRL\n\0\0"], ids=["absent", "KRL"])
def test_a_file_of_revoked_keys_that_cannot_be_understood_refuses_every_key(
    tmp_path: Path, content: bytes | None
) -> None:
    if content is not None:
        (tmp_path / "revoked").write_bytes(content)
    host = trust(tmp_path, f"web.example.net {text(KEY)}\n")
    with pytest.raises(HostKeyRefused, match="RevokedHostKeys"):
        Trust("web", host.name, 22, host.files, tmp_path / "revoked").check(KEY)
