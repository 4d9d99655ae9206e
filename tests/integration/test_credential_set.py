"""A new key is put where a client of one host keeps its own; what was there stays there."""

from __future__ import annotations

import os
import pickle
import re
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from fleetsync import credential_set, rollback, upkeep
from fleetsync.adapter import Adapter, Keep
from fleetsync.errors import FleetsyncError, Lost
from fleetsync.facts import Place, PlaceKind
from fleetsync.inventory import Host
from fleetsync.job import Approved, Job, Order, Proof, Run, Step
from fleetsync.look import Session
from fleetsync.outcome import HostResult, Outcome, RouterVerdict, TargetResult
from fleetsync.probe import Salts
from fleetsync.remote import ANSWER_CAP, Prover, Reader, Runner, Writer
from fleetsync.sealed import Sealed
from fleetsync.testing.local import LocalRemote
from fleetsync.testing.router import StandInRouter
from tests import keeper, standin
from tests.integration.faults.host import shell
from tests.listing import listing
from tests.unit.host_read import SHELLS

OLD, NEW = "sk-old-canary-000111", "sk-new-canary-222333"
HOST = Host("node", clients=("keeper",))
SERVED = dict.fromkeys(standin.ALIASES, 393216)


@dataclass
class Node:
    """One host with the made-up client."""

    home: Path
    adapter: Adapter
    before: Callable[[str], None] = lambda script: None
    after: Callable[[str], None] = lambda script: None
    url: str = "https://router.example.net/v1"
    runs: int = 0

    def __post_init__(self) -> None:
        self.inner = LocalRemote(self.home, "/bin/bash")

    @property
    def bundles(self) -> Path:
        return self.home / ".local/state/fleetsync/txn"

    def job(self, step: Step, order: Order | None = None,
            approved: tuple[Approved, ...] | None = None, proof: Proof = Proof.NONE) -> Job:
        self.runs += 1
        run = Run(f"run-{self.runs}", "ada@desk", "desk", "")
        wish = replace(standin.wish(client="keeper"), base_url=self.url)
        return Job(step, run, HOST, (wish,), approved, order or Order(), proof=proof)

    def session(self, job: Job) -> Session:
        return Session(job, Reader(self), Salts.fresh(), ((self.adapter, job.wishes[0]),))

    def preview(self) -> TargetResult:
        (target,) = credential_set.preview(self.session(self.job(Step.KEEP))).targets
        return target

    def set(self, key: str = NEW, *, label: str = "keeper",
            approved: tuple[Approved, ...] | None = None,
            proof: Proof = Proof.NONE) -> HostResult:
        order = Order(target=label, key=Sealed(key.encode()))
        session = self.session(self.job(Step.SET, order, approved, proof))
        return credential_set.put(session, Runner(self), Writer(self), Prover(self))

    def target(self, key: str = NEW, *, proof: Proof = Proof.NONE) -> TargetResult:
        result = self.set(key, proof=proof)
        assert result.targets, result
        return result.targets[0]

    def roll_back(self, *, force: bool = False) -> TargetResult:
        job = self.job(Step.ROLLBACK, Order(force=force))
        result = rollback.rollback(job, Reader(self), Writer(self))
        assert result.targets, result
        return result.targets[0]

    def connect(self) -> None:
        self.inner.connect()

    def exchange(
        self, command: str, stdin: bytes, end: bytes, *, seconds: float, cap: int = ANSWER_CAP,
        hold: bool = False,
    ) -> bytes:
        self.before(stdin.decode())
        answer = self.inner.exchange(command, stdin, end, seconds=seconds, cap=cap, hold=hold)
        self.after(stdin.decode())
        return answer

    def close(self) -> None:
        self.inner.close()


@dataclass
class Kept:
    """A kind of store: where it is, and how it looks with the old key and the new one."""

    keep: Callable[[Path], Keep]
    file: str
    old: str
    new: str


KINDS = {
    "json": Kept(
        lambda home: keeper.in_json(home), ".keeper/auth.json",
        f'{{\n  "other": "keep-1",\n  "anvil": {{"key": "{OLD}"}}\n}}\n',
        f'{{\n  "other": "keep-1",\n  "anvil": {{"key": "{NEW}"}}\n}}\n',
    ),
    "dotenv": Kept(
        keeper.in_dotenv, ".keeper/.env",
        f"# mine\nA=keep-1\nexport {standin.NAME}={OLD} # router\nB=2",
        f"# mine\nA=keep-1\nexport {standin.NAME}={NEW} # router\nB=2",
    ),
    "file": Kept(keeper.in_file, ".keeper/key", f"{OLD}\n", f"{NEW}\n"),
}


