"""A fourth adapter, installed as a stranger's distribution, from preview to the repeat."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from fleetsync.adapter import Wish
from fleetsync.catalog import Alias, Policy
from fleetsync.fleet import Job, Run, Step, settle
from fleetsync.inventory import Host
from fleetsync.outcome import Outcome
from fleetsync.probe import Salts
from fleetsync.testing.local import LocalRemote
from fleetsync.testing.server import EmbeddedHost
from tests.listing import listing

HERE = Path(__file__).parent / "fourth"
PAGE = HERE.parents[2] / "adapters/README.md"
NAME = "ROUTER_API_KEY"
URL = "https://router.example.net/v1"
CATALOG = """\
[aliases."llm.primary"]
context_window    = 393216
max_output_tokens = 4096
[aliases."llm.secondary"]
context_window    = 393216
max_output_tokens = 4096
"""


def limits(window: int, output: int) -> str:
    """Nib's file, as its user keeps it."""
    return (
        f'{{ "router": "{URL}", "theme": "plain",\n  "models": {{\n'
        f'    "llm.primary": {{ "window": {window}, "output": {output} }},\n'
        f'    "llm.secondary": {{ "window": {window}, "output": {output}, "pinned": true }}\n'
        "  }\n}\n"
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the adapter installed by pip, from its own source and offline."""
    site = tmp_path_factory.mktemp("site")
    source = site.parent / f"{site.name}-source"
    shutil.copytree(HERE, source, ignore=shutil.ignore_patterns("__pycache__"))
    subprocess.run(
        [
            sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
            "--no-index", "--no-deps", "--no-build-isolation", "--target", str(site), str(source),
        ],
        check=True,
    )
    return site


@dataclass
class Node:
    """A host that has Nib alone, and the operator who knows its adapter, or does not."""

    home: Path
    inventory: Path
    site: Path

    @property
    def file(self) -> Path:
        return self.home / ".config/nib/catalog.json"

    def fleetsync(self, *words: str, known: bool = True) -> tuple[int, dict[str, Any]]:
        """Run the command line; its exit code and its envelope."""
        done = subprocess.run(
            [sys.executable, "-m", "fleetsync", *words, "--json", "--inventory", self.inventory],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
            cwd=self.inventory.parent,
            env={**os.environ, "PYTHONPATH": str(self.site) if known else ""},
        )
        return done.returncode, json.loads(done.stdout)

    def target(self, *words: str) -> tuple[int, dict[str, Any]]:
        """The same; its only target."""
        code, envelope = self.fleetsync(*words)
        [target] = envelope["hosts"][0]["targets"]
        return code, target


@pytest.fixture
def node(tmp_path: Path, site: Path) -> Iterator[Node]:
    """The host, serving SSH on loopback, with old limits and a key of its own."""
    home, inventory = tmp_path / "home", tmp_path / "inventory"
    (home / ".config/nib").mkdir(parents=True)
    (home / ".local/bin").mkdir(parents=True)
    inventory.mkdir()
    shutil.copy(HERE / "nib", home / ".local/bin/nib")
    (home / ".profile").write_text(f"export {NAME}=the-hosts-own-key-1\n")
    node = Node(home, inventory, site)
    node.file.write_text(limits(524288, 8192))
    with EmbeddedHost(home, "one", {"PATH": f"{home}/.local/bin:/usr/bin:/bin"}) as host:
        (inventory / "fleet.toml").write_text(_fleet(host))
        (inventory / "catalog.toml").write_text(CATALOG)
        yield node


def _fleet(host: EmbeddedHost) -> str:
    return (
        f'[router]\nprovider = "anvil"\nbase_url = "{URL}"\ncredential = "{NAME}"\n'
        f"[hosts.one]\naddress = '{host.address}'\nport = {host.port}\nuser = '{host.user}'\n"
        f"identity = '{host.identity}'\nknown_hosts = '{host.known_hosts}'\n"
        'clients = ["nib"]\n'
    )


def test_without_the_distribution_the_client_is_not_known(node: Node) -> None:
    code, envelope = node.fleetsync("preview", known=False)
    assert code == 2
    assert "nib" in envelope["errors"][0]["message"]


def test_a_preview_shows_the_drift_of_a_strangers_client_and_writes_nothing(node: Node) -> None:
    before = listing(node.home)
    code, target = node.target("preview")
    assert (code, target["client"], target["outcome"]) == (0, "nib", "drift")
    assert [(c["subject"], c["key"], c["after"]) for c in target["changes"]] == [
        ("llm.primary", "window", "393216"),
        ("llm.primary", "output", "4096"),
        ("llm.secondary", "window", "393216"),
        ("llm.secondary", "output", "4096"),
    ]
    assert listing(node.home) == before


def test_apply_asks_its_loader_writes_and_the_repeat_changes_nothing(node: Node) -> None:
    code, target = node.target("apply", "--yes")
    assert (code, target["outcome"], target["loader"]) == (0, "changed", "agrees")
    assert node.file.read_text() == limits(393216, 4096)
    before = listing(node.home)
    code, target = node.target("apply", "--yes")
    assert (code, target["outcome"]) == (0, "in step")
    assert listing(node.home) == before


def _closed(node: Node) -> None:
    (node.home / ".profile").unlink()


def _broken(node: Node) -> None:
    node.file.write_text('{ "router": ')


def _disagreeing(node: Node) -> None:
    (node.home / ".local/bin/nib").write_text("#!/bin/sh\necho llm.primary 1 1\n")


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (_closed, f"nib would find no {NAME}"),
        (_broken, "catalog.json: line 1, column 13"),
        (_disagreeing, "nib does not see the wished limits"),
    ],
)
def test_what_must_not_be_written_is_refused(
    node: Node, spoil: Callable[[Node], None], why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(node.site)
    spoil(node)
    before = listing(node.home)
    aliases = tuple(
        Alias(name=name, context_window=393216, max_output_tokens=4096)
        for name in ("llm.primary", "llm.secondary")
    )
    names = frozenset(alias.name for alias in aliases)
    wish = Wish("nib", "anvil", URL, NAME, aliases, names, Policy())
    run = Run("run-1", "ada@desk", "desk", "g" * 64)
    job = Job(Step.APPLY, run, Host("one", clients=("nib",)), (wish,))
    path = f"{node.home}/.local/bin:/usr/bin:/bin"
    remote = LocalRemote(node.home, environment={"PATH": path})
    [target] = settle(job, Salts.fresh(), lambda host, seconds: remote).targets
    assert target.outcome is Outcome.REFUSED
    assert why in target.reason
    assert listing(node.home) == before


def blocks() -> list[str]:
    return re.findall(r"^```\w+\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("block", blocks(), ids=lambda block: block.split("\n")[0].strip())
def test_what_the_page_shows_stands_in_the_adapter(block: str) -> None:
    files = [path.read_text() for path in HERE.iterdir() if path.suffix in {".py", ".toml"}]
    assert any(block in text for text in files)


@pytest.mark.parametrize("step", ["Be found", "Ask", "Say what is there", "Plan", "Let the client"])
def test_each_step_of_the_page_shows_code(step: str) -> None:
    section = re.split(r"^## ", PAGE.read_text(), flags=re.MULTILINE)
    assert any("```python" in one for one in section if one[3:].startswith(step))


def test_the_page_leads_only_to_files_that_exist() -> None:
    links = re.findall(r"\]\(([^)#]+)\)", PAGE.read_text())
    assert links
    assert [link for link in links if not (PAGE.parent / link).is_file()] == []


def test_the_adapter_is_tiny() -> None:
    assert len((HERE / "fleetsync_nib.py").read_text().splitlines()) < 100
