"""A real host with a real client and a stand-in router, for real turns.

Turns over a `Rig` go through the product's own parts, over real SSH: the host is looked
at and verified once, and each turn is journalled, run, read and graded. `smoke` is the
command line itself.
"""

from __future__ import annotations

import copy
import json
import os
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any

from fleetsync import leftovers, registry
from fleetsync.adapter import Adapter, Command, Target, Turn, Wish
from fleetsync.catalog import Alias, Policy
from fleetsync.decide import decide
from fleetsync.inventory import Host
from fleetsync.job import Job, Run, Step, Turns
from fleetsync.journal import Journal
from fleetsync.look import Session, look
from fleetsync.outcome import TargetResult, TurnRow, TurnVerdict
from fleetsync.probe import Salts
from fleetsync.remote import Reader, Runner
from fleetsync.smoke import Room, take
from fleetsync.ssh import SshRemote
from fleetsync.testing.router import Fault, StandInRouter
from fleetsync.verify import Verified, verified
from tests.integration.sshd import RemoteHost

WINDOW, OUTPUT = 393216, 4096
ALIASES = ("llm.primary", "llm.secondary", "vision.general")
SEES = "vision.general"
KEY, NAME = "canary-of-this-host-4c0ffee", "ROUTER_API_KEY"
IMAGE_TEXT = "TOTAL 42"
def _png(side: int) -> bytes:
    """A white square, as a PNG."""
    def chunk(kind: bytes, data: bytes) -> bytes:
        checked = kind + data
        return len(data).to_bytes(4) + checked + zlib.crc32(checked).to_bytes(4)

    rows = (b"\0" + b"\xff" * side * 3) * side
    size = side.to_bytes(4) * 2
    return b"\x89PNG\r\n\x1a\n" + b"".join((
        chunk(b"IHDR", size + b"\x08\x02\0\0\0"), chunk(b"IDAT", zlib.compress(rows)),
        chunk(b"IEND", b""),
    ))


PICTURE = _png(32)
"""An image; the stand-in router tells the same text of every one."""
EXPECTED: Mapping[Fault, TurnVerdict] = {
    Fault.UNAUTHORIZED: TurnVerdict.CREDENTIAL,
    Fault.FORBIDDEN: TurnVerdict.CREDENTIAL,
    Fault.NOT_FOUND: TurnVerdict.CATALOG,
    Fault.TOO_MANY: TurnVerdict.ROUTER,
    Fault.BROKEN: TurnVerdict.ROUTER,
    Fault.OVERLOADED: TurnVerdict.ROUTER,
    Fault.OVERFLOW: TurnVerdict.CATALOG,
    Fault.HANG: TurnVerdict.TIMEOUT,
    Fault.STALL: TurnVerdict.TIMEOUT,
    Fault.DRIP: TurnVerdict.TIMEOUT,
    Fault.RESET: TurnVerdict.ROUTER,
    Fault.HTML: TurnVerdict.ROUTER,
    Fault.INVALID_JSON: TurnVerdict.ROUTER,
    Fault.REDIRECT: TurnVerdict.ROUTER,
    Fault.WRONG_MODEL: TurnVerdict.WRONG_MODEL,
    Fault.EMPTY: TurnVerdict.ROUTER,
    Fault.WRONG_TEXT: TurnVerdict.ROUTER,
    Fault.TOO_LONG: TurnVerdict.CATALOG,
    Fault.EXTRA_CALL: TurnVerdict.POLICY,
    Fault.OTHER_TOOL: TurnVerdict.POLICY,
    Fault.NO_CALL: TurnVerdict.POLICY,
}
"""What a turn must be graded for each fault of the router."""

Record = Callable[[str, object], None]


@contextmanager
def router() -> Iterator[StandInRouter]:
    """A router with the test's aliases that takes the host's key."""
    limits = dict.fromkeys((*ALIASES, "backup-model"), WINDOW)
    with StandInRouter(limits, keys={"node": KEY}, image_text=IMAGE_TEXT) as made:
        yield made


def aliases() -> tuple[Alias, ...]:
    """The catalog."""
    return tuple(
        Alias(
            name=name, context_window=WINDOW, max_output_tokens=OUTPUT,
            input=("text", "image") if name == SEES else ("text",),
        )
        for name in ALIASES
    )


