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

ROOT = Path(__file__).parents[2]


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
    # Only some machines have a user manager to ask.
    text = re.sub(r"^ +unknown +\S+ in the systemd user manager.*\n", "", text, flags=re.M)
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


@pytest.mark.parametrize("left_out", ["apply", "verify"])
def test_a_story_that_breaks_says_which_part(left_out: str) -> None:
    def without(words: Sequence[str]) -> int:
        return 0 if words[0] == left_out else main(words)

    told: list[str] = []
    with redirect_stdout(io.StringIO()) as answer:
        broken = _broken(without, told, answer)
    assert broken
    assert any(line.startswith("  BROKEN  primary-node") for line in told)


def _broken(without: object, told: list[str], answer: io.StringIO) -> list[str]:
    claims = tell(without, told.append)  # type: ignore[arg-type] # a main of the test's own
    return [claim.text for claim in claims if not claim.held]


def test_the_temporary_directory_is_removed_when_the_demo_is_interrupted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(KeyboardInterrupt):
        tell(lambda words: 130, lambda line: None)
    assert list(tmp_path.iterdir()) == []
