"""`credential set` as an operator meets it: a terminal, a prompt, a key that nobody sees."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.integration.faults.host import shell
from tests.listing import listing
from tests.unit.fleets import write_inventory

ROOT = Path(__file__).parents[2]
OLD, NEW = "sk-old-canary-000111", "sk-new-canary-222333"
STORE = ".keeper/auth.json"
# The command line over one host, which is a local shell with the made-up client.
PROGRAM = """
import os, sys
from pathlib import Path
from fleetsync import fleet, registry
from fleetsync.cli.main import main
from fleetsync.testing.local import LocalRemote
from tests import keeper
home = Path(sys.argv[1])
adapters = {"pi": keeper.Keeper(keeper.in_json(home), name="pi", names=("pi",))}
registry.discover = lambda: adapters
fleet._by_ssh = lambda host, seconds, secrets: LocalRemote(
    home, "/bin/bash", {"PATH": os.environ["HOST_PATH"], "SHELLOPTS": "allexport"}
)
sys.exit(main(sys.argv[2:]))
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    write_inventory(tmp_path / "inventory")
    home = tmp_path / "home"
    (home / ".keeper").mkdir(parents=True)
    (home / STORE).write_text(f'{{"anvil": {{"key": "{OLD}"}}}}\n')
    (home / STORE).chmod(0o600)
    return home


def argv(home: Path, *words: str) -> list[str]:
    return [sys.executable, "-c", PROGRAM, str(home), "credential", "set", "one", *words]


def environment(home: Path, path: str = "/usr/bin:/bin") -> dict[str, str]:
    """The operator's, with the PATH of the host. (Its bash would export every variable.)"""
    inventory = str(home.parent / "inventory")
    return {**os.environ, "FLEETSYNC_INVENTORY": inventory, "TERM": "dumb", "HOST_PATH": path}


INTERRUPTIBLE = ("env", "--default-signal=INT")
"""Whoever runs the tests in the background may have them ignore ^C, and so their children."""


class Screen:
    """A terminal with the command on it."""

    def __init__(self, home: Path, *words: str) -> None:
        self.shown = ""
        self.terminal, inside = pty.openpty()
        self.process = subprocess.Popen(
            [*INTERRUPTIBLE, "setsid", "--ctty", *argv(home, *words)], cwd=ROOT,
            env=environment(home),
            stdin=inside, stdout=inside, stderr=inside,
        )
        os.close(inside)

    def until(self, text: str) -> None:
        """Read until `text` is shown."""
        while text not in self.shown:
            ready, _, _ = select.select([self.terminal], [], [], 120)
            assert ready, f"{text!r} does not come:\n{self.shown}"
            self._read()

    def types(self, text: str) -> None:
        os.write(self.terminal, text.encode())

    def end(self) -> int:
        """Its exit code, when all is shown."""
        while select.select([self.terminal], [], [], 120)[0] and self._read():
            pass
        os.close(self.terminal)
        return self.process.wait()

    def _read(self) -> bool:
        try:
            data = os.read(self.terminal, 65536)
        except OSError:    # on Linux the end of a terminal
            data = b""
        self.shown += data.decode("utf-8", "replace")
        return bool(data)


def test_a_typed_key_is_never_shown_and_stands_in_the_store(home: Path) -> None:
    screen = Screen(home)
    screen.until("New key for pi on one (not shown): ")
    screen.types(f"{NEW}\n")
    screen.until("Write it on one? [y/N] ")
    screen.types("y\n")
    code = screen.end()
    assert code == 0, screen.shown
    assert (home / STORE).read_text() == f'{{"anvil": {{"key": "{NEW}"}}}}\n'
    assert NEW not in screen.shown
    assert OLD not in screen.shown


def test_an_interruption_at_the_prompt_touches_nothing(home: Path) -> None:
    before = listing(home)
    screen = Screen(home)
    screen.until("(not shown): ")
    screen.types("\x03")
    assert screen.end() == 130, screen.shown
    assert listing(home) == before
    assert not (home.parent / "backups").exists()


def test_an_answer_of_no_touches_nothing(home: Path) -> None:
    before = listing(home)
    screen = Screen(home)
    screen.until("(not shown): ")
    screen.types(f"{NEW}\n")
    screen.until("[y/N] ")
    screen.types("\n")
    assert screen.end() == 2, screen.shown
    assert listing(home) == before


@contextmanager
def watched(found: list[str]) -> Iterator[None]:
    """Note every process that has a key among its arguments or in its environment."""
    stop = threading.Event()

    def look() -> None:
        while not stop.is_set():
            for process in Path("/proc").glob("[0-9]*"):
                for name in ("cmdline", "environ"):
                    try:
                        data = (process / name).read_bytes()
                    except OSError:    # it has ended
                        continue
                    found.extend(f"{name} {key}" for key in (OLD, NEW) if key.encode() in data)

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def piped(
    home: Path, key: str, *words: str, path: str = "/usr/bin:/bin"
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        argv(home, "--yes", *words), input=f"{key}\n", capture_output=True, text=True, cwd=ROOT,
        env=environment(home, path), check=False,
    )


@pytest.mark.parametrize("name", ["dash", "bash", "mksh"])
def test_a_key_is_in_no_process_output_receipt_or_file_but_the_store(
    tmp_path: Path, home: Path, name: str
) -> None:
    found: list[str] = []
    _, path = shell(name, tmp_path / "tools")
    with watched(found):
        ended = piped(home, NEW, "--json", "--debug", path=path)
    assert ended.returncode == 0, ended.stderr
    assert found == []
    assert NEW not in ended.stdout + ended.stderr
    assert OLD not in ended.stdout + ended.stderr
    files = [*(home.parent / "backups").iterdir(), *filter(Path.is_file, home.rglob("*"))]
    held = {key: [path.name for path in files if key in path.read_text()] for key in (OLD, NEW)}
    assert held == {OLD: ["old.1"], NEW: ["auth.json"]}


def test_a_watched_key_would_be_found(home: Path) -> None:
    found: list[str] = []
    with watched(found):
        subprocess.run(["/bin/sleep", "1"], env={"KEY": NEW}, check=True)
    assert set(found) == {f"environ {NEW}"}


def test_a_refused_store_shows_no_key(home: Path) -> None:
    (home / STORE).write_text(f'{{"anvil": {{"key": "{OLD}"}},}}\n')
    before = (home / STORE).read_bytes()
    ended = piped(home, NEW)
    assert ended.returncode == 5, ended.stdout
    assert "it is not valid JSON" in ended.stdout
    assert not [key for key in (OLD, NEW) if key in ended.stdout + ended.stderr]
    assert (home / STORE).read_bytes() == before
