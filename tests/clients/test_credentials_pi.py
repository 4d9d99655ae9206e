"""Situations of a host's credential: what fleetsync says, and what the real Pi does."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from fleetsync.testing.router import StandInRouter
from tests.clients import situations
from tests.clients import test_pi as pi
from tests.clients.situations import Keys, Observed, Situation, Watch
from tests.integration.sshd import RemoteHost, Sshd
from tests.listing import listing
from tests.matrix import FULL

NAME = "ROUTER_API_KEY"
ALIAS = "llm.primary"
SITUATIONS = situations.table("pi")
MOST = None if FULL else 1
CASES = [
    pytest.param(situation, version, id=f"{version} {name}")
    for name, situation in SITUATIONS.items()
    for version in situation.more.get("versions", ["1.6.0"])[:MOST]
]


@dataclass(frozen=True)
class Node:
    """One host with Pi, the inventory that names it, and the keys of the test."""

    host: RemoteHost
    version: str
    keys: Keys
    url: str
    inventory: Path

    def fill(self, text: str) -> str:
        """The keys, the router, and how this version spells a variable."""
        spelled = NAME if self.version == "0.73.1" else f"${NAME}"
        tail = self.keys.right.removeprefix("canary-")
        return self.keys.fill(
            text.replace("@VARIABLE@", spelled).replace("@TAIL@", tail), self.url
        )

    def furnish(self, situation: Situation) -> None:
        """The host's home and the inventory as the situation says."""
        more = situation.more
        pi.install(self.host, self.version)
        mode = more.get("mode", 0o600)
        self.host.plant(".pi/agent/models.json", self.fill(models(more)), mode=mode)
        if "auth" in more:
            text = f'{{"anvil": {more["auth"]}}}'
            self.host.plant(".pi/agent/auth.json", self.fill(text), mode=0o600)
        for path, text in situation.plant.items():
            self.host.plant(path, self.fill(text), mode=0o600)
        table = self.host.inventory_table()
        (self.inventory / "fleet.toml").write_text(
            f'[router]\nprovider = "anvil"\nbase_url = "{self.url}"\ncredential = "{NAME}"\n\n'
            f'[policy]\ncredential_scope = "{more.get("scope", "persistent")}"\n\n'
            "[hosts.node]\n" + "".join(f"{k} = {json.dumps(v)}\n" for k, v in table.items())
            + 'clients = ["pi"]\n'
        )
        (self.inventory / "catalog.toml").write_text(
            f'[aliases."{ALIAS}"]\ncontext_window = 393216\nmax_output_tokens = 4096\n'
        )

    def fleetsync(self, *words: str, key: str = "") -> tuple[str, Any]:
        """All that the command line printed, and its target; `key` comes on stdin."""
        done = subprocess.run(
            [sys.executable, "-m", "fleetsync", "--inventory", str(self.inventory), *words,
             "--json", "node"],
            capture_output=True, text=True, timeout=300, input=key, check=False,
        )
        (target,) = json.loads(done.stdout)["hosts"][0]["targets"]
        return done.stdout + done.stderr, target

    def ask_pi(self, flags: str = "-lc") -> str:
        """Start the host's own Pi as its user would, by a login shell; what it printed."""
        words = (
            f"$HOME/.local/bin/node $HOME/.local/bin/pi --mode json --no-session --offline "
            f"--provider anvil --model {ALIAS} --tools read -p hello"
        )
        done = subprocess.run(
            self.host.ssh(f'exec "$SHELL" {flags} "exec {words}" </dev/null'), capture_output=True,
            text=True, timeout=300, stdin=subprocess.DEVNULL, check=False,
        )
        return done.stdout + done.stderr


def models(more: Mapping[str, Any]) -> str:
    """A models.json in step with the catalog, its apiKey as the situation spells it."""
    key = f'"apiKey": {more["api_key"]}, ' if "api_key" in more else ""
    return (
        f'{more.get("comment", "")}\n{{"providers": {{"anvil": {{"baseUrl": "@URL@", {key}'
        f'"api": "openai-completions", "models": [{{"id": "{ALIAS}", "contextWindow": 393216, '
        '"maxTokens": 4096}]}}}\n'
    )


def verdict(target: Any) -> str:
    return str((target["router"] or {}).get("verdict", "not checked"))


