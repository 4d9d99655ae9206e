"""Interrupt a transaction on a real sshd at a chosen step, in one of several ways.

Started as a module inside a PID and mount namespace of its own, because it kills the
server's processes; prints one line of JSON. The script is held at a step by a file that
it waits for, and let go after the connection is gone, so nothing here depends on speed.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from fleetsync.errors import HostError
from fleetsync.remote import ANSWER_CAP, Remote, Writer
from fleetsync.transaction import End, Job, recover, transact
from tests.integration.faults.world import World
from tests.integration.sshd import RemoteHost, Sshd

WAYS = ("client closes", "server dies", "shell dies", "both die")
STEPS = {
    "originals saved": "fs_each fs_built && fs_write_manifest",
    "all staged": "fs_each fs_flush &&",
    "decided": "fs_forward; then",
    "all swapped": "fs_each fs_proved || return",
    "proved": "fs_each fs_clean && fs_move done",
}
"""A step by the words in our scripts that follow it."""
_HOLD = 'echo "$$" >"$HOME/at" && until [ -e "$HOME/go" ]; do sleep 0.02; done'


@dataclass
class Held:
    """A remote whose script runs `first` just before some words of it."""

    inner: Remote
    words: str
    first: str = _HOLD

    def connect(self) -> None:
        self.inner.connect()

    def close(self) -> None:
        self.inner.close()

    def exchange(
        self, command: str, stdin: bytes, end: bytes, *, seconds: float, cap: int = ANSWER_CAP,
        hold: bool = False,
    ) -> bytes:
        old, new = self.words.encode(), f"{{ {self.first}; }} && {self.words}".encode()
        if stdin.count(old) != 1:
            raise LookupError(self.words)
        return self.inner.exchange(
            command, stdin.replace(old, new), end, seconds=seconds, cap=cap, hold=hold
        )


def drop(host: RemoteHost, words: str, way: str) -> list[str]:
    """What is wrong after one interruption, and after the next contact."""
    world = World(host.home)
    world.plant()
    job = world.job()
    remote = host.remote()
    with _begun(Held(remote, words), job):
        shell = int(_awaited(host.home / "at"))
        server = _session(shell)
        if way == "client closes":
            remote.close()
        if way in ("server dies", "both die"):
            os.kill(server, signal.SIGKILL)
        if way in ("shell dies", "both die"):
            os.kill(shell, signal.SIGKILL)
        wrong = world.torn()
        (host.home / "go").touch()
    return wrong + _next_contact(host, world, job, way)


def _next_contact(host: RemoteHost, world: World, job: Job, way: str) -> list[str]:
    """Where the shell lived on, the transaction came to its end without us."""
    writer = Writer(host.remote())
    end = transact(writer, job).end
    writer.remote.close()
    wished = {End.ALREADY} if way in WAYS[:2] else {End.ALREADY, End.APPLIED}
    return [*([] if end in wished else [f"the next run ended {end}"]), *world.settled("new")]


@contextlib.contextmanager
def _begun(remote: Remote, job: Job) -> Iterator[None]:
    """A transaction in a thread of its own, whose answer may get lost."""

    def run() -> None:
        with contextlib.suppress(HostError):
            transact(Writer(remote), job)

    thread = threading.Thread(target=run)
    thread.start()
    yield
    thread.join()
    remote.close()


def _awaited(file: Path) -> str:
    """The text of a file, once there is some."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if file.exists() and (text := file.read_text()).endswith("\n"):
            return text
        time.sleep(0.02)
    raise TimeoutError(file.name)


def _session(shell: int) -> int:
    """The sshd process above a shell that it started."""
    process = shell
    while "sshd" not in Path(f"/proc/{process}/comm").read_text():
        process = int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
    return process


def fill(host: RemoteHost, used: int, believed: bool) -> list[str]:
    """What is wrong after a transaction on a file system of 64 KiB of which `used` are
    taken: as df tells it, or as a write finds out when df is not `believed`."""
    home = host.home / f"world{used}{believed}"
    home.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", str(home)], check=True)
    world = World(home)
    world.plant()
    with contextlib.suppress(OSError):
        (home / "filler").write_bytes(b"x" * 1024 * used)
    blind = "df() { return 1; }; " if not believed else ""
    held = Held(host.remote(), "fs_job ", f"{blind}HOME={home}")
    end = transact(Writer(held), world.job()).end
    claim = {End.APPLIED: {"new"}}.get(end, {"old"})
    wrong = [] if set(world.states()) == claim else [f"{end}: {world.states()}"]
    (home / "filler").unlink()
    recover(Writer(Held(held.inner, "fs_recover 'forward'", f"HOME={home}")))
    held.close()
    return [f"{used} KiB used: {one}" for one in wrong + world.settled()]


def _dropped(start: Sshd, way: str) -> Iterator[list[str]]:
    for step, words in STEPS.items():
        yield [f"{step}: {one}" for one in drop(start(), words, way)]


def _filled(start: Sshd) -> Iterator[list[str]]:
    host = start()
    for believed in (True, False):
        for used in range(0, 64, 8):
            yield fill(host, used, believed)


def main() -> None:
    """Arguments: a way of WAYS, or `full`."""
    parser = argparse.ArgumentParser()
    parser.add_argument("way", choices=[*WAYS, "full"])
    way = parser.parse_args().way
    with Sshd() as start:
        cases = list(_filled(start) if way == "full" else _dropped(start, way))
    wrong = [one for case in cases for one in case]
    json.dump({"cases": len(cases), "wrong": wrong}, sys.stdout)


if __name__ == "__main__":
    main()