@pytest.fixture(params=KINDS)
def kept(request: pytest.FixtureRequest) -> Kept:
    return KINDS[request.param]


def made(folder: Path, keep: Callable[[Path], Keep]) -> Node:
    home = folder / "home"
    (home / ".keeper").mkdir(parents=True)
    return Node(home, keeper.Keeper(keep(home)))


def planted(folder: Path, kept: Kept, mode: int = 0o600) -> tuple[Node, Path]:
    node = made(folder, kept.keep)
    store = node.home / kept.file
    store.write_text(kept.old)
    store.chmod(mode)
    return node, store


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o7777


def writes(script: str) -> bool:
    return re.search(r"^fs_job ", script, re.MULTILINE) is not None


def test_a_look_tells_the_place_and_changes_nothing(tmp_path: Path, kept: Kept) -> None:
    node, store = planted(tmp_path, kept)
    before = listing(node.home)
    target = node.preview()
    assert listing(node.home) == before
    (change,), (diff,) = target.changes, target.diffs
    assert (target.outcome, change.file) == (Outcome.DRIFT, str(store))
    assert (change.before, change.after) == ("a key", "the new key")
    assert (diff.text, diff.before, diff.after) == ("", "not told", "not told")


def test_the_key_takes_the_old_ones_place_and_every_other_byte_stays(
    tmp_path: Path, kept: Kept
) -> None:
    node, store = planted(tmp_path, kept)
    target = node.target()
    assert (target.outcome, target.credential) == (Outcome.CHANGED, "open")
    assert (store.read_text(), mode(store)) == (kept.new, 0o600)


def test_the_bundle_keeps_the_old_store_alone_and_for_its_owner_alone(
    tmp_path: Path, kept: Kept
) -> None:
    node, _ = planted(tmp_path, kept)
    bundle = Path(node.target().bundle)
    assert sorted(path.name for path in bundle.iterdir()) == ["manifest", "old.1"]
    assert (bundle / "old.1").read_text() == kept.old
    assert (mode(bundle), mode(bundle / "old.1")) == (0o700, 0o600)
    assert "M\tcredential\tkeeper\n" in (bundle / "manifest").read_text()


def test_a_store_that_is_not_there_is_made_for_its_owner_alone(
    tmp_path: Path, kept: Kept
) -> None:
    node = made(tmp_path, kept.keep)
    (node.home / ".keeper").rmdir()
    assert any("is made, with mode 0600" in note for note in node.preview().notes)
    assert node.target().outcome is Outcome.CHANGED
    store = node.home / kept.file
    assert (mode(store), mode(store.parent)) == (0o600, 0o700)
    assert NEW in store.read_text()
    assert node.roll_back().outcome is Outcome.CHANGED
    assert not store.exists()


def test_a_rollback_puts_the_old_store_back_and_can_be_rolled_back(
    tmp_path: Path, kept: Kept
) -> None:
    node, store = planted(tmp_path, kept)
    node.target()
    back = node.roll_back()
    assert back.outcome is Outcome.CHANGED
    assert (store.read_text(), mode(store)) == (kept.old, 0o600)
    assert node.roll_back().outcome is Outcome.CHANGED
    assert store.read_text() == kept.new
    assert sorted(path.name for path in node.bundles.rglob("new.*")) == []


def test_a_rollback_leaves_a_store_that_was_edited_since(tmp_path: Path, kept: Kept) -> None:
    node, store = planted(tmp_path, kept)
    node.target()
    store.write_text(kept.new + "\n")
    target = node.roll_back()
    assert target.outcome is Outcome.CONFLICT
    assert "goes back as a whole only" in target.reason
    assert store.read_text() == kept.new + "\n"
    assert node.roll_back(force=True).outcome is Outcome.CHANGED
    assert store.read_text() == kept.old


def test_a_rollback_refuses_a_damaged_original(tmp_path: Path, kept: Kept) -> None:
    node, store = planted(tmp_path, kept)
    (Path(node.target().bundle) / "old.1").write_text("other")
    target = node.roll_back()
    assert (target.outcome, store.read_text()) == (Outcome.REFUSED, kept.new)


