"""What a power cut may find: in which order a transaction lets things reach the disk.

Nothing here loses power. What is proved is that every file was flushed after its last
change, and before the step that relies on it.
"""

from __future__ import annotations

import pytest

from tests.integration.faults.matrix import Cell, Fault, Phase
from tests.integration.faults.run import drive
from tests.integration.faults.world import TRANSACTION

pytestmark = pytest.mark.faults
STATE = "/.local/state/fleetsync/txn"
PREPARED = f"{STATE}/{TRANSACTION}.prep"
REAL = ("/dot files/models.json", "/.pi/agent/settings.json", "/made/here/n.json")
STAGED = tuple(
    f"{real.rpartition('/')[0]}/.fleetsync-{TRANSACTION}-{number}"
    for number, real in enumerate(REAL, 1)
)


class Trace:
    """The points of one apply, in order."""

    def __init__(self, points: list[list[str]]) -> None:
        self.points = [(family, path) for family, path in points]

    def last(self, family: str, path: str) -> int:
        """Where a call was made for the last time."""
        return max(at for at, point in enumerate(self.points) if point == (family, path))

    def changed(self, path: str, before: int) -> int:
        """The last change of a file's bytes or mode before a point."""
        return max(
            at for at, (family, named) in enumerate(self.points[:before])
            if named == path and family not in ("sync", "link", "unlink")
        )

    def flushed(self, path: str, after: int, before: int) -> bool:
        """Whether it was flushed between two points."""
        return ("sync", path) in self.points[after + 1 : before]


@pytest.fixture(scope="module", params=["dash", "busybox"])
def trace(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Trace:
    cell = Cell(request.param, Fault.KILL, Phase.APPLY)
    folder = tmp_path_factory.mktemp("trace")
    return Trace(drive(folder, cell, folder / "unused", "--trace"))


@pytest.fixture
def decided(trace: Trace) -> int:
    return trace.last("rename", f"{STATE}/{TRANSACTION}.commit")


@pytest.mark.parametrize("name", ["manifest", "old.1", "old.2", "new.1", "new.2", "new.3"])
def test_the_bundle_is_flushed_before_the_decision(
    trace: Trace, decided: int, name: str
) -> None:
    path = f"{PREPARED}/{name}"
    assert trace.flushed(path, trace.changed(path, decided), decided)
    assert trace.flushed(PREPARED, trace.changed(path, decided), decided)
    assert trace.flushed(STATE, trace.last("mkdir", PREPARED), decided)


@pytest.mark.parametrize("path", STAGED)
def test_what_is_staged_is_flushed_before_the_decision(
    trace: Trace, decided: int, path: str
) -> None:
    changed = trace.changed(path, decided)
    assert trace.flushed(path, changed, decided)
    assert trace.flushed(path.rpartition("/")[0], changed, decided)


@pytest.mark.parametrize("path", ["/made", "/made/here"])
def test_a_new_directory_is_flushed_into_its_own(trace: Trace, decided: int, path: str) -> None:
    assert trace.flushed(path.rpartition("/")[0], trace.last("mkdir", path), decided)


def test_the_decision_is_flushed_before_the_first_file_is_written(
    trace: Trace, decided: int
) -> None:
    first = min(at for at, (_, path) in enumerate(trace.points) if path in REAL and at > decided)
    assert trace.flushed(STATE, decided, first)


@pytest.mark.parametrize(("path", "call"), [*zip(REAL, ("rename", "rename", "link"), strict=True)])
def test_every_file_is_flushed_before_what_is_kept_of_it_is_let_go(
    trace: Trace, path: str, call: str
) -> None:
    written, kept = trace.last(call, path), STAGED[REAL.index(path)]
    let_go = min(
        at for at, (family, named) in enumerate(trace.points)
        if family == "unlink" and named.startswith(kept) and at > written
    )
    assert trace.flushed(path.rpartition("/")[0], written, let_go)
    assert let_go < trace.last("rename", f"{STATE}/{TRANSACTION}.done")


def test_the_end_is_flushed_before_the_lock_is_released(trace: Trace) -> None:
    done = trace.last("rename", f"{STATE}/{TRANSACTION}.done")
    released = max(at for at, (family, _) in enumerate(trace.points) if family == "symlink")
    assert trace.flushed(STATE, done, released)
