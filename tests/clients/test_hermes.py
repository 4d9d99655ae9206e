"""The main job on real hosts with the real Hermes: four profiles, at each pinned version."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.clients.command import ALIASES, KEY, NAME, OTHER, URL, VISION, Commands
from tests.clients.install import launcher, node, starting
from tests.integration.sshd import RemoteHost, Sshd
from tests.listing import listing
from tests.matrix import FULL

VERSIONS = ("0.19.0", "0.18.2")
FEW = VERSIONS if FULL else VERSIONS[:1]
"""test_promotion has both versions in any case."""
PROFILES = ("default", "listed", "migrated", "work")


def mapped(window: int = 524288) -> str:
    """A config.yaml as people write it: comments, quotes, another provider."""
    rows = "".join(
        f'      "{alias}":\n        context_length: {window}   # of the router\n'
        f"        supports_vision: {str(alias.startswith('vision')).lower()}\n"
        for alias in ALIASES
    )
    return (
        "# Hermes on this host\n"
        "model:\n  default: llm.primary\n  provider: custom:anvil  # not the cloud\n\n"
        "providers:\n"
        f"  local:\n    base_url: http://127.0.0.1:9/v1\n    api_key: {OTHER}\n"
        "    models: {qwen: {context_length: 524288}}\n"
        f"  anvil:\n    base_url: {URL}\n    key_env: {NAME}\n    models:\n{rows}\n"
        "agent:\n  max_turns: 41\ntoolsets: [hermes-cli]\n\n"
        "# fallback_model:\n#   provider: openrouter\n"
    )


def listed(window: int = 524288) -> str:
    """The older form, a list; the key by reference."""
    rows = "".join(f"    {alias}: {{context_length: {window}}}\n" for alias in ALIASES)
    return (
        "model: {default: llm.primary, provider: 'custom:anvil'}\n"
        f"custom_providers:\n- name: anvil\n  base_url: {URL}/\n  api_key: ${{{NAME}}}\n"
        f"  models:\n{rows}fallback_providers: []\n"
    )


def migrated(window: int = 524288) -> str:
    """What Hermes' own migration makes of such a list, with Windows line ends."""
    rows = "".join(
        f"      {alias}:\n        context_length: {window}\n" for alias in ALIASES
    )
    text = (
        "_config_version: 33\nmodel:\n  default: llm.primary\n  provider: anvil\n"
        f"providers:\n  anvil:\n    api: {URL}\n    default_model: llm.primary\n"
        f"    key_env: {NAME}\n    transport: chat_completions\n    models:\n{rows}"
    )
    return text.replace("\n", "\r\n")


def plain(window: int = 524288) -> str:
    """A short file; the key stands in it."""
    rows = "".join(
        f"      {alias}:\n        timeout_seconds: 600\n        context_length: {window}\n"
        for alias in ALIASES
    )
    return (
        "model:\n  provider: anvil\n  default: llm.secondary\n"
        f"providers:\n  anvil:\n    models:\n{rows}    base_url: {URL}\n    api_key: {KEY}\n"
    )


FILES = {"default": mapped, "listed": listed, "migrated": migrated, "work": plain}
PLACES = {
    name: ".hermes" if name == "default" else f".hermes/profiles/{name}" for name in PROFILES
}


def install(host: RemoteHost, version: str) -> None:
    """Give the host this Hermes, as a user's own installation would lie there."""
    programs = host.home / ".local" / "bin"
    programs.mkdir(parents=True, exist_ok=True)
    (programs / "hermes").symlink_to(launcher("hermes", version))


def furnish(host: RemoteHost) -> dict[str, Path]:
    """Four profiles of the old limits, each with a way of its own to hold the key."""
    files = {}
    for name in PROFILES:
        files[name] = host.plant(f"{PLACES[name]}/config.yaml", FILES[name](), mode=0o600)
    for name in ("default", "listed", "migrated"):
        host.plant(f"{PLACES[name]}/.env", f"{NAME}={KEY}\n", mode=0o600)
    return files


def ask_hermes(version: str, config: Path, scratch: Path) -> dict[str, int]:
    """The window that Hermes itself takes for each alias, asked without any code of ours."""
    scratch.mkdir(parents=True)
    (scratch / "config.yaml").write_bytes(config.read_bytes())
    script = (
        "import json, sys\n"
        "from agent.model_metadata import get_model_context_length\n"
        "from hermes_cli.config import get_compatible_custom_providers, load_config\n"
        "providers = get_compatible_custom_providers(load_config())\n"
        "print(json.dumps({name: get_model_context_length(name, base_url=sys.argv[1], "
        "provider='custom', custom_providers=providers) for name in sys.argv[2:]}))\n"
    )
    python, _ = starting("hermes", version)
    done = subprocess.run(
        [python, "-I", "-B", "-c", script, URL, *ALIASES], capture_output=True, text=True,
        env={"HOME": str(scratch), "HERMES_HOME": str(scratch), "PATH": "/usr/bin:/bin"},
        check=True, timeout=120,
    )
    answer: dict[str, int] = json.loads(done.stdout.splitlines()[-1])
    return answer


