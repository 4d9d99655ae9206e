"""What doctor finds on a host, and that looking leaves it as it was."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from fleetsync import fleet
from fleetsync.adapter import Wish
from fleetsync.catalog import Policy
from fleetsync.cli.main import main
from fleetsync.fleet import settle
from fleetsync.job import Job, Proof, Run, Step
from fleetsync.outcome import HostResult, Outcome, RouterVerdict, TargetResult
from fleetsync.probe import Salts
from tests import standin
from tests.integration.local_node import HOST, NEW, Node, made
from tests.listing import listing

GUARDED = f"case $- in *i*) ;; *) return ;; esac\nexport {standin.NAME}=a-key-of-mine-123\n"
SHELL = f"{standin.NAME} in an interactive shell's environment"


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return made(tmp_path)


def doctor(node: Node, *, deep: bool = False, wish: Wish | None = None) -> HostResult:
    run = Run("run-1", "ada@desk", "desk", "g" * 64)
    job = Job(
        Step.DOCTOR, run, HOST, (wish or standin.wish(),), proof=Proof.OFFLINE, deep=deep
    )
    result = settle(job, Salts.fresh(), lambda host, seconds: node)
    assert result.targets, result
    return result


def target(node: Node, *, deep: bool = False, wish: Wish | None = None) -> TargetResult:
    (found,) = doctor(node, deep=deep, wish=wish).targets
    return found


def only_interactive(node: Node) -> None:
    (node.home / ".profile").unlink()
    (node.home / ".bashrc").write_text(GUARDED)


def test_a_host_in_step_is_told_whole_and_left_as_it_was(node: Node) -> None:
    node.models.write_text(NEW)
    before = listing(node.home)
    found = target(node)
    assert (found.outcome, found.loader, found.credential) == (Outcome.IN_STEP, "agrees", "open")
    assert (found.limits, found.changes) == ("as wished", ())
    assert found.router is not None
    assert (found.router.verdict, found.router.detail) == (RouterVerdict.NOT_CHECKED, "--offline")
    assert listing(node.home) == before


def test_a_file_that_cannot_be_read_has_limits_that_are_not_known(node: Node) -> None:
    node.models.write_text("{ broken")
    found = target(node)
    assert (found.outcome, found.limits) == (Outcome.REFUSED, "")


def test_programs_that_write_such_files_too_are_named(node: Node) -> None:
    (node.home / ".cc-switch").mkdir()
    (node.home / ".cc-switch/config.json").write_text("{}")
    assert doctor(node).writers == ("cc-switch",)


def test_a_start_up_file_that_names_the_key_leads_to_the_deep_look(node: Node) -> None:
    only_interactive(node)
    found = target(node)
    assert (found.outcome, found.credential) == (Outcome.REFUSED, "closed")
    assert any("`fleetsync doctor --deep`" in note for note in found.notes)
    assert SHELL not in [row.place for row in found.trace]


def test_a_key_of_interactive_shells_alone_is_told_as_that_with_what_to_do(node: Node) -> None:
    only_interactive(node)
    before = listing(node.home)
    found = target(node, deep=True)
    assert found.reason.endswith("it is set for interactive shells only")
    assert 'credential_scope = "interactive" in [hosts.node.pi.policy]' in found.step
    verdicts = {row.place: row.verdict for row in found.trace}
    assert verdicts[SHELL] == "interactive shells only"
    assert listing(node.home) == before


def test_the_same_key_opens_the_gate_where_that_scope_is_accepted(node: Node) -> None:
    only_interactive(node)
    wish = replace(standin.wish(), policy=Policy(credential_scope="interactive"))
    assert target(node, wish=wish).credential == "open"


FLEET = """\
[router]
provider = "anvil"
base_url = "https://router.example.net/v1"
credential = "ROUTER_API_KEY"
[hosts.one]
clients = ["pi"]
[hosts.two]
clients = ["pi"]
[hosts.own]
clients = ["pi"]
"""
CATALOG = "".join(
    f'[aliases."{alias}"]\ncontext_window = 393216\nmax_output_tokens = 4096\n'
    for alias in standin.ALIASES
)


@pytest.fixture
def three(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Node]:
    """Three hosts of one inventory: two hold one key, the third one of its own."""
    nodes = {}
    for name in ("one", "two", "own"):
        (tmp_path / name).mkdir()
        nodes[name] = made(tmp_path / name)
    (nodes["own"].home / ".profile").write_text(f"export {standin.NAME}=a-key-of-its-own-77\n")
    (tmp_path / "inventory").mkdir()
    (tmp_path / "inventory/fleet.toml").write_text(FLEET)
    (tmp_path / "inventory/catalog.toml").write_text(CATALOG)
    monkeypatch.setenv("FLEETSYNC_INVENTORY", str(tmp_path / "inventory"))
    monkeypatch.setattr(fleet, "_by_ssh", lambda host, seconds, **more: nodes[host.name])
    return nodes


def test_doctor_ends_with_the_table_that_tells_who_shares_a_key(
    three: dict[str, Node], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["doctor", "--offline"]) == 0
    lines = capsys.readouterr().out.splitlines()
    at = lines.index("router keys:")
    assert [line.split() for line in lines[at + 2 : at + 5]] == [
        ["one", "pi", "open", "not", "checked", "two"],
        ["two", "pi", "open", "not", "checked", "one"],
        ["own", "pi", "open", "not", "checked"],
    ]
    told = "its router key is also that of two: each host should have one of its own"
    assert f"  note: {told}" in lines


def test_an_apply_to_one_host_still_says_with_whom_it_shares_its_key(
    three: dict[str, Node], capsys: pytest.CaptureFixture[str]
) -> None:
    three["two"].models.write_text(NEW)
    three["own"].models.write_text(NEW)
    assert main(["apply", "--yes", "--offline", "--json"]) == 0
    hosts = json.loads(capsys.readouterr().out)["hosts"]
    assert {host["host"]: host["targets"][0]["shared_with"] for host in hosts} == {
        "one": ["two"], "two": ["one"], "own": [],
    }
