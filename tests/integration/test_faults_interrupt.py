"""^C in the middle of an apply, on a real sshd: the command line leaves, the host ends whole."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests import standin
from tests.integration.sshd import RemoteHost, Sshd

pytestmark = pytest.mark.faults
Count = Callable[[int, int], None]
_WINDOW, _OUTPUT = 393216, 4096
_HELD_MV = """#!/bin/sh
case $* in
*/models.json)
    : >"$HOME/at"
    until [ -e "$HOME/go" ]; do sleep 0.02; done
    ;;
esac
exec /bin/mv "$@"
"""


class Operator:
    """Runs the command line against one host, whose rename of models.json waits for us."""

    def __init__(self, host: RemoteHost, inventory: Path) -> None:
        self.host, self.inventory = host, inventory

    def command(self, *words: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "fleetsync", "--inventory", str(self.inventory), *words],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={**os.environ, "SSH_AUTH_SOCK": ""},
        )

    def applying(self) -> subprocess.Popen[str]:
        """An apply that has decided and is about to rename."""
        begun = self.command("apply", "--yes", "--offline", "node")
        deadline = time.monotonic() + 120
        while not (self.host.home / "at").exists():
            assert begun.poll() is None and time.monotonic() < deadline, begun.communicate()
            time.sleep(0.02)
        return begun

    def let_go(self) -> None:
        """Let the host go on, and wait until its transaction has ended."""
        (self.host.home / "go").touch()
        deadline = time.monotonic() + 60
        while self.left():
            assert time.monotonic() < deadline, self.left()
            time.sleep(0.02)

    def outcome(self) -> tuple[int, str]:
        """Exit code and outcome of another apply."""
        with self.command("apply", "--yes", "--offline", "--json", "node") as done:
            report = json.loads(done.communicate()[0])
        return done.returncode, report["hosts"][0]["targets"][0]["outcome"]

    def left(self) -> list[str]:
        """What should not be there when all has ended."""
        state = self.host.home / ".local/state/fleetsync"
        unfinished = [path for path in (state / "txn").iterdir() if path.suffix != ".done"]
        held = _held(state)
        temporary = list(self.host.home.rglob(".fleetsync-*"))
        return [path.name for path in (*unfinished, *held, *temporary)]


@pytest.fixture
def operator(sshd_host: Sshd, tmp_path: Path) -> Iterator[Operator]:
    (tmp_path / "shims").mkdir()
    (tmp_path / "shims/mv").write_text(_HELD_MV)
    (tmp_path / "shims/mv").chmod(0o755)
    path = f"{tmp_path}/shims:/usr/bin:/bin"
    host = sshd_host(
        "node", config=f'ForceCommand exec env PATH={path} sh -c "$SSH_ORIGINAL_COMMAND"\n'
    )
    standin.install(host.home)
    standin.write_models(host.home, standin.models())
    standin.give_key(host.home)
    yield Operator(host, _inventory(tmp_path / "inventory", host))
    (host.home / "go").touch()


def _inventory(directory: Path, host: RemoteHost) -> Path:
    directory.mkdir()
    table = "\n".join(f"{k} = {json.dumps(v)}" for k, v in host.inventory_table().items())
    (directory / "fleet.toml").write_text(
        '[router]\nprovider = "anvil"\nbase_url = "https://router.example.net/v1"\n'
        f'credential = "{standin.NAME}"\n\n[hosts.node]\n{table}\nclients = ["pi"]\n'
    )
    (directory / "catalog.toml").write_text("\n".join(
        f'[aliases."{alias}"]\ncontext_window = {_WINDOW}\nmax_output_tokens = {_OUTPUT}'
        for alias in standin.ALIASES
    ))
    return directory


def _held(state: Path) -> list[Path]:
    """Our lock, where it is not free; it may be released while we look."""
    highest = max(state.glob("lock.*"), key=lambda path: int(path.suffix[1:]))
    try:
        return [] if str(highest.readlink()) == "free" else [highest]
    except FileNotFoundError:
        return [highest]


def _interrupt(begun: subprocess.Popen[str]) -> None:
    """One ^C, and wait until it is taken in."""
    begun.send_signal(signal.SIGINT)
    assert begun.stderr is not None
    assert any("^C again leaves at once" in line for line in begun.stderr)


def test_one_interrupt_finishes_the_host_that_was_begun(
    operator: Operator, count_faults: Count
) -> None:
    with operator.applying() as begun:
        _interrupt(begun)
        operator.let_go()
        begun.communicate(timeout=60)
    assert begun.returncode == 130
    models = operator.host.home / ".pi/agent/models.json"
    assert (models.read_text(), operator.left()) == (standin.models(_WINDOW, _OUTPUT), [])
    assert operator.outcome() == (0, "in step")
    count_faults(1, 0)


def test_two_interrupts_leave_and_the_host_finishes_alone(
    operator: Operator, count_faults: Count
) -> None:
    with operator.applying() as begun:
        _interrupt(begun)
        begun.send_signal(signal.SIGINT)
        begun.communicate()
    assert begun.returncode == 130
    models = operator.host.home / ".pi/agent/models.json"
    assert models.read_text() == standin.models()
    operator.let_go()
    assert operator.outcome() == (0, "in step")
    assert (models.read_text(), operator.left()) == (standin.models(_WINDOW, _OUTPUT), [])
    count_faults(1, 0)