def test_no_byte_and_no_digest_of_a_store_leaves_the_host(tmp_path: Path, kept: Kept) -> None:
    node, store = planted(tmp_path, kept)
    digests = [Sealed(text.encode()).sha256 for text in (kept.old, kept.new, OLD, NEW)]
    node.preview()
    node.target()
    for _ in range(2):
        upkeep.bundles(node.job(Step.BUNDLES, Order(digests=True)), Reader(node))
        rollback.preview(node.job(Step.TAKE_BACK), Reader(node))
        node.roll_back()
    node.preview()
    said = b"".join(one.output for one in node.inner.exchanges).decode()
    assert not [word for word in (OLD, NEW, "keep-1", *digests) if word in said]
    assert store.read_text() == kept.new


def test_a_bundle_of_a_store_is_shown_without_digests_and_sizes(
    tmp_path: Path, kept: Kept
) -> None:
    node, _ = planted(tmp_path, kept)
    node.target()
    result = upkeep.bundles(node.job(Step.BUNDLES, Order(digests=True)), Reader(node))
    (file,) = result.bundles[0].files
    assert (file.before, file.after, file.size) == ("not told", "not told", 0)
    assert (file.target, file.verdict) == ("keeper", "intact")


def test_a_damaged_original_of_a_store_is_found(tmp_path: Path, kept: Kept) -> None:
    node, _ = planted(tmp_path, kept)
    (Path(node.target().bundle) / "old.1").write_text("other")
    result = upkeep.bundles(node.job(Step.BUNDLES, Order(digests=True)), Reader(node))
    assert result.bundles[0].files[0].verdict == "damaged"


def test_a_store_that_others_may_read_is_closed_to_them_and_that_is_told(
    tmp_path: Path, kept: Kept
) -> None:
    node, store = planted(tmp_path, kept, 0o644)
    assert any("mode 0644" in note and "becomes 0600" in note for note in node.preview().notes)
    assert node.target().outcome is Outcome.CHANGED
    assert mode(store) == 0o600


def test_a_link_stays_and_the_file_that_it_leads_to_is_written(
    tmp_path: Path, kept: Kept
) -> None:
    node, store = planted(tmp_path, kept)
    real = node.home / "dotfiles"
    store.rename(real)
    store.symlink_to(real)
    assert any("is a link" in note for note in node.preview().notes)
    assert node.target().outcome is Outcome.CHANGED
    assert store.is_symlink()
    assert real.read_text() == kept.new


def test_the_same_key_again_writes_nothing(tmp_path: Path, kept: Kept) -> None:
    node, _ = planted(tmp_path, kept)
    node.target()
    before = listing(node.home)
    target = node.target()
    assert (target.outcome, target.reason) == (Outcome.IN_STEP, "this key stands there already")
    assert listing(node.home) == before


def _hard_link(store: Path) -> None:
    (store.parent / "twin").hardlink_to(store)


def _directory(store: Path) -> None:
    store.unlink()
    store.mkdir()


def _dangling(store: Path) -> None:
    store.unlink()
    store.symlink_to("/nowhere/at/all")


def _large(store: Path) -> None:
    store.write_text("A=1\n" * 300_000)


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (_hard_link, "more than one hard link"),
        (_directory, "directory"),
        (_dangling, "dangling link"),
        (_large, "larger than 1 MiB"),
    ],
)
def test_what_is_no_plain_store_is_refused_before_a_key_is_asked_for(
    tmp_path: Path, kept: Kept, spoil: Callable[[Path], None], why: str
) -> None:
    node, store = planted(tmp_path, kept)
    spoil(store)
    before = listing(node.home)
    target = node.preview()
    assert target.outcome is Outcome.REFUSED
    assert str(store) in target.reason
    assert why in target.reason
    assert target.step
    assert node.target().outcome is Outcome.REFUSED
    assert listing(node.home) == before


def test_a_read_only_directory_is_left_as_it_is(tmp_path: Path, kept: Kept) -> None:
    node, store = planted(tmp_path, kept)
    store.parent.chmod(0o555)
    target = node.target()
    store.parent.chmod(0o755)
    assert target.outcome is Outcome.REFUSED
    assert "read-only" in target.reason
    assert store.read_text() == kept.old


def test_a_store_that_the_account_cannot_read_is_refused(kept: Kept) -> None:
    with tempfile.TemporaryDirectory(prefix="fleetsync-") as name:    # pytest's own are closed
        node, store = planted(Path(name), kept, 0o000)
        if os.geteuid() == 0:
            for path in (Path(name), node.home, store.parent, store):
                os.chown(path, 65534, 65534)
            node.inner.user = 65534
        target = node.preview()
        assert target.outcome is Outcome.REFUSED
        assert f"{store}: unreadable" in target.reason
        assert node.target().outcome is Outcome.REFUSED


