"""The command line as a process of its own: imports, streams, pipes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from .fleets import write_inventory

ROOT = Path(__file__).parents[2]
HEAVY = ("paramiko", "pydantic", "rich", "fabric", "httpx", "yaml", "ruamel", "tomlkit")
# What a process does that meets hosts made by hand instead of `fleet.run`.
OVER_FAKES = """
import sys
from fleetsync import fleet
from fleetsync.job import Step
from tests.unit.fleets import FakeFleet, changed, drift
fake = FakeFleet()
for name in ("one", "two", "three"):
    fake.set(Step.PREVIEW, drift(name))
    fake.set(Step.APPLY, changed(name))
fleet.run = fake.run
from fleetsync.cli.main import main
code = main(sys.argv[1:])
print(fake.steps(Step.APPLY), file=sys.stderr)
sys.exit(code)
"""

# Hosts that never answer, under the real `fleet.run`.
OVER_SILENCE = """
import sys, threading
from fleetsync import fleet
def settle(job, salts, connect):
    print("silent", flush=True)
    threading.Event().wait()
fleet.settle = settle
from fleetsync.__main__ import main
sys.exit(main())
"""


def process(
    *words: str, program: str | None = None, more: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    start = ["-c", program] if program else ["-m", "fleetsync"]
    return subprocess.run(
        [sys.executable, *start, *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env={**os.environ, **(more or {})},
        cwd=ROOT,
        check=False,
    )


@pytest.mark.parametrize("words", [["--help"], ["preview", "--help"], ["--version"], ["nonsense"]])
def test_help_version_and_mistakes_import_nothing_heavy(words: list[str]) -> None:
    program = (
        "import sys\nfrom fleetsync.__main__ import main\nsys.argv[1:] = "
        f"{words!r}\ncode = main()\nheavy = {HEAVY!r}\n"
        "print(*sorted(set(heavy) & {name.partition('.')[0] for name in sys.modules}), 'end')"
    )
    found = process(program=program)
    assert found.stdout.splitlines()[-1].split() == ["end"], found


def test_completion_imports_nothing_heavy_and_knows_the_hosts(tmp_path: Path) -> None:
    program = (
        "import atexit, sys\n"
        f"heavy = {HEAVY!r}\n"
        "atexit.register(lambda: print(*sorted(set(heavy) & "
        "{name.partition('.')[0] for name in sys.modules}), 'end'))\n"
        "from fleetsync.cli.main import main\nmain()\n"
    )
    found = process(
        program=program,
        more={
            "_FLEETSYNC_COMPLETE": "bash_complete",
            "COMP_WORDS": "fleetsync preview t",
            "COMP_CWORD": "2",
            "FLEETSYNC_INVENTORY": str(write_inventory(tmp_path / "inventory")),
        },
    )
    assert found.stdout.split() == ["plain,two", "plain,three", "end"]


def test_completion_offers_groups_and_is_silent_without_an_inventory(tmp_path: Path) -> None:
    words = {"_FLEETSYNC_COMPLETE": "bash_complete", "COMP_WORDS": "fleetsync preview @",
             "COMP_CWORD": "2"}
    there = {**words, "FLEETSYNC_INVENTORY": str(write_inventory(tmp_path / "inventory"))}
    assert process(more=there).stdout == "plain,@canary\n"
    nowhere = process(more={**words, "FLEETSYNC_INVENTORY": str(tmp_path / "none")})
    assert (nowhere.stdout.strip(), nowhere.stderr) == ("", "")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_shell_gets_a_completion_script(shell: str) -> None:
    found = process("completion", shell)
    assert found.returncode == 0
    assert "_FLEETSYNC_COMPLETE=" in found.stdout


def test_version_is_the_distributions() -> None:
    from importlib.metadata import version

    assert process("--version").stdout == f"fleetsync {version('fleetsync')}\n"


def test_no_command_shows_the_help_on_stderr() -> None:
    found = process()
    assert found.returncode == 2
    assert found.stdout == ""
    assert found.stderr.startswith("Usage: fleetsync")


def test_without_a_terminal_apply_does_not_wait(tmp_path: Path) -> None:
    inventory = write_inventory(tmp_path / "inventory")
    found = process("apply", "--inventory", str(inventory), program=OVER_FAKES)
    assert found.returncode == 2
    assert found.stderr.endswith("[]\n")


@pytest.mark.parametrize("words", [("apply",), ("credential", "set", "one", "--yes")])
def test_a_closed_standard_input_is_one_where_nobody_sits(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    program = f"import os, sys\nos.close(0)\nsys.stdin = None\n{OVER_FAKES}"
    inventory = ("--inventory", str(write_inventory(tmp_path / "inventory")))
    assert process(*words, *inventory, program=program).returncode == 2


def test_a_reader_that_went_away_does_not_stop_the_work(tmp_path: Path) -> None:
    inventory = write_inventory(tmp_path / "inventory")
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing) as nobody_reads:
        found = subprocess.run(
            [sys.executable, "-c", OVER_FAKES, "apply", "--yes", "--inventory", str(inventory)],
            stdin=subprocess.DEVNULL,
            stdout=nobody_reads,
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            check=False,
        )
    assert found.returncode == 0
    assert found.stderr.endswith("['one', 'two', 'three']\n")
    assert "BrokenPipe" not in found.stderr


def test_an_answer_that_finds_no_room_is_a_failure_after_the_work(tmp_path: Path) -> None:
    inventory = write_inventory(tmp_path / "inventory")
    with Path("/dev/full").open("w") as full:
        found = subprocess.run(
            [sys.executable, "-c", OVER_FAKES, "apply", "--yes", "--inventory", str(inventory)],
            stdin=subprocess.DEVNULL,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            check=False,
        )
    assert found.returncode == 1
    assert "error: the answer cannot be written: No space left on device" in found.stderr
    assert found.stderr.endswith("['one', 'two', 'three']\n")


def test_a_stream_that_takes_ascii_alone_gets_escapes(tmp_path: Path) -> None:
    (tmp_path / "Zoë").mkdir()
    found = process(
        "preview", "--inventory", str(tmp_path / "Zoë"), more={"PYTHONIOENCODING": "ascii"}
    )
    assert found.returncode == 2
    assert "Zo\\xeb" in found.stderr


def test_a_second_interrupt_leaves_although_no_host_answers(tmp_path: Path) -> None:
    inventory = write_inventory(tmp_path / "inventory")
    words = ["preview", "--workers", "1", "--inventory", str(inventory)]
    with subprocess.Popen(
        [sys.executable, "-c", OVER_SILENCE, *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    ) as begun:
        assert begun.stdout and begun.stderr
        assert begun.stdout.readline() == "silent\n"
        begun.send_signal(signal.SIGINT)
        assert any("^C again" in line for line in begun.stderr)
        begun.send_signal(signal.SIGINT)
        assert begun.wait(60) == 130
        lines = begun.stdout.read().splitlines()
        assert lines[-2:] == ["no answer known: one", "not started: two, three"]
