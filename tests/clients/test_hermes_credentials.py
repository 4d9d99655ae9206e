"""Where our gate and the real Hermes must agree: would it send this host's own key?

These are the finer points, which Hermes' own resolver tells without a turn. The situations
that every operator meets are judged by real turns in test_credentials_hermes.py.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from fleetsync.adapter import Credential, Wish
from fleetsync.catalog import Alias, Policy
from fleetsync.probe import Salts, probe
from fleetsync.remote import Reader
from fleetsync.testing.local import LocalRemote
from fleetsync_hermes import adapter
from tests.clients.install import launcher, starting
from tests.matrix import FULL

VERSIONS = ("0.19.0", "0.18.2") if FULL else ("0.19.0",)
NAME, DERIVED = "ROUTER_API_KEY", "EXAMPLE_API_KEY"
URL = "https://router.example.net/v1"
KEY = "canary-of-this-host-4c0ffee"
ALIAS = Alias(name="llm.primary", context_window=393216, max_output_tokens=4096)
WISH = Wish("hermes", "anvil", URL, NAME, (ALIAS,), frozenset({"llm.primary"}), Policy())
ASK = """
import json
from hermes_constants import get_hermes_home
from hermes_cli.env_loader import load_hermes_dotenv
load_hermes_dotenv(hermes_home=get_hermes_home())
from hermes_cli.runtime_provider import resolve_runtime_provider
print(json.dumps(resolve_runtime_provider().get("api_key")))
"""


@dataclass(frozen=True)
class Situation:
    """How a profile holds its key, and whether Hermes sends that very key.

    `entry` are lines of the provider's entry, `files` lie in the profile's home, `root` in
    the default profile's.
    """

    sends: bool
    entry: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    root: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    listed: bool = False
    more: str = ""
    profile: str = "default"


def pool(*entries: Mapping[str, object]) -> dict[str, str]:
    rows = [{"id": f"{at}", "priority": at, "auth_type": "api_key", "base_url": URL, **entry}
            for at, entry in enumerate(entries)]
    return {"auth.json": json.dumps({"version": 1, "credential_pool": {"custom:anvil": rows}})}


BY_NAME = (f"key_env: {NAME}",)
OWN = {".env": f"{NAME}={KEY}\n"}
MANUAL = {"source": "manual", "label": "a", "access_token": KEY}
BORROWED = {"source": "config:anvil", "label": "anvil", "secret_fingerprint": "sha256:0"}
SITUATIONS = {
    "key_env in .env, exported and quoted": Situation(
        True, BY_NAME, {".env": f'# keys\nexport {NAME}="{KEY}"  # mine\n'}
    ),
    "a right .env before a wrong environment": Situation(
        True, BY_NAME, OWN, environment={NAME: "old-key-of-the-shell"}
    ),
    "a placeholder in .env": Situation(False, BY_NAME, {".env": f"{NAME}=changeme\n"}),
    "another variable": Situation(True, ("key_env: OTHER",), {".env": f"OTHER={KEY}\n"}),
    "a placeholder, and a list that takes the pool away": Situation(
        True, ("api_key: changeme", *BY_NAME), OWN, more="custom_providers: []\n"
    ),
    "keyEnv": Situation(False, (f"keyEnv: {NAME}",), OWN),
    "api_key_env in a mapping": Situation(False, (f"api_key_env: {NAME}",), OWN),
    "key_env of a list's entry": Situation(True, BY_NAME, OWN, listed=True),
    "api_key_env of a list's entry": Situation(True, (f"api_key_env: {NAME}",), OWN, listed=True),
    "a pool before key_env": Situation(True, BY_NAME, {**pool(MANUAL), ".env": f"{NAME}=x-old\n"}),
    "a pool for a list's entry": Situation(True, (), pool(MANUAL), listed=True),
    "a borrowed entry beside a key in the file": Situation(
        True, (f"api_key: {KEY}",), pool(BORROWED)
    ),
    "a variable named after the host": Situation(True, (), {".env": f"{DERIVED}={KEY}\n"}),
    "a variable of another provider": Situation(False, (), {".env": f"OPENAI_API_KEY={KEY}\n"}),
    "a profile with the process's key": Situation(
        True, BY_NAME, environment={NAME: KEY}, profile="work"
    ),
}


def config(situation: Situation) -> str:
    fields = (f"base_url: {URL}", *situation.entry, "models: {llm.primary: {}}")
    head = "model: {default: llm.primary, provider: 'custom:anvil'}\n"
    if situation.listed:
        rows = "".join(f"  {line}\n" for line in fields)
        return f"{head}custom_providers:\n- name: anvil\n{rows}{situation.more}"
    rows = "".join(f"    {line}\n" for line in fields)
    return f"{head}providers:\n  anvil:\n{rows}{situation.more}"


def furnish(home: Path, situation: Situation, version: str) -> Path:
    """The host's home as the situation says; the profile's own."""
    root = home / ".hermes"
    profile = root if situation.profile == "default" else root / "profiles" / situation.profile
    profile.mkdir(parents=True)
    plain = {"config.yaml": config(situation)}
    own = {**plain, **situation.files}
    for place, files in ((root, plain), (root, situation.root), (profile, own)):
        for name, text in files.items():
            (place / name).write_text(text)
            (place / name).chmod(0o600)
    (home / "bin").mkdir()
    (home / "bin" / "hermes").symlink_to(launcher("hermes", version))
    return profile


def gate(home: Path, situation: Situation) -> Credential:
    """What fleetsync makes of the host, by reading alone."""
    remote = LocalRemote(home, environment=situation.environment)
    facts = probe(Reader(remote), ((adapter, WISH),), Salts("1" * 32, "2" * 32))
    (found,) = [t for t in adapter.targets(WISH, facts) if t.name == situation.profile]
    assert found.refusals == ()
    return found.credential


def sent(home: Path, profile: Path, situation: Situation, version: str) -> str:
    """The key that Hermes itself would send."""
    python, _ = starting("hermes", version)
    done = subprocess.run(
        [python, "-I", "-B", "-c", ASK], capture_output=True, text=True, timeout=120, check=True,
        env={"HOME": str(home), "HERMES_HOME": str(profile), "PATH": "/usr/bin:/bin",
             **situation.environment},
    )
    return str(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("situation", SITUATIONS.values(), ids=SITUATIONS)
def test_the_gate_opens_exactly_where_hermes_sends_the_hosts_key(
    version: str, situation: Situation, tmp_path: Path
) -> None:
    profile = furnish(tmp_path, situation, version)
    credential = gate(tmp_path, situation)
    assert credential.opens is situation.sends, credential.cause
    assert (sent(tmp_path, profile, situation, version) == KEY) is situation.sends
    assert KEY not in repr(credential)
