"""What stands around a turn: the operator's stdin, a link that is cut, a killed fleetsync."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from fleetsync.testing.router import Fault, StandInRouter
from tests.clients import smokes
from tests.clients.smokes import Record
from tests.clients.test_smoke_pi import furnish
from tests.integration.sshd import Sshd

PASSED = [("pi", "llm.primary", "passed")]


@pytest.fixture
def router() -> Iterator[StandInRouter]:
    with smokes.router() as made:
        yield made


@pytest.fixture
def inventory(sshd_host: Sshd, router: StandInRouter, tmp_path: Path) -> Path:
    host = sshd_host("node")
    furnish(host, "1.6.0", router.url)
    return smokes.inventory(tmp_path / "inventory", host, router, "pi")


def test_a_pipe_that_stays_open_holds_no_smoke_up(
    inventory: Path, record_property: Record
) -> None:
    reading, writing = os.pipe()
    try:
        code, report = smokes.fleetsync(inventory, "smoke", stdin=reading)
    finally:
        os.close(writing)
        os.close(reading)
    assert (code, smokes.turns_of(report)) == (0, PASSED)
    record_property("turn", [1, 1, 1])


def test_a_terminal_holds_no_smoke_up(inventory: Path, record_property: Record) -> None:
    ours, theirs = pty.openpty()
    try:
        code, report = smokes.fleetsync(inventory, "smoke", stdin=theirs)
    finally:
        os.close(theirs)
        os.close(ours)
    assert (code, smokes.turns_of(report)) == (0, PASSED)
    record_property("turn", [1, 1, 1])


def test_a_loop_that_reads_hosts_from_stdin_loses_none_to_a_smoke(
    inventory: Path, router: StandInRouter, record_property: Record
) -> None:
    """The classic: a client that reads stdin takes the rest of the list for its prompt."""
    loop = 'while read -r host; do "$1" -m fleetsync --inventory "$2" smoke "$host" -q; done'
    done = subprocess.run(
        ["sh", "-c", loop, "sh", sys.executable, str(inventory)], input="node\nno*\n",
        capture_output=True, text=True, timeout=300, check=False,
    )
    assert done.stdout.count("turns: 1  accepted: 1") == 2, done.stdout + done.stderr
    assert not any("no*" in request.prompt for request in router.turns())
    record_property("turn", [2, 2, 2])


def test_a_killed_smoke_leaves_no_process_and_is_settled_before_the_next(
    inventory: Path, router: StandInRouter, record_property: Record
) -> None:
    router.go_wrong(Fault.HANG)
    command = [sys.executable, "-m", "fleetsync", "--inventory", str(inventory), "smoke"]
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        router.wait(2, 60)    # the proof of the key, then the turn
        process.kill()
    (journal,) = (inventory.parent / "backups").glob("*.turns.open.jsonl")
    tag = journal.read_text().partition('"identity": "')[2][:32]
    _gone(tag)
    router.go_right()

    code, report = smokes.fleetsync(inventory, "preview")
    assert code == 3
    assert f"turn {tag}" in report["errors"][0]["message"]
    sent = len(router.turns())
    code, report = smokes.fleetsync(inventory, "smoke")
    assert (code, smokes.turns_of(report)) == (0, PASSED)
    (line,) = report["hosts"][0]["settled"]
    assert tag in line
    assert len(router.turns()) == sent + 2    # its own two requests, and none again
    assert smokes.fleetsync(inventory, "preview")[0] == 0
    record_property("turn", [1, 1, 1])


def _gone(tag: str) -> None:
    """Wait until no process bears the tag. Fails after the time that a host has for it."""
    deadline = time.monotonic() + 20
    while found := _bearing(tag):
        assert time.monotonic() < deadline, found
        time.sleep(0.2)


def _bearing(tag: str) -> list[str]:
    found = []
    for environ in Path("/proc").glob("[0-9]*/environ"):
        try:
            if f"FLEETSYNC_RUN={tag}".encode() in environ.read_bytes():
                found.append((environ.parent / "cmdline").read_text().replace("\0", " "))
        except OSError:
            continue
    return found


def test_recover_settles_a_lost_turn_too(
    inventory: Path, router: StandInRouter
) -> None:
    router.go_wrong(Fault.HANG)
    command = [sys.executable, "-m", "fleetsync", "--inventory", str(inventory), "smoke"]
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        router.wait(2, 60)
        process.kill()
    code, report = smokes.fleetsync(inventory, "recover", "--yes")
    assert code == 0
    assert "settled as lost" in report["hosts"][0]["settled"][0]
    assert smokes.fleetsync(inventory, "preview")[0] == 0
