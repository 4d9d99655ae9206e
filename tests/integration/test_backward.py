"""rollback, recover, bundles and --check-after as an operator types them, on local hosts."""

from __future__ import annotations

import hashlib
import io
import json
import re
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from fleetsync import fleet
from fleetsync.cli.main import main
from fleetsync.inventory import Host
from fleetsync.remote import Remote
from tests.integration.local_node import NEW, OLD, Node, made
from tests.listing import listing

FLEET = """\
[router]
provider = "anvil"
base_url = "https://router.example.net/v1"
credential = "ROUTER_API_KEY"
[hosts.one]
clients = ["pi"]
[hosts.two]
clients = ["pi"]
"""
CATALOG = """\
[aliases."llm.primary"]
context_window = 393216
max_output_tokens = 4096
[aliases."llm.secondary"]
context_window = 393216
max_output_tokens = 4096
"""


class Terminal(io.StringIO):
    """A stdin where somebody sits and types this."""

    def isatty(self) -> bool:
        return True


@dataclass
class Bench:
    """An inventory of two local hosts and the command line over it."""

    folder: Path
    captured: pytest.CaptureFixture[str]
    nodes: dict[str, Node] = field(default_factory=dict)
    out: str = ""
    err: str = ""

    def run(self, *words: str) -> int:
        # No test asks a router that is not on this machine.
        offline = ("--offline",) if words[0] == "apply" else ()
        code = main((*words, *offline))
        self.out, self.err = self.captured.readouterr()
        return code

    def connect(self, host: Host, seconds: float) -> Remote:
        return self.nodes[host.name]

    @property
    def envelope(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.out)
        return found

    @property
    def receipts(self) -> Path:
        return self.folder / "backups"

    def run_id(self) -> str:
        """The run of the newest receipt."""
        return max(self.receipts.glob("*.json"), key=lambda p: p.stat().st_mtime_ns).stem[-8:]


@pytest.fixture
def bench(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Bench]:
    folder = tmp_path / "operator"
    (folder / "inventory").mkdir(parents=True)
    (folder / "inventory/fleet.toml").write_text(FLEET)
    (folder / "inventory/catalog.toml").write_text(CATALOG)
    bench = Bench(folder, capsys)
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        bench.nodes[name] = made(tmp_path / name)
    monkeypatch.setattr(fleet, "_by_ssh", lambda host, seconds, **_: bench.connect(host, seconds))
    monkeypatch.setenv("FLEETSYNC_INVENTORY", str(folder / "inventory"))
    monkeypatch.setattr("sys.stdin", io.StringIO())
    yield bench


def cut_off(node: Node) -> None:
    """Leave a transaction behind as a killed host would: decided, nothing swapped."""
    (bundle,) = node.bundles.iterdir()
    bundle.rename(bundle.with_suffix(".commit"))
    node.models.write_text(OLD)


# --- rollback ------------------------------------------------------------------------


def test_a_host_goes_back_with_catalog_broken_and_receipts_lost(bench: Bench) -> None:
    assert bench.run("apply", "one", "--yes") == 0
    (bench.folder / "inventory/catalog.toml").write_text("[aliases.")
    for path in bench.receipts.iterdir():
        path.unlink()
    assert bench.run("rollback", "one", "--yes") == 0
    assert bench.nodes["one"].models.read_text() == OLD
    lines = bench.out.splitlines()
    assert "one  pi  drift  4 changes" in lines
    assert "one  pi  changed  4 changes" in lines
    assert "1 host: 1 changed" in lines


def test_a_run_goes_back_on_all_its_hosts_and_stays_back_until_asked_again(bench: Bench) -> None:
    assert bench.run("apply", "--yes") == 0
    run = bench.run_id()
    assert bench.run("rollback", "--run", run, "--yes") == 0
    assert [node.models.read_text() for node in bench.nodes.values()] == [OLD, OLD]
    sent = len(bench.nodes["one"].scripts)
    assert bench.run("apply", "--yes") == 2
    assert f"was taken back: run {run}" in bench.err
    assert len(bench.nodes["one"].scripts) == sent
    bench.run("preview", "-q")
    assert "apply needs --again" in bench.err
    assert bench.run("apply", "--yes", "--again") == 0
    assert "needs --again" not in bench.err
    assert bench.nodes["two"].models.read_text() == NEW
    assert bench.run("apply", "--yes") == 0


def test_a_run_that_goes_back_on_one_host_alone_may_be_applied_again(bench: Bench) -> None:
    bench.run("apply", "--yes")
    assert bench.run("rollback", "one", "--run", bench.run_id(), "--yes") == 0
    assert [node.models.read_text() for node in bench.nodes.values()] == [OLD, NEW]
    assert bench.run("apply", "--yes") == 0
    assert bench.nodes["one"].models.read_text() == NEW


