"""A promotion over two hosts that run all three clients, with four Hermes profiles each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.clients import test_hermes as hermes
from tests.clients import test_openclaw as openclaw
from tests.clients import test_pi as pi
from tests.clients.command import ALIASES, VISION, command
from tests.clients.install import launcher
from tests.integration.sshd import RemoteHost, Sshd
from tests.listing import listing

VERSIONS = {
    "primary-node": {"pi": "1.6.0", "openclaw": openclaw.NEW, "hermes": "0.19.0"},
    "companion-node": {"pi": "0.73.1", "openclaw": openclaw.OLD, "hermes": "0.18.2"},
}
TARGETS = {("pi", "pi"), ("openclaw", "openclaw"), *(("hermes", n) for n in hermes.PROFILES)}


def furnish(host: RemoteHost, versions: dict[str, str]) -> dict[str, Path]:
    """All three clients with the old limits; the key where each of them reads it."""
    pi.install(host, versions["pi"])
    (host.home / ".local/bin/openclaw").symlink_to(
        launcher("openclaw", versions["openclaw"])
    )
    hermes.install(host, versions["hermes"])
    pi.with_key(host)
    files = {f"hermes {name}": file for name, file in hermes.furnish(host).items()}
    text = seeing(pi.models(versions["pi"]), '"id": "{}",')
    files["pi"] = host.plant(".pi/agent/models.json", text, mode=0o600)
    text = seeing(openclaw.config(openclaw.provider(openclaw.rows())), "id: '{}',")
    files["openclaw"] = host.plant(openclaw.CONFIG, text, mode=0o600)
    return files


def seeing(text: str, id_: str) -> str:
    """The file with image input at the aliases that have it."""
    for alias in VISION:
        here = id_.format(alias)
        text = text.replace(here, f'{here} "input": ["text", "image"],')
    return text


def wanted(before: dict[str, bytes]) -> dict[str, bytes]:
    """Each file after the promotion: the managed values, and nothing else."""
    after = {f"hermes {name}": hermes.promoted(name) for name in hermes.PROFILES}
    head, mark, rest = before["pi"].partition(b'"anvil"')
    after["pi"] = head + mark + limits(rest)
    head, mark, rest = before["openclaw"].partition(b"    anvil:")
    after["openclaw"] = head + mark + limits(rest)
    return after


def limits(data: bytes) -> bytes:
    return data.replace(b"524288", b"393216").replace(b"8192", b"4096")


def outcomes(report: dict[str, Any]) -> dict[tuple[str, str, str], str]:
    """What became of each target, by host, client and name."""
    return {
        (row["host"], row["client"], row["name"]): f"{row['outcome']} {row['reason']}".strip()
        for host in report["hosts"]
        for row in host["targets"]
    }


def test_a_promotion_reaches_all_three_clients_on_every_host(
    sshd_host: Sshd, tmp_path: Path
) -> None:
    hosts = {name: sshd_host(name) for name in VERSIONS}
    files = {name: furnish(host, VERSIONS[name]) for name, host in hosts.items()}
    before = {n: {k: f.read_bytes() for k, f in files[n].items()} for n in hosts}
    run = command(tmp_path, hosts, ("pi", "openclaw", "hermes"), seeing=VISION)
    every = {(name, *target) for name in hosts for target in TARGETS}

    code, report = run("apply", "--yes")
    assert outcomes(report) == dict.fromkeys(every, "changed")
    assert code == 0
    for name, versions in VERSIONS.items():
        after = {key: file.read_bytes() for key, file in files[name].items()}
        assert after == wanted(before[name])
        assert {file.stat().st_mode & 0o7777 for file in files[name].values()} == {0o600}
        scratch = tmp_path / name
        scratch.mkdir()
        assert pi.ask_pi(hosts[name], versions["pi"], scratch) == dict.fromkeys(
            ALIASES, (393216, 4096)
        )
        rows = openclaw.ask(
            hosts[name].home, versions["openclaw"], "config", "get",
            "models.providers.anvil.models",
        )
        assert openclaw.limits(rows) == dict.fromkeys(ALIASES, (393216, 4096))
        for profile in hermes.PROFILES:
            seen = hermes.ask_hermes(
                versions["hermes"], files[name][f"hermes {profile}"], scratch / profile
            )
            assert seen == dict.fromkeys(ALIASES, 393216)

    homes = [host.home for host in hosts.values()]
    held = listing(*homes)
    code, report = run("preview")
    assert (code, outcomes(report)) == (0, dict.fromkeys(every, "in step"))
    assert listing(*homes) == held
