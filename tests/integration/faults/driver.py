"""Run one cell of the matrix: a phase again and again, each time with a fault at another point.

Started as a module inside a PID and mount namespace of its own, on a file system in
memory; prints one line of JSON. Kills and failures strike single system calls (see
syscalls.py), so that every state in which the files can be left is reached. After each
one the files are judged as they are; from each state that is new, the next contact must
settle everything.
"""

from __future__ import annotations

import argparse
import collections
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from fleetsync.errors import HostError, Lost
from fleetsync.remote import ANSWER_CAP, Writer
from fleetsync.transaction import Applied, End, Recovered, recover, transact, undo
from tests.integration.faults import snapshot
from tests.integration.faults.host import Hurry, ShellRemote, shell
from tests.integration.faults.matrix import Cell, Fault, Phase
from tests.integration.faults.mutants import MUTANTS
from tests.integration.faults.points import Act, Call, Decide
from tests.integration.faults.syscalls import Watched
from tests.integration.faults.world import TRANSACTION, WAY_BACK, World

_CLAIMS = {
    (Phase.APPLY, End.APPLIED): "new",
    (Phase.APPLY, End.REFUSED): "old",
    (Phase.APPLY, End.UNDONE): "old",
    (Phase.UNDO, End.UNDONE): "old",
    (Phase.UNDO, End.REFUSED): "new",
    (Phase.ROLLBACK, End.APPLIED): "old",
    (Phase.ROLLBACK, End.REFUSED): "new",
    (Phase.ROLLBACK, End.UNDONE): "new",
}


@dataclass
class WatchedRemote(ShellRemote):
    """A host whose every point is decided."""

    decide: Decide = lambda call: Act.GO
    calls: list[Call] = field(default_factory=list)

    def exchange(
        self, command: str, stdin: bytes, end: bytes, *, seconds: float, cap: int = ANSWER_CAP,
        hold: bool = False,
    ) -> bytes:
        watched = Watched(self.home, self.decide)
        try:
            return watched.run(
                self.argv(command), self.text(stdin), self.variables(), seconds
            )
        except TimeoutError as error:
            raise Lost("no end came in time") from error
        finally:
            self.calls = watched.calls