def test_a_generation_that_moved_on_is_applied_after_a_run_was_taken_back(bench: Bench) -> None:
    bench.run("apply", "one", "--yes")
    bench.run("rollback", "--run", bench.run_id(), "--yes")
    moved = CATALOG.replace("393216", "262144")
    (bench.folder / "inventory/catalog.toml").write_text(moved)
    assert bench.run("apply", "one", "--yes") == 0
    assert "262144" in bench.nodes["one"].models.read_text()


def test_a_run_that_wrote_nothing_here_leaves_nothing_to_undo(bench: Bench) -> None:
    before = listing(bench.nodes["two"].home)
    assert bench.run("rollback", "two", "--run", "abcd1234", "--yes") == 0
    assert "nothing to undo: no bundle of run abcd1234" in bench.out
    assert listing(bench.nodes["two"].home) == before


def test_a_conflict_is_5_and_in_the_envelope_and_the_rest_goes_back(bench: Bench) -> None:
    bench.run("apply", "--yes")
    mine = NEW.replace("393216", "300000", 1)
    bench.nodes["one"].models.write_text(mine)
    assert bench.run("rollback", "one", "two", "--yes", "--json") == 5
    outcomes = {host["host"]: host["targets"][0]["outcome"] for host in bench.envelope["hosts"]}
    assert outcomes == {"one": "conflict", "two": "changed"}
    assert bench.nodes["one"].models.read_text() == mine
    assert bench.nodes["two"].models.read_text() == OLD
    assert bench.run("rollback", "one", "--yes", "--force") == 0
    assert bench.nodes["one"].models.read_text() == OLD


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("rollback", "one"), "no terminal to ask on"),
        (("rollback", "--yes"), "rollback wants a HOST"),
        (("rollback", "--yes", "--bundle", "abcd1234", "*"), "a bundle of one host"),
        (("rollback", "--yes", "--run", "abcd1234"), "no receipt of run abcd1234"),
        (("rollback", "one", "--yes", "--run", "a", "--bundle", "b"), "exclude each other"),
        (("rollback", "one", "--yes", "--run", ""), "'--run': it is empty"),
        (("rollback", "one", "--yes", "--bundle", ""), "'--bundle': it is empty"),
        (("apply", "--yes", "--check-after", "nan"), "nan is no amount"),
        (("bundles", "prune", "--yes", "--older-than", "inf"), "inf is no amount"),
        (("preview", "--timeout", "nan"), "nan is no amount"),
        (("rollback", "one", "--yes", "--client", "pj"), "no client is called pj"),
        (("recover",), "no terminal to ask on"),
        (("bundles", "prune"), "no terminal to ask on"),
    ],
)
def test_what_is_not_clear_is_2_and_no_host_is_contacted(
    bench: Bench, words: tuple[str, ...], told: str
) -> None:
    assert bench.run(*words) == 2
    assert told in bench.err
    assert bench.nodes["one"].scripts == []


@pytest.mark.parametrize("spoil", [
    lambda text: text.replace("END\n", ""),
    lambda text: text.replace("F\t1\t", "F\tx\t"),
    lambda text: "",
])
def test_a_damaged_manifest_is_no_whole_bundle_and_no_bug(
    bench: Bench, spoil: Callable[[str], str]
) -> None:
    bench.run("apply", "one", "--yes")
    manifest = next(bench.nodes["one"].bundles.glob("*/manifest"))
    manifest.write_text(spoil(manifest.read_text()))
    assert bench.run("bundles", "list", "one") == 0
    assert manifest.parent.stem in bench.out
    assert bench.run("bundles", "verify", "one") == 1
    assert bench.run("rollback", "one", "--yes") == 5
    assert f"the manifest of bundle {manifest.parent.stem} is damaged" in bench.out
    assert bench.nodes["one"].models.read_text() == NEW


