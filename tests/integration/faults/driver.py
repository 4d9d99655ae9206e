"""Run a transaction again and again, each time with one more command of it sabotaged.

Started as a module inside a PID namespace of its own; prints one line of JSON.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from fleetsync.errors import HostError
from fleetsync.remote import Writer
from fleetsync.transaction import Applied, End, Recovered, recover, transact, undo
from tests.integration.faults.host import ShellRemote, shell
from tests.integration.faults.world import World

PRELUDE = Path(__file__).with_name("faults.sh").read_text("ascii")


class Driver:
    """One shell, one kind of fault, one phase (`apply`, `recover`, `undo`)."""

    def __init__(self, folder: Path, name: str, kind: str, phase: str) -> None:
        self.folder, self.kind, self.phase = folder, kind, phase
        self.sh, self.path = shell(name, folder / "tools")

    def count(self) -> int:
        """How many commands there are to sabotage."""
        folder = self.folder / "count"
        self._act(World(self._fresh(folder)), self._remote(folder, 0))
        return int((folder / "counter").read_text())

    def case(self, at: int) -> list[str]:
        """What is wrong after a fault at command `at`, at once and after recovery."""
        folder = self.folder / str(at)
        world = World(self._fresh(folder))
        end = self._act(world, self._remote(folder, at))
        wrong = world.torn()
        world.let_time_pass()
        wrong += self._contradicted(world, end)
        healthy = Writer(replace(self._remote(folder, 0), prelude=""))
        if at % 2:
            wrong += map(str, recover(healthy, undo=at % 4 == 1).problems)
        elif transact(healthy, world.job()).end not in {End.APPLIED, End.REFUSED}:
            wrong.append("the next transaction did not end well")
        wrong += world.settled("" if at % 2 or self.phase == "undo" else "new")
        shutil.rmtree(folder)
        return [f"{self.phase} {self.kind} {at} ({end}): {one}" for one in wrong]

    def _contradicted(self, world: World, end: Applied | None) -> list[str]:
        """An answer that says more than is so."""
        wished = {
            ("apply", End.APPLIED): "new",
            ("apply", End.REFUSED): "old",
            ("apply", End.UNDONE): "old",
            ("undo", End.UNDONE): "old",
            ("undo", End.REFUSED): "new",
        }
        claim = wished.get((self.phase, end.end)) if end else None
        return [f"the answer was {end}"] if claim and set(world.states()) != {claim} else []

    def _act(self, world: World, remote: ShellRemote) -> Applied | None:
        healthy = Writer(replace(remote, prelude=""))
        sabotaged = Writer(remote)
        job = world.job("0123456789abcdef")
        if self.phase == "apply":
            return _tried(lambda: transact(sabotaged, job))
        if self.phase == "undo":
            transact(healthy, job)
            return _tried(lambda: undo(sabotaged, job.transaction))
        half = replace(remote, replaced=(("fs_each fs_proved", "kill -s KILL $$"),), prelude="")
        _tried(lambda: transact(Writer(half), job))
        _tried(lambda: recover(sabotaged))
        return None

    def _remote(self, folder: Path, at: int) -> ShellRemote:
        head = f"fault_at={at} fault_kind={self.kind} fault_counter={folder}/counter\n"
        return ShellRemote(self.sh, self.path, folder / "home", head + PRELUDE)

    @staticmethod
    def _fresh(folder: Path) -> Path:
        (folder / "home").mkdir(parents=True)
        return folder / "home"


def _tried(action: Callable[[], Applied | Recovered]) -> Applied | None:
    """What came back; None when no answer came, as after a kill."""
    try:
        answer = action()
    except HostError:
        return None
    return answer if isinstance(answer, Applied) else None


def main() -> None:
    """Arguments: folder, shell, kind, phase, and how many commands one case stands for."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("shell")
    parser.add_argument("kind")
    parser.add_argument("phase")
    parser.add_argument("step", type=int)
    given = parser.parse_args()
    driver = Driver(given.folder, given.shell, given.kind, given.phase)
    points = range(1, driver.count() + 1, given.step)
    with ThreadPoolExecutor(2) as pool:
        wrong = [one for found in pool.map(driver.case, points) for one in found]
    json.dump({"cases": len(points), "wrong": wrong}, sys.stdout)


if __name__ == "__main__":
    main()
