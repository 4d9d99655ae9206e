"""One target of a host fails its verification: it alone goes back."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

import pytest

from fleetsync import registry
from fleetsync.adapter import (
    Adapter,
    Command,
    Credential,
    Done,
    FileEdit,
    Loaded,
    Planned,
    Target,
    Wish,
)
from fleetsync.documents import Dialect, parse
from fleetsync.documents.tree import Set
from fleetsync.facts import Facts, FileFact, Question, Read
from fleetsync.job import Step
from fleetsync.outcome import Outcome
from fleetsync.sealed import Sealed
from tests import standin
from tests.integration.local_node import NEW, Node, made

BEFORE, AFTER = '{"limit": 1}\n', '{"limit": 2}\n'
FILE = Read("~/twin.json")


class Twin:
    """A client with one file whose loader sees nothing of a file that is new."""

    name = "twin"

    def questions(self, wish: Wish, facts: Facts) -> frozenset[Question]:
        return frozenset({FILE})

    def targets(self, wish: Wish, facts: Facts) -> tuple[Target, ...]:
        (fact,) = facts.answers[FILE]  # type: ignore[misc] # a Read is answered by files
        assert isinstance(fact, FileFact)
        return (Target("twin", "twin", wish, {"limits": fact}, (), Credential(())),)

    def plan(self, target: Target) -> Planned:
        fact = target.files["limits"]
        assert fact.content is not None
        edited = parse(fact.content.reveal(), Dialect.JSON).edit([Set(("limit",), 2)])
        if not edited.splices:
            return Planned()
        return Planned((FileEdit(fact, Dialect.JSON, edited.splices, Sealed(edited.data), ()),))

    def loaders(self, target: Target, planned: Planned) -> tuple[Command, ...]:
        return ()

    def loaded(self, target: Target, planned: Planned, done: tuple[Done, ...]) -> Loaded:
        return Loaded(bool(planned.edits), "it does not see that")


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Node:
    adapters: Mapping[str, Adapter] = {**registry.discover(), "twin": Twin()}
    monkeypatch.setattr(registry, "discover", lambda: adapters)
    node = made(tmp_path)
    (node.home / "twin.json").write_text(BEFORE)
    return node


BOTH = (standin.wish(), standin.wish(client="twin"))


def test_the_target_that_fails_goes_back_and_the_other_stays(node: Node) -> None:
    pi, twin = node.do(Step.APPLY, wishes=BOTH).targets
    assert (pi.outcome, twin.outcome) == (Outcome.CHANGED, Outcome.ROLLED_BACK)
    assert "it does not see that" in twin.reason
    assert (node.home / "twin.json").read_text() == BEFORE
    assert node.models.read_text() == NEW


def test_the_one_that_stayed_can_still_be_taken_back(node: Node) -> None:
    node.do(Step.APPLY, wishes=BOTH)
    result = node.roll_back(run="run-1")
    assert {one.label: one.outcome for one in result.targets} == {
        "pi": Outcome.CHANGED, "twin": Outcome.IN_STEP,
    }


def test_a_rollback_means_the_apply_and_not_what_it_put_back_itself(node: Node) -> None:
    node.do(Step.APPLY, wishes=BOTH)
    result = node.roll_back()
    assert {one.label: one.outcome for one in result.targets} == {
        "pi": Outcome.CHANGED, "twin": Outcome.IN_STEP,
    }
    assert (node.home / "twin.json").read_text() == BEFORE


def test_a_file_that_was_rewritten_meanwhile_is_left_and_its_bundle_named(node: Node) -> None:
    mine = '{"limit": 2, "mine": true}\n'

    def rewrite(script: str) -> None:
        if "\nfs_job " in script:
            (node.home / "twin.json").write_text(mine)

    node.after = rewrite
    pi, twin = node.do(Step.APPLY, wishes=BOTH).targets
    assert (pi.outcome, twin.outcome) == (Outcome.CHANGED, Outcome.FAILED)
    assert twin.bundle in twin.step
    assert (node.home / "twin.json").read_text() == mine


def test_a_target_that_is_alone_is_undone_whole(node: Node) -> None:
    (twin,) = node.do(Step.APPLY, wishes=BOTH[1:]).targets
    assert twin.outcome is Outcome.ROLLED_BACK
    digest = hashlib.sha256((node.home / "twin.json").read_bytes()).hexdigest()
    assert digest == hashlib.sha256(BEFORE.encode()).hexdigest()
    assert [path.suffix for path in node.bundles.iterdir()] == [".undone"]
