"""Which of the operator's identities to offer to a host, in which order, and what to say
when none is accepted. Messages name files and count agent keys; they hold no key."""

from __future__ import annotations

import base64
import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from fleetsync.errors import AuthenticationRefused
from fleetsync.ssh_config import Endpoint


class Key(Protocol):
    """A key that can sign: a file's or the agent's; Paramiko's have this."""

    def get_name(self) -> str:
        """Its type, such as `ssh-ed25519`."""

    def asbytes(self) -> bytes:
        """Its public half, as it goes over the wire."""


_Key = TypeVar("_Key", bound=Key)
_PRIVATE = "-----BEGIN OPENSSH PRIVATE KEY-----"


class Unusable(Exception):
    """An identity file that cannot be used. `reason` says why; `command` is what the
    operator gives where a passphrase would help, else ""."""

    def __init__(self, reason: str, command: str = "") -> None:
        super().__init__(reason, command)
        self.reason, self.command = reason, command


@dataclass(frozen=True, slots=True)
class Offer(Generic[_Key]):
    """One key to authenticate with, and how a message names it."""

    label: str
    key: _Key


@dataclass
class Identities(Generic[_Key]):
    """The identities for one endpoint, and what became of them.

    Those that somebody named come first, then the agent's keys (unless IdentitiesOnly),
    then ssh's default files. A file's key is used through the agent where that holds it.
    Keys on hardware come last: where a touch is missing, the connection is lost.
    """

    endpoint: Endpoint
    load: Callable[[Path], _Key]
    """reads an identity file; raises Unusable or OSError"""
    offered: list[str] = field(default_factory=list)
    unusable: dict[str, str] = field(default_factory=dict)
    """what cannot be used, and why"""
    locked: dict[Path, str] = field(default_factory=dict)
    """those of them that a passphrase would open, and the command to give"""
    told: tuple[str, str] | None = None
    """what the last refusal said of the host, and its hint"""

    def offers(self, agent_keys: Sequence[_Key]) -> list[Offer[_Key]]:
        """All that can be offered, best first."""
        in_agent = {key.asbytes(): key for key in agent_keys}
        files = [offer for path in self.endpoint.identities
                 if (offer := self._file_offer(path, in_agent))]
        used = {offer.key.asbytes() for offer in files}
        others = [] if self.endpoint.identities_only else [
            Offer(f"agent key {number} of {len(agent_keys)}", key)
            for number, key in enumerate(agent_keys, 1) if key.asbytes() not in used
        ]
        ordered = files + others if self.endpoint.chosen else others + files
        return sorted(ordered, key=lambda offer: offer.key.get_name().startswith("sk-"))

    def refused(self, what: str, hint: str = "") -> AuthenticationRefused:
        """The refusal, with all that was tried."""
        self.told = what, hint
        offered = ", ".join(dict.fromkeys(self.offered)) or "no identity at all"
        reasons = ", ".join(f"{what} ({why})" for what, why in self.unusable.items())
        unusable = f"; not usable: {reasons}" if reasons else ""
        unlock = "\n".join(self.locked.values())
        return AuthenticationRefused(
            f"{self.endpoint.label}: {self.endpoint.account} {what}; "
            f"offered: {offered}{unusable}",
            unlock or hint or "add your public key to ~/.ssh/authorized_keys of "
            f"{self.endpoint.user} on the host, or name another identity in the inventory",
        )

    def cannot_use(self, path: Path, why: Unusable) -> None:
        """Keep in mind that a file cannot be used, for the refusal."""
        self.unusable[str(path)] = why.reason
        if why.command:
            self.locked[path] = why.command

    def _file_offer(self, path: Path, in_agent: dict[bytes, _Key]) -> Offer[_Key] | None:
        public = _public_half(path)
        if public in in_agent:
            return Offer(f"{path} (in the agent)", in_agent[public])
        try:
            return Offer(str(path), self.load(path))
        except FileNotFoundError:
            if self.endpoint.chosen:
                self.unusable[str(path)] = "not found"
        except OSError as error:
            self.unusable[str(path)] = error.strerror or "cannot be read"
        except Unusable as error:
            self.cannot_use(path, error)
        return None


def _public_half(path: Path) -> bytes:
    """From FILE.pub, or from FILE, be it public or private; b"" for none."""
    for file in (Path(f"{path}.pub"), path):
        with contextlib.suppress(OSError, ValueError):
            text = file.read_text("ascii")
            words = text.split(None, 2)
            if len(words) > 1 and words[0].startswith(("ssh-", "ecdsa-", "sk-")):
                return base64.b64decode(words[1], validate=True)
            if text.startswith(_PRIVATE):
                return _beside_private(text)
    return b""


def _beside_private(text: str) -> bytes:
    """The public half that OpenSSH keeps in a private key, in clear even if the rest is
    encrypted: after the magic, three strings (cipher, derivation, its options) and the
    number of keys."""
    body = "".join(text.partition(_PRIVATE)[2].partition("-----")[0].split())
    data = base64.b64decode(body, validate=True).removeprefix(b"openssh-key-v1\0")
    for _ in range(3):
        _, data = _string(data)
    return _string(data[4:])[0]


def _string(data: bytes) -> tuple[bytes, bytes]:
    """A string of SSH's wire format, and what follows it."""
    end = 4 + int.from_bytes(data[:4], "big")
    return data[4:end], data[end:]
