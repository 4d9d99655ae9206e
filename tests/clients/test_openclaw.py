"""The main job on real hosts with the real OpenClaw: what test_promotion, which has both
pinned versions, does not meet."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.clients.command import ALIASES, KEY, NAME, OTHER, TOKEN, URL, Commands, Fleetsync
from tests.clients.install import launcher, node
from tests.integration.sshd import RemoteHost, Sshd
from tests.listing import listing

NEW, OLD = "2026.9.6", "2026.6.11"
CONFIG = ".openclaw/openclaw.json"


def rows(window: int = 524288, output: int = 8192) -> str:
    """The router's models as people write them: one line each, JSON5, a comment."""
    lines = ",\n".join(
        f"        {{ id: '{alias}', name: \"{alias}\", contextWindow: {window}, "
        f"maxTokens: {output}, cost: {{ input: 0.10, output: 1e-1, cacheRead: 0, cacheWrite: 0 }}"
        " }"
        for alias in ALIASES
    )
    return f"[ // the router's\n{lines},\n      ]"


def provider(models: str) -> str:
    return (
        f'{{\n      baseUrl: "{URL}", api: "openai-completions",\n'
        f'      apiKey: "${{{NAME}}}",\n      models: {models},\n    }}'
    )


def config(models: str, more: str = "") -> str:
    return (
        "// this host's OpenClaw\n{\n"
        f"  gateway: {{ mode: 'local', port: {free_port()}, bind: 'loopback',\n"
        f'    auth: {{ mode: "token", token: "{TOKEN}" }} }},\n'
        "  models: { providers: {\n"
        f'    local: {{ baseUrl: "http://127.0.0.1:9/v1", apiKey: "{OTHER}",\n'
        "      models: [{ id: 'qwen', name: 'Qwen', contextWindow: 524288, maxTokens: 8192 }] },\n"
        f"    anvil: {models},\n  }} }},\n{more}}}\n"
    )


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def install(host: RemoteHost, version: str) -> None:
    """Give the host this OpenClaw and Node, as a user's own installation would lie there."""
    programs = host.home / ".local" / "bin"
    programs.mkdir(parents=True, exist_ok=True)
    (programs / "openclaw").symlink_to(launcher("openclaw", version))
    (programs / "node").symlink_to(node())


def ask(home: Path, version: str, *words: str) -> Any:
    """What OpenClaw itself answers, asked without any code of ours."""
    done = subprocess.run(
        [str(node()), str(launcher("openclaw", version)), *words, "--json"],
        env={"HOME": str(home), "PATH": f"{node().parent}:/usr/bin:/bin", "TMPDIR": str(home)},
        cwd=home, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300,
    )
    return json.loads(done.stdout)


def limits(answer: Any) -> dict[str, tuple[int, int]]:
    return {row["id"]: (row["contextWindow"], row["maxTokens"]) for row in answer}


def outcome(report: dict[str, Any]) -> str:
    (target,) = report["hosts"][0]["targets"]
    return str(target["outcome"])


@contextmanager
def gateway(home: Path, version: str) -> Iterator[None]:
    """A running gateway of this home, ready; ended on leaving."""
    log = home / "gateway.log"
    with log.open("w") as out, subprocess.Popen(
        [str(node()), str(launcher("openclaw", version)), "gateway", "run"],
        env={"HOME": str(home), "PATH": f"{node().parent}:/usr/bin:/bin", "TMPDIR": str(home)},
        cwd=home, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
    ) as process:
        try:
            deadline = time.monotonic() + 300
            while "[gateway] ready" not in log.read_text():
                assert process.poll() is None, log.read_text()
                assert time.monotonic() < deadline, log.read_text()
                time.sleep(0.2)
            yield
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(120)


def planted(host: RemoteHost, version: str, root: str) -> Path:
    """A host with this OpenClaw, its key, and this openclaw.json."""
    install(host, version)
    host.plant(".openclaw/.env", f"{NAME}={KEY}\n", mode=0o600)
    return host.plant(CONFIG, root, mode=0o600)


def promote(run: Fleetsync) -> None:
    code, report = run("preview")
    assert (code, outcome(report)) == (0, "drift"), json.dumps(report)
    code, report = run("apply", "--yes")
    assert (code, outcome(report)) == (0, "changed"), json.dumps(report)


def is_in_step(host: RemoteHost, version: str, run: Fleetsync) -> None:
    """A repeat and a verification change nothing, and OpenClaw itself agrees."""
    before = listing(host.home)
    for command in (("apply", "--yes"), ("verify",)):
        code, report = run(*command)
        assert (code, outcome(report)) == (0, "in step"), json.dumps(report)
    assert listing(host.home) == before
    answer = ask(host.home, version, "config", "get", "models.providers.anvil.models")
    assert limits(answer) == dict.fromkeys(ALIASES, (393216, 4096))


def test_a_promotion_reaches_an_included_file_and_a_running_gateway(
    sshd_host: Sshd, fleetsync: Commands
) -> None:
    host, text = sshd_host("node"), config('{ $include: "./parts/anvil.json5" }')
    root = planted(host, NEW, text)
    part = host.plant(".openclaw/parts/anvil.json5", provider(rows()), mode=0o640)
    with gateway(host.home, NEW):
        promote(fleetsync(host, "openclaw"))
        answer = ask(host.home, NEW, "gateway", "call", "config.get", "--params", "{}")
    runtime = answer["runtimeConfig"]["models"]["providers"]["anvil"]["models"]
    assert limits(runtime) == dict.fromkeys(ALIASES, (393216, 4096))
    assert (root.read_text(), part.read_text()) == (text, provider(rows(393216, 4096)))
    assert part.stat().st_mode & 0o7777 == 0o640
    is_in_step(host, NEW, fleetsync(host, "openclaw"))


def test_a_file_that_openclaw_already_rejects_is_named_and_left(
    sshd_host: Sshd, fleetsync: Commands
) -> None:
    host = sshd_host("node")
    stamp = '  meta: { lastTouchedAt: "2026-06-01T00:00:00Z" },\n'
    planted(host, NEW, config(provider(rows()), stamp))
    before = listing(host.home)
    code, report = fleetsync(host, "openclaw")("apply", "--yes")
    assert (code, outcome(report)) == (5, "refused"), json.dumps(report)
    (target,) = report["hosts"][0]["targets"]
    assert "rejects the file as it already stands: meta" in target["reason"]
    assert "OpenClaw was updated and its gateway not started since" in target["reason"]
    assert listing(host.home) == before


def test_a_host_without_its_own_key_is_refused_and_untouched(
    sshd_host: Sshd, fleetsync: Commands
) -> None:
    host = sshd_host("node")
    install(host, NEW)
    host.plant(CONFIG, config(provider(rows())))
    before = listing(host.home)
    code, report = fleetsync(host, "openclaw")("apply", "--yes")
    assert (code, outcome(report)) == (5, "refused"), json.dumps(report)
    (target,) = report["hosts"][0]["targets"]
    assert len(target["changes"]) == 8
    assert "would send the text itself as the key" in target["reason"]
    assert listing(host.home) == before
