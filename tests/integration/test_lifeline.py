"""A link to a real sshd that is cut in mid-run leaves no process and no file of the run."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fleetsync import check
from fleetsync.adapter import Command
from fleetsync.errors import HostError
from fleetsync.remote import Runner
from fleetsync.ssh import Address, SshRemote
from fleetsync.testing.server import EmbeddedHost
from tests.integration.sshd import RemoteHost, Sshd

PATH = (("PATH", "/usr/bin:/bin"),)
DAEMON = "setsid sleep 600 & (trap '' TERM; sleep 600) & "
ENOUGH = 60
"""Seconds after which something that is awaited will not come."""


def awaited(told: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + ENOUGH
    while not told() and time.monotonic() < deadline:
        time.sleep(0.05)
    return told()


def tagged(run_id: str) -> list[int]:
    """The processes on this machine that carry the tag of a run."""
    found = []
    for process in filter(str.isdigit, os.listdir("/proc")):  # noqa: PTH208
        with contextlib.suppress(OSError):
            if f"FLEETSYNC_RUN={run_id}".encode() in Path("/proc", process, "environ").read_bytes():
                found.append(int(process))
    return found


def cut(host: RemoteHost, way: str, run_id: str, begun: Path) -> None:
    """Lose the link in the middle of a run."""
    remote = host.remote()
    command = Command(
        ("/bin/sh", "-c", f"{DAEMON} : >{begun}; sleep 600"), PATH, seconds=500
    )

    def run() -> None:
        with contextlib.suppress(HostError):
            check.run(Runner(remote), command, {}, run_id, lifeline=True)

    thread = threading.Thread(target=run)
    thread.start()
    assert awaited(begun.exists)
    if way == "client closes":
        remote.close()
    else:
        os.kill(server(host, run_id), signal.SIGKILL)
    thread.join()
    remote.close()


def server(host: RemoteHost, run_id: str) -> int:
    """The sshd of the session in which a run lives: below that of the host."""
    for process in tagged(run_id):
        above = [*ancestors(process)]
        if host.process.pid in above:
            return next(one for one in above if "sshd" in name(one))
    raise LookupError(run_id)


def ancestors(process: int) -> Iterator[int]:
    while process > 1:
        process = int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
        yield process


def name(process: int) -> str:
    return Path(f"/proc/{process}/comm").read_text()


@pytest.mark.parametrize("way", ["client closes", "server dies"])
def test_a_link_that_is_cut_in_mid_run_leaves_nothing(
    sshd_host: Sshd, tmp_path: Path, way: str
) -> None:
    run_id = os.urandom(16).hex()
    cut(sshd_host(), way, run_id, tmp_path / "begun")
    assert awaited(lambda: not tagged(run_id))
    assert awaited(lambda: not Path(f"/tmp/fleetsync-{run_id}").exists())


@pytest.mark.parametrize("login", ["bash", "zsh", "fish", "tcsh", "dash"])
def test_under_every_login_shell_a_run_hangs_on_its_lifeline_and_answers(
    sshd_host: Sshd, login: str
) -> None:
    remote = sshd_host(login_shell=login).remote()
    command = Command(("/bin/sh", "-c", "cat; sleep 0.5; echo out; exit 5"), PATH, seconds=30)
    done = check.run(Runner(remote), command, {}, lifeline=True)
    remote.close()
    assert (done.status, done.stdout.reveal()) == (5, b"out\n")


def test_on_an_embedded_host_a_run_hangs_on_its_lifeline_and_answers(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    command = Command(("/bin/sh", "-c", "cat; sleep 0.5; echo out; exit 5"), PATH, seconds=30)
    with EmbeddedHost(tmp_path / "home", "primary-node", {"PATH": os.defpath}) as host:
        at = Address(
            host.name, host.address, port=host.port, user=host.user,
            identity=str(host.identity), known_hosts=str(host.known_hosts),
        )
        remote = SshRemote(at, use_ssh_config=False)
        done = check.run(Runner(remote), command, {}, lifeline=True)
        remote.close()
    assert (done.status, done.stdout.reveal()) == (5, b"out\n")