def hermes(host: RemoteHost, version: str, *arguments: str) -> None:
    """Run the host's own Hermes, as its user would."""
    subprocess.run(
        [*starting("hermes", version), *arguments], cwd=host.home, stdin=subprocess.DEVNULL,
        env={"HOME": str(host.home), "PATH": "/usr/bin:/bin"}, capture_output=True,
        timeout=120, check=True,
    )


def outcomes(report: dict[str, Any]) -> dict[str, str]:
    return {row["name"]: row["outcome"] for row in report["hosts"][0]["targets"]}


def promoted(name: str) -> bytes:
    """The file with the new window and nothing else touched; `supports_vision` is added
    where an alias takes images and the file does not say so."""
    text = FILES[name](393216)
    for alias in ("vision.general", "vision.ocr"):
        match name:
            case "listed":
                row = f"{alias}: {{context_length: 393216"
                text = text.replace(row, f"{row}, supports_vision: true")
            case "work":
                row = f"{alias}:\n        timeout_seconds: 600\n        context_length: 393216\n"
                text = text.replace(row, f"{row}        supports_vision: true\n")
            case "migrated":
                row = f"{alias}:\r\n        context_length: 393216\r\n"
                text = text.replace(row, f"{row}        supports_vision: true\r\n")
    return text.encode()


def rest(host: RemoteHost) -> dict[str, tuple[object, ...]]:
    """All below Hermes' home but the files that are written, whose directories may show
    another time of change for that."""
    found = listing(host.home / ".hermes")
    for place in PLACES.values():
        del found[str(host.home / place / "config.yaml")]
        row = found[str(host.home / place)]
        found[str(host.home / place)] = (*row[:4], *row[5:])
    return found


@pytest.mark.parametrize("version", FEW)
def test_a_promotion_reaches_every_profile_and_repeats_change_nothing(
    version: str, sshd_host: Sshd, fleetsync: Commands, tmp_path: Path
) -> None:
    host = sshd_host("node")
    install(host, version)
    files = furnish(host)
    run = fleetsync(host, "hermes", seeing=VISION)

    before = listing(host.home)
    code, report = run("preview")
    assert (code, outcomes(report)) == (0, dict.fromkeys(PROFILES, "drift"))
    assert listing(host.home) == before

    others = rest(host)
    code, report = run("apply", "--yes")
    assert (code, outcomes(report)) == (0, dict.fromkeys(PROFILES, "changed")), report
    assert {target["loader"] for target in report["hosts"][0]["targets"]} == {"agrees"}
    assert {name: file.read_bytes() for name, file in files.items()} == {
        name: promoted(name) for name in PROFILES
    }
    assert {file.stat().st_mode & 0o7777 for file in files.values()} == {0o600}
    assert rest(host) == others
    for name, file in files.items():
        seen = ask_hermes(version, file, tmp_path / "asked" / name)
        assert seen == dict.fromkeys(ALIASES, 393216)

    before = listing(host.home)
    code, report = run("preview")
    assert (code, outcomes(report)) == (0, dict.fromkeys(PROFILES, "in step"))
    code, report = run("apply", "--yes")
    assert (code, outcomes(report)) == (0, dict.fromkeys(PROFILES, "in step"))
    assert run("verify")[0] == 0
    assert listing(host.home) == before


@pytest.mark.parametrize("version", FEW)
def test_what_hermes_itself_rewrites_still_reads_as_in_step(
    version: str, sshd_host: Sshd, fleetsync: Commands
) -> None:
    host = sshd_host("node")
    install(host, version)
    files = furnish(host)
    run = fleetsync(host, "hermes", seeing=VISION)
    assert run("apply", "--yes")[0] == 0
    written = {name: file.read_bytes() for name, file in files.items()}
    for name in PROFILES:
        # As its own menus do: everything is written anew, without comments; then its
        # migration turns a list of providers into a mapping.
        hermes(host, version, "-p", name, "config", "set", "agent.max_turns", "13")
        hermes(host, version, "-p", name, "config", "migrate")
    assert [name for name, file in files.items() if file.read_bytes() == written[name]] == []
    assert b"custom_providers" not in files["listed"].read_bytes()
    code, report = run("preview")
    assert (code, outcomes(report)) == (0, dict.fromkeys(PROFILES, "in step")), report
    assert run("verify")[0] == 0


