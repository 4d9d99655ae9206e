"""What else can happen to a file while we look at it and write it, each told apart."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from fleetsync.errors import HostError
from fleetsync.remote import Writer, library
from fleetsync.transaction import (
    Applied,
    End,
    Problem,
    Reason,
    fresh_id,
    recover,
    transact,
    undo,
)
from tests.integration.faults.host import ShellRemote, namespace, shell
from tests.integration.faults.world import FOREIGN, World, digest

pytestmark = pytest.mark.faults


class Host:
    """A world and a way to write in it, sabotaged or not."""

    def __init__(self, folder: Path, name: str = "dash") -> None:
        (folder / "home").mkdir()
        self.world = World(folder / "home")
        self.world.plant()
        sh, path = shell(name, folder / "tools")
        self.remote = ShellRemote(sh, path, self.world.home)
        self.settings = self.world.items[1].real

    def writer(self, prelude: str = "", *replaced: tuple[str, str]) -> Writer:
        return Writer(replace(self.remote, prelude=prelude, replaced=replaced))

    def apply(self, prelude: str = "", *replaced: tuple[str, str]) -> Applied:
        return transact(self.writer(prelude, *replaced), self.world.job())

    def listing(self) -> list[tuple[str, int, int, float]]:
        return sorted(
            (str(path), path.lstat().st_ino, path.lstat().st_mode, path.lstat().st_mtime)
            for path in self.world.home.rglob("*")
        )


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(tmp_path)


def reasons(applied: Applied) -> set[Reason]:
    return {problem.reason for problem in applied.problems}


@pytest.mark.parametrize("name", ["dash", "bash", "busybox", "zsh"])
def test_a_transaction_writes_exact_bytes_and_keeps_modes_and_links(
    tmp_path: Path, name: str
) -> None:
    host = Host(tmp_path, name)
    applied = host.apply()
    assert applied.end is End.APPLIED
    assert host.world.settled("new") == []


@pytest.mark.parametrize("name", ["dash", "bash", "busybox", "zsh"])
def test_a_done_transaction_is_undone_byte_for_byte_and_only_once(
    tmp_path: Path, name: str
) -> None:
    host = Host(tmp_path, name)
    done = host.apply()
    assert undo(host.writer(), done.transaction).end is End.UNDONE
    assert host.world.settled("old") == []
    assert undo(host.writer(), done.transaction).end is End.ALREADY


def test_the_bundle_is_private_and_whole(host: Host) -> None:
    bundle = Path(host.apply().bundle)
    assert host.world.whole(bundle)
    modes = {path.stat().st_mode & 0o777 for path in bundle.iterdir()}
    assert (modes, bundle.stat().st_mode & 0o777) == ({0o600}, 0o700)


def test_the_same_transaction_twice_is_already_done(host: Host) -> None:
    job = host.world.job()
    transact(host.writer(), job)
    assert transact(host.writer(), job).end is End.ALREADY


def _edit(host: Host) -> None:
    host.settings.write_bytes(FOREIGN)


def _link_with_same_bytes(host: Host) -> None:
    host.settings.rename(host.world.home / "elsewhere.json")
    host.settings.symlink_to(host.world.home / "elsewhere.json")


def _dangle(host: Host) -> None:
    host.settings.unlink()
    host.settings.symlink_to(host.world.home / "nowhere")


def _directory(host: Host) -> None:
    host.settings.unlink()
    host.settings.mkdir()


def _fifo(host: Host) -> None:
    host.settings.unlink()
    os.mkfifo(host.settings)


def _device(host: Host) -> None:
    host.settings.unlink()
    host.settings.symlink_to("/dev/null")


def _socket(host: Host) -> None:
    host.settings.unlink()
    here = Path.cwd()
    os.chdir(host.settings.parent)
    try:
        with socket.socket(socket.AF_UNIX) as one:
            one.bind(host.settings.name)
    finally:
        os.chdir(here)


def _appear(host: Host) -> None:
    made = host.world.items[2].real
    made.parent.mkdir(parents=True)
    made.write_bytes(FOREIGN)


def _second_link(host: Host) -> None:
    (host.world.home / "second").hardlink_to(host.settings)


@pytest.mark.parametrize(
    ("happens", "reason"),
    [
        (_edit, Reason.MOVED),
        (lambda host: host.settings.unlink(), Reason.MOVED),
        (_link_with_same_bytes, Reason.RESOLVED),
        (_dangle, Reason.DANGLING),
        (_directory, Reason.DIRECTORY),
        (_fifo, Reason.FIFO),
        (_device, Reason.DEVICE),
        (_socket, Reason.IRREGULAR),
        (_appear, Reason.APPEARED),
        (_second_link, Reason.LINKS),
        (lambda host: host.settings.chmod(0o4644), Reason.MODE),
        (lambda host: host.settings.chmod(0o444), Reason.READONLY),
        (lambda host: host.settings.parent.chmod(0o555), Reason.READONLY),
    ],
)
def test_a_file_that_is_not_as_it_was_read_is_refused_and_nothing_is_made(
    host: Host, happens: Callable[[Host], None], reason: Reason
) -> None:
    happens(host)
    before = host.listing()
    applied = host.apply()
    assert (applied.end, reasons(applied)) == (End.REFUSED, {reason})
    assert host.listing() == before


@pytest.mark.parametrize(
    ("sabotage", "reason"),
    [
        ("id() { echo 4242; }", Reason.OWNER),
        ('lsattr() { echo "----i---- $2"; }', Reason.IMMUTABLE),
        ("df() { echo Filesystem; echo /dev/x 100 98 2 98% /; }", Reason.SPACE),
        ("ls() { echo '-rw-------+ 1 x x 1 Jan 1 00:00 x'; }; cp() { return 1; }", Reason.ACL),
        ("fs_hasher=", Reason.HASH),
        ("stat() { return 1; }", Reason.STAT),
    ],
)
def test_what_the_host_cannot_do_safely_is_refused_and_nothing_is_made(
    host: Host, sabotage: str, reason: Reason
) -> None:
    before = host.listing()
    applied = host.apply(sabotage)
    assert (applied.end, reasons(applied)) == (End.REFUSED, {reason})
    assert host.listing() == before


@pytest.mark.parametrize(
    ("account", "group", "stays"),
    [(1000, 100, True), (1000, 44, True), (1000, 4, False), (1000, 10, False), (0, 4, True)],
)
def test_a_group_stays_where_the_account_can_give_a_file_to_it(
    account: int, group: int, stays: bool
) -> None:
    script = (
        f"{library('guard.sh')}\nid() {{ echo 100 44; }}\n"
        f"fs_me={account} fs_gid={group}\nfs_group_stays"
    )
    done = subprocess.run(["sh", "-c", script], check=False)
    assert (done.returncode == 0) is stays


def test_a_file_above_the_cap_is_refused(host: Host) -> None:
    applied = transact(host.writer(), replace(host.world.job(), cap=100))
    assert applied.problems == (
        Problem(Reason.CAP, str(host.world.items[0].path), "100"),
    )


def test_a_state_directory_that_others_may_write_is_refused(host: Host) -> None:
    host.world.state.mkdir(parents=True)
    host.world.state.chmod(0o777)
    assert reasons(host.apply()) == {Reason.STATE}
    assert set(host.world.states()) == {"old"}


def test_every_problem_is_told_at_once(host: Host) -> None:
    _edit(host)
    _appear(host)
    assert reasons(host.apply()) == {Reason.MOVED, Reason.APPEARED}


def test_of_transactions_at_once_exactly_one_is_applied(host: Host) -> None:
    with ThreadPoolExecutor(4) as pool:
        ends = list(pool.map(lambda _: host.apply(), range(4)))
    assert sorted(end.end.value for end in ends) == ["applied", "refused", "refused", "refused"]
    assert host.world.settled("new") == []


def test_an_edit_in_place_between_compare_and_rename_is_kept(host: Host) -> None:
    edit = f"mv() {{ case $2 in *-2) printf %s '{FOREIGN.decode()}' >\"$3\" ;; esac;" \
        ' command mv "$@"; }'
    applied = host.apply(edit)
    assert (applied.end, reasons(applied)) == (End.UNDONE, {Reason.EDITED})
    assert host.settings.read_bytes() == FOREIGN
    assert applied.foreign == (str(host.settings),)
    assert [host.world.states()[number] for number in (0, 2)] == ["old", "old"]


def test_an_edit_in_place_while_the_other_files_are_written_is_kept(host: Host) -> None:
    # A writer that opened models.json before it was replaced, and writes after.
    late = "ln() { command ln \"$@\" || return; case $2 in */n.json) for kept in " \
        f"\"$HOME\"/dot*/.fleetsync-*-1-old; do printf %s '{FOREIGN.decode()}' >\"$kept\"; " \
        "done ;; esac; }"
    applied = host.apply(late)
    assert (applied.end, reasons(applied)) == (End.UNDONE, {Reason.EDITED})
    assert host.world.items[0].real.read_bytes() == FOREIGN


@pytest.mark.parametrize("moment", ["fs_each fs_stage", "fs_each fs_flush", "fs_decide"])
def test_an_edit_before_the_decision_refuses_the_whole_set(host: Host, moment: str) -> None:
    edit = f"{{ printf %s '{FOREIGN.decode()}' >'{host.settings}'; {moment}; }}"
    applied = host.apply("", (f"&& {moment}", f"&& {edit}"))
    known = {"fs_decide": End.UNDONE}
    assert applied.end is known.get(moment, End.REFUSED)
    assert host.settings.read_bytes() == FOREIGN
    assert [host.world.states()[number] for number in (0, 2)] == ["old", "old"]


def test_a_file_that_appears_after_the_decision_is_not_overwritten(host: Host) -> None:
    made = host.world.items[2].real
    appear = f"ln() {{ case $2 in */n.json) printf mine >'{made}' ;; esac; command ln \"$@\"; }}"
    applied = host.apply(appear)
    assert (applied.end, reasons(applied)) == (End.UNDONE, {Reason.APPEARED})
    assert made.read_bytes() == b"mine"


def test_a_link_swapped_in_after_the_decision_is_left_alone(host: Host) -> None:
    other = host.world.home / "other.json"
    other.write_bytes(b'{"a":1}')
    swap = f"mkdir() {{ case $1 in *.lock) ln -sf '{other}' '{host.settings}' ;; esac;" \
        ' command mkdir "$@"; }'
    applied = host.apply(swap)
    assert (applied.end, reasons(applied)) == (End.UNDONE, {Reason.MOVED})
    assert host.settings.is_symlink()
    assert other.read_bytes() == b'{"a":1}'


def test_a_rename_that_the_host_refuses_puts_the_others_back(host: Host) -> None:
    busy = 'mv() { case $2 in *-2) return 1 ;; esac; command mv "$@"; }'
    applied = host.apply(busy)
    assert (applied.end, reasons(applied)) == (End.UNDONE, {Reason.WRITE})
    assert host.world.settled("old") == []


def test_signals_of_a_lost_connection_do_not_stop_a_transaction(host: Host) -> None:
    noise = 'mv() { kill -s TERM "$$"; kill -s HUP "$$"; kill -s INT "$$"; command mv "$@"; }'
    assert host.apply(noise).end is End.APPLIED


def test_a_transaction_goes_on_when_nobody_listens(host: Host) -> None:
    with pytest.raises(HostError):
        host.apply("", ("fs_decide; then", "fs_decide && exec >&-; then"))
    assert host.world.settled("new") == []


# --- the client's own lock ---------------------------------------------------------


def test_the_clients_lock_is_held_for_compare_and_rename_only(host: Host) -> None:
    log = host.world.home / "log"
    shims = "\n".join(
        f'{name}() {{ command printf "%s\\n" "{name} $*" >>"{log}"; command {name} "$@"; }}'
        for name in ("mkdir", "rmdir", "mv", "sync", "cp", "rm", "ln")
    )
    assert host.apply(shims).end is End.APPLIED
    lines = log.read_text().splitlines()
    first, last = (lines.index(f"{name} {host.world.lock}") for name in ("mkdir", "rmdir"))
    assert [line.split()[0] for line in lines[first:last]] == ["mkdir", "mv"]


def test_a_lock_that_the_client_forgot_is_taken(host: Host) -> None:
    host.world.lock.mkdir()
    os.utime(host.world.lock, (time.time() - 60,) * 2)
    assert host.apply().end is End.APPLIED
    assert host.world.settled("new") == []


def test_a_lock_that_the_client_holds_is_waited_for(host: Host) -> None:
    host.world.lock.mkdir()
    timer = threading.Timer(0.5, host.world.lock.rmdir)
    timer.start()
    assert host.apply().end is End.APPLIED
    timer.join()


def test_a_lock_that_the_client_keeps_is_a_refusal(host: Host) -> None:
    host.world.lock.mkdir()
    applied = host.apply("", ('"$fs_ticks" -lt 120', '"$fs_ticks" -lt 2'))
    assert (applied.end, reasons(applied)) == (End.REFUSED, {Reason.COMPANION})
    assert host.world.lock.exists()


# --- our own lock ------------------------------------------------------------------


def _owner(process: int, **changed: str) -> str:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    namespace = Path("/proc/self/ns/pid").readlink().name.removeprefix("pid:[").removesuffix("]")
    parts = {
        "pid": str(process),
        "start": fields[19],
        "boot": Path("/proc/sys/kernel/random/boot_id").read_text().strip(),
        "nonce": "x",
        "host": os.uname().nodename,
        "namespace": namespace,
    }
    return ":".join({**parts, **changed}.values())


def _lock(host: Host, owner: str) -> None:
    (host.world.state / "txn").mkdir(parents=True)
    host.world.state.chmod(0o700)
    (host.world.state / "lock.7").symlink_to(owner)


def _locked(host: Host) -> Applied:
    return transact(host.writer(), replace(host.world.job(), patience=0))


def test_a_living_owner_keeps_its_lock(host: Host) -> None:
    _lock(host, _owner(os.getpid()))
    assert reasons(_locked(host)) == {Reason.LOCKED}


@pytest.mark.parametrize("changed", [{"host": "another"}, {"namespace": "1"}])
def test_an_owner_that_cannot_be_judged_from_here_keeps_its_lock(
    host: Host, changed: dict[str, str]
) -> None:
    _lock(host, _owner(os.getpid(), **changed))
    assert reasons(_locked(host)) == {Reason.LOCKED}


@pytest.mark.parametrize("changed", [{"start": "1"}, {"boot": "earlier"}, {"pid": "4194303"}])
def test_a_dead_owner_loses_its_lock(host: Host, changed: dict[str, str]) -> None:
    _lock(host, _owner(os.getpid(), **changed))
    assert _locked(host).end is End.APPLIED


def test_a_zombie_is_a_dead_owner(host: Host) -> None:
    child = subprocess.Popen(["true"])
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    _lock(host, _owner(child.pid))
    end = _locked(host).end
    child.wait()
    assert end is End.APPLIED


def test_who_is_slower_releases_nobody_elses_lock(host: Host) -> None:
    _lock(host, "free")
    winner = _owner(os.getpid())
    faster = f"command ln -s '{winner}' \"$3\""
    race = f"ln() {{ case $3 in */lock.8) {faster} ;; esac; command ln \"$@\"; }}"
    lost = transact(host.writer(race), replace(host.world.job(), patience=0))
    assert reasons(lost) == {Reason.LOCKED}
    assert _locks(host) == {"lock.7": "free", "lock.8": winner}
    assert reasons(_locked(host)) == {Reason.LOCKED}


def test_a_lock_that_cannot_be_made_is_told_at_once_and_as_what_it_is(host: Host) -> None:
    _lock(host, "free")
    ticks = host.world.home / "ticks"
    broken = f"ln() {{ return 1; }}; fs_tick() {{ echo >>'{ticks}'; }}"
    applied = transact(host.writer(broken), host.world.job())
    assert (applied.end, reasons(applied)) == (End.REFUSED, {Reason.STATE})
    assert (ticks.exists(), _locks(host)) == (False, {"lock.7": "free"})


def test_what_looks_like_an_old_lock_and_cannot_be_removed_keeps_nobody_out(host: Host) -> None:
    _lock(host, "free")
    (host.world.state / "lock.zz").mkdir()
    assert _locked(host).end is End.APPLIED
    assert _locks(host) == {"lock.9": "free"}


@pytest.mark.parametrize("name", ["dash", "bash", "busybox", "zsh"])
def test_a_number_that_we_never_write_is_no_lock(tmp_path: Path, name: str) -> None:
    host = Host(tmp_path, name)
    _lock(host, "free")
    for odd in ("lock.08", "lock.9223372036854775807", "lock."):
        (host.world.state / odd).symlink_to(_owner(os.getpid()))
    assert _locked(host).end is End.APPLIED
    assert _locks(host) == {"lock.9": "free"}


def _locks(host: Host) -> dict[str, str]:
    found = host.world.state.glob("lock.*")
    return {path.name: str(path.readlink()) for path in found if path.is_symlink()}


@pytest.mark.parametrize("name", ["dash", "bash", "busybox", "zsh"])
def test_a_file_that_cannot_be_begun_is_a_refusal_and_not_the_end_of_the_shell(
    tmp_path: Path, name: str
) -> None:
    host = Host(tmp_path, name)
    # What stands where the first candidate is to be built can be opened by nobody.
    trap = 'mkdir() { command mkdir "$@" && case $1 in *.prep) command mkdir "$1/new.1" ;; esac; }'
    applied = host.apply(trap)
    assert applied.end is End.REFUSED
    assert host.world.settled("old") == []
    assert host.apply().end is End.APPLIED


# --- a clock that was set back ------------------------------------------------------

_SET_BACK = "date() { echo 1; }"


def test_a_clock_that_was_set_back_is_not_asked(host: Host) -> None:
    assert host.apply(_SET_BACK).end is End.APPLIED
    assert host.world.settled("new") == []


def test_a_transaction_of_the_future_is_recovered_with_its_locks(host: Host) -> None:
    # It was cut off while it held the client's lock, and then the clock was set back.
    held = 'fs_swap_held "$@"\n'
    job = host.world.job()
    with pytest.raises(HostError):
        transact(host.writer("", (held, f'[ "$fs_i" = 1 ] || exit 9; {held}')), job)
    assert host.world.lock.exists()
    found = recover(host.writer(_SET_BACK)).found
    assert [(one.transaction, one.now) for one in found] == [(job.transaction, "done")]
    assert host.world.settled("new") == []


# --- recovery and undo -------------------------------------------------------------


def _cut_off(host: Host, before: str) -> str:
    """A transaction that ends, as if killed, just before a step."""
    job = host.world.job()
    with pytest.raises(HostError):
        transact(host.writer("", (before, f"exit 9 && {before}")), job)
    return job.transaction


def test_a_transaction_cut_off_after_its_decision_is_finished(host: Host) -> None:
    cut = _cut_off(host, "fs_each fs_make_new && fs_each fs_proved || return")
    found = recover(host.writer()).found
    assert [(one.transaction, one.found, one.now) for one in found] == [(cut, "commit", "done")]
    assert host.world.settled("new") == []


def test_a_transaction_cut_off_after_its_decision_is_undone_when_asked(host: Host) -> None:
    _cut_off(host, "fs_each fs_proved || return")
    assert [one.now for one in recover(host.writer(), undo=True).found] == ["undone"]
    assert host.world.settled("old") == []


def test_a_transaction_cut_off_before_its_decision_is_dropped(host: Host) -> None:
    _cut_off(host, "fs_decide; then")
    assert [one.now for one in recover(host.writer()).found] == ["dropped"]
    assert host.world.settled("old") == []


def test_what_was_edited_after_the_cut_is_left_and_the_rest_undone(host: Host) -> None:
    _cut_off(host, "fs_each fs_proved || return")
    _edit(host)
    found = recover(host.writer()).found
    assert [(one.now, one.foreign) for one in found] == [("undone", (str(host.settings),))]
    assert host.settings.read_bytes() == FOREIGN
    assert [host.world.states()[number] for number in (0, 2)] == ["old", "old"]


def test_the_next_transaction_settles_what_it_finds_and_says_so(host: Host) -> None:
    cut = _cut_off(host, "fs_decide; then")
    applied = host.apply()
    assert applied.end is End.APPLIED
    assert [(one.transaction, one.now) for one in applied.recovered] == [(cut, "dropped")]


def test_recover_finds_nothing_on_a_host_that_was_never_written_to(host: Host) -> None:
    before = host.listing()
    assert recover(host.writer()).found == ()
    assert host.listing() == before


def test_a_file_edited_after_the_transaction_refuses_its_undo(host: Host) -> None:
    done = host.apply()
    _edit(host)
    refused = undo(host.writer(), done.transaction)
    assert refused.problems == (Problem(Reason.MOVED, str(host.settings)),)
    assert host.world.states()[0] == "new"


def test_an_unknown_transaction_cannot_be_undone(host: Host) -> None:
    assert reasons(undo(host.writer(), fresh_id())) == {Reason.UNKNOWN}


# --- a full file system ------------------------------------------------------------

_FULL = """
import sys
from pathlib import Path
from fleetsync.remote import Writer
from fleetsync.transaction import fresh_id, recover, transact
from tests.integration.faults.host import ShellRemote, shell
from tests.integration.faults.world import World
home, tools = map(Path, sys.argv[1:])
world = World(home)
world.plant()
for used in range(0, 64, 4):
    filler = home / "filler"
    filler.unlink(missing_ok=True)
    try:
        filler.write_bytes(b"x" * 1024 * used)
    except OSError:
        pass
    sh, path = shell("dash", tools)
    # Whatever df says: what is tested is running out in the middle.
    writer = Writer(ShellRemote(sh, path, home, "df() { return 1; }"))
    try:
        transact(writer, world.job())
    finally:
        print(used, world.states(), world.torn())
    filler.unlink(missing_ok=True)
    recover(writer)
    for wrong in world.settled():
        print("WRONG", used, wrong)
    if "new" in world.states():
        break
"""


def test_a_file_system_that_fills_up_in_the_middle_tears_nothing(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    mount = f"mount -t tmpfs -o size=64k none '{tmp_path}/home' && exec \"$@\""
    program = (sys.executable, "-c", _FULL, str(tmp_path / "home"), str(tmp_path / "tools"))
    done = subprocess.run(
        namespace("--mount", "sh", "-c", mount, "sh", *program),
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[2],
        text=True,
        check=True,
    )
    assert "WRONG" not in done.stdout
    assert all(line.endswith("[]") for line in done.stdout.splitlines())


def test_the_digests_of_a_job_are_those_of_its_files(host: Host) -> None:
    edits = [file for file in host.world.job().files if file.old]
    assert [file.old for file in edits] == [digest(Path(file.real).read_bytes()) for file in edits]