@pytest.mark.parametrize(("situation", "version"), CASES)
def test_the_gate_and_the_proof_say_what_the_real_pi_then_does(
    situation: Situation, version: str, sshd_host: Sshd, tmp_path: Path, count_situation: Any
) -> None:
    keys, host = Keys(), sshd_host("node")
    right = situation.more.get("right", "@RIGHT@").replace("@RIGHT@", keys.right)
    with StandInRouter({ALIAS: 393216}, {"node": right}) as router, Watch(keys) as watch:
        node = Node(host, version, keys, router.url, tmp_path)
        node.furnish(situation)
        shown, first = node.fleetsync("preview", "--prove")
        last = first
        if situation.gate == "indeterminate":
            more, last = node.fleetsync("doctor")
            shown += more
        router.clear_log()
        printed = node.ask_pi(situation.more.get("shell", "-lc"))
        seen = situations.observed(router)
        watch.look("what fleetsync shows", shown)
        watch.look_below(tmp_path)
    found = situation.differences(
        Observed(first["credential"], last["credential"], seen, verdict(last), shown)
    )
    count_situation(not found, len(watch.leaks))
    assert watch.leaks == set()
    assert found == [], (first, last, printed)


TAKEN = (
    "a key in auth.json", "a variable in auth.json", "a command in auth.json",
    "a key composed of a variable", "a key in the file itself", "a command",
    "a variable of interactive shells that the policy takes",
)


@pytest.mark.parametrize("name", TAKEN)
def test_a_turn_has_the_key_from_wherever_the_real_pi_takes_it(
    name: str, sshd_host: Sshd, tmp_path: Path, count_turn: Any
) -> None:
    keys, host = Keys(), sshd_host("node")
    with StandInRouter({ALIAS: 393216}, {"node": keys.right}) as router, Watch(keys) as watch:
        node = Node(host, "1.6.0", keys, router.url, tmp_path)
        node.furnish(SITUATIONS[name])
        before = listing(host.home)
        shown, target = node.fleetsync("smoke")
        watch.look("what fleetsync shows", shown)
        watch.look_below(tmp_path)
    verdicts = [turn["verdict"] for turn in target["turns"]]
    count_turn(verdicts == ["passed"], verdicts == ["passed"])
    assert verdicts == ["passed"], target
    assert watch.leaks == set()
    assert listing(host.home) == before


OTHER = '{\n\t"openai": {"type": "api_key", "key": "another"}\n}'


@pytest.mark.parametrize("auth", ["", OTHER], ids=["no auth.json", "another provider's entry"])
def test_a_new_key_is_the_one_that_the_real_pi_sends(
    auth: str, sshd_host: Sshd, tmp_path: Path
) -> None:
    keys, host = Keys(), sshd_host("node")
    with StandInRouter({ALIAS: 393216}, {"node": keys.right}) as router, Watch(keys) as watch:
        node = Node(host, "1.6.0", keys, router.url, tmp_path)
        node.furnish(SITUATIONS["a variable without a value"])
        if auth:
            host.plant(".pi/agent/auth.json", auth, mode=0o600)
        models_json = (host.home / ".pi/agent/models.json").read_bytes()
        shown, target = node.fleetsync("credential", "set", "--yes", key=f"{keys.right}\n")
        watch.look("what fleetsync shows", shown)
        watch.look_below(tmp_path)
        router.clear_log()
        printed = node.ask_pi()
        seen = situations.observed(router)
    assert (target["outcome"], target["credential"], verdict(target)) == (
        "changed", "open", "accepted"
    )
    assert seen == "accepted", printed
    held = host.home / ".pi/agent/auth.json"
    assert held.stat().st_mode & 0o7777 == 0o600
    kept = {k: v for k, v in json.loads(held.read_text()).items() if k != "anvil"}
    assert kept == json.loads(auth or "{}")
    assert (host.home / ".pi/agent/models.json").read_bytes() == models_json
    assert watch.leaks == set()


def test_a_new_key_before_0_80_0_is_left_to_the_operator(
    sshd_host: Sshd, tmp_path: Path
) -> None:
    keys, host = Keys(), sshd_host("node")
    with StandInRouter({ALIAS: 393216}, {"node": keys.right}) as router:
        node = Node(host, "0.73.1", keys, router.url, tmp_path)
        node.furnish(SITUATIONS["a bare name without a value"])
        before = listing(host.home)
        shown, target = node.fleetsync("credential", "set", "--yes", key=f"{keys.right}\n")
    assert target["outcome"] == "refused"
    assert "export ROUTER_API_KEY=" in shown
    assert listing(host.home) == before
