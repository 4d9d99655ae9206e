"""What a run did with real turns, written down before and after each of them.

One file a run and host beside the receipts, `<UTC>-<run>-<host>.turns.open.jsonl`,
appended line by line and fsynced: a turn stands in it before it is dispatched, and its
end after. When all its turns have ended it is renamed to `….turns.jsonl`. A file that
keeps the first name, and that no process holds locked, belongs to a run that was killed:
its turns without an end are to be settled.
"""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import json
import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from fleetsync.errors import ConfigError

OPEN = ".turns.open.jsonl"
CLOSED = ".turns.jsonl"
_DISPATCHED, _ENDED = "dispatched", "ended"


@dataclass(frozen=True, slots=True)
class Dispatch:
    """One turn as it is sent. `identity` names its scratch directory and its processes on
    the host; `scratch` is that directory; `at` is UTC, to the second."""

    run: str
    host: str
    target: str
    alias: str
    attempt: int
    identity: str
    nonce: str
    session: str
    scratch: str
    at: str


class Journal:
    """The journal of one run on one host. Nothing is made before the first dispatch.

    Its methods raise ConfigError where it cannot be written: then no turn is sent.
    """

    def __init__(self, directory: Path, stem: str, left: Iterable[Dispatch] = ()) -> None:
        """`left` are turns that stand in it without an end."""
        self._directory, self._stem = directory, stem
        self._handle: int | None = None
        self._unended = {one.identity for one in left}

    @property
    def path(self) -> Path:
        """Where it stands while the run goes on."""
        return self._directory / f"{self._stem}{OPEN}"

    def dispatched(self, dispatch: Dispatch) -> None:
        """Put down a turn that is about to be sent. On return it is on the disk."""
        self._append({"event": _DISPATCHED, **dataclasses.asdict(dispatch)})
        self._unended.add(dispatch.identity)

    def ended(self, identity: str, verdict: str) -> None:
        """Put down the end of a turn."""
        self._append({"event": _ENDED, "identity": identity, "verdict": verdict})
        self._unended.discard(identity)

    def close(self) -> None:
        """Let go of it; with every turn ended it gets its lasting name."""
        if self._handle is None:
            return
        with _writing(self.path):
            if not self._unended:
                self.path.rename(self._directory / f"{self._stem}{CLOSED}")
            os.close(self._handle)
            self._handle = None

    def _append(self, record: Mapping[str, object]) -> None:
        line = json.dumps(record, ensure_ascii=True) + "\n"
        with _writing(self.path):
            handle = self._opened()
            os.write(handle, line.encode("ascii"))
            os.fsync(handle)

    def _opened(self) -> int:
        if self._handle is None:
            self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._handle = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
            fcntl.flock(self._handle, fcntl.LOCK_EX)
            _cut(self._handle)
            _sync(self._directory)
        return self._handle


def _cut(handle: int) -> None:
    """Take away a last line that is not complete: what it was to announce was not done."""
    data = os.pread(handle, os.fstat(handle).st_size, 0)
    os.ftruncate(handle, data.rfind(b"\n") + 1)


def _sync(directory: Path) -> None:
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@dataclass(frozen=True, slots=True)
class Unsettled:
    """A turn without an end on record, and the journal that it stands in."""

    dispatch: Dispatch
    path: Path

    @property
    def told(self) -> str:
        """It in one line."""
        one = self.dispatch
        return (
            f"turn {one.identity} of run {one.run} ({one.target}, {one.alias}, sent {one.at}) "
            "has no end on record"
        )


def unsettled(directory: Path, hosts: Collection[str]) -> tuple[Unsettled, ...]:
    """Every turn on `hosts` without an end, the oldest first, but for those of a run that
    still goes on. A last line that was cut off counts as not written: its turn was not
    sent. Raises ConfigError for a journal that cannot be read."""
    return tuple(
        Unsettled(dispatch, path)
        for path in sorted(directory.glob(f"*{OPEN}"))
        if not _is_held(path)
        for dispatch in _without_end(path)
        if dispatch.host in hosts
    )


def still_open(found: Collection[Unsettled], own: Path) -> tuple[Unsettled, ...]:
    """Those of `found` that have no end yet, and the turns of the journal `own` that have
    none. Raises ConfigError for a journal that cannot be read."""
    known = {one.dispatch for one in found}
    paths = dict.fromkeys((*(one.path for one in found), own))
    return tuple(
        Unsettled(dispatch, path)
        for path in paths
        if path.is_file()
        for dispatch in _without_end(path)
        if path == own or dispatch in known
    )


def settle(one: Unsettled, verdict: str) -> None:
    """Give a turn its end; a journal whose turns have all ended gets its lasting name.
    Raises ConfigError."""
    journal = Journal(one.path.parent, one.path.name.removesuffix(OPEN), _without_end(one.path))
    journal.ended(one.dispatch.identity, verdict)
    journal.close()


def _is_held(path: Path) -> bool:
    """Whether the process that writes it is still there."""
    with _reading(path):
        handle = os.open(path, os.O_RDONLY)
        try:
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(handle)
        return False


def _without_end(path: Path) -> tuple[Dispatch, ...]:
    with _reading(path):
        rows = [json.loads(line) for line in path.read_bytes().split(b"\n")[:-1]]
        ended = {row["identity"] for row in rows if row["event"] == _ENDED}
        sent = [row for row in rows if row.pop("event") == _DISPATCHED]
        return tuple(Dispatch(**row) for row in sent if row["identity"] not in ended)


@contextlib.contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ConfigError(
            (f"{path}: the journal of turns cannot be written: {error.strerror}",),
            "name a directory of your own with --receipts DIR",
        ) from error


@contextlib.contextmanager
def _reading(path: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigError(
            (f"{path}: not a journal of turns",),
            "look at it, and move it away to go on without it",
        ) from error
