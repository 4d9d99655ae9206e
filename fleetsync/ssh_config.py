"""How a host is reached: the inventory's words first, then what ssh's configuration says.

`ssh -G` reads the configuration (Include, Match, everything), once for the host and once
for each ProxyJump hop; what it leaves unexpanded (`~`, `%h`, `${VAR}`) is expanded here.
Without an ssh program only the inventory's own words count. No host is contacted.
"""

from __future__ import annotations

import os
import pwd
import re
import shutil
import socket
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from fleetsync.errors import Away
from fleetsync.known_hosts import Trust

_RESOLVE_SECONDS = 10
_LONGEST_ROUTE = 8
_DEFAULT_IDENTITIES = frozenset(
    f"~/.ssh/id_{kind}"
    for kind in ("rsa", "ecdsa", "ecdsa_sk", "ed25519", "ed25519_sk", "xmss", "dsa")
)
_JUMP = re.compile(r"(?:ssh://)?(?:(.+)@)?(?:\[([^\]]+)\]|([^:\[\]]+))(?::(\d+))?/?")


@dataclass(frozen=True, slots=True)
class Address:
    """What the inventory says of reaching one host; empty means it does not say.

    `name` is the host's name in the inventory, `address` any name that ssh understands
    (default: `name`). `identity` and `known_hosts` are files.
    """

    name: str
    address: str = ""
    user: str = ""
    port: int = 0
    identity: str = ""
    known_hosts: str = ""


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Bounds in seconds: reaching the host up to its key, its banner, the answer to each
    identity, the opening of a channel. A ConnectTimeout of ssh replaces `connect`."""

    connect: float = 10
    banner: float = 10
    auth: float = 20
    channel: float = 20


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One machine on the way, as ssh would reach it.

    `identities` are files, in order; `chosen` tells that somebody named them. `agent` is
    the agent's socket, "" for none. `connect_seconds` is 0 where ssh's configuration has
    no ConnectTimeout. `jumps` are the hops before this machine, nearest to us first.
    """

    label: str
    host: str
    port: int
    user: str
    trust: Trust
    identities: tuple[Path, ...] = ()
    chosen: bool = False
    identities_only: bool = False
    agent: str = ""
    connect_seconds: float = 0
    jumps: tuple[Address, ...] = ()
    proxy_command: str = ""
    notices: tuple[str, ...] = ()

    @property
    def account(self) -> str:
        """User, host and port, for messages."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.user}@{host}:{self.port}"


def account_home() -> Path:
    """The operator's home as ssh sees it: from the account, whatever HOME says."""
    return Path(pwd.getpwuid(os.getuid()).pw_dir)


def route(address: Address, *, use_ssh: bool = True) -> tuple[Endpoint, ...]:
    """Every machine on the way to `address`, itself last. `use_ssh` False takes the
    inventory's words alone. Raises Away where the way cannot be told."""
    program = shutil.which("ssh") if use_ssh else None
    if program:
        return _route(program, address, address.name, _LONGEST_ROUTE)
    _refuse_options(address)
    ignored = account_home() / ".ssh" / "config"
    told = use_ssh and ignored.exists()
    notice = f"{address.name}: there is no ssh program, so {ignored} is not read"
    return (_plain(address, (notice,) if told else ()),)


def _route(program: str, address: Address, label: str, left: int) -> tuple[Endpoint, ...]:
    if not left:
        raise Away(f"{label}: ProxyJump leads over too many hops, or in a circle")
    endpoint = _ask_ssh(program, address, label)
    if not endpoint.jumps:
        return (endpoint,)
    # As in `ssh -J`: only the first hop may have a ProxyJump of its own.
    first, *others = endpoint.jumps
    middle = (_ask_ssh(program, hop, _hop_label(label, hop)) for hop in others)
    return (*_route(program, first, _hop_label(label, first), left - 1), *middle, endpoint)


def _hop_label(label: str, hop: Address) -> str:
    return f"{label.partition(':')[0]}: jump host {hop.name}"


def _plain(address: Address, notices: tuple[str, ...]) -> Endpoint:
    host, port = address.address or address.name, address.port or 22
    known = _path(address.known_hosts or "~/.ssh/known_hosts", {})
    return Endpoint(
        label=address.name,
        host=host,
        port=port,
        user=address.user or pwd.getpwuid(os.getuid()).pw_name,
        trust=Trust(address.name, host, port, (known, Path("/etc/ssh/ssh_known_hosts"))),
        identities=(_path(address.identity, {}),) if address.identity else (),
        chosen=bool(address.identity),
        agent=os.environ.get("SSH_AUTH_SOCK", ""),
        notices=notices,
    )


def _ask_ssh(program: str, address: Address, label: str) -> Endpoint:
    _refuse_options(address)
    try:
        done = subprocess.run(
            [program, "-G", *_options(address), address.address or address.name],
            stdin=subprocess.DEVNULL, capture_output=True, timeout=_RESOLVE_SECONDS, check=True,
        )
    except subprocess.TimeoutExpired as error:
        raise Away(
            f"{label}: `ssh -G` did not read its configuration in {_RESOLVE_SECONDS} s",
            "a `Match exec` command may hang",
        ) from error
    except (subprocess.CalledProcessError, OSError) as error:
        said = error.stderr if isinstance(error, subprocess.CalledProcessError) else b""
        reason = said.decode("utf-8", "replace").strip() or str(error)
        raise Away(f"{label}: ssh cannot read its configuration: {reason}") from error
    return _endpoint(address, label, _settings(os.fsdecode(done.stdout)))


