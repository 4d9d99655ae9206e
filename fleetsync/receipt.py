"""The durable record of a run: who did what where, by digests, never by contents.

One file a run, `<UTC>-<run>.json`, readable by its owner alone. It says `begun` before
the first host is written to and is replaced, whole, when the run ends; a record that
still says `begun` belongs to a run that was killed.
"""

from __future__ import annotations

import dataclasses
import json
import os
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from fleetsync.errors import ConfigError
from fleetsync.outcome import CheckRow, GateRow, HostResult, Outcome, TargetResult, TurnRow

VERSION = 1
BEGUN, DONE, INTERRUPTED, BROKEN = "begun", "done", "interrupted", "broken"
"""The states of a record; `broken` is a run that a fault in fleetsync ended."""


@dataclass(frozen=True, slots=True)
class FileRecord:
    """One file of an attempt: sha256 before and after, "" where it does not exist."""

    path: str
    real: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class TurnRecord:
    """One attempt at a turn; what was put down before it was sent is in the journal."""

    identity: str
    alias: str
    attempt: int
    verdict: str
    reason: str
    seconds: float
    ran: str
    through: str
    image: bool
    warnings: tuple[str, ...] = ()
    checks: tuple[CheckRow, ...] = ()


@dataclass(frozen=True, slots=True)
class GateRecord:
    """One line of a target's ledger."""

    gate: str
    alias: str
    state: str
    required: bool
    detail: str


@dataclass(frozen=True, slots=True)
class Attempt:
    """What one step came to on one target, or on a host as a whole (`client` "")."""

    step: str
    host: str
    client: str
    target: str
    outcome: str
    reason: str = ""
    loader: str = ""
    bundle: str = ""
    files: tuple[FileRecord, ...] = ()
    turns: tuple[TurnRecord, ...] = ()
    gates: tuple[GateRecord, ...] = ()


@dataclass(frozen=True, slots=True)
class Receipt:
    """One run. `attempts` are in order and none is dropped; `open` names the hosts that
    were to be tried and were not. Times are UTC, to the second."""

    run: str
    command: str
    state: str
    begun: str
    ended: str
    operator: str
    controller: str
    generation: str
    fleetsync: str
    exit_code: int | None
    attempts: tuple[Attempt, ...]
    open: tuple[str, ...] = ()
    version: int = VERSION


def new_run() -> str:
    """A name for a run."""
    return secrets.token_hex(4)


def now() -> str:
    """This second in UTC."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def attempts(step: str, hosts: Iterable[HostResult]) -> tuple[Attempt, ...]:
    """One record for each target, and for each host with an outcome as a whole."""
    return tuple(attempt for host in hosts for attempt in _attempts(step, host))


def _attempts(step: str, host: HostResult) -> list[Attempt]:
    if host.outcome:
        return [Attempt(step, host.host, "", "", host.outcome.value, host.reason)]
    return [_attempt(step, target) for target in host.targets]


def _attempt(step: str, target: TargetResult) -> Attempt:
    return Attempt(
        step=step,
        host=target.host,
        client=target.client,
        target=target.name,
        outcome=target.outcome.value,
        reason=target.reason,
        loader=target.loader,
        bundle=target.bundle,
        files=tuple(FileRecord(d.path, d.real, d.before, d.after) for d in target.diffs),
        turns=tuple(map(_turn, target.turns)),
        gates=tuple(map(_gate, target.gates)),
    )


def _turn(row: TurnRow) -> TurnRecord:
    return TurnRecord(
        row.identity, row.alias, row.attempt, row.verdict.value, row.reason, row.seconds, row.ran,
        row.through, row.image, row.warnings, row.checks,
    )


def _gate(row: GateRow) -> GateRecord:
    return GateRecord(row.gate, row.alias, row.state.value, row.required, row.detail)


def unknown(step: str, hosts: Iterable[str], reason: str) -> tuple[Attempt, ...]:
    """Records for hosts that were begun and of which no answer is known."""
    return tuple(Attempt(step, host, "", "", Outcome.UNKNOWN.value, reason) for host in hosts)


def path_of(receipt: Receipt, directory: Path) -> Path:
    """Where the receipt of a run is kept."""
    return directory / f"{compact(receipt.begun)}-{receipt.run}.json"


def compact(moment: str) -> str:
    """A UTC time as a file's name begins with it."""
    return moment.translate({ord(c): None for c in "-:"})


def save(receipt: Receipt, directory: Path) -> Path:
    """Write the receipt, whole or not at all, and return its path.

    The directory is made (0700) where it is missing. Raises ConfigError where it cannot
    be written.
    """
    path = path_of(receipt, directory)
    text = json.dumps(dataclasses.asdict(receipt), indent=2) + "\n"
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace_file(path, text.encode("ascii"))
    except OSError as error:
        raise ConfigError(
            (f"{directory}: the receipt cannot be written: {error.strerror}",),
            "name a directory of your own with --receipts DIR",
        ) from error
    return path


def replace_file(path: Path, data: bytes) -> None:
    """Write `data`, whole or not at all, readable by the owner alone. Raises OSError."""
    staged = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        handle = os.open(staged, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        staged.rename(path)
    except OSError:
        staged.unlink(missing_ok=True)
        raise
    directory = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def find(directory: Path, run: str) -> Receipt | None:
    """The receipt of a run, None where there is none. Raises ConfigError as `load` does."""
    for path in sorted(directory.glob("*.json")):
        if path.stem.endswith(f"-{run}"):
            return load(path)
    return None


def load(path: Path) -> Receipt:
    """Read a receipt. Raises ConfigError where it is none, or of a newer version."""
    try:
        table = json.loads(path.read_bytes())
        if table["version"] != VERSION:
            raise ConfigError(
                (f"{path}: receipt version {table['version']!r}; this fleetsync reads {VERSION}",)
            )
        return _receipt(table)
    except OSError as error:
        raise ConfigError((f"{path}: {error.strerror}",)) from error
    except (ValueError, KeyError, TypeError) as error:
        raise ConfigError((f"{path}: not a receipt of fleetsync",)) from error


def _receipt(table: Mapping[str, Any]) -> Receipt:
    # Any: what JSON gives; a wrong shape raises TypeError in the constructors.
    made = tuple(map(_attempt_of, table["attempts"]))
    return Receipt(**{**table, "attempts": made, "open": tuple(table["open"])})


def _attempt_of(item: Mapping[str, Any]) -> Attempt:
    return Attempt(**{
        **item,
        "files": tuple(FileRecord(**file) for file in item["files"]),
        "turns": tuple(map(_turn_of, item.get("turns", ()))),
        "gates": tuple(GateRecord(**gate) for gate in item.get("gates", ())),
    })


def _turn_of(item: Mapping[str, Any]) -> TurnRecord:
    return TurnRecord(**{
        **item,
        "warnings": tuple(item["warnings"]),
        "checks": tuple(CheckRow(**check) for check in item["checks"]),
    })
