"""Keys planted everywhere on a host leave it by no way: text, JSON, receipt, pickle, trace."""

from __future__ import annotations

import io
import json
import pickle
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from fleetsync import fleet
from fleetsync.cli.main import main
from fleetsync.errors import Lost
from fleetsync.inventory import Host
from fleetsync.outcome import HostResult
from fleetsync.remote import Remote
from fleetsync.testing.router import StandInRouter
from tests import standin
from tests.integration.local_node import Node

CANARIES = {
    "one character": "\N{SNOWMAN}",
    "two characters": "\N{SNOWMAN}\N{COMET}",
    "a word": "qZ7-canary",
    "a token": "sk-canary-4f9a8e7d6c5b4a39281706f5",
    "200 characters": "Kx9" + "canary" * 32 + "zW4wQ",
    "quotes": "q'canary\"`$(id)`\\end",
    "lines": "first-canary\nsecond-canary\n\nlast-canary",
    "unicode": "schlüssel-\N{SNOWMAN}-canary-\u202e-end",
}
"""Texts as somebody may have set them for a key, by what is odd about them."""
FLEET = """\
[router]
provider = "anvil"
base_url = "{url}"
credential = "ROUTER_API_KEY"
[hosts.node]
clients = ["pi"]
"""
CATALOG = "".join(
    f'[aliases."{alias}"]\ncontext_window = 393216\nmax_output_tokens = 4096\n'
    for alias in standin.ALIASES
)


def spellings(canary: str) -> set[str]:
    """How a text could show in a sink: as it is, line by line, escaped, and its ends."""
    pieces = {canary, *(line for line in canary.split("\n") if line)}
    pieces |= {canary[:8], canary[-8:]} if len(canary) > 16 else set()
    escaped = {form for one in pieces for form in (
        json.dumps(one)[1:-1], repr(one)[1:-1], ascii(one)[1:-1],
        "".join(f"\\{byte:03o}" for byte in one.encode()),
    )}
    return pieces | escaped


@dataclass
class Bench:
    """One host with a canary in every place, the command line over it, and every sink."""

    folder: Path
    node: Node
    captured: pytest.CaptureFixture[str]
    results: list[HostResult] = field(default_factory=list)
    told: list[str] = field(default_factory=list)

    def run(self, *words: str) -> int:
        code = main(words)
        self.told += self.captured.readouterr()
        return code

    def connect(self, host: Host, seconds: float) -> Remote:
        return self.node

    def sinks(self) -> Iterator[str]:
        """All that left the host and its connection, or was kept of it."""
        yield from self.told
        yield from self.node.scripts
        for result in self.results:
            yield repr(result)
            yield pickle.dumps(result).decode("utf-8", "replace")
        for path in self.folder.rglob("*"):
            if path.is_file():
                yield path.read_text("utf-8", "replace")

    def leaks(self, canary: str) -> list[str]:
        """What was found of it, with what stands around it."""
        found = []
        for sink in self.sinks():
            for form in spellings(canary):
                at = sink.find(form)
                if at >= 0:
                    found.append(sink[max(0, at - 60) : at + 60])
        return found


def plant(home: Path, canary: str, url: str) -> None:
    """Put the canary wherever a key can stand, and where none should."""
    quoted = f"export {standin.NAME}={shlex.quote(canary)}\n"
    for name in (".profile", ".bashrc", ".zshenv"):
        (home / name).write_text(quoted, "utf-8")
    line = f"{standin.NAME}={canary!r}\n# {canary}\n"
    for name in (".env", ".openclaw/.env", ".hermes/.env", ".config/environment.d/key.conf"):
        file = home / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(line, "utf-8")
    text = standin.models(url=url).replace("other-secret-key-1", json.dumps(canary)[1:-1])
    note = canary.replace("\n", " ")
    standin.write_models(home, f"// {note}\n{text}// token={note}\n")
    entry = {"type": "api_key", "key": canary}
    (home / ".pi/agent/auth.json").write_text(json.dumps({"anvil": entry, "other": entry}))


@pytest.fixture
def router() -> Iterator[StandInRouter]:
    served = dict.fromkeys(standin.ALIASES, 393216)
    with StandInRouter(served, {"node": CANARIES["a token"]}) as found:
        yield found


