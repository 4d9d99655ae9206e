"""Our own state on a host is read, never made."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fleetsync.facts import Interrupted
from tests.unit.host_read import SHELLS, Host

STATE = ".local/state/fleetsync"


@pytest.fixture(params=SHELLS)
def host(request: pytest.FixtureRequest, tmp_path: Path) -> Host:
    return Host(tmp_path, request.param)


def test_a_host_without_our_state_has_none_afterwards(host: Host) -> None:
    assert (host.state().interrupted, list(host.home.iterdir())) == ((), [])


def test_the_state_directory_follows_the_accounts_own_setting(tmp_path: Path) -> None:
    host = Host(tmp_path, environment={"XDG_STATE_HOME": "/var/tmp/state"})
    assert host.state().directory == "/var/tmp/state/fleetsync"


@pytest.mark.parametrize("state", ["prep", "commit", "undo"])
def test_a_transaction_that_was_cut_off_is_told_with_its_files(host: Host, state: str) -> None:
    host.write(f"{STATE}/txn/abc.{state}/manifest", "M\trun\t7\nF\t1\t-\tdd\t/a b/c\t/a b/c\n")
    assert host.state().interrupted == (Interrupted("abc", state, ("/a b/c",)),)


def test_a_transaction_without_a_manifest_is_told_without_files(host: Host) -> None:
    (host.home / STATE / "txn/abc.prep").mkdir(parents=True)
    assert host.state().interrupted == (Interrupted("abc", "prep", ()),)


@pytest.mark.parametrize("state", ["done", "prep"])
def test_what_only_poses_as_a_manifest_does_not_leave_the_host(host: Host, state: str) -> None:
    secret = host.write(".env", "M\tkey\tcanary-1\nKEY=canary-2\n")
    for name in ("link", "pipe"):
        (host.home / STATE / f"txn/{name}.{state}").mkdir(parents=True)
    (host.home / STATE / f"txn/link.{state}/manifest").symlink_to(secret)
    os.mkfifo(host.home / STATE / f"txn/pipe.{state}/manifest")
    host.write(f"{STATE}/txn/text.{state}/manifest", "M\trun\t7\nKEY=canary-3\nEND\n")
    host.state()
    assert b"canary" not in host.said


def test_finished_transactions_are_not_interrupted(host: Host) -> None:
    host.write(f"{STATE}/txn/abc.done/manifest", "END\n")
    host.write(f"{STATE}/txn/abd.undone/manifest", "END\n")
    assert host.state().interrupted == ()


def test_the_newest_finished_manifest_tells_the_last_writer(host: Host) -> None:
    for name, age in (("zzz", 100), ("aaa", 5), ("mmm", 50)):
        path = host.write(f"{STATE}/txn/{name}.done/manifest", f"M\trun\t{name}\nM\tby\ta b\n")
        os.utime(path, (1_000_000 - age, 1_000_000 - age))
    assert host.state().last == (("run", "aaa"), ("by", "a b"))


def _lock(host: Host, number: int, owner: str) -> None:
    folder = host.home / STATE
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"lock.{number}").symlink_to(owner)


def _owner(pid: int, start: str = "1") -> str:
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return f"{pid}:{start}:{boot}:nonce:host:1"


def _ourselves() -> str:
    stat = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    return _owner(os.getpid(), stat[19])


def test_a_living_lock_names_its_holder(host: Host) -> None:
    _lock(host, 9, "free")
    _lock(host, 10, _ourselves())
    assert host.state().locked_by == _ourselves()


def test_a_lock_that_was_let_go_is_no_lock(host: Host) -> None:
    _lock(host, 9, _ourselves())
    _lock(host, 10, "free")
    assert host.state().locked_by == ""


def test_a_lock_of_an_earlier_boot_is_no_lock(host: Host) -> None:
    _lock(host, 1, f"{os.getpid()}:1:another-boot:nonce:host:1")
    assert host.state().locked_by == ""


def test_a_lock_of_a_process_that_is_gone_is_no_lock(host: Host) -> None:
    _lock(host, 1, _owner(2**22 + 1))
    assert host.state().locked_by == ""


def test_a_lock_of_a_process_whose_number_was_given_away_is_no_lock(host: Host) -> None:
    _lock(host, 1, _owner(os.getpid(), start="1"))
    assert host.state().locked_by == ""
