"""What can go wrong at a point, in which phase, under which shell; and which of it is run.

The full matrix is shell x call x fault x phase. The lean one keeps every pair of fault
and phase under dash, every point of a kill and of a torn write, and kills under the
other shells.
"""

from __future__ import annotations

import enum
import errno
import itertools
import os
from collections.abc import Iterable
from dataclasses import dataclass

from tests.integration.faults.points import Act, Call

SHELLS = ("dash", "bash", "busybox", "zsh")
_NEEDS_SPACE = frozenset({"open", "write", "clone", "mkdir", "link", "symlink", "rename"})


class Phase(enum.Enum):
    """What is under way when the fault strikes."""

    APPLY = "two files are replaced, one is created in a new directory"
    DROP = "recovery of an apply that was cut off before its decision"
    RECOVER = "recovery of one that was cut off after its first file"
    TAKE_BACK = "`recover --undo` of one that was cut off after its last file"
    UNDO = "the undo of an apply, from its bundle"
    ROLLBACK = "a transaction the other way: two files are replaced, one is taken away"


class Fault(enum.Enum):
    """What happens at a point, or from that point on."""

    KILL = "the process tree dies before the call"
    TORN = "half of the bytes are written, then the process tree dies"
    SHORT = "half of the bytes are written, and the call says so"
    FULL = "ENOSPC from this call on, after half of the bytes"
    ERROR = "EIO, this once"
    READONLY = "EROFS from this call on"
    EDIT = "somebody writes into settings.json before the call"
    REPLACE = "somebody renames another settings.json over it before the call"

    def strikes(self, call: Call) -> bool:
        """Whether a point can meet it. What replaces a file in the very moment between
        the last compare and our rename can lose: the README says so."""
        if self in (Fault.TORN, Fault.SHORT):
            return call.family == "write" and call.size > 1
        if self is Fault.FULL:
            return call.family in _NEEDS_SPACE
        if self is Fault.READONLY:
            return call.family != "sync"
        if self is Fault.REPLACE:
            return not (call.family == "rename" and call.path.endswith("/settings.json"))
        return True

    @property
    def foreign(self) -> bool:
        """Whether somebody else's bytes must be in settings.json ever after."""
        return self in (Fault.EDIT, Fault.REPLACE)

    def act(self, call: Call, at: int) -> Act | int:
        """What becomes of `call` when the fault is at point `at`."""
        if call.number == at:
            return self._first(call)
        lasting = {Fault.FULL: errno.ENOSPC, Fault.READONLY: errno.EROFS}.get(self)
        return lasting if lasting and call.number > at and self.strikes(call) else Act.GO

    def _first(self, call: Call) -> Act | int:
        if self is Fault.FULL and call.family == "write" and call.size > 1:
            return Act.SHORT
        return _AT.get(self, Act.GO)


_AT: dict[Fault, Act | int] = {
    Fault.KILL: Act.KILL, Fault.TORN: Act.TORN, Fault.SHORT: Act.SHORT,
    Fault.FULL: errno.ENOSPC, Fault.ERROR: errno.EIO, Fault.READONLY: errno.EROFS,
}


CALLS: dict[Phase, frozenset[str]] = {
    Phase.APPLY: frozenset({
        "open", "write", "rename", "link", "symlink", "unlink", "mkdir", "rmdir", "chmod",
        "times", "sync",
    }),
    Phase.DROP: frozenset({"rmdir", "symlink", "sync", "unlink"}),
    Phase.RECOVER: frozenset({
        "open", "write", "rename", "link", "symlink", "unlink", "mkdir", "rmdir", "sync",
    }),
    Phase.TAKE_BACK: frozenset({
        "open", "write", "rename", "link", "symlink", "unlink", "mkdir", "rmdir", "sync",
    }),
    Phase.UNDO: frozenset({
        "open", "write", "rename", "link", "symlink", "unlink", "mkdir", "rmdir", "times",
        "sync",
    }),
    Phase.ROLLBACK: frozenset({
        "open", "write", "rename", "link", "symlink", "unlink", "mkdir", "rmdir", "times",
        "sync",
    }),
}
"""The calls that every phase makes under every shell, whatever tools it has: each must
have been a point. Tools make others too (GNU's cp clones, busybox's changes owners)."""


def expected(fault: Fault, phase: Phase) -> frozenset[str]:
    """The calls of a phase that can meet a fault."""
    samples = (Call(1, name, name, "", 2) for name in CALLS[phase])
    return frozenset(call.family for call in samples if fault.strikes(call))


@dataclass(frozen=True)
class Cell:
    """All points of one phase under one shell that meet one fault; every `step`-th is
    run, and the first of each call."""

    shell: str
    fault: Fault
    phase: Phase
    step: int = 1

    def __str__(self) -> str:
        return f"{self.shell}-{self.fault.name}-{self.phase.name}".lower()

    def points(self, calls: Iterable[Call]) -> list[Call]:
        """The points that are run."""
        struck = [call for call in calls if self.fault.strikes(call)]
        firsts = {call.family: call for call in reversed(struck)}
        return sorted({*struck[:: self.step], *firsts.values()}, key=lambda call: call.number)


def pairs() -> tuple[tuple[Fault, Phase], ...]:
    """Every fault in every phase, but for those of writing where nothing is written."""
    return tuple(pair for pair in itertools.product(Fault, Phase) if expected(*pair))


def full() -> tuple[Cell, ...]:
    """Everything."""
    return tuple(Cell(shell, *pair) for shell in SHELLS for pair in pairs())


def lean() -> tuple[Cell, ...]:
    """Under dash all points where the process tree dies, of a call that fails every fourth,
    and a part where the calls are met in another phase as well or the edits are somebody
    else's; kills under bash and busybox."""
    dash = (Cell("dash", fault, phase, _step(fault, phase)) for fault, phase in pairs())
    others = (
        Cell(shell, Fault.KILL, phase, 12) for shell in ("bash", "busybox") for phase in Phase
    )
    return (*dash, *others)


def _step(fault: Fault, phase: Phase) -> int:
    if fault.foreign or phase is Phase.ROLLBACK:
        return 12
    return 1 if fault in (Fault.KILL, Fault.TORN) else 4


def chosen() -> tuple[Cell, ...]:
    """What FLEETSYNC_MATRIX asks for."""
    return full() if os.environ.get("FLEETSYNC_MATRIX") == "full" else lean()
