"""Bundles are taken back on a host, by bytes or key by key, and nothing of others' is lost."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from fleetsync.cli.writing import approved
from fleetsync.job import Order, Step
from fleetsync.outcome import Outcome
from fleetsync.remote import Writer
from fleetsync.sealed import Sealed
from fleetsync.transaction import FileJob, Job, fresh_id, transact
from tests import standin
from tests.integration.local_node import LATER, NEW, OLD, Node, made
from tests.listing import listing


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return made(tmp_path)


def identity(node: Node, bundle: str) -> str:
    return bundle.rpartition("/")[2].partition(".")[0]


def writes(script: str) -> bool:
    return re.search(r"^fs_job ", script, re.MULTILINE) is not None


def test_what_we_wrote_goes_back_byte_for_byte(node: Node) -> None:
    node.models.chmod(0o640)
    node.apply()
    (target,) = node.roll_back().targets
    assert (target.outcome, target.client) == (Outcome.CHANGED, "pi")
    assert node.models.read_text() == OLD
    assert node.models.stat().st_mode & 0o777 == 0o640
    assert target.bundle != ""


def test_no_byte_of_an_original_travels_to_bring_it_back(node: Node) -> None:
    node.apply()
    node.scripts.clear()
    node.roll_back()
    (script,) = filter(writes, node.scripts)
    assert not re.search(r"^fs_chunk ", script, re.MULTILINE)


def test_the_preview_shows_both_sides_masked_and_changes_nothing(node: Node) -> None:
    node.apply()
    before = listing(node.home)
    target = node.target(Step.TAKE_BACK)
    assert target.outcome is Outcome.DRIFT
    assert [(c.subject, c.key, c.before, c.after) for c in target.changes][:2] == [
        ("llm.primary", "contextWindow", "393216", "524288"),
        ("llm.primary", "maxTokens", "4096", "8192"),
    ]
    (diff,) = target.diffs
    assert '-        { "id": "llm.primary", "contextWindow": 393216' in diff.text
    assert '+        { "id": "llm.primary", "contextWindow": 524288' in diff.text
    assert "other-secret-key-1" not in repr(target)
    assert listing(node.home) == before


def test_a_rollback_can_be_rolled_back(node: Node) -> None:
    node.apply()
    node.roll_back()
    (target,) = node.roll_back().targets
    assert target.outcome is Outcome.CHANGED
    assert node.models.read_text() == NEW


def test_a_rollback_needs_no_client_no_credential_and_no_wish(node: Node) -> None:
    node.apply()
    shutil.rmtree(node.home / ".local/lib")
    (node.home / ".profile").unlink()
    assert node.roll_back().targets[0].outcome is Outcome.CHANGED
    assert node.models.read_text() == OLD


def test_a_later_edit_of_another_key_stays(node: Node) -> None:
    node.apply()
    later = (("// mine", "// edited"), ("127.0.0.1:9", "127.0.0.1:8"))
    for before, after in later:
        node.models.write_text(node.models.read_text().replace(before, after))
    (target,) = node.roll_back().targets
    assert target.outcome is Outcome.CHANGED
    assert node.models.read_text() == OLD.replace("// mine", "// edited").replace(
        "127.0.0.1:9", "127.0.0.1:8"
    )
    assert any("later edits elsewhere in it stay" in note for note in target.notes)


def test_a_key_changed_by_both_is_a_conflict_and_nothing_is_written(node: Node) -> None:
    node.apply()
    mine = NEW.replace("393216", "300000", 1)
    node.models.write_text(mine)
    before = listing(node.home)
    (target,) = node.roll_back().targets
    assert target.outcome is Outcome.CONFLICT
    assert "llm.primary contextWindow was changed by both: 393216 then, 300000 now" in target.reason
    assert "--force" in target.step
    assert (node.models.read_text(), listing(node.home)) == (mine, before)


def test_force_puts_the_original_over_a_conflict(node: Node) -> None:
    node.apply()
    node.models.write_text(NEW.replace("393216", "300000", 1).replace("// mine", "// edited"))
    assert node.roll_back(force=True).targets[0].outcome is Outcome.CHANGED
    assert node.models.read_text() == OLD.replace("// mine", "// edited")


def test_force_that_finds_nothing_to_put_back_into_is_no_success(node: Node) -> None:
    node.apply()
    renamed = NEW.replace('"id": "llm.', '"id": "mine.')
    assert renamed != NEW
    node.models.write_text(renamed)
    (target,) = node.roll_back(force=True).targets
    assert (target.outcome, "what held it is gone" in target.reason) == (Outcome.CONFLICT, True)
    assert node.models.read_text() == renamed


def test_a_file_that_is_gone_is_a_conflict_and_comes_back_by_force(node: Node) -> None:
    node.apply()
    node.models.unlink()
    (target,) = node.roll_back().targets
    assert (target.outcome, "somebody removed it" in target.reason) == (Outcome.CONFLICT, True)
    assert not node.models.exists()
    assert node.roll_back(force=True).targets[0].outcome is Outcome.CHANGED
    assert node.models.read_text() == OLD


def test_a_file_that_became_a_link_is_a_conflict_and_the_link_stays_by_force(node: Node) -> None:
    node.apply()
    real = node.home / "dotfiles/models.json"
    real.parent.mkdir()
    node.models.rename(real)
    node.models.symlink_to(real)
    (target,) = node.roll_back().targets
    assert (target.outcome, "its links lead to" in target.reason) == (Outcome.CONFLICT, True)
    assert node.roll_back(force=True).targets[0].outcome is Outcome.CHANGED
    assert node.models.is_symlink()
    assert real.read_text() == OLD


def test_a_file_that_does_not_parse_any_more_is_a_conflict(node: Node) -> None:
    node.apply()
    node.models.write_text("{ half")
    (target,) = node.roll_back().targets
    assert (target.outcome, "line 1" in target.reason) == (Outcome.CONFLICT, True)
    assert node.models.read_text() == "{ half"
    assert node.roll_back(force=True).targets[0].outcome is Outcome.CHANGED
    assert node.models.read_text() == OLD


def test_a_directory_in_its_place_is_refused(node: Node) -> None:
    node.apply()
    node.models.unlink()
    node.models.mkdir()
    (target,) = node.roll_back(force=True).targets
    assert (target.outcome, "it is a directory" in target.reason) == (Outcome.REFUSED, True)


def test_what_is_as_it_was_before_is_left(node: Node) -> None:
    node.apply()
    node.models.write_text(OLD)
    before = listing(node.home)
    (target,) = node.roll_back().targets
    assert (target.outcome, target.reason) == (Outcome.IN_STEP, "it is as it was before")
    assert listing(node.home) == before


def test_a_damaged_original_is_refused(node: Node) -> None:
    bundle = node.apply().bundle
    (Path(bundle) / "old.1").write_text(OLD.replace("524288", "1"))
    (target,) = node.roll_back().targets
    assert (target.outcome, "damaged" in target.reason) == (Outcome.REFUSED, True)
    assert node.models.read_text() == NEW


def test_a_host_without_a_bundle_has_nothing_to_undo(node: Node) -> None:
    before = listing(node.home)
    result = node.roll_back()
    assert (result.outcome, result.reason) == (
        Outcome.IN_STEP, "nothing to undo: there is no bundle",
    )
    assert listing(node.home) == before


def test_an_older_bundle_is_taken_back_by_name_where_later_ones_allow_it(node: Node) -> None:
    first = node.apply().bundle
    node.apply(393216, 2048)
    (target,) = node.roll_back(bundle=identity(node, first)).targets
    assert target.outcome is Outcome.CONFLICT
    assert "maxTokens" in target.reason
    assert "contextWindow" not in target.reason


def test_a_bundle_that_is_not_there_is_refused(node: Node) -> None:
    node.apply()
    result = node.roll_back(bundle="feedbeef")
    assert (result.outcome, result.step) == (Outcome.REFUSED, "fleetsync bundles list node")


def test_a_run_is_taken_back_whole_whatever_came_later_from_others(node: Node) -> None:
    node.apply()
    node.models.write_text(NEW.replace("// mine", "// edited"))
    assert node.roll_back(run="run-1").targets[0].outcome is Outcome.CHANGED
    assert node.models.read_text() == OLD.replace("// mine", "// edited")


def test_a_run_without_a_bundle_here_has_nothing_to_undo(node: Node) -> None:
    node.apply()
    result = node.roll_back(run="another")
    assert (result.outcome, result.reason) == (
        Outcome.IN_STEP, "nothing to undo: no bundle of run another",
    )


def test_two_bundles_of_one_run_are_taken_back_to_before_the_first(node: Node) -> None:
    node.apply()
    node.runs = 0
    node.apply(262144, 2048)
    assert node.models.read_text() == LATER
    assert node.roll_back(run="run-1").targets[0].outcome is Outcome.CHANGED
    assert node.models.read_text() == OLD


def test_another_clients_files_are_left(node: Node) -> None:
    node.apply()
    result = node.roll_back(clients=("hermes",))
    assert result.outcome is Outcome.IN_STEP
    assert node.models.read_text() == NEW


def test_a_host_that_moved_since_the_preview_is_refused(node: Node) -> None:
    node.apply()
    seen = node.do(Step.TAKE_BACK, wishes=())
    node.models.write_text(NEW.replace("// mine", "// edited"))
    (target,) = node.do(Step.ROLLBACK, Order(), approved(seen), wishes=()).targets
    assert (target.outcome, "moved since" in target.reason) == (Outcome.REFUSED, True)
    assert node.models.read_text() == NEW.replace("// mine", "// edited")


def test_a_rollback_finishes_what_was_cut_off_first(node: Node) -> None:
    bundle = Path(node.apply().bundle)
    bundle.rename(bundle.with_suffix(".commit"))
    node.models.write_text(OLD)
    result = node.do(Step.ROLLBACK, wishes=())
    assert any("interrupted in state commit: done now" in note for note in result.notes)
    assert result.targets[0].outcome is Outcome.CHANGED
    assert node.models.read_text() == OLD


def test_a_file_that_we_created_goes(node: Node) -> None:
    made_by_us = node.home / "made.json"
    content = Sealed(b"{}\n")
    file = FileJob("pi", str(made_by_us), str(made_by_us), "", content.sha256, 3, content=content)
    transact(Writer(node), Job(fresh_id(), (file,)))
    (target,) = node.roll_back().targets
    assert target.outcome is Outcome.CHANGED
    assert not made_by_us.exists()
    assert node.roll_back().targets[0].outcome is Outcome.CHANGED
    assert made_by_us.read_bytes() == b"{}\n"


def test_a_file_that_changes_again_at_once_is_a_failure(node: Node) -> None:
    node.apply()

    def rewrite(script: str) -> None:
        if writes(script):
            node.models.write_text(standin.models(7, 7))

    node.after = rewrite
    (target,) = node.roll_back().targets
    assert (target.outcome, "changed again since" in target.reason) == (Outcome.FAILED, True)
    assert node.models.read_text() == standin.models(7, 7)