def test_no_is_2_and_nothing_goes_back(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.run("apply", "one", "--yes")
    monkeypatch.setattr("sys.stdin", Terminal("n\n"))
    assert bench.run("rollback", "one") == 2
    assert "Write 1 file on 1 host? [y/N] " in bench.err
    assert bench.nodes["one"].models.read_text() == NEW


def test_the_receipt_of_a_rollback_tells_what_it_did(bench: Bench) -> None:
    bench.run("apply", "one", "--yes")
    bench.run("rollback", "one", "--yes")
    path = bench.receipts / next(
        line for line in bench.out.splitlines() if line.startswith("receipt: ")
    ).removeprefix("receipt: ")
    kept = json.loads(path.read_text())
    assert (kept["command"], kept["state"]) == ("rollback", "done")
    assert [(a["step"], a["outcome"]) for a in kept["attempts"]][-1] == ("rollback", "changed")


def test_a_bundle_goes_back_by_hand_as_the_readme_beside_the_receipts_says(bench: Bench) -> None:
    text = (Path(__file__).parents[2] / "backups/README.md").read_text()
    commands = [block for block in re.findall(r"```sh\n(.*?)```", text, re.S)]
    bench.run("apply", "one", "--yes")
    node, bundle = bench.nodes["one"], bundle_of(bench)
    script = "set -e\n" + "".join(commands).replace("TRANSACTION.done", bundle.name)
    done = subprocess.run(
        ["sh", "-c", script], env={"HOME": str(node.home), "PATH": "/usr/bin:/bin"},
        capture_output=True, text=True, check=True,
    )
    digest = hashlib.sha256(OLD.encode()).hexdigest()
    assert f"{digest}  old.1" in done.stdout
    assert f"F\t1\t{digest}\t" in done.stdout
    assert node.models.read_text() == OLD


def test_the_command_that_a_rollback_ends_with_takes_it_back(bench: Bench) -> None:
    bench.run("apply", "one", "--yes")
    bench.run("rollback", "one", "--yes")
    last = bench.out.splitlines()[-1]
    assert last.startswith("take this back in turn: fleetsync rollback one --run ")
    assert bench.run(*last.partition("fleetsync ")[2].split(), "--yes") == 0
    assert bench.nodes["one"].models.read_text() == NEW


def test_the_command_that_an_apply_ends_with_takes_it_back(bench: Bench) -> None:
    bench.run("apply", "one", "--yes")
    (back,) = [line for line in bench.out.splitlines() if line.startswith("take it back: ")]
    assert bench.run(*back.partition("fleetsync ")[2].split(), "--yes") == 0
    assert bench.nodes["one"].models.read_text() == OLD


def test_a_rollback_settles_what_was_cut_off_and_shows_what_it_means_now(bench: Bench) -> None:
    bench.run("apply", "one", "--yes")
    cut_off(bench.nodes["one"])
    assert bench.run("rollback", "one", "--yes") == 5
    assert "interrupted in state commit: done now" in bench.out
    assert bench.nodes["one"].models.read_text() == NEW
    assert bench.run("rollback", "one", "--yes") == 0
    assert bench.nodes["one"].models.read_text() == OLD


# --- recover -------------------------------------------------------------------------


def test_recover_finishes_what_was_cut_off_and_says_so(bench: Bench) -> None:
    bench.run("apply", "one", "--yes")
    cut_off(bench.nodes["one"])
    assert bench.run("preview", "one") == 3
    assert bench.out.splitlines()[-1] == "next: fleetsync recover one"
    assert bench.run("recover", "--yes") == 0
    assert "interrupted in state commit, finished: " in bench.out
    assert bench.nodes["one"].models.read_text() == NEW
    assert bench.run("preview", "one") == 0


def test_recover_takes_back_on_demand(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.run("apply", "one", "--yes")
    cut_off(bench.nodes["one"])
    monkeypatch.setattr("sys.stdin", Terminal("y\n"))
    assert bench.run("recover", "--undo") == 0
    assert "Take back 1 transaction on 1 host? [y/N] " in bench.err
    assert "interrupted in state commit, taken back: " in bench.out
    assert bench.nodes["one"].models.read_text() == OLD


def test_recover_declined_leaves_it(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.run("apply", "one", "--yes")
    cut_off(bench.nodes["one"])
    before = listing(bench.nodes["one"].home)
    monkeypatch.setattr("sys.stdin", Terminal("n\n"))
    assert bench.run("recover") == 2
    assert listing(bench.nodes["one"].home) == before


def test_recover_with_nothing_to_do_says_so(bench: Bench) -> None:
    before = listing(bench.nodes["one"].home)
    assert bench.run("recover", "--yes") == 0
    assert bench.out == "2 hosts: nothing was interrupted\n"
    assert listing(bench.nodes["one"].home) == before


def test_recover_carries_what_it_found_in_the_envelope(bench: Bench) -> None:
    bench.run("apply", "one", "--yes")
    cut_off(bench.nodes["one"])
    assert bench.run("recover", "one", "--yes", "--json") == 0
    ((row,),) = [host["recoveries"] for host in bench.envelope["hosts"]]
    assert (row["found"], row["now"]) == ("commit", "done")


# --- bundles -------------------------------------------------------------------------


def bundle_of(bench: Bench, name: str = "one") -> Path:
    (bundle,) = bench.nodes[name].bundles.iterdir()
    return bundle


def test_bundles_are_listed_with_their_writer_and_targets(bench: Bench) -> None:
    bench.run("apply", "one", "--yes")
    run, identity = bench.run_id(), bundle_of(bench).stem
    assert bench.run("bundles", "list") == 0
    line, other = bench.out.splitlines()
    assert line.startswith(f"one  {identity}  done  ")
    assert re.search(rf" ago  \S+  run {run}  generation [0-9a-f]{{12}}  ", line)
    assert line.endswith("pi  1 file")
    assert other == "two  no bundle"


def test_one_bundle_is_shown_with_digests_and_sizes_and_no_content(bench: Bench) -> None:
    bench.run("apply", "one", "--yes")
    assert bench.run("bundles", "show", "one") == 0
    assert f"  {len(OLD)} bytes, intact" in bench.out
    assert "mode 0644" in bench.out
    assert bench.run("bundles", "show", "one", "--json") == 0
    assert "other-secret-key-1" not in bench.out


@pytest.mark.parametrize(("harm", "word"), [("spoil", "damaged"), ("remove", "missing")])
def test_an_original_that_is_not_what_it_was_is_1(bench: Bench, harm: str, word: str) -> None:
    bench.run("apply", "one", "--yes")
    assert bench.run("bundles", "verify", "one") == 0
    assert "intact" in bench.out
    original = bundle_of(bench) / "old.1"
    if harm == "spoil":
        original.write_text(NEW)
    else:
        original.unlink()
    assert bench.run("bundles", "verify", "one") == 1
    assert f"  done  {word}  " in bench.out


def test_a_bundle_that_is_not_there_is_5(bench: Bench) -> None:
    assert bench.run("bundles", "show", "one", "--bundle", "feedbeef") == 5


def test_prune_keeps_the_newest_good_bundle_whatever_is_asked(bench: Bench) -> None:
    node = bench.nodes["one"]
    bench.run("apply", "one", "--yes")
    first = bundle_of(bench).name
    bench.run("rollback", "one", "--yes")
    assert bench.run("bundles", "prune", "one", "--keep", "0", "--yes") == 0
    assert "removed: 1 bundle" in bench.out
    (left,) = node.bundles.iterdir()
    assert left.name != first
    assert left.suffix == ".done"
    assert bench.run("bundles", "prune", "one", "--keep", "0", "--yes") == 0
    assert "nothing to prune" in bench.out.splitlines()


def test_prune_leaves_what_is_interrupted(bench: Bench) -> None:
    bench.run("apply", "one", "--yes")
    cut_off(bench.nodes["one"])
    assert bench.run("bundles", "prune", "one", "--keep", "0", "--yes") == 0
    assert bundle_of(bench).suffix == ".commit"


def test_prune_declined_removes_nothing(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.run("apply", "one", "--yes")
    bench.run("rollback", "one", "--yes")
    monkeypatch.setattr("sys.stdin", Terminal("n\n"))
    assert bench.run("bundles", "prune", "one", "--keep", "0") == 2
    assert len(list(bench.nodes["one"].bundles.iterdir())) == 2


# --- apply --check-after -------------------------------------------------------------


def test_a_file_that_holds_is_changed_after_the_second_look(bench: Bench) -> None:
    assert bench.run("apply", "one", "--yes", "--check-after", "0.01") == 0
    assert "one  note: still so after 0.01 s" in bench.out.splitlines()


def test_programs_that_write_the_same_files_are_named_beside_the_guess(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = bench.nodes["one"]
    (node.home / ".cc-switch").mkdir()
    (node.home / ".cc-switch/cc-switch.db").touch()

    def write(seconds: float) -> None:
        node.models.write_text(NEW.replace("393216", "7"))

    monkeypatch.setattr("fleetsync.cli.check_after.sleep", write)
    assert bench.run("apply", "one", "--yes", "--check-after", "30") == 1
    assert "another program (used on this host: cc-switch)" in bench.out


def test_a_writer_who_comes_later_is_named_and_the_apply_failed(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write(seconds: float) -> None:
        bench.nodes["one"].models.write_text(OLD)

    monkeypatch.setattr("fleetsync.cli.check_after.sleep", write)
    assert bench.run("apply", "one", "--yes", "--check-after", "30", "--json") == 1
    ((target,),) = [host["targets"] for host in bench.envelope["hosts"]]
    assert target["outcome"] == "failed"
    assert "pi or a tool that put its own copy of the former file back" in target["reason"]
    kept = json.loads(next(bench.receipts.glob("*.json")).read_text())
    assert [a["outcome"] for a in kept["attempts"]] == ["drift", "changed", "failed"]