def test_a_document_that_does_not_parse_is_left_as_it_is(tmp_path: Path) -> None:
    node, store = planted(tmp_path, replace(KINDS["json"], old="{ broken"))
    target = node.target()
    assert target.outcome is Outcome.REFUSED
    assert f"{store}: it is not valid JSON" in target.reason
    assert store.read_text() == "{ broken"
    assert sorted(path.name for path in node.bundles.iterdir()) == []


@pytest.mark.parametrize("key", ["sk-$HOME-1", "sk-a$$b"])
def test_a_key_that_the_place_cannot_hold_is_refused(tmp_path: Path, key: str) -> None:
    node, store = planted(tmp_path, KINDS["json"])
    target = node.target(key)
    assert target.outcome is Outcome.REFUSED
    assert "holds a $" in target.reason
    assert key not in repr(target)
    assert store.read_text() == KINDS["json"].old


def test_a_client_without_a_place_tells_the_lines_to_add(tmp_path: Path) -> None:
    node = made(tmp_path, lambda home: Keep(lines="add this\nto that"))
    before = listing(node.home)
    target = node.preview()
    assert (target.outcome, target.step) == (Outcome.REFUSED, "add this\nto that")
    assert node.target().outcome is Outcome.REFUSED
    assert listing(node.home) == before


def test_an_adapter_that_knows_no_place_is_refused(tmp_path: Path) -> None:
    node = made(tmp_path, keeper.in_dotenv)
    assert isinstance(node.adapter, keeper.Keeper)
    node.adapter = keeper.Mute(node.adapter)
    target = node.preview()
    assert target.outcome is Outcome.REFUSED
    assert "does not know where keeper keeps a key" in target.reason


def test_an_adapter_with_an_impossible_place_is_named(tmp_path: Path) -> None:
    node = made(tmp_path, lambda home: Keep(keeper.LOGIN))
    with pytest.raises(FleetsyncError, match="the adapter keeper"):
        node.preview()


def test_the_lock_that_the_client_honours_is_held_for_the_write(tmp_path: Path) -> None:
    node, store = planted(tmp_path, KINDS["dotenv"])
    real = node.home / "dotfiles"
    store.rename(real)
    store.symlink_to(real)
    keep = replace(keeper.in_dotenv(node.home), companion=f"{store}.lock")
    node.adapter = keeper.Keeper(keep)
    manifest = Path(node.target().bundle) / "manifest"
    assert f"\t{real}.lock\tkeeper\tstore\n" in manifest.read_text()
    assert not (node.home / "dotfiles.lock").exists()


@pytest.mark.parametrize("name", SHELLS)
def test_every_shell_puts_a_key_and_takes_it_back(tmp_path: Path, kept: Kept, name: str) -> None:
    node, store = planted(tmp_path, kept)
    _, path = shell(name, tmp_path / "tools")
    node.inner = LocalRemote(node.home, "/bin/bash", {"PATH": path})
    assert node.target().outcome is Outcome.CHANGED
    assert store.read_text() == kept.new
    assert node.roll_back().outcome is Outcome.CHANGED
    assert store.read_text() == kept.old


def test_a_store_that_moved_since_it_was_looked_at_is_not_written(
    tmp_path: Path, kept: Kept
) -> None:
    node, store = planted(tmp_path, kept)

    def edit(script: str) -> None:
        if writes(script):
            store.write_text("A=somebody else\n")

    node.before = edit
    target = node.target()
    assert target.outcome is Outcome.REFUSED
    assert "not what it was when it was read" in target.reason
    assert store.read_text() == "A=somebody else\n"


def test_only_what_was_approved_is_written(tmp_path: Path, kept: Kept) -> None:
    node, store = planted(tmp_path, kept)
    other = (Approved("keeper", "/somewhere/else", "", "not told"),)
    (target,) = node.set(approved=other).targets
    assert target.outcome is Outcome.REFUSED
    assert store.read_text() == kept.old
    mine = (Approved("keeper", str(store), "not told", "not told"),)
    (target,) = node.set(approved=mine).targets
    assert target.outcome is Outcome.CHANGED


def test_a_target_that_is_gone_is_refused(tmp_path: Path) -> None:
    node, _ = planted(tmp_path, KINDS["dotenv"])
    result = node.set(label="keeper/other")
    assert result.outcome is Outcome.REFUSED


