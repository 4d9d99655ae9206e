"""`demo --turn` takes a real turn where it can, and says what it needs where it cannot."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from fleetsync.demo.real import RealPi, find
from tests.clients.install import installed, launcher, node

VERSION = "1.6.0"
NPM = """\
#!/bin/sh
# npm, as far as it is used: it lays the real package where it is told.
while [ "$1" != --prefix ]; do shift; done
echo "$3" >> {log}
ln -s {modules} "$2/node_modules"
"""


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """All that PATH has besides the system's own programs, which know no Node and no Pi."""
    directory = tmp_path / "bin"
    directory.mkdir()
    for name in ("sh", "ln", "curl", "python3"):
        (directory / name).symlink_to(Path("/usr/bin") / name)
    return directory


def put(programs: Path, name: str, text: str) -> None:
    """A program of a few lines."""
    program = programs / name
    program.write_text(text)
    program.chmod(0o755)


def play(programs: Path) -> subprocess.CompletedProcess[str]:
    home = programs.with_name("home")
    home.mkdir(exist_ok=True)
    return subprocess.run(
        [sys.executable, "-m", "fleetsync", "demo", "--turn"],
        cwd=home, env={"PATH": str(programs), "HOME": str(home), "TMPDIR": str(home)},
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
    )


def test_the_pi_on_path_takes_a_real_turn_in_the_demo(programs: Path) -> None:
    (programs / "node").symlink_to(node())
    (programs / "pi").symlink_to(launcher("pi", VERSION))
    done = play(programs)
    assert (done.returncode, "BROKEN" in done.stdout) == (0, False), done
    assert "  turn of llm.primary: passed" in done.stdout
    assert "turn (new session): llm.primary     passed" in done.stdout
    assert list(programs.with_name("home").iterdir()) == []


def test_npm_installs_pi_once_where_path_has_none(
    programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (programs / "node").symlink_to(node())
    log, cache = programs.with_name("log"), programs.with_name("cache")
    modules, program = installed("pi", VERSION) / "node_modules", launcher("pi", VERSION)
    put(programs, "npm", NPM.format(log=log, modules=modules))
    monkeypatch.setenv("PATH", str(programs))
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    said: list[str] = []
    found = [find(said.append) for _ in range(2)]
    assert found == [RealPi(program, VERSION, programs / "node")] * 2
    assert log.read_text() == f"@earendil-works/pi-coding-agent@{VERSION}\n"
    assert [entry.name for entry in (cache / "fleetsync").iterdir()] == [f"pi-{VERSION}"]
    assert [line.partition(" ")[0] for line in said] == ["installing"]


def test_without_node_it_says_which_it_needs_and_touches_nothing(programs: Path) -> None:
    done = play(programs)
    assert (done.returncode, done.stdout) == (2, "")
    assert "needs Node.js 22.19.0 or newer; PATH has no node" in done.stderr
    assert list(programs.with_name("home").iterdir()) == []


@pytest.mark.parametrize(("said", "told"), [("v20.20.2", "is 20.20.2"), ("?", "of no version")])
def test_a_node_that_is_too_old_or_none_is_named(programs: Path, said: str, told: str) -> None:
    put(programs, "node", f"#!/bin/sh\necho '{said}'\n")
    done = play(programs)
    assert (done.returncode, told in done.stderr) == (2, True), done


def test_another_program_called_pi_is_no_pi(programs: Path) -> None:
    (programs / "node").symlink_to(node())
    put(programs, "pi", "#!/bin/sh\necho 3.14159\n")
    done = play(programs)
    assert done.returncode == 2
    assert "no npm to install it" in done.stderr


def test_an_npm_that_fails_is_quoted_and_leaves_nothing(programs: Path) -> None:
    (programs / "node").symlink_to(node())
    put(programs, "npm", "#!/bin/sh\necho 'npm error ENOTFOUND' >&2\nexit 1\n")
    done = play(programs)
    assert (done.returncode, "npm error ENOTFOUND" in done.stderr) == (1, True), done
    assert list((programs.with_name("home") / ".cache" / "fleetsync").iterdir()) == []