@pytest.mark.parametrize("version", VERSIONS)
def test_the_policies_of_a_profile_are_seen_by_the_real_hermes(
    version: str, sshd_host: Sshd, fleetsync: Commands
) -> None:
    host = sshd_host("node")
    install(host, version)
    file = host.plant(".hermes/config.yaml", plain(393216), mode=0o600)
    policy = "[hosts.node.hermes.policy]\nmanage_max_output = true\nmanage_reasoning = true\n"
    run = fleetsync(host, "hermes", more=policy, seeing=VISION)
    code, report = run("apply", "--yes")
    assert (code, outcomes(report)) == (0, {"default": "changed"}), report
    assert "\n  default: llm.secondary\n  max_tokens: 4096\n" in file.read_text()
    efforts = "".join(f"    {alias}: none\n" for alias in ALIASES)
    told = f"agent:\n  reasoning_overrides:\n{efforts}"
    assert (told in file.read_text()) == (version == "0.19.0")


@pytest.mark.parametrize("version", VERSIONS)
def test_a_file_that_hermes_understands_otherwise_is_not_written(
    version: str, sshd_host: Sshd, fleetsync: Commands
) -> None:
    host = sshd_host("node")
    install(host, version)
    # Hermes finds windows by the address, but images by the name as it is written.
    host.plant(".hermes/config.yaml", listed().replace("- name: anvil", "- name: Anvil"))
    host.plant(".hermes/.env", f"{NAME}={KEY}\n", mode=0o600)
    before = listing(host.home)
    run = fleetsync(host, "hermes", seeing=VISION)
    assert outcomes(run("preview")[1]) == {"default": "drift"}
    code, report = run("apply", "--yes")
    assert (code, outcomes(report)) == (5, {"default": "refused"}), report
    (target,) = report["hosts"][0]["targets"]
    assert "vision.general supports_vision is not set, not true" in target["reason"]
    assert listing(host.home) == before


def test_a_profile_may_bear_another_clients_name(
    sshd_host: Sshd, fleetsync: Commands
) -> None:
    host = sshd_host("node")
    install(host, VERSIONS[0])
    (host.home / ".local/bin/pi").symlink_to(launcher("pi", "1.6.0"))
    (host.home / ".local/bin/node").symlink_to(node())
    pi = {"baseUrl": URL, "api": "openai-completions", "apiKey": KEY, "models": []}
    host.plant(".pi/agent/models.json", json.dumps({"providers": {"anvil": pi}}), mode=0o600)
    for place in (".hermes", ".hermes/profiles/pi"):
        host.plant(f"{place}/config.yaml", plain(), mode=0o600)
    run = fleetsync(host, "pi", "hermes", seeing=VISION)
    code, report = run("apply", "--yes")
    found = {(row["client"], row["name"]): row["outcome"] for row in report["hosts"][0]["targets"]}
    names = (("pi", "pi"), ("hermes", "default"), ("hermes", "pi"))
    assert (code, found) == (0, dict.fromkeys(names, "changed")), report
    assert run("verify")[0] == 0


@pytest.mark.parametrize("version", FEW)
def test_a_profile_without_its_own_key_is_refused_and_the_others_are_not(
    version: str, sshd_host: Sshd, fleetsync: Commands
) -> None:
    host = sshd_host("node")
    install(host, version)
    files = furnish(host)
    (host.home / PLACES["migrated"] / ".env").unlink()
    before = files["migrated"].read_bytes()
    code, report = fleetsync(host, "hermes", seeing=VISION)("apply", "--yes")
    wanted = {**dict.fromkeys(PROFILES, "changed"), "migrated": "refused"}
    assert (code, outcomes(report)) == (5, wanted), report
    (refused,) = [row for row in report["hosts"][0]["targets"] if row["name"] == "migrated"]
    assert "a profile does not read the default profile's .env" in refused["reason"]
    assert len(refused["changes"]) == 6
    assert files["migrated"].read_bytes() == before


def test_a_host_without_any_key_is_untouched(
    sshd_host: Sshd, fleetsync: Commands
) -> None:
    host = sshd_host("node")
    install(host, VERSIONS[0])
    host.plant(".hermes/config.yaml", mapped(), mode=0o600)
    before = listing(host.home)
    code, report = fleetsync(host, "hermes", seeing=VISION)("apply", "--yes")
    assert (code, outcomes(report)) == (5, {"default": "refused"})
    (target,) = report["hosts"][0]["targets"]
    assert "Hermes would send `no-key-required`" in target["reason"]
    assert listing(host.home) == before
