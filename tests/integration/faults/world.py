"""A home with three client files, a job that changes them all, and what must hold."""

from __future__ import annotations

import dataclasses
import hashlib
import os
import time
from pathlib import Path

from fleetsync.documents import Splice
from fleetsync.sealed import Sealed
from fleetsync.transaction import FileJob, Job, fresh_id

CREATED = b'{"created": true}\n'
TRANSACTION, WAY_BACK = "0123456789abcdef", "fedcba9876543210"
"""The ids of the transaction under test, and of the rollback after it."""
FOREIGN = b'{"a":"somebody else"}'
"""What somebody else writes; neither old nor new."""


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@dataclasses.dataclass(frozen=True)
class Item:
    """One file: where it is, what it holds before and after (None: it is not there)."""

    path: Path
    real: Path
    old: bytes | None
    new: bytes
    mode: int


class World:
    """models.json behind a link, settings.json with a lock, one file in a new directory."""

    def __init__(self, home: Path) -> None:
        self.home = home
        agent = home / ".pi" / "agent"
        kept = home / "dot files"
        old = b"{ // it's 100% 'ours'\n" + bytes(range(256)) * 3 + b"\n}"
        self.lock = agent / "settings.json.lock"
        self.items = (
            Item(agent / "models.json", kept / "models.json", old,
                 old[:30] + b"\0new\\n%s\n" + old[60:], 0o640),
            Item(agent / "settings.json", agent / "settings.json", b'{"a":1}', b'{"a":22}', 0o600),
            Item(home / "made" / "here" / "n.json", home / "made" / "here" / "n.json",
                 None, CREATED, 0o644),
        )

    def plant(self) -> None:
        """Lay the files that are there before."""
        for item in self.items:
            if item.old is not None:
                item.real.parent.mkdir(parents=True)
                item.real.write_bytes(item.old)
                item.real.chmod(item.mode)
        self.items[0].path.symlink_to(self.items[0].real)

    def write_foreign(self, *, in_place: bool) -> None:
        """Somebody else changes settings.json, as editors do: in place, or by rename."""
        real = self.items[1].real
        if in_place:
            real.write_bytes(FOREIGN)
            return
        temporary = real.with_name("settings.edited")
        temporary.write_bytes(FOREIGN)
        temporary.chmod(self.items[1].mode)
        temporary.replace(real)

    def job(self, transaction: str = "") -> Job:
        """The job that turns every file from old to new."""
        models, settings, made = self.items
        return Job(
            transaction or fresh_id(),
            (
                self._edit(models, Splice(30, 60, b"\0new\\n%s\n")),
                self._edit(settings, Splice(5, 6, b"22"), companion=str(self.lock)),
                FileJob("pi", str(made.path), str(made.real), "", digest(made.new),
                        len(made.new), content=Sealed(made.new), mode=made.mode),
            ),
            meta=(("operator", "tester"), ("run", "a run")),
        )

    def way_back(self, transaction: str) -> Job:
        """The job of a rollback: what was replaced comes back from the bundle of the
        transaction under test, what was created is taken away."""
        models, settings, made = self.items
        return Job(
            transaction,
            (
                self._back(models, 1),
                self._back(settings, 2, companion=str(self.lock)),
                FileJob("pi", str(made.path), str(made.real), digest(made.new), "", 0,
                        len(made.new)),
            ),
        )

    def _edit(self, item: Item, splice: Splice, companion: str = "") -> FileJob:
        assert item.old is not None
        return FileJob(
            "pi", str(item.path), str(item.real), digest(item.old), digest(item.new),
            len(item.new), len(item.old), (splice,), companion=companion,
        )

    def _back(self, item: Item, number: int, companion: str = "") -> FileJob:
        assert item.old is not None
        return FileJob(
            "pi", str(item.path), str(item.real), digest(item.new), digest(item.old),
            len(item.old), len(item.new), companion=companion, origin=(TRANSACTION, number),
        )

    @property
    def made(self) -> Path:
        """The directory that is new."""
        return self.home / "made"

    @property
    def state(self) -> Path:
        """Our state directory on this host."""
        return self.home / ".local" / "state" / "fleetsync"

    def states(self) -> list[str]:
        """Each file as one of old, new, foreign, other (mode included)."""
        return [self._state(item) for item in self.items]

    @staticmethod
    def _state(item: Item) -> str:
        if not item.real.exists():
            return "old" if item.old is None else "other: gone"
        data, mode = item.real.read_bytes(), item.real.stat().st_mode & 0o7777
        if mode != item.mode:
            return f"other: mode {mode:o}"
        known = {item.old: "old", item.new: "new", FOREIGN: "foreign"}
        return known.get(data, f"other: {data[:40]!r}")

    def settled(self, wished: str = "", *, foreign: bool = False) -> list[str]:
        """What is wrong although everything should be finished or undone; with `foreign`,
        settings.json is somebody else's now."""
        found = self.states()
        wrong = []
        if foreign and found.pop(1) != "foreign":
            wrong.append("what somebody else wrote is lost")
        states = set(found)
        if len(states) != 1 or not states <= {"old", "new"} or (wished and states != {wished}):
            wrong.append(f"files are {self.states()}, wished {wished or 'all alike'}")
        wrong += [f"left behind: {path.name}" for path in self.home.rglob(".fleetsync-*")]
        if not self.items[0].path.is_symlink():
            wrong.append("the link is no link any more")
        if self.lock.exists():
            wrong.append("the client's lock is left")
        if "old" in states and self.made.exists() and not any(self.made.rglob("*.txt")):
            wrong.append("a directory that was made is left")
        if self.state.exists():
            wrong += self._unfinished()
        return wrong

    def _unfinished(self) -> list[str]:
        wrong = [
            f"unfinished: {path.name}"
            for path in (self.state / "txn").glob("*")
            if path.suffix not in {".done", ".undone"}
        ]
        locks = sorted(self.state.glob("lock.*"), key=lambda path: int(path.suffix[1:]))
        if locks and str(locks[-1].readlink()) != "free":
            wrong.append("our lock is left")
        return wrong

    def torn(self, states: list[str] | None = None, *, back: bool = False) -> list[str]:
        """What is wrong at any moment: a file that is neither, or a file that is written
        without a bundle that holds all the originals."""
        states = self.states() if states is None else states
        wrong = [state for state in states if state not in {"old", "new"}]
        bundles = (self.state / "txn").glob("*")
        if ("old" if back else "new") in states and not any(
            self.whole(bundle, back=back) for bundle in bundles
        ):
            wrong.append("a file is written and no bundle is whole")
        return wrong

    def whole(self, bundle: Path, *, back: bool = False) -> bool:
        """Whether a bundle holds every original and says so."""
        manifest = bundle / "manifest"
        return (
            manifest.exists()
            and manifest.read_text().endswith("\nEND\n")
            and all(
                (bundle / f"old.{number}").read_bytes() == (item.new if back else item.old)
                for number, item in enumerate(self.items, 1)
                if back or item.old is not None
            )
        )

    def let_time_pass(self) -> None:
        """Ten seconds, for a lock of the client that a dead transaction made just before."""
        noted = [path.read_text() for path in (self.state / "txn").glob("*/held.*")]
        if self.lock.exists() and not any(":" in note for note in noted):
            long_ago = time.time() - 60
            os.utime(self.lock, (long_ago, long_ago))