def test_a_key_that_another_one_shadows_is_told_and_kept(tmp_path: Path, kept: Kept) -> None:
    node, store = planted(tmp_path, kept)
    (node.home / ".profile").write_text(f"export {standin.NAME}=another-key-1\n")
    node.adapter = keeper.Keeper(kept.keep(node.home), first=keeper.LOGIN)
    target = node.target()
    assert target.outcome is Outcome.FAILED
    assert "does not take it from there" in target.reason
    assert keeper.LOGIN.told in target.reason
    assert store.read_text() == kept.new


def test_a_key_that_is_not_found_at_its_place_is_taken_back(tmp_path: Path) -> None:
    node, store = planted(tmp_path, KINDS["dotenv"])

    def spoil(script: str) -> None:
        if writes(script):
            node.after = lambda script: None
            where = re.compile(f"{standin.NAME}=.*")
            text = where.sub(f"{standin.NAME}=other-1", store.read_text())
            digest = Sealed(store.read_bytes()).sha256
            store.write_text(text)
            manifest = next(node.bundles.glob("*.done/manifest"))
            replaced = manifest.read_text().replace(digest, Sealed(text.encode()).sha256)
            manifest.write_text(replaced)

    node.after = spoil
    target = node.target()
    assert target.outcome is Outcome.ROLLED_BACK
    assert store.read_text() == KINDS["dotenv"].old


def test_a_lost_answer_is_asked_for_again(tmp_path: Path, kept: Kept) -> None:
    node, store = planted(tmp_path, kept)
    lost = iter([True])

    def lose(script: str) -> None:
        if writes(script) and next(lost, False):
            raise Lost("the connection is gone", "")

    node.after = lose
    assert node.target().outcome is Outcome.CHANGED
    assert store.read_text() == kept.new
    assert len(list(node.bundles.iterdir())) == 1


def test_the_router_is_asked_with_the_new_key(tmp_path: Path, kept: Kept) -> None:
    node, _ = planted(tmp_path, kept)
    with StandInRouter(SERVED, {"node": NEW}) as router:
        node.url = router.url
        target = node.target(proof=Proof.ASK)
    assert target.outcome is Outcome.CHANGED
    assert target.router is not None
    assert target.router.verdict is RouterVerdict.ACCEPTED


def test_a_key_that_the_router_rejects_is_kept_and_fails(tmp_path: Path, kept: Kept) -> None:
    node, store = planted(tmp_path, kept)
    with StandInRouter(SERVED, {"node": OLD}) as router:
        node.url = router.url
        target = node.target(proof=Proof.ASK)
    assert target.outcome is Outcome.FAILED
    assert target.reason.startswith(f"written, but {router.url} rejects it")
    assert "fleetsync rollback node" in target.step
    assert store.read_text() == kept.new


def test_no_result_holds_a_key_and_no_order_with_one_travels(
    tmp_path: Path, kept: Kept
) -> None:
    node, _ = planted(tmp_path, kept)
    result = node.set()
    assert not [key for key in (OLD, NEW) if key in repr(result)]
    order = Order(target="keeper", key=Sealed(NEW.encode()))
    assert NEW not in repr(node.job(Step.SET, order))
    with pytest.raises(TypeError, match="sealed bytes do not travel"):
        pickle.dumps(node.job(Step.SET, order))


def test_a_value_is_written_with_what_the_client_wants_around_it(tmp_path: Path) -> None:
    def keep(home: Path) -> Keep:
        return keeper.in_json(home, "anvil", before='{"type": "api_key", "key": ', after="}")

    node = made(tmp_path, keep)
    reads = Place(PlaceKind.JSON, f"{node.home}/.keeper/auth.json", "anvil\x1fkey")
    node.adapter = keeper.Keeper(keep(node.home), reads=reads)
    assert node.target().outcome is Outcome.CHANGED
    store = node.home / ".keeper/auth.json"
    assert store.read_text() == (
        f'{{\n  "anvil": {{\n    "type": "api_key",\n    "key": "{NEW}"\n  }}\n}}\n'
    )
    assert node.target().outcome is Outcome.IN_STEP
    store.write_text('{"anvil": {"key": "x", "more": 1}}')
    assert node.target().outcome is Outcome.CHANGED
    assert store.read_text() == f'{{"anvil": {{"type": "api_key", "key": "{NEW}"}}}}'
