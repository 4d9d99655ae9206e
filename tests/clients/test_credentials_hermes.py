"""Situations of a profile's credential: what fleetsync says, and what the real Hermes does."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fleetsync.testing.router import StandInRouter
from tests.clients import situations
from tests.clients.install import launcher
from tests.clients.situations import Keys, Observed, Situation, Watch
from tests.integration.sshd import RemoteHost, Sshd

VERSION = "0.19.0"
NAME = "ROUTER_API_KEY"
ALIAS = "llm.primary"
SITUATIONS = situations.table("hermes")


def profile_of(situation: Situation) -> str:
    return str(situation.more.get("profile", "default"))


def config(situation: Situation, url: str) -> str:
    """The profile's config.yaml, with the situation's lines in the provider's entry."""
    window = f"models: {{{ALIAS}: {{context_length: 393216}}}}"
    fields = (f"base_url: {url}", *situation.more["entry"], window)
    head = f"model: {{default: {ALIAS}, provider: 'custom:anvil'}}\n"
    return f"{head}providers:\n  anvil:\n" + "".join(f"    {field}\n" for field in fields)


def furnish(host: RemoteHost, situation: Situation, keys: Keys, url: str) -> None:
    """The host's home as the situation says; every profile with the same config.yaml."""
    (host.home / ".local/bin").mkdir(parents=True)
    (host.home / ".local/bin/hermes").symlink_to(launcher("hermes", VERSION))
    homes = {".hermes"}
    if profile_of(situation) != "default":
        homes.add(f".hermes/profiles/{profile_of(situation)}")
    for home in sorted(homes):
        text = keys.fill(config(situation, url))
        host.plant(f"{home}/config.yaml", text, mode=0o600)
    for path, text in situation.plant.items():
        host.plant(path, keys.fill(text, url), mode=0o600)


def preview(host: RemoteHost, situation: Situation, url: str, directory: Path) -> tuple[str, Any]:
    """What fleetsync shows of the profile, asked to prove its key at the router."""
    table = "".join(f"{key} = {json.dumps(v)}\n" for key, v in host.inventory_table().items())
    (directory / "fleet.toml").write_text(
        f'[router]\nprovider = "anvil"\nbase_url = "{url}"\ncredential = "{NAME}"\n\n'
        f'[hosts.node]\n{table}clients = ["hermes"]\n[hosts.node.hermes]\n'
        f'profiles = ["{profile_of(situation)}"]\n'
    )
    (directory / "catalog.toml").write_text(
        f'[aliases."{ALIAS}"]\ncontext_window = 393216\nmax_output_tokens = 4096\n'
    )
    done = subprocess.run(
        [sys.executable, "-m", "fleetsync", "--inventory", str(directory), "preview", "--prove",
         "--json", "node"],
        capture_output=True, text=True, timeout=300, stdin=subprocess.DEVNULL, check=False,
    )
    (target,) = json.loads(done.stdout)["hosts"][0]["targets"]
    return done.stdout + done.stderr, target


def take_a_turn(host: RemoteHost, situation: Situation) -> str:
    """Start the host's own Hermes as its user would, by a login shell; what it printed."""
    words = f"hermes -p {profile_of(situation)} -z 'Say ok.' -t file"
    done = subprocess.run(
        host.ssh(f'exec "$SHELL" -lc "exec $HOME/.local/bin/{words}"'), capture_output=True,
        text=True, timeout=300, stdin=subprocess.DEVNULL, check=False,
    )
    return done.stdout + done.stderr


@pytest.mark.parametrize("situation", SITUATIONS.values(), ids=SITUATIONS)
def test_the_gate_and_the_proof_say_what_the_real_hermes_then_does(
    situation: Situation, sshd_host: Sshd, tmp_path: Path,
    count_situation: Callable[[bool, int], None],
) -> None:
    keys, host = Keys(), sshd_host("node", login_shell="bash")
    with StandInRouter({ALIAS: 393216}, {"node": keys.right}) as router:
        furnish(host, situation, keys, router.url)
        with Watch(keys) as watch:
            shown, target = preview(host, situation, router.url, tmp_path)
        router.clear_log()
        printed = take_a_turn(host, situation)
        watch.look("what fleetsync shows", shown)
        watch.look_below(tmp_path)
        told = json.dumps(target, ensure_ascii=False)
        proof = (target["router"] or {}).get("verdict", "not checked")
        seen = Observed(
            target["credential"], target["credential"], situations.observed(router), proof, told
        )
    found = situation.differences(seen)
    count_situation(not found, len(watch.leaks))
    assert watch.leaks == set()
    assert found == [], (told, printed)


def test_a_key_that_is_set_opens_the_gate_and_is_what_the_real_hermes_sends(
    sshd_host: Sshd, tmp_path: Path
) -> None:
    keys, host = Keys(), sshd_host("node", login_shell="bash")
    more = {"profile": "work", "entry": ["api_key: ${WORK_KEY}"]}
    situation = Situation("", "closed", "closed", (), "literal", "not checked", {}, more)
    with StandInRouter({ALIAS: 393216}, {"node": keys.right}) as router:
        furnish(host, situation, keys, router.url)
        shown, before = preview(host, situation, router.url, tmp_path)
        done = subprocess.run(
            [sys.executable, "-m", "fleetsync", "--inventory", str(tmp_path), "credential", "set",
             "--yes", "node"],
            input=f"{keys.right}\n", capture_output=True, text=True, timeout=300, check=False,
        )
        again, after = preview(host, situation, router.url, tmp_path)
        router.clear_log()
        printed = take_a_turn(host, situation)
        sent = situations.observed(router)
    assert keys.right not in shown + done.stdout + done.stderr + again
    assert (before["credential"], after["credential"]) == ("closed", "open"), done.stderr
    assert (done.returncode, after["router"]["verdict"], sent) == (0, "accepted", "accepted"), (
        done.stdout, printed,
    )
