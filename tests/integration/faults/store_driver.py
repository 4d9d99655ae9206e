"""Put a key into a store again and again, each time with a fault at another point.

As driver.py, for one file that holds secrets: it is old or new, a file with the new key is
its owner's alone from its first byte on, and once all is settled no other file holds it.
"""

from __future__ import annotations

import hashlib
import json
import sys
from dataclasses import dataclass
from pathlib import Path

from fleetsync.adapter import Keep
from fleetsync.errors import HostError
from fleetsync.facts import Place, PlaceKind
from fleetsync.new_key import NewKey
from fleetsync.probe import Salts
from fleetsync.remote import Writer
from fleetsync.sealed import Sealed
from fleetsync.transaction import Applied, End, FileJob, Job, recover, transact, undo
from tests.integration.faults import snapshot
from tests.integration.faults.driver import WatchedRemote
from tests.integration.faults.host import ShellRemote, shell
from tests.integration.faults.matrix import Fault
from tests.integration.faults.points import Act, Call, Decide

TRANSACTION, KEY = "0123456789abcdef", b"sk-new-canary-222333"
SALTS = Salts("1" * 32, "2" * 32)
OLD: dict[str, bytes | None] = {
    "json": b'{\n  "anvil": {"key": "sk-old-canary-000111"},\n  "x": 1\n}\n',
    "dotenv": b"A=1\r\nexport anvil=sk-old-canary-000111 # x\r\nB=2",
    "file": None,
}
NEW = {
    "json": b'{\n  "anvil": {"key": "sk-new-canary-222333"},\n  "x": 1\n}\n',
    "dotenv": b"A=1\r\nexport anvil=sk-new-canary-222333 # x\r\nB=2",
    "file": KEY,
}
_PLACES = {
    "json": (PlaceKind.JSON, "anvil\x1fkey"),
    "dotenv": (PlaceKind.DOTENV, "anvil"),
    "file": (PlaceKind.FILE, ""),
}
MUTANTS = {
    "": (),
    "the store stays open to others": (('chmod 600 "$fs_temp"', ":"),),
    "the key stays in the bundle": (('|| rm -f "$fs_bundle/new.$fs_i"', ":"),),
}
_CLAIMS = {
    ("put", End.APPLIED): "new", ("put", End.REFUSED): "old", ("put", End.UNDONE): "old",
    ("undo", End.UNDONE): "old", ("undo", End.REFUSED): "new",
}


def veiled(data: bytes) -> str:
    """A digest as a host tells it."""
    inner = hashlib.sha256(f"{SALTS.first}{hashlib.sha256(data).hexdigest()}".encode())
    return hashlib.sha256(f"{SALTS.second}{inner.hexdigest()}".encode()).hexdigest()


@dataclass
class StoreWorld:
    """A home with one store, which others could read so far."""

    home: Path
    kind: str

    @property
    def store(self) -> Path:
        return self.home / ".keeper" / "store"

    @property
    def bundles(self) -> Path:
        return self.home / ".local/state/fleetsync/txn"

    def plant(self) -> None:
        """The store as it is before."""
        self.home.mkdir()
        old = OLD[self.kind]
        if old is not None:
            self.store.parent.mkdir()
            self.store.write_bytes(old)
            self.store.chmod(0o644)

    def job(self) -> Job:
        """The job that puts the key there."""
        kind, name = _PLACES[self.kind]
        path, old = str(self.store), OLD[self.kind]
        key = NewKey(Sealed(KEY), Keep(Place(kind, path, name)))
        file = FileJob(
            "keeper", path, path, veiled(old) if old is not None else "", "", 20000,
            store=True, key=key,
        )
        return Job(TRANSACTION, (file,), salts=SALTS)

    def state(self) -> str:
        """old or new, mode included, or what else it is."""
        if not self.store.exists():
            return "old" if OLD[self.kind] is None else "other: gone"
        found = (self.store.read_bytes(), self.store.stat().st_mode & 0o7777)
        known = {(NEW[self.kind], 0o600): "new", (OLD[self.kind] or b"-", 0o644): "old"}
        return known.get(found, f"other: {found}")

    def torn(self) -> list[str]:
        """What may be at no moment."""
        state = self.state()
        wrong = [] if state in ("old", "new") else [state]
        if state == "new" and not any(map(self._whole, self.bundles.glob("*"))):
            wrong.append("the store is written and no bundle is whole")
        return wrong + [f"others read {path.name}" for path in self._with_key()
                        if path.stat().st_mode & 0o077]

    def _whole(self, bundle: Path) -> bool:
        manifest, old = bundle / "manifest", OLD[self.kind]
        return (
            manifest.exists()
            and manifest.read_text().endswith("\nEND\n")
            and (old is None or (bundle / "old.1").read_bytes() == old)
        )

    def _with_key(self) -> list[Path]:
        """The files that hold the new key, or a beginning of it."""
        return [
            path for path in self.home.rglob("*")
            if path.is_file() and not path.is_symlink() and KEY[:8] in path.read_bytes()
        ]

    def settled(self) -> list[str]:
        """What is wrong although everything should be finished or undone."""
        state, ends = self.state(), {".done", ".undone"}
        wrong = self.torn()
        wrong += [f"left: {path.name}" for path in self.home.rglob(".fleetsync-*")]
        wrong += [f"cut off: {p.name}" for p in self.bundles.glob("*") if p.suffix not in ends]
        wrong += [f"the key is in {path}" for path in self._with_key() if path != self.store]
        if state == "old" and OLD[self.kind] is None and self.store.parent.exists():
            wrong.append("a directory that was made is left")
        return wrong