@pytest.fixture
def bench(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
    router: StandInRouter,
) -> Bench:
    folder, home = tmp_path / "operator", tmp_path / "home"
    (folder / "inventory").mkdir(parents=True)
    (folder / "inventory/fleet.toml").write_text(FLEET.format(url=router.url))
    (folder / "inventory/catalog.toml").write_text(CATALOG)
    home.mkdir()
    standin.install(home)
    made = Bench(folder, Node(home), capsys)
    settle = fleet.settle

    def settled(*given: object) -> HostResult:
        made.results.append(settle(*given))  # type: ignore[arg-type] # as it is called
        return made.results[-1]

    monkeypatch.setattr(fleet, "settle", settled)
    monkeypatch.setattr(fleet, "_by_ssh", lambda host, seconds, **more: made.node)
    monkeypatch.setenv("FLEETSYNC_INVENTORY", str(folder / "inventory"))
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    monkeypatch.setattr("sys.stdin", io.StringIO())
    return made


@pytest.mark.parametrize("kind", CANARIES)
def test_no_key_leaves_its_host(bench: Bench, router: StandInRouter, kind: str) -> None:
    plant(bench.node.home, CANARIES[kind], router.url)
    bench.run("preview", "-v", "--debug")
    bench.run("doctor", "--deep", "--json")
    bench.run("apply", "--yes", "-v")
    bench.run("verify", "--json", "--debug")
    bench.run("preview", "--prove", "-v")
    assert len(bench.results) >= 4
    assert bench.leaks(CANARIES[kind]) == []


def test_the_search_for_leaks_finds_what_would_be_one(bench: Bench) -> None:
    for canary in CANARIES.values():
        bench.told = [json.dumps(canary)]
        assert bench.leaks(canary)
        bench.told = [f"Unexpected: {canary!r}"]
        assert bench.leaks(canary)


@pytest.mark.parametrize("kind", CANARIES)
def test_no_key_is_in_the_trace_of_a_fault_or_the_words_of_an_error(
    bench: Bench, router: StandInRouter, kind: str
) -> None:
    canary = CANARIES[kind]
    plant(bench.node.home, canary, router.url)

    def break_down(script: str) -> None:
        raise ValueError(canary)

    bench.node.after = break_down
    assert bench.run("preview", "--debug") == 70
    assert bench.leaks(canary) == []


def test_a_turn_is_told_without_the_key(bench: Bench, router: StandInRouter) -> None:
    plant(bench.node.home, CANARIES["a token"], router.url)
    standin.write_models(bench.node.home, standin.models(393216, 4096, url=router.url))
    bench.run("smoke", "--retries", "0", "-v", "--debug")
    (target,) = bench.results[-1].targets
    assert len(target.turns) == 1
    assert bench.leaks(CANARIES["a token"]) == []


def test_a_rejected_key_is_told_without_the_key(bench: Bench, router: StandInRouter) -> None:
    plant(bench.node.home, CANARIES["a word"], router.url)
    assert bench.run("preview", "--prove") == 5
    assert "rejects the key" in bench.told[0]
    assert bench.leaks(CANARIES["a word"]) == []


def test_an_accepted_key_is_told_without_the_key(bench: Bench, router: StandInRouter) -> None:
    plant(bench.node.home, CANARIES["a token"], router.url)
    assert bench.run("apply", "--yes") == 0
    assert "router from this host  accepted" in bench.told[0]
    assert bench.leaks(CANARIES["a token"]) == []


def test_no_fingerprint_is_told(bench: Bench, router: StandInRouter) -> None:
    plant(bench.node.home, CANARIES["a token"], router.url)
    bench.run("doctor", "--json")
    (result,) = bench.results
    prints = {target.fingerprint for target in result.targets}
    assert prints and all(len(one) == 12 for one in prints)
    assert not any(one in told for one in prints for told in bench.told)


def test_a_lost_connection_is_told_without_a_key(bench: Bench, router: StandInRouter) -> None:
    plant(bench.node.home, CANARIES["a token"], router.url)

    def lose(script: str) -> None:
        raise Lost(f"the answer broke off at {CANARIES['a token']}", "look at the host")

    bench.node.after = lose
    assert bench.run("preview", "--debug") == 1
    assert bench.leaks(CANARIES["a token"]) == []
