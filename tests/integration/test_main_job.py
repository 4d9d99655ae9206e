"""Preview and apply on one host, with a stand-in client and a local shell.

What can go wrong between the steps is brought about at the exchange where it happens.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from fleetsync.errors import Away, Lost
from fleetsync.fleet import Approved, Job, Run, Step, settle
from fleetsync.inventory import Host
from fleetsync.outcome import HostResult, Outcome, TargetResult
from fleetsync.probe import Salts
from fleetsync.remote import ANSWER_CAP, Remote
from fleetsync.testing.local import LocalRemote
from tests import standin
from tests.listing import listing

RUN = Run("run-1", "ada@desk", "desk", "g" * 64)
HOST = Host("node", clients=("pi",))


@dataclass
class Interfering:
    """A remote at which something happens just before, or instead of, an exchange."""

    inner: LocalRemote
    before: Callable[[str], None] = lambda script: None
    after: Callable[[str], None] = lambda script: None
    scripts: list[str] = field(default_factory=list)

    def connect(self) -> None:
        self.inner.connect()

    def exchange(
        self, command: str, stdin: bytes, end: bytes, *, seconds: float, cap: int = ANSWER_CAP,
        hold: bool = False,
    ) -> bytes:
        script = stdin.decode()
        self.scripts.append(script)
        self.before(script)
        answer = self.inner.exchange(command, stdin, end, seconds=seconds, cap=cap, hold=hold)
        self.after(script)
        return answer

    def close(self) -> None:
        self.inner.close()


@dataclass
class Node:
    """One host under test."""

    home: Path
    remote: Interfering

    @property
    def models(self) -> Path:
        return self.home / ".pi/agent/models.json"

    def do(self, step: Step, approved: tuple[Approved, ...] | None = None) -> HostResult:
        job = Job(step, RUN, HOST, (standin.wish(),), approved)
        return settle(job, Salts.fresh(), self.connect)

    def connect(self, host: Host, seconds: float) -> Remote:
        return self.remote

    def target(self, step: Step, approved: tuple[Approved, ...] | None = None) -> TargetResult:
        result = self.do(step, approved)
        assert result.targets, result
        (target,) = result.targets
        return target


@pytest.fixture
def node(tmp_path: Path) -> Node:
    """A host whose Pi holds the old limits and whose key is its own."""
    home = tmp_path / "home"
    home.mkdir()
    standin.install(home)
    standin.write_models(home, standin.models())
    standin.give_key(home)
    return Node(home, Interfering(LocalRemote(home, "/bin/bash")))


NEW = standin.models(393216, 4096)


def writes(script: str) -> bool:
    return re.search(r"^fs_job ", script, re.MULTILINE) is not None


def asks_loader(script: str) -> bool:
    return re.search(r"^fs_scratch ", script, re.MULTILINE) is not None


def test_a_preview_shows_every_change_and_leaves_the_host_as_it_was(node: Node) -> None:
    before = listing(node.home)
    target = node.target(Step.PREVIEW)
    assert target.outcome is Outcome.DRIFT
    assert [(c.subject, c.key, c.before, c.after) for c in target.changes] == [
        ("llm.primary", "contextWindow", "524288", "393216"),
        ("llm.primary", "maxTokens", "8192", "4096"),
        ("llm.secondary", "contextWindow", "524288", "393216"),
        ("llm.secondary", "maxTokens", "8192", "4096"),
    ]
    assert listing(node.home) == before
    assert "other-secret-key-1" not in repr(target)


def test_a_preview_of_a_host_in_step_takes_one_exchange(node: Node) -> None:
    node.models.write_text(NEW)
    assert node.target(Step.PREVIEW).outcome is Outcome.IN_STEP
    assert len(node.remote.scripts) == 1


def test_apply_writes_proves_and_repeats_without_a_write(node: Node) -> None:
    target = node.target(Step.APPLY)
    assert (target.outcome, target.loader) == (Outcome.CHANGED, "agrees")
    assert node.models.read_text() == NEW
    assert (Path(target.bundle) / "manifest").is_file()
    before, node.remote.scripts = listing(node.home), []
    assert node.target(Step.APPLY).outcome is Outcome.IN_STEP
    assert listing(node.home) == before
    assert not any(map(writes, node.remote.scripts))


def test_the_manifest_tells_who_wrote(node: Node) -> None:
    node.target(Step.APPLY)
    account = node.do(Step.PREVIEW).account
    assert account is not None
    assert "operator=ada@desk" in account.last
    assert f"generation={'g' * 64}" in account.last
    assert account.last_writer == (
        "last applied by ada@desk, run run-1, generation gggggggggggg (the catalog's)"
    )


def test_a_host_that_moved_since_the_preview_is_refused(node: Node) -> None:
    (diff,) = node.target(Step.PREVIEW).diffs
    approved = (Approved("pi", diff.path, diff.before, diff.after),)
    node.models.write_text(standin.models(1000, 100))
    target = node.target(Step.APPLY, approved)
    assert target.outcome is Outcome.REFUSED
    assert "moved since the preview" in target.reason
    assert node.models.read_text() == standin.models(1000, 100)
    node.models.write_text(standin.models())
    assert node.target(Step.APPLY, approved).outcome is Outcome.CHANGED


def test_an_edit_after_the_check_is_never_overwritten(node: Node) -> None:
    mine = standin.models() + "\n// a last word\n"

    def edit(script: str) -> None:
        if writes(script):
            node.models.write_text(mine)

    node.remote.before = edit
    target = node.target(Step.APPLY)
    assert target.outcome is Outcome.REFUSED
    assert "not what it was when it was read" in target.reason
    assert node.models.read_text() == mine


def test_a_loader_that_disagrees_stops_the_write(node: Node) -> None:
    awk = next(node.home.rglob("models.awk"))
    awk.write_text("{ }\n")
    before = listing(node.home / ".pi", node.home / ".local")
    target = node.target(Step.APPLY)
    assert target.outcome is Outcome.REFUSED
    assert "sees no model of provider anvil" in target.loader
    assert listing(node.home / ".pi", node.home / ".local") == before
    assert not any(map(writes, node.remote.scripts))


def test_a_loader_that_disagrees_after_the_write_brings_the_original_back(node: Node) -> None:
    awk = next(node.home.rglob("models.awk"))

    def break_it(script: str) -> None:
        if writes(script):
            awk.write_text("{ }\n")

    node.remote.after = break_it
    target = node.target(Step.APPLY)
    assert target.outcome is Outcome.ROLLED_BACK
    assert "the original is back" in target.reason
    assert node.models.read_text() == standin.models()


def test_a_client_that_rewrites_its_file_after_the_write_keeps_its_bytes(node: Node) -> None:
    mine = standin.models(7, 7)

    def rewrite(script: str) -> None:
        if writes(script):
            node.models.write_text(mine)

    node.remote.after = rewrite
    target = node.target(Step.APPLY)
    assert target.outcome is Outcome.FAILED
    assert target.bundle in target.step
    assert node.models.read_text() == mine


def test_a_lost_answer_is_asked_for_again(node: Node) -> None:
    lost = iter([True])

    def lose(script: str) -> None:
        if writes(script) and next(lost, False):
            raise Lost("the connection is gone", "")

    node.remote.after = lose
    assert node.target(Step.APPLY).outcome is Outcome.CHANGED
    assert node.models.read_text() == NEW


def test_an_answer_lost_twice_is_unknown(node: Node) -> None:
    def lose(script: str) -> None:
        if writes(script):
            raise Lost("the connection is gone", "")

    node.remote.after = lose
    result = node.do(Step.APPLY)
    assert result.outcome is Outcome.UNKNOWN


def test_a_host_that_went_away_with_its_answer_is_unknown_and_not_away(node: Node) -> None:
    sent: list[str] = []

    def lose(script: str) -> None:
        if writes(script):
            sent.append(script)
            raise Lost("the connection is gone", "")

    def leave(script: str) -> None:
        if sent:
            raise Away("no route", "look at the cable")

    node.remote.after, node.remote.before = lose, leave
    result = node.do(Step.APPLY)
    assert result.outcome is Outcome.UNKNOWN
    assert "no route" in result.reason
    assert node.models.read_text() == NEW


def test_a_host_that_is_away_is_away(node: Node) -> None:
    def fail(script: str) -> None:
        raise Away("no route", "look at the cable")

    node.remote.before = fail
    result = node.do(Step.PREVIEW)
    assert (result.outcome, result.step) == (Outcome.AWAY, "look at the cable")


def test_a_fault_of_ours_names_no_value(node: Node) -> None:
    def fail(script: str) -> None:
        raise ZeroDivisionError("other-secret-key-1")

    node.remote.before = fail
    result = node.do(Step.PREVIEW)
    assert result.outcome is Outcome.FAILED
    assert result.bug
    assert "other-secret-key-1" not in repr(result)


def interrupted(node: Node) -> None:
    """Leave a transaction behind as a killed host would: decided, nothing swapped."""
    node.target(Step.APPLY)
    (bundle,) = (node.home / ".local/state/fleetsync/txn").iterdir()
    bundle.rename(bundle.with_suffix(".commit"))
    node.models.write_text(standin.models())


def test_every_other_step_only_reports_an_interrupted_transaction(node: Node) -> None:
    interrupted(node)
    before = listing(node.home)
    for step in (Step.PREVIEW, Step.VERIFY, Step.DOCTOR):
        result = node.do(step)
        assert len(result.interrupted) == 1
        assert listing(node.home) == before


def test_apply_finishes_an_interrupted_transaction_first(node: Node) -> None:
    interrupted(node)
    result = node.do(Step.APPLY)
    assert result.targets[0].outcome is Outcome.IN_STEP
    assert node.models.read_text() == NEW
    assert any("interrupted in state commit" in note for note in result.notes)
    assert node.do(Step.PREVIEW).interrupted == ()


def test_apply_undoes_an_interrupted_transaction_where_the_key_is_gone(node: Node) -> None:
    interrupted(node)
    (node.home / ".profile").unlink()
    result = node.do(Step.APPLY)
    assert result.targets[0].outcome is Outcome.REFUSED
    assert node.models.read_text() == standin.models()
    assert any("interrupted in state commit" in note for note in result.notes)
    assert node.do(Step.PREVIEW).interrupted == ()


def test_a_held_host_is_not_contacted(node: Node) -> None:
    host = replace(HOST, hold="switched off on purpose")
    job = Job(Step.APPLY, RUN, host, (standin.wish(),))
    result = settle(job, Salts.fresh(), node.connect)
    assert (result.outcome, result.reason) == (Outcome.HELD, "switched off on purpose")
    assert node.remote.scripts == []


def test_verify_asks_the_loader_about_the_live_file(node: Node) -> None:
    node.models.write_text(NEW)
    target = node.target(Step.VERIFY)
    assert (target.outcome, target.loader) == (Outcome.IN_STEP, "agrees")
    next(node.home.rglob("models.awk")).write_text("{ }\n")
    target = node.target(Step.VERIFY)
    assert target.outcome is Outcome.FAILED
    assert "its client does not see that" in target.reason


def test_a_refused_target_shows_every_place_and_its_drift(node: Node) -> None:
    (node.home / ".profile").unlink()
    (node.home / ".bashrc").write_text(
        f"case $- in *i*) ;; *) return ;; esac\nexport {standin.NAME}=mine\n"
    )
    before = listing(node.home)
    target = node.target(Step.APPLY)
    assert target.outcome is Outcome.REFUSED
    assert len(target.changes) == 4
    verdicts = {row.place: (row.verdict, row.explains) for row in target.trace}
    assert verdicts[f"{standin.NAME} in the login shell's environment"] == ("absent", False)
    assert verdicts[f"{standin.NAME} mentioned in ~/.bashrc"] == ("mentioned", True)
    assert listing(node.home) == before
    assert not any(map(writes, node.remote.scripts))
    assert not any(map(asks_loader, node.remote.scripts))


def test_two_installations_must_both_agree(node: Node) -> None:
    standin.install(node.home, "0.84.4", "bin")
    target = node.target(Step.APPLY)
    assert target.outcome is Outcome.CHANGED
    assert len(target.installations) == 2
    assert any("2 installations share" in note for note in target.notes)


def test_a_symlinked_file_is_edited_where_it_lies_and_the_link_stays(node: Node) -> None:
    real = node.home / "dotfiles/models.json"
    real.parent.mkdir()
    node.models.rename(real)
    node.models.symlink_to(real)
    target = node.target(Step.APPLY)
    assert target.outcome is Outcome.CHANGED
    assert node.models.is_symlink()
    assert real.read_text() == NEW
    assert any("is a link" in note for note in target.notes)
