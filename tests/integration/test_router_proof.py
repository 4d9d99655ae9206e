"""A host's own key, shown to a router by the host: what apply, doctor and preview make of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from fleetsync.fleet import settle
from fleetsync.job import Job, Proof, Run, Step
from fleetsync.outcome import HostResult, Outcome, RouterVerdict, TargetResult
from fleetsync.probe import Salts
from fleetsync.testing.router import Fault, KeyVerdict, StandInRouter
from tests import standin
from tests.integration.local_node import HOST, Node
from tests.listing import listing

RUN = Run("run-1", "ada@desk", "desk", "g" * 64)


@pytest.fixture
def router() -> Iterator[StandInRouter]:
    served = dict.fromkeys(standin.ALIASES, 393216)
    with StandInRouter(served, {"node": standin.KEY}) as found:
        yield found


@pytest.fixture
def node(tmp_path: Path, router: StandInRouter) -> Node:
    """A host whose Pi is led to the router and holds old limits."""
    home = tmp_path / "home"
    home.mkdir()
    standin.install(home)
    standin.write_models(home, standin.models(url=router.url))
    standin.give_key(home)
    return Node(home)


def does(
    node: Node, router: StandInRouter, step: Step, proof: Proof = Proof.ASK
) -> HostResult:
    job = Job(step, RUN, HOST, (standin.wish(url=router.url),), proof=proof)
    return settle(job, Salts.fresh(), lambda host, seconds: node)


def target(
    node: Node, router: StandInRouter, step: Step, proof: Proof = Proof.ASK
) -> TargetResult:
    result = does(node, router, step, proof)
    assert result.targets, result
    (found,) = result.targets
    return found


def verdict(found: TargetResult) -> RouterVerdict | None:
    return found.router.verdict if found.router else None


def take(node: Node, key: str) -> None:
    """Give the host another key."""
    (node.home / ".profile").write_text(f"export {standin.NAME}={key}\n")


def test_apply_shows_the_hosts_key_to_the_router_and_goes_on(
    node: Node, router: StandInRouter
) -> None:
    found = target(node, router, Step.APPLY)
    assert (found.outcome, verdict(found)) == (Outcome.CHANGED, RouterVerdict.ACCEPTED)
    assert found.credential == "open"
    asked = [(one.method, one.path, one.key, one.holder) for one in router.log]
    assert asked == [("GET", "/v1/models", KeyVerdict.RIGHT, "node")]


def test_a_key_that_the_router_rejects_is_refused_before_any_change(
    node: Node, router: StandInRouter
) -> None:
    take(node, "a-key-of-nobody-77")
    before = listing(node.home)
    found = target(node, router, Step.APPLY)
    assert (found.outcome, verdict(found)) == (Outcome.REFUSED, RouterVerdict.REJECTED)
    assert "rejects the key that pi has on this host (401)" in found.reason
    assert found.step == (
        "fleetsync credential set node --target pi\n"
        f"or: replace the key where it stands: {standin.NAME} in the login shell's environment"
    )
    assert listing(node.home) == before
    assert "a-key-of-nobody-77" not in repr(found)


def test_what_was_cut_off_is_undone_where_the_router_rejects_the_key_since(
    node: Node, router: StandInRouter
) -> None:
    old = node.models.read_text()
    target(node, router, Step.APPLY)
    (bundle,) = node.bundles.iterdir()
    bundle.rename(bundle.with_suffix(".commit"))
    node.models.write_text(old)
    take(node, "a-key-of-nobody-77")
    assert target(node, router, Step.APPLY).outcome is Outcome.REFUSED
    assert node.models.read_text() == old
    assert does(node, router, Step.PREVIEW).interrupted == ()


def test_apply_goes_on_with_a_warning_where_the_router_is_broken(
    node: Node, router: StandInRouter
) -> None:
    router.go_wrong(Fault.BROKEN)
    found = target(node, router, Step.APPLY)
    assert (found.outcome, verdict(found)) == (Outcome.CHANGED, RouterVerdict.UNREACHABLE)
    assert any("its key is not proved" in note for note in found.notes)


def test_apply_names_the_aliases_that_the_router_does_not_list(node: Node) -> None:
    with StandInRouter({"llm.primary": 393216}, {"node": standin.KEY}) as narrow:
        standin.write_models(node.home, standin.models(url=narrow.url))
        found = target(node, narrow, Step.APPLY)
    assert (found.outcome, verdict(found)) == (Outcome.CHANGED, RouterVerdict.ALIAS_MISSING)
    assert any(note.endswith("does not list llm.secondary") for note in found.notes)


def test_offline_asks_no_router_and_says_so(node: Node, router: StandInRouter) -> None:
    found = target(node, router, Step.APPLY, Proof.OFFLINE)
    assert (found.outcome, verdict(found)) == (Outcome.CHANGED, RouterVerdict.NOT_CHECKED)
    assert any("(--offline)" in note for note in found.notes)
    assert router.log == ()


def test_a_preview_asks_the_router_only_where_that_is_wished(
    node: Node, router: StandInRouter
) -> None:
    before = listing(node.home)
    assert verdict(target(node, router, Step.PREVIEW, Proof.NONE)) is None
    assert router.log == ()
    assert verdict(target(node, router, Step.PREVIEW)) is RouterVerdict.ACCEPTED
    assert listing(node.home) == before


def test_doctor_tells_what_the_router_says(node: Node, router: StandInRouter) -> None:
    before = listing(node.home)
    assert verdict(target(node, router, Step.DOCTOR)) is RouterVerdict.ACCEPTED
    assert listing(node.home) == before


def test_no_router_hears_of_a_host_without_a_key(node: Node, router: StandInRouter) -> None:
    (node.home / ".profile").unlink()
    found = target(node, router, Step.APPLY)
    assert (found.outcome, found.credential) == (Outcome.REFUSED, "closed")
    assert router.log == ()


def stored(node: Node, command: str) -> None:
    """Have Pi take its key from what a command prints."""
    table = {"anvil": {"type": "api_key", "key": f"!{command}"}}
    (node.home / ".pi/agent/auth.json").write_text(json.dumps(table))
    (node.home / ".profile").unlink()


def test_a_key_that_a_command_gives_is_decided_at_apply(
    node: Node, router: StandInRouter
) -> None:
    stored(node, f"printf %s {standin.KEY}")
    seen = target(node, router, Step.PREVIEW)
    assert (seen.outcome, seen.credential) == (Outcome.DRIFT, "indeterminate")
    assert router.log == ()
    found = target(node, router, Step.APPLY)
    assert (found.outcome, found.credential) == (Outcome.CHANGED, "open")
    assert verdict(found) is RouterVerdict.ACCEPTED


def test_a_command_that_gives_no_key_any_more_is_refused_before_any_change(
    node: Node, router: StandInRouter
) -> None:
    stored(node, "cat ~/its-key")
    (node.home / "its-key").write_text(standin.KEY)
    assert target(node, router, Step.PREVIEW).outcome is Outcome.DRIFT
    (node.home / "its-key").unlink()
    before = listing(node.home)
    found = target(node, router, Step.APPLY)
    assert (found.outcome, found.credential) == (Outcome.REFUSED, "closed")
    assert found.trace
    assert listing(node.home) == before


def test_what_was_cut_off_is_undone_where_a_command_gives_no_key_since(
    node: Node, router: StandInRouter
) -> None:
    stored(node, "cat ~/its-key")
    (node.home / "its-key").write_text(standin.KEY)
    old = node.models.read_text()
    assert target(node, router, Step.APPLY).outcome is Outcome.CHANGED
    (bundle,) = node.bundles.iterdir()
    bundle.rename(bundle.with_suffix(".commit"))
    node.models.write_text(old)
    (node.home / "its-key").unlink()
    assert target(node, router, Step.APPLY).outcome is Outcome.REFUSED
    assert node.models.read_text() == old


def test_verify_asks_a_command_too(node: Node, router: StandInRouter) -> None:
    stored(node, f"printf %s {standin.KEY}")
    target(node, router, Step.APPLY)
    found = target(node, router, Step.VERIFY, Proof.NONE)
    assert (found.outcome, found.credential) == (Outcome.IN_STEP, "open")