@dataclass
class Rig:
    """One client on one host, verified. `taken` numbers the journals."""

    client: str
    remote: SshRemote
    router: StandInRouter
    directory: Path
    targets: dict[str, Verified]
    scratch: str
    salts: Salts
    taken: Iterator[int]

    def take(
        self, name: str = "", *, aliases: Sequence[str] = (), seconds: int = 9, image: bytes = b"",
        misled: tuple[str, str] = ("", ""),
    ) -> TargetResult:
        """One attempt at the default alias of a target, and at `aliases`. `misled` has a
        word of the client's command line replaced by another."""
        one = self.targets[name or self.client]
        plan = replace(one.plan, adapter=_misled(one.plan.adapter, *misled))
        order = Turns(tuple(aliases), seconds, 0, image, IMAGE_TEXT if image else "")
        journal = Journal(self.directory, f"turns-{next(self.taken)}")
        room = Room(
            Runner(self.remote), journal, Run("r1", "ada@desk", "desk", "g" * 64), "node",
            self.scratch, order, self.salts,
        )
        try:
            return take(room, plan, one.result, one.applied)
        finally:
            journal.close()

    def turn(self, name: str = "", **order: Any) -> TurnRow:
        """The one turn of a target's default alias. (Any: as `take` has them.)"""
        (row,) = self.take(name, **order).turns
        return row


def _misled(adapter: Adapter, word: str, other: str) -> Adapter:
    """The adapter, but for one word of the command that takes a turn."""
    made = copy.copy(adapter)
    whole: Any = adapter    # it takes turns as well

    def turn(target: Target, turn: Turn) -> Command:
        command: Command = whole.turn(target, turn)
        argv = tuple(other if word and one == word else one for one in command.argv)
        return replace(command, argv=argv)

    setattr(made, "turn", turn)  # noqa: B010 - an adapter need not have the attribute
    return made


def rig(
    client: str, host: RemoteHost, made: StandInRouter, directory: Path, **options: Any
) -> Rig:
    """`host` as the product sees it, every target verified. `options` are the host's own
    table for the client."""
    remote = host.remote()
    wish = Wish(
        client, "anvil", made.url, NAME, aliases(), frozenset(ALIASES), Policy(), options
    )
    run = Run("r1", "ada@desk", "desk", "g" * 64)
    job = Job(Step.SMOKE, run, Host("node", clients=(client,)), (wish,))
    salts = Salts.fresh()
    session = Session(
        job, Reader(remote), salts, ((registry.discover()[client], wish),)
    )
    runner = Runner(remote)
    found = verified(session, runner, decide(session, runner, look(session)))
    targets = {one.plan.label: one for one in found}
    return Rig(
        client, remote, made, directory, targets, leftovers.scratch_of(runner), salts, count(1)
    )


def graded(record: Record, row: TurnRow, wanted: TurnVerdict) -> None:
    """Count a turn for the summary, then require its verdict."""
    right = row.verdict is wanted
    record("turn", [1, int(row.verdict is TurnVerdict.PASSED), int(right)])
    assert right, f"{row.verdict.value}: {row.reason}"


def inventory(
    directory: Path, host: RemoteHost, made: StandInRouter, client: str, more: str = ""
) -> Path:
    """The operator's files for one host."""
    directory.mkdir(exist_ok=True)
    table = "\n".join(f"{k} = {json.dumps(v)}" for k, v in host.inventory_table().items())
    (directory / "fleet.toml").write_text(
        f'[router]\nprovider = "anvil"\nbase_url = "{made.url}"\ncredential = "{NAME}"\n'
        f'[hosts.node]\n{table}\nclients = ["{client}"]\n{more}'
    )
    (directory / "catalog.toml").write_text("\n".join(
        f'[aliases."{alias.name}"]\ncontext_window = {WINDOW}\nmax_output_tokens = {OUTPUT}\n'
        f"input = {json.dumps(alias.input)}"
        for alias in aliases()
    ))
    return directory


def fleetsync(directory: Path, *words: str, stdin: Any = subprocess.DEVNULL) -> tuple[
    int, dict[str, Any]
]:
    """The command line: its exit code and its JSON. (Any: as subprocess has it.)"""
    done = subprocess.run(
        [sys.executable, "-m", "fleetsync", "--inventory", str(directory), *words, "--json"],
        capture_output=True, text=True, timeout=600, stdin=stdin, check=False,
        env={**os.environ, NAME: "the-operators-own-key"},
    )
    kept = [p.read_text("utf-8", "replace") for p in directory.parent.rglob("*.json*")]
    assert KEY not in done.stdout + done.stderr + "".join(kept)
    return done.returncode, json.loads(done.stdout)


def turns_of(report: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Target, alias and verdict of every turn in a report."""
    return [
        (target["name"], turn["alias"], turn["verdict"])
        for host in report["hosts"]
        for target in host["targets"]
        for turn in target["turns"]
    ]
