"""Situations of a host's credential: what is planted, what must come of it, what did.

A client's situations stand in `CLIENT.toml` beside this, one table each, named by its key:

    gate      what a preview must say: open, closed, indeterminate
    resolved  what apply must say of an indeterminate one, its command run: open, closed
    says      words that must stand in the cause, the step, the warnings or the trace
    router    what the router must see of the client itself, started as it is on this host:
              accepted, 401, literal (a reference or a placeholder in a key's place),
              no request
    proof     what the proof at the router must say, with the key that the host found
    full      true for one that is like another: left out where the matrix is lean
    plant     files below the host's home; `@RIGHT@` stands for the key that the router
              takes, `@WRONG@` for one that it does not, `@URL@` for the router's address

All other keys are the client's own. Keys are random in each test, so that whoever sees one
anywhere has found a leak.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import secrets
import threading
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fleetsync.testing.router import KeyVerdict, StandInRouter
from tests.matrix import FULL

GATES = ("open", "closed", "indeterminate")
ROUTER = ("accepted", "401", "literal", "no request")
PROOFS = (
    "accepted", "rejected", "unreachable", "not a router", "alias missing", "not checked",
)
_TABLES = Path(__file__).parent
_PAUSE = 0.1
"""Seconds between two samples of the processes."""


@dataclass(frozen=True)
class Keys:
    """The keys of one test: `right` is the one that its router takes."""

    right: str = field(default_factory=lambda: f"canary-{secrets.token_hex(16)}")
    wrong: str = field(default_factory=lambda: f"canary-wrong-{secrets.token_hex(16)}")

    def fill(self, text: str, url: str = "") -> str:
        """`text` with the keys and the router's address in their places."""
        filled = text.replace("@RIGHT@", self.right).replace("@WRONG@", self.wrong)
        return filled.replace("@URL@", url)


@dataclass(frozen=True)
class Situation:
    """One row of the table. `more` are the client's own keys."""

    name: str
    gate: str
    resolved: str
    says: tuple[str, ...]
    router: str
    proof: str
    plant: Mapping[str, str]
    more: Mapping[str, Any]

    def differences(self, observed: Observed) -> list[str]:
        """In what `observed` is not as the table says; empty where all is right."""
        pairs = (
            ("gate", self.gate, observed.gate),
            ("resolved", self.resolved, observed.resolved),
            ("router", self.router, observed.router),
            ("proof", self.proof, observed.proof),
        )
        found = [f"{what} is {seen}, not {wanted}" for what, wanted, seen in pairs
                 if seen != wanted]
        return found + [f"{word!r} is not said" for word in self.says if word not in observed.told]


@dataclass(frozen=True)
class Observed:
    """What came of a situation; `told` is all that fleetsync said of the credential."""

    gate: str
    resolved: str
    router: str
    proof: str
    told: str


def table(client: str) -> dict[str, Situation]:
    """The situations of `client` by name; those that are like another one (`full`) only in
    the full matrix. Raises ValueError for a verdict that is none."""
    tables = tomllib.loads((_TABLES / f"{client}.toml").read_text("utf-8"))
    rows = {name: dict(row) for name, row in tables.items()}
    kept = {name: row for name, row in rows.items() if not row.pop("full", False) or FULL}
    return {name: _situation(name, row) for name, row in kept.items()}


def _situation(name: str, row: dict[str, Any]) -> Situation:
    gate, router, proof = row.pop("gate"), row.pop("router"), row.pop("proof")
    resolved = row.pop("resolved", gate)
    words = ((gate, GATES), (resolved, GATES[:2]), (router, ROUTER), (proof, PROOFS))
    for word, known in words:
        if word not in known:
            raise ValueError(f"{name}: {word!r} is none of {', '.join(known)}")
    says, plant = tuple(row.pop("says", ())), row.pop("plant", {})
    return Situation(name, gate, resolved, says, router, proof, plant, row)


def observed(router: StandInRouter) -> str:
    """What the router saw of a client's turns since its log was last cleared."""
    keys = {turn.key for turn in router.turns()}
    if not keys:
        return "no request"
    if keys == {KeyVerdict.RIGHT}:
        return "accepted"
    return "literal" if KeyVerdict.LITERAL in keys else "401"


class Watch:
    """Looks for the keys where none may be: while its context lasts, in the arguments of
    every process and in the environment of our own; and in what it is shown.

    A process below an sshd is the host's: there the environment may hold its key. So the
    client is to be started through the host's sshd, not by the test itself.
    """

    def __init__(self, keys: Keys) -> None:
        self._keys = (keys.right, keys.wrong)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)
        self.leaks: set[str] = set()
        self.samples = 0

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def look(self, what: str, held: object) -> None:
        """Look for a key in text or bytes; in anything else, in its repr and its pickle."""
        if isinstance(held, bytes):
            data = held
        elif isinstance(held, str):
            data = held.encode("utf-8", "surrogateescape")
        else:
            data = repr(held).encode() + pickle.dumps(held)
        if any(key.encode() in data for key in self._keys):
            self.leaks.add(what)

    def look_below(self, *directories: Path) -> None:
        """Look for a key in every file below `directories`."""
        for file in (file for each in directories for file in each.rglob("*") if file.is_file()):
            self.look(f"file {file.name}", file.read_bytes())

    def _sample(self) -> None:
        while not self._over.wait(_PAUSE):
            parents: dict[int, int] = {}
            for directory in Path("/proc").glob("[0-9]*"):
                with contextlib.suppress(OSError):    # it ended meanwhile
                    stat = (directory / "stat").read_text("utf-8", "replace")
                    name, _, rest = stat.rpartition(")")
                    host = "sshd" in name
                    parents[int(directory.name)] = 0 if host else int(rest.split()[1])
                    self.look("argv", (directory / "cmdline").read_bytes())
            for pid in _ours(parents):
                with contextlib.suppress(OSError):
                    self.look("environment", Path(f"/proc/{pid}/environ").read_bytes())
            self.samples += 1


def _ours(parents: Mapping[int, int]) -> Iterator[int]:
    """The processes that descend from this one, itself included."""
    for pid in parents:
        ancestor = pid
        while ancestor in parents and ancestor != os.getpid():
            ancestor = parents[ancestor]
        if ancestor == os.getpid():
            yield pid
