"""The main job on real hosts with the real Pi, at each pinned version."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.clients.command import ALIASES, KEY, NAME, OTHER, URL, Commands
from tests.clients.install import launcher, node
from tests.integration.sshd import RemoteHost, Sshd
from tests.listing import listing
from tests.matrix import FULL

VERSIONS = ("1.6.0", "0.84.4", "0.73.1") if FULL else ("1.6.0", "0.84.4")
"""test_promotion has the first and the last in any case."""
BARE, DOLLAR = NAME, f"${NAME}"


def spelled(version: str) -> str:
    """How this version's users name a variable."""
    return BARE if version == "0.73.1" else DOLLAR


def models(version: str, window: int = 524288, output: int = 8192) -> str:
    """A models.json as people write it: comments, one-line entries, another provider."""
    rows = ",\n".join(
        f'        {{ "id": "{alias}", "contextWindow": {window}, "maxTokens": {output}, '
        f'"cost": {{ "input": 0.10, "output": 1e-1, "cacheRead": 0, "cacheWrite": 0 }} }}'
        for alias in ALIASES
    )
    return (
        "// this host's models\n"
        '{\n  "providers": {\n'
        '    "local": {\n      "baseUrl": "http://127.0.0.1:9/v1",\n'
        f'      "api": "openai-completions",\n      "apiKey": "{OTHER}",\n'
        '      "models": [{ "id": "qwen", "contextWindow": 524288, "maxTokens": 8192 }]\n    },\n'
        f'    "anvil": {{\n      "baseUrl": "{URL}",\n'
        f'      "api": "openai-completions",\n      "apiKey": "{spelled(version)}",\n'
        f'      "models": [ // the router\'s\n{rows},\n      ],\n    }},\n  }},\n}}'
    )


def install(host: RemoteHost, version: str) -> None:
    """Give the host this Pi and Node, as a user's own installation would lie there."""
    programs = host.home / ".local" / "bin"
    programs.mkdir(parents=True, exist_ok=True)
    (programs / "pi").symlink_to(launcher("pi", version))
    (programs / "node").symlink_to(node())


def with_key(host: RemoteHost) -> None:
    host.plant(".profile", f"export {BARE}={KEY}\n")


def ask_pi(host: RemoteHost, version: str, tmp_path: Path) -> dict[str, tuple[int, int]]:
    """What Pi itself resolves for each alias, asked without any code of ours."""
    agent = tmp_path / "asked"
    agent.mkdir()
    (agent / "models.json").write_bytes((host.home / ".pi/agent/models.json").read_bytes())
    (agent / "auth.json").write_text('{"anvil":{"type":"api_key","key":"x"}}')
    with subprocess.Popen(
        [str(node()), str(launcher("pi", version)), "--mode", "rpc", "--no-session", "--offline"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=agent,
        env={"HOME": str(agent), "PI_CODING_AGENT_DIR": str(agent), "PI_OFFLINE": "1",
             "PATH": f"{node().parent}:/usr/bin:/bin"},
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write('{"id":"q","type":"get_available_models"}\n')
        process.stdin.flush()
        answers = (json.loads(line) for line in process.stdout if line.startswith("{"))
        answer = next(row for row in answers if row.get("id") == "q")
        process.stdin.close()
    rows = [row for row in answer["data"]["models"] if row["provider"] == "anvil"]
    return {row["id"]: (row["contextWindow"], row["maxTokens"]) for row in rows}


def outcome(report: dict[str, Any]) -> str:
    (target,) = report["hosts"][0]["targets"]
    return str(target["outcome"])


@pytest.mark.parametrize("version", VERSIONS)
def test_a_promotion_reaches_the_real_pi_and_repeats_change_nothing(
    version: str, sshd_host: Sshd, fleetsync: Commands, tmp_path: Path
) -> None:
    host = sshd_host("node")
    install(host, version)
    with_key(host)
    file = host.plant(".pi/agent/models.json", models(version), mode=0o600)
    run = fleetsync(host, "pi")

    code, report = run("preview")
    assert (code, outcome(report)) == (0, "drift"), json.dumps(report)
    code, report = run("apply", "--yes")
    assert (code, outcome(report)) == (0, "changed"), json.dumps(report)
    assert file.read_text() == models(version, 393216, 4096).replace(
        '"qwen", "contextWindow": 393216, "maxTokens": 4096',
        '"qwen", "contextWindow": 524288, "maxTokens": 8192',
    )
    assert file.stat().st_mode & 0o7777 == 0o600
    assert ask_pi(host, version, tmp_path) == dict.fromkeys(ALIASES, (393216, 4096))

    before = listing(host.home)
    code, report = run("apply", "--yes")
    assert (code, outcome(report)) == (0, "in step"), json.dumps(report)
    assert listing(host.home) == before
    assert run("verify")[0] == 0


@pytest.mark.parametrize("version", VERSIONS)
def test_a_host_without_its_own_key_is_refused_and_untouched(
    version: str, sshd_host: Sshd, fleetsync: Commands
) -> None:
    host = sshd_host("node")
    install(host, version)
    host.plant(".pi/agent/models.json", models(version))
    run = fleetsync(host, "pi")
    before = listing(host.home)
    code, report = run("apply", "--yes")
    assert (code, outcome(report)) == (5, "refused")
    (target,) = report["hosts"][0]["targets"]
    assert len(target["changes"]) == 8
    assert BARE in target["reason"]
    assert listing(host.home) == before
