"""The demo holds its story, tells when it does not, and is what the README shows."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from fleetsync.cli.main import main
from fleetsync.demo import tell
from fleetsync.demo.hosts import NEW, DemoHost, key, lay_out

ROOT = Path(__file__).parents[2]
ROUTER = "http://127.0.0.1:9/v1"


def play(*words: str, directory: Path) -> subprocess.CompletedProcess[str]:
    """The demo in a directory without a checkout, on an account that has nothing."""
    return subprocess.run(
        [sys.executable, "-m", "fleetsync", "demo", *words],
        cwd=directory,
        env={"PATH": os.environ["PATH"], "HOME": str(directory), "TMPDIR": str(directory)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> subprocess.CompletedProcess[str]:
    directory = tmp_path_factory.mktemp("demo")
    done = play(directory=directory)
    assert list(directory.iterdir()) == []
    return done


def normal(transcript: str) -> str:
    """A transcript without what differs from run to run."""
    text = re.sub(r"/\S*/fleetsync-demo-[^/\s]+", "/tmp/fleetsync-demo", transcript)
    text = re.sub(r"txn/[^/\s]+\.done", "txn/TRANSACTION.done", text)
    text = re.sub(r"\d{8}T\d{6}Z-[0-9a-f]{8}", "TIME-RUN", text)
    text = re.sub(r"--run [0-9a-f]{8}", "--run RUN", text)
    text = re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:PORT", text)
    text = re.sub(r"\b[0-9a-f]{16}\b", "DIGEST", text)
    # Only some machines have a user manager or a keyring to ask.
    text = re.sub(r"^ +unknown +\S+ in the systemd user manager.*\n", "", text, flags=re.M)
    text = re.sub(r"^ +\w+ +an item called \S+ in the keyring.*\n", "", text, flags=re.M)
    text = text.replace(", the systemd user manager's environment", "")
    return re.sub(r" {2,}", "  ", text)


def test_the_story_holds_and_leaves_nothing(
    played: subprocess.CompletedProcess[str],
) -> None:
    assert (played.returncode, "BROKEN" in played.stdout) == (0, False), played


def test_the_readme_shows_the_real_transcript(
    played: subprocess.CompletedProcess[str],
) -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    shown = re.search(r"<!-- demo: begin -->\n```\n(.*?)```\n<!-- demo: end -->", readme, re.S)
    assert shown
    assert normal(shown[1]) == normal(played.stdout)


def test_all_three_clients_are_shown_changed(
    played: subprocess.CompletedProcess[str],
) -> None:
    shown = re.findall(r"^(\S+) +(\S+) +changed +(.*)$", played.stdout, re.M)
    assert shown == [
        ("primary-node", "pi", "8 changes"),
        ("primary-node", "openclaw", "8 changes"),
        ("primary-node", "hermes/default", "5 changes"),
        ("primary-node", "hermes/work", "5 changes"),
        ("companion-node", "pi", "8 changes"),
        ("companion-node", "openclaw", "8 changes"),
        ("mid-mod", "pi", "1 change"),
        ("mid-mod", "pi", "8 changes"),
    ]


def test_the_host_without_a_key_is_shown_refused_with_its_drift(
    played: subprocess.CompletedProcess[str],
) -> None:
    after = played.stdout.partition("$ fleetsync preview mid-mod")[2]
    assert "mid-mod  pi  refused" in after.splitlines()[1]
    assert "drift all the same: 8 changes" in after


def test_the_refused_host_is_told_the_command_that_opens_it_and_then_converges(
    played: subprocess.CompletedProcess[str],
) -> None:
    refusal, given = played.stdout.split("$ fleetsync credential set mid-mod --yes")
    assert "  next: fleetsync credential set mid-mod --target pi\n" in refusal
    assert re.search(r"^mid-mod +pi +changed +8 changes$", given, re.M)


def test_no_key_is_shown(played: subprocess.CompletedProcess[str]) -> None:
    for host in ("primary-node", "companion-node", "mid-mod"):
        assert key(host) not in played.stdout + played.stderr


def test_one_file_more_is_the_move_alone_where_it_was_to_come(primary: DemoHost) -> None:
    before = primary.listing()
    move(primary)
    (primary.home / ".pi/agent/new.json").write_bytes(b"")
    assert not primary.moved_alone(before)
    assert primary.moved_alone(before, besides=(".pi/agent/new.json",))


def test_every_commands_output_says_stand_in_client(
    played: subprocess.CompletedProcess[str],
) -> None:
    commands = re.findall(r"^\$ .*", played.stdout, re.M)
    assert len(commands) >= 4
    assert all("stand-in client" in command for command in commands)


def test_json_tells_the_claims_in_one_envelope(tmp_path: Path) -> None:
    done = play("--json", directory=tmp_path)
    envelope = json.loads(done.stdout)
    assert (done.returncode, envelope["status"], envelope["errors"]) == (0, "ok", [])
    assert len(envelope["notices"]) >= 5


@pytest.mark.parametrize("played_alone", ["apply", "verify"])
def test_a_story_that_breaks_says_which_part(played_alone: str) -> None:
    def partly(words: Sequence[str]) -> int:
        return main(words) if words[0] == played_alone else 0

    told: list[str] = []
    with redirect_stdout(io.StringIO()):
        broken = [claim for claim in tell(partly, told.append) if not claim.held]
    assert broken
    assert any(line.startswith("  BROKEN  primary-node: every client's loader") for line in told)


@pytest.fixture
def primary(tmp_path: Path) -> DemoHost:
    return lay_out(tmp_path, ROUTER)[0]


def move(host: DemoHost) -> None:
    for file in host.catalog_files:
        (host.home / file.path).write_bytes(file.text(NEW, ROUTER))


def test_a_move_of_all_limits_and_of_nothing_else_is_told_from_others(primary: DemoHost) -> None:
    before = primary.listing()
    move(primary)
    (primary.home / ".local/state/fleetsync").mkdir(parents=True)
    assert primary.moved_alone(before)


@pytest.mark.parametrize("file", [
    ".pi/agent/models.json", ".openclaw/openclaw.json", ".openclaw/.env",
    ".hermes/config.yaml", ".hermes/profiles/work/config.yaml",
])
def test_one_more_byte_in_any_file_is_not_the_move_alone(primary: DemoHost, file: str) -> None:
    before = primary.listing()
    move(primary)
    (primary.home / file).write_bytes((primary.home / file).read_bytes() + b" ")
    assert not primary.moved_alone(before)


def test_one_more_file_is_not_the_move_alone(primary: DemoHost) -> None:
    before = primary.listing()
    move(primary)
    (primary.home / ".hermes/config.yaml.bak").write_bytes(b"")
    assert not primary.moved_alone(before)


def test_files_that_did_not_move_are_told_from_those_that_did(primary: DemoHost) -> None:
    assert not primary.moved_alone(primary.listing())


def test_a_text_has_as_many_limits_as_it_says(primary: DemoHost) -> None:
    found = {
        file.target: len(re.findall(b"1234567|765432", file.text((1234567, 765432), ROUTER)))
        for file in primary.catalog_files
    }
    assert found == {file.target: file.changes for file in primary.catalog_files}


def test_the_temporary_directory_is_removed_when_the_demo_is_interrupted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(KeyboardInterrupt):
        tell(lambda words: 130, lambda line: None)
    assert list(tmp_path.iterdir()) == []