def _refuse_options(address: Address) -> None:
    for word in (address.name, address.address, address.user):
        if word.startswith("-") or re.search(r"[\s\0]", word):
            raise Away(f"{word!r} is no name of a host or user", "correct it in the inventory")


def _options(address: Address) -> list[str]:
    """The inventory's own words as options, so that they win."""
    options = ["-l", address.user] if address.user else []
    options += ["-p", str(address.port)] if address.port else []
    return options + (["-i", str(_path(address.identity, {}))] if address.identity else [])


def _settings(output: str) -> dict[str, list[str]]:
    settings: dict[str, list[str]] = {}
    for line in output.splitlines():
        key, _, value = line.partition(" ")
        settings.setdefault(key, []).append(value)
    return settings


def _endpoint(address: Address, label: str, settings: Mapping[str, list[str]]) -> Endpoint:
    def said(key: str) -> str:
        value = settings.get(key, [""])[0]
        return "" if value.lower() == "none" else value

    host, port, user = said("hostname"), int(said("port") or 22), said("user")
    tokens = _tokens(address.address or address.name, host, port, user)
    alias = _expand(said("hostkeyalias"), tokens)
    tokens["k"] = alias or tokens["n"]
    return Endpoint(
        label=label,
        host=host,
        port=port,
        user=user,
        trust=Trust(
            label=label,
            name=alias or host,
            port=0 if alias else port,
            files=_known_hosts(address, said, tokens),
            revoked=_path(said("revokedhostkeys"), tokens) if said("revokedhostkeys") else None,
        ),
        identities=_identities(address, settings, tokens),
        chosen=bool(address.identity) or not _DEFAULT_IDENTITIES.issuperset(
            settings.get("identityfile", [])
        ),
        identities_only=said("identitiesonly") == "yes",
        agent=_agent(settings.get("identityagent", ["SSH_AUTH_SOCK"])[0], tokens),
        connect_seconds=float(said("connecttimeout") or 0),
        jumps=tuple(_hop(label, hop) for hop in said("proxyjump").split(",") if hop),
        proxy_command=_expand(said("proxycommand"), tokens),
        notices=_notices(label, said),
    )


def _identities(
    address: Address, settings: Mapping[str, list[str]], tokens: Mapping[str, str]
) -> tuple[Path, ...]:
    # ssh drops a file of -i that does not exist; ours stays, so that it can be named.
    named = [address.identity] if address.identity else []
    configured = [word for word in settings.get("identityfile", []) if word.lower() != "none"]
    return tuple(dict.fromkeys(_path(word, tokens) for word in named + configured))


def _known_hosts(
    address: Address, said: Callable[[str], str], tokens: Mapping[str, str]
) -> tuple[Path, ...]:
    words = [*said("userknownhostsfile").split(), *said("globalknownhostsfile").split()]
    if address.known_hosts:
        words = [address.known_hosts, *said("globalknownhostsfile").split()]
    return tuple(_path(word, tokens) for word in words)


def _agent(setting: str, tokens: Mapping[str, str]) -> str:
    if setting.lower() == "none":
        return ""
    if setting == "SSH_AUTH_SOCK":
        return os.environ.get("SSH_AUTH_SOCK", "")
    if setting.startswith("$") and not setting.startswith("${"):
        return os.environ.get(setting[1:], "")
    return str(_path(setting, tokens))


def _hop(label: str, text: str) -> Address:
    match = _JUMP.fullmatch(text.strip())
    if match is None:
        raise Away(f"{label}: ProxyJump {text!r} cannot be understood")
    user, bracketed, plain, port = match.groups()
    return Address(bracketed or plain, user=user or "", port=int(port or 0))


def _notices(label: str, said: Callable[[str], str]) -> tuple[str, ...]:
    notices = []
    if said("stricthostkeychecking") in ("accept-new", "false", "no", "off"):
        notices.append(
            f"{label}: StrictHostKeyChecking {said('stricthostkeychecking')} is not "
            "honoured: an unknown host key is always refused"
        )
    if said("knownhostscommand"):
        notices.append(f"{label}: KnownHostsCommand is not run")
    return tuple(notices)


def _tokens(name: str, host: str, port: int, user: str) -> dict[str, str]:
    local = pwd.getpwuid(os.getuid())
    machine = socket.gethostname()
    return {
        "%": "%", "d": local.pw_dir, "h": host, "i": str(local.pw_uid), "k": name,
        "l": machine, "L": machine.partition(".")[0], "n": name, "p": str(port), "r": user,
        "u": local.pw_name,
    }


def _expand(text: str, tokens: Mapping[str, str]) -> str:
    """`%h` and its kin; a token that is not known stays as it is."""
    return re.sub(r"%(.)", lambda match: tokens.get(match[1], match[0]), text)


def _path(text: str, tokens: Mapping[str, str]) -> Path:
    """`~`, `~user`, `${VAR}` and tokens expanded, as ssh does for file names."""
    text = re.sub(r"\$\{(\w+)\}", lambda match: os.environ.get(match[1], match[0]), text)
    text = _expand(text, tokens)
    if text == "~" or text.startswith("~/"):
        return account_home() / text[2:]
    return Path(text).expanduser() if text.startswith("~") else Path(text)
