"""Which host keys are trusted: the known_hosts files, and the verdict on one key.

The format is sshd(8), section SSH_KNOWN_HOSTS FILE FORMAT. Plain and hashed names,
`[host]:port`, wildcards, negation, @revoked and @cert-authority are understood. A file
is parsed once for each state it is in; nothing is ever written to it.
"""

from __future__ import annotations

import base64
import binascii
import functools
import hashlib
import hmac
import re
import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from fleetsync.errors import HostKeyRefused

_DEFAULT_PORT = 22
_REVOKED, _AUTHORITY = "@revoked", "@cert-authority"


@dataclass(frozen=True, slots=True)
class HostKey:
    """A public key: its type as known_hosts spells it, and its wire form."""

    kind: str
    blob: bytes

    @property
    def fingerprint(self) -> str:
        """SHA256 as ssh prints it."""
        digest = base64.b64encode(hashlib.sha256(self.blob).digest()).decode("ascii")
        return "SHA256:" + digest.rstrip("=")

    def __str__(self) -> str:
        return f"{self.kind} {self.fingerprint}"


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a known_hosts file, which speaks of the hosts that `names` matches."""

    file: Path
    number: int
    marker: str
    names: str
    key: HostKey

    @property
    def place(self) -> str:
        """File and line, for a message."""
        return f"{self.file}:{self.number}"

    @property
    def is_pattern(self) -> bool:
        """Whether names are given by wildcards or negation."""
        return not self.names.startswith("|") and any(sign in self.names for sign in "*?!")

    def matches(self, name: str) -> bool:
        """Whether this line speaks of `name`, a lower-case host or `[host]:port`."""
        if self.names.startswith("|1|"):
            return _hash_matches(self.names, name)
        patterns = self.names.lower().split(",")
        if any(_glob(pattern[1:], name) for pattern in patterns if pattern.startswith("!")):
            return False
        return any(_glob(pattern, name) for pattern in patterns)


@dataclass(frozen=True, slots=True)
class _Index:
    """One file: lines by plain name, and those that each look-up must try."""

    plain: dict[str, list[Line]] = field(default_factory=dict)
    others: list[Line] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Trust:
    """Where the keys of one host are looked for.

    `label` names the host in messages, `name` is what known_hosts calls it (the host, or
    HostKeyAlias), `files` are read in order, `revoked` holds keys that no host may have.
    """

    label: str
    name: str
    port: int
    files: tuple[Path, ...]
    revoked: Path | None = None

    @property
    def entry(self) -> str:
        """The name under which a new line would be added."""
        name = self.name.lower()
        return name if self.port in (0, _DEFAULT_PORT) else f"[{name}]:{self.port}"

    def lines(self) -> tuple[Line, ...]:
        """All that the files say of this host. As in ssh, a host on another port than 22
        may also be known without its port, where nothing is said of the port."""
        found = lookup(self.files, self.entry)
        return found or lookup(self.files, self.name.lower())

    def kinds(self) -> frozenset[str]:
        """The key types that are trusted for this host."""
        return frozenset(line.key.kind for line in self.lines() if not line.marker)

    def check(self, key: HostKey) -> None:
        """Raises HostKeyRefused unless `key` is trusted for this host."""
        self._check_revoked(key)
        trusted = [line for line in self.lines() if not line.marker]
        if any(line.key == key for line in trusted):
            return
        authorities = [line for line in self.lines() if line.marker == _AUTHORITY]
        if trusted:
            self._refuse_changed(key, trusted)
        if authorities:
            raise HostKeyRefused(
                f"{self.label}: {authorities[0].place} trusts this host by a @cert-authority, "
                f"and host certificates cannot be checked here; the host's key is {key}",
                self._advice(key),
            )
        raise HostKeyRefused(
            f"{self.label}: unknown host key: {key}; "
            f"no line for {self.entry} in {self._searched()}",
            self._advice(key),
        )

    def _check_revoked(self, key: HostKey) -> None:
        lines = [line for line in self.lines() if line.marker == _REVOKED and line.key == key]
        places = [line.place for line in lines]
        if self.revoked and key.blob in _revoked_blobs(self.revoked, self.label):
            places.append(str(self.revoked))
        if places:
            raise HostKeyRefused(
                f"{self.label}: revoked host key: {key}, revoked at {places[0]}",
                "give the host a new key; do not connect to it before",
            )

    def _refuse_changed(self, key: HostKey, trusted: list[Line]) -> None:
        old = next((line for line in trusted if line.key.kind == key.kind), trusted[0])
        if old.is_pattern:
            remove = f"remove line {old.number} of {old.file}"
        else:
            name = self.entry if old.matches(self.entry) else self.name.lower()
            remove = f"ssh-keygen -R {shlex.quote(name)} -f {shlex.quote(str(old.file))}"
        raise HostKeyRefused(
            f"{self.label}: the host key is not the known one: the host has {key}, "
            f"{old.place} holds {old.key}",
            f"if the host has a new key for a good reason:\n  {remove}\n{self._advice(key)}",
        )

    def _advice(self, key: HostKey) -> str:
        text = base64.b64encode(key.blob).decode("ascii")
        file = self.files[0] if self.files else "a known_hosts file that the inventory names"
        return (
            f"compare the fingerprint on the host itself (ssh-keygen -lf on its "
            f"/etc/ssh/ssh_host_*_key.pub), then add this line to {file}:\n"
            f"  {self.entry} {key.kind} {text}"
        )

    def _searched(self) -> str:
        return ", ".join(map(str, self.files)) or "any file (none is configured)"


def lookup(files: Iterable[Path], name: str) -> tuple[Line, ...]:
    """The lines of `files` that speak of `name`; a file that is not there says nothing.

    Raises HostKeyRefused where a file cannot be read: it could hold a @revoked line.
    """
    return tuple(line for file in files for line in _in_file(file, name))


def _in_file(file: Path, name: str) -> Iterator[Line]:
    try:
        status = file.stat()
        index = _index(file, status.st_mtime_ns, status.st_size)
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        raise HostKeyRefused(f"{file} cannot be read: {error.strerror}") from error
    yield from index.plain.get(name, ())
    yield from (line for line in index.others if line.matches(name))


@functools.lru_cache(maxsize=256)
def _index(file: Path, _mtime: int, _size: int) -> _Index:
    index = _Index()
    for line in _parse(file):
        if line.is_pattern or line.names.startswith("|"):
            index.others.append(line)
        else:
            for name in set(line.names.lower().split(",")):
                index.plain.setdefault(name, []).append(line)
    return index


def _parse(file: Path) -> Iterator[Line]:
    text = file.read_text("utf-8", "surrogateescape")
    for number, content in enumerate(text.split("\n"), 1):
        words = content.split()
        marker = words.pop(0) if words and words[0].startswith("@") else ""
        if len(words) < 3 or words[0].startswith("#"):
            continue
        key = _key(words[1], words[2])
        if key and marker in ("", _REVOKED, _AUTHORITY):
            yield Line(file, number, marker, words[0], key)


def _key(kind: str, text: str) -> HostKey | None:
    try:
        return HostKey(kind, base64.b64decode(text, validate=True))
    except binascii.Error:
        return None


def _hash_matches(hashed: str, name: str) -> bool:
    _, _, salt, digest = (*hashed.split("|"), "", "", "")[:4]
    try:
        key, expected = base64.b64decode(salt), base64.b64decode(digest)
    except binascii.Error:
        return False
    return hmac.digest(key, name.encode("utf-8", "surrogateescape"), "sha1") == expected


def _glob(pattern: str, name: str) -> bool:
    return _compiled(pattern).fullmatch(name) is not None


@functools.lru_cache(maxsize=4096)
def _compiled(pattern: str) -> re.Pattern[str]:
    # Not fnmatch: in known_hosts the brackets of `[host]:port` stand for themselves.
    signs = {"*": ".*", "?": "."}
    return re.compile("".join(signs.get(sign) or re.escape(sign) for sign in pattern))


def _revoked_blobs(file: Path, label: str) -> frozenset[bytes]:
    """The keys of a RevokedHostKeys file. As in ssh, one that cannot be read, or is a
    KRL (which is not understood here), revokes every key."""
    try:
        data = file.read_bytes()
    except OSError as error:
        raise HostKeyRefused(
            f"{label}: RevokedHostKeys {file} cannot be read: {error.strerror}"
        ) from error
    if data.startswith(b"SSHKRL\n"):
        raise HostKeyRefused(
            f"{label}: RevokedHostKeys {file} is a binary KRL, which cannot be checked here",
            "name a file of public keys, one a line",
        )
    pairs = (line.split()[:2] for line in data.decode("utf-8", "replace").split("\n"))
    keys = (_key(*pair) for pair in pairs if len(pair) == 2)
    return frozenset(key.blob for key in keys if key)