class Driver:
    """One cell; a case is a point of it."""

    def __init__(self, folder: Path, cell: Cell, settled: Path, mutant: str = "") -> None:
        self.cell, self.template = cell, folder / "template"
        self.settled, self.contacts = snapshot.Settled(settled), 0
        sh, path = shell(cell.shell, folder / "tools")
        self.hurry = Hurry(folder / "tools")
        self.healthy = ShellRemote(sh, path, folder / "home")
        self.broken = WatchedRemote(sh, path, folder / "home", replaced=MUTANTS.get(mutant, ()))
        self.world = World(self.healthy.home)
        self.world.home.mkdir()
        self.world.plant()
        self._prepare()
        snapshot.copy(self.world.home, self.template)

    def points(self) -> list[Call]:
        """The calls at which the fault is to strike, in a run where nothing fails."""
        self._act()
        return self.cell.points(self.broken.calls)

    def case(self, point: Call) -> list[str]:
        """What is wrong after a fault at a point, at once and after the next contact."""
        self.hurry.start_over()
        snapshot.copy(self.template, self.world.home)
        self.broken.decide = self._strike(point.number)
        end = self._act()
        wrong = self._judged(end)
        if [call.family for call in self.broken.calls[point.number - 1 :][:1]] != [point.family]:
            wrong.append("the point was not reached")
        state = f"{self.cell.shell}:{snapshot.fingerprint(self.world.home)}"
        if state not in self.settled:
            unsettled = self._contact()
            wrong += unsettled
            if not unsettled:
                self.settled.add(state)
        where = f"{self.cell} {point.number} {point.name} {point.path} ({end and end.end})"
        return [f"{where}: {one}" for one in wrong]

    def _strike(self, at: int) -> Decide:
        def decide(call: Call) -> Act | int:
            if call.number == at and self.cell.fault.foreign:
                self.world.write_foreign(in_place=self.cell.fault is Fault.EDIT)
            return self.cell.fault.act(call, at)

        return decide

    def _judged(self, end: Applied | None) -> list[str]:
        """A file that is neither old nor new, or an answer that says more than is so."""
        claim = _CLAIMS.get((self.cell.phase, end.end)) if end else None
        states = self.world.states()
        if self.cell.fault.foreign:
            if states.pop(1) != "foreign":
                return ["what somebody else wrote is lost"]
        wrong = self.world.torn(states, back=self.cell.phase is Phase.ROLLBACK)
        if claim and set(states) != {claim}:
            wrong.append(f"the answer was {end}, the files are {states}")
        return wrong

    def _contact(self) -> list[str]:
        """The next run on this host, of one kind or another."""
        self.contacts += 1
        self.world.let_time_pass()
        writer = Writer(self.healthy)
        if self.cell.fault.foreign:
            problems = recover(writer).problems
            return [*map(str, problems), *self.world.settled(foreign=True)]
        if self.contacts % 6 == 1:
            end = transact(writer, self.world.job()).end
            ended = [] if end in {End.APPLIED, End.REFUSED} else [f"the next run ended {end}"]
            return ended + self.world.settled("new")
        problems = recover(writer, undo=self.contacts % 3 == 0).problems
        return [*map(str, problems), *self.world.settled()]

    def _prepare(self) -> None:
        """What was before the phase."""
        job = self.world.job(TRANSACTION)
        if self.cell.phase in _CUT:
            cut = replace(self.broken, replaced=(), decide=_CUT[self.cell.phase])
            _tried(lambda: transact(Writer(cut), job))
        elif self.cell.phase is not Phase.APPLY:
            transact(Writer(self.healthy), job)
        if self.cell.phase is Phase.ROLLBACK:
            (self.world.made / "here" / "mine.txt").touch()    # so the directory stays

    def _act(self) -> Applied | None:
        writer = Writer(self.broken)
        actions: dict[Phase, Callable[[], Applied | Recovered]] = {
            Phase.APPLY: lambda: transact(writer, self.world.job(TRANSACTION)),
            Phase.DROP: lambda: recover(writer),
            Phase.RECOVER: lambda: recover(writer),
            Phase.TAKE_BACK: lambda: recover(writer, undo=True),
            Phase.UNDO: lambda: undo(writer, TRANSACTION),
            Phase.ROLLBACK: lambda: transact(writer, self.world.way_back(WAY_BACK)),
        }
        return _tried(actions[self.cell.phase])


def _dies_before_decision(call: Call) -> Act:
    """All is staged."""
    return Act.KILL if call.path.endswith(".commit") else Act.GO


def _dies_before_second(call: Call) -> Act:
    """The first file is new, the second is about to be locked."""
    return Act.KILL if call.path.endswith(".lock") else Act.GO


def _dies_after_last(call: Call) -> Act:
    """All files are new, and not yet proved."""
    return Act.KILL if call.family == "unlink" and call.path.endswith("-1-old") else Act.GO


_CUT: dict[Phase, Decide] = {
    Phase.DROP: _dies_before_decision,
    Phase.RECOVER: _dies_before_second,
    Phase.TAKE_BACK: _dies_after_last,
}


def _tried(action: Callable[[], Applied | Recovered]) -> Applied | None:
    """What came back; None when no answer came, as after a kill."""
    try:
        answer = action()
    except HostError:
        return None
    return answer if isinstance(answer, Applied) else None


def main() -> None:
    """Arguments: folder, shell, fault, phase, step, and the file of the settled states."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("shell")
    parser.add_argument("fault", type=Fault.__getitem__)
    parser.add_argument("phase", type=Phase.__getitem__)
    parser.add_argument("step", type=int)
    parser.add_argument("settled", type=Path)
    parser.add_argument("--mutant", default="")
    parser.add_argument("--trace", action="store_true", help="only list the points")
    given = parser.parse_args()
    cell = Cell(given.shell, given.fault, given.phase, given.step)
    driver = Driver(given.folder, cell, given.settled, given.mutant)
    points = driver.points()
    if given.trace:
        home = str(driver.world.home)
        json.dump([[point.family, point.path.removeprefix(home)] for point in points], sys.stdout)
        return
    wrong = [one for point in points for one in driver.case(point)]
    calls = collections.Counter(point.family for point in points)
    json.dump({"cases": len(points), "calls": calls, "wrong": wrong}, sys.stdout)


if __name__ == "__main__":
    main()