class StoreDriver:
    """One kind of store under one shell, one fault and one phase (put or undo)."""

    def __init__(
        self, folder: Path, name: str, fault: Fault, kind: str, phase: str, mutant: str
    ) -> None:
        self.fault, self.phase, self.contacts = fault, phase, 0
        self.template = folder / "template"
        sh, path = shell(name, folder / "tools")
        replaced = MUTANTS[mutant]
        self.healthy = ShellRemote(sh, path, folder / "home", replaced=replaced)
        self.broken = WatchedRemote(sh, path, folder / "home", replaced=replaced)
        self.world = StoreWorld(folder / "home", kind)
        self.world.plant()
        if phase == "undo":
            transact(Writer(self.healthy), self.world.job())
        snapshot.copy(self.world.home, self.template)

    def points(self, step: int) -> list[Call]:
        """The calls at which the fault is to strike."""
        self._act()
        struck = [call for call in self.broken.calls if self.fault.strikes(call)]
        return struck[::step]

    def case(self, point: Call) -> list[str]:
        """What is wrong after a fault at a point, at once and after the next contact."""
        snapshot.copy(self.template, self.world.home)
        self.broken.decide = self._strike(point.number)
        end = self._act()
        wrong = self.world.torn()
        claim = _CLAIMS.get((self.phase, end.end)) if end else None
        if claim and self.world.state() != claim:
            wrong.append(f"the answer was {end}")
        where = f"{self.fault.name} {point.number} {point.name} {point.path} ({end and end.end})"
        return [f"{where}: {one}" for one in wrong + self._contact()]

    def _strike(self, at: int) -> Decide:
        def decide(call: Call) -> Act | int:
            return self.fault.act(call, at)

        return decide

    def _act(self) -> Applied | None:
        writer = Writer(self.broken)
        try:
            if self.phase == "undo":
                return undo(writer, TRANSACTION)
            return transact(writer, self.world.job())
        except HostError:
            return None

    def _contact(self) -> list[str]:
        """The next run on this host: the same again, or a recovery of one kind or another."""
        self.contacts += 1
        writer = Writer(self.healthy)
        if self.phase == "put" and self.contacts % 3 == 1:
            end = transact(writer, self.world.job()).end
            told = [] if end in (End.APPLIED, End.ALREADY, End.UNDONE) else [f"then {end}"]
            return told + self.world.settled()
        problems = recover(writer, undo=self.contacts % 3 == 0).problems
        return [*map(str, problems), *self.world.settled()]


def main() -> None:
    """Arguments: folder, shell, fault, kind, phase, mutant, step."""
    folder, name, fault, kind, phase, mutant, step = sys.argv[1:]
    driver = StoreDriver(Path(folder), name, Fault[fault], kind, phase, mutant)
    points = driver.points(int(step))
    wrong = [one for point in points for one in driver.case(point)]
    json.dump({"cases": len(points), "wrong": wrong}, sys.stdout)


if __name__ == "__main__":
    main()
