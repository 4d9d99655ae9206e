"""Which identities are offered, in which order, and what a refusal says of them."""

from __future__ import annotations

import base64
from dataclasses import dataclass, replace
from pathlib import Path

from fleetsync.identities import Identities, Unusable
from fleetsync.known_hosts import Trust
from fleetsync.ssh_config import Endpoint


@dataclass(frozen=True)
class FakeKey:
    """A key known by its bytes."""

    data: bytes
    kind: str = "ssh-ed25519"

    def get_name(self) -> str:
        return self.kind

    def asbytes(self) -> bytes:
        return self.data


def load(path: Path) -> FakeKey:
    data = path.read_bytes()
    if data.startswith(b"locked"):
        raise Unusable("encrypted, and not in the agent", f"ssh-add '{path}'")
    if data.startswith(b"junk"):
        raise Unusable("not a private key")
    return FakeKey(data)


def identities(*files: Path, chosen: bool = True, only: bool = False) -> Identities[FakeKey]:
    endpoint = Endpoint("web", "10.0.0.1", 22, "adam", Trust("web", "web", 22, ()),
                        identities=files, chosen=chosen, identities_only=only)
    return Identities(endpoint, load)


def key_file(path: Path, private: bytes, public: bytes = b"") -> Path:
    path.write_bytes(private)
    if public:
        text = base64.b64encode(public).decode()
        Path(f"{path}.pub").write_text(f"ssh-ed25519 {text} note\n")
    return path


def labels(subject: Identities[FakeKey], *agent: FakeKey) -> list[str]:
    return [offer.label for offer in subject.offers(agent)]


def test_named_files_come_before_the_agents_keys(tmp_path: Path) -> None:
    file = key_file(tmp_path / "work", b"w")
    assert labels(identities(file), FakeKey(b"a")) == [str(file), "agent key 1 of 1"]


def test_default_files_come_after_the_agents_keys(tmp_path: Path) -> None:
    file = key_file(tmp_path / "id", b"w")
    assert labels(identities(file, chosen=False), FakeKey(b"a")) == ["agent key 1 of 1", str(file)]


def test_identities_only_leaves_out_the_agents_other_keys(tmp_path: Path) -> None:
    file = key_file(tmp_path / "work", b"locked", b"w")
    subject = identities(file, only=True)
    assert labels(subject, FakeKey(b"a"), FakeKey(b"w")) == [f"{file} (in the agent)"]


def test_a_file_that_is_a_public_key_stands_for_the_agents(tmp_path: Path) -> None:
    file = tmp_path / "work.pub"
    file.write_text(f"ssh-ed25519 {base64.b64encode(b'w').decode()}\n")
    assert labels(identities(file, only=True), FakeKey(b"w")) == [f"{file} (in the agent)"]


def test_a_key_is_offered_once_though_file_and_agent_hold_it(tmp_path: Path) -> None:
    file = key_file(tmp_path / "work", b"w", b"w")
    assert labels(identities(file), FakeKey(b"w")) == [f"{file} (in the agent)"]


def test_hardware_keys_come_last(tmp_path: Path) -> None:
    file = key_file(tmp_path / "id", b"w")
    hardware = FakeKey(b"h", "sk-ssh-ed25519@openssh.com")
    subject = identities(file, chosen=False)
    assert labels(subject, hardware, FakeKey(b"a")) == [
        "agent key 2 of 2", str(file), "agent key 1 of 2",
    ]


def test_a_locked_identity_is_named_with_the_command_that_unlocks_it(tmp_path: Path) -> None:
    file = key_file(tmp_path / "my key", b"locked")
    subject = identities(file)
    subject.offers([])
    refused = subject.refused("accepts none")
    assert refused.message == (
        "web: adam@10.0.0.1:22 accepts none; offered: no identity at all; "
        f"not usable: {file} (encrypted, and not in the agent)"
    )
    assert refused.hint == f"ssh-add '{file}'"


def test_a_refusal_names_what_was_offered_and_what_could_not_be(tmp_path: Path) -> None:
    junk, absent = key_file(tmp_path / "junk", b"junk"), tmp_path / "absent"
    subject = identities(junk, absent, tmp_path)
    subject.offers([])
    subject.offered += ["agent key 1 of 1", "agent key 1 of 1"]
    message = subject.refused("accepts none").message
    assert "offered: agent key 1 of 1; not usable" in message
    assert f"{junk} (not a private key), {absent} (not found), {tmp_path} (Is a dir" in message


def test_an_absent_default_file_is_not_worth_a_word(tmp_path: Path) -> None:
    subject = identities(tmp_path / "id", chosen=False)
    subject.offers([])
    assert "not usable" not in subject.refused("accepts none").message


def test_an_account_on_an_ipv6_address_is_written_in_brackets() -> None:
    endpoint = replace(identities().endpoint, host="fd00::1")
    assert endpoint.account == "adam@[fd00::1]:22"
