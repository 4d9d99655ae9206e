"""A client program on a host is bounded in time, output, environment and processes."""

from __future__ import annotations

import hashlib
import os
from dataclasses import replace
from pathlib import Path

import pytest

from fleetsync import check
from fleetsync.adapter import SCRATCH, Command, Done, FileEdit, ScratchFile
from fleetsync.documents import Dialect, Splice
from fleetsync.errors import Lost
from fleetsync.facts import FileFact, FileKind
from fleetsync.remote import Runner
from fleetsync.sealed import Sealed
from tests.integration.faults.host import ShellRemote, namespace, shell
from tests.matrix import FULL

SHELLS = ("dash", "bash", "busybox", "zsh") if FULL else ("dash", "bash", "busybox")
_COUNT = 'cd /; "$@"; sleep 0.3; cat /proc/[0-9]*/comm >"$LEFT"'


class Host:
    """A host in a PID namespace of its own; `left` are the processes after a run."""

    def __init__(self, folder: Path, name: str) -> None:
        sh, path = shell(name, folder / "tools")
        for part in ("home", "tmp"):
            (folder / part).mkdir()
        self.folder = folder
        self.remote = ShellRemote(
            sh, path, folder / "home",
            environment={"TMPDIR": str(folder / "tmp"), "LEFT": str(folder / "left")},
            within=namespace("/bin/sh", "-c", _COUNT, "sh"),
        )

    def run(
        self,
        script: str,
        seconds: int = 20,
        cap: int = 1 << 20,
        stdin: bytes = b"",
        until: str = "",
        files: tuple[ScratchFile, ...] = (),
    ) -> Done:
        argv = ("/bin/sh", "-c", script)
        return self.command(Command(argv, (), files, stdin, until, seconds, cap))

    def command(self, command: Command, **sources: FileEdit) -> Done:
        path = ("PATH", os.defpath)
        command = replace(command, env=(path, *command.env))
        done = check.run(Runner(self.remote), command, sources)
        assert list((self.folder / "tmp").iterdir()) == []
        return done

    @property
    def left(self) -> set[str]:
        return set((self.folder / "left").read_text().split()) - {"sh", "cat"}


@pytest.fixture(params=SHELLS)
def each(request: pytest.FixtureRequest, tmp_path: Path) -> Host:
    return Host(tmp_path, request.param)


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(tmp_path, "dash")


def test_status_and_both_outputs_come_back(each: Host) -> None:
    done = each.run("echo out; echo err >&2; exit 5")
    assert (done.started, done.status, done.signal) == (True, 5, 0)
    assert (done.stdout.reveal(), done.stderr.reveal()) == (b"out\n", b"err\n")


def test_output_is_exact_for_every_byte(each: Host) -> None:
    data = bytes(range(256)) * 5
    done = each.command(Command(("/bin/cat", "f"), files=(ScratchFile("f", data),)))
    assert done.stdout.reveal() == data


def test_a_signal_is_told_from_a_status(each: Host) -> None:
    done = each.run('kill -s SEGV "$$"')
    assert (done.status, done.signal) == (0, 11)


def test_a_program_that_does_not_end_is_ended_at_the_limit(each: Host) -> None:
    done = each.run("echo begun; sleep 60", seconds=1)
    assert (done.timed_out, done.signal, done.stdout.reveal()) == (True, 15, b"begun\n")
    assert each.left == set()


def test_a_program_that_ignores_term_is_killed(each: Host) -> None:
    done = each.run("trap '' TERM HUP; while :; do sleep 1; done", seconds=1)
    assert (done.timed_out, done.signal) == (True, 9)
    assert each.left == set()


def test_children_in_the_background_do_not_outlive_the_program(each: Host) -> None:
    done = each.run("(trap '' TERM HUP; sleep 60) & sleep 60 & exit 4")
    assert (done.status, done.timed_out) == (4, False)
    assert each.left == set()


def test_a_daemon_that_left_the_group_is_found_by_its_tag(each: Host) -> None:
    done = each.run("setsid sleep 60 & while ! ps -e | grep -q sleep; do :; done; sleep 0.3")
    assert (done.status, done.swept) == (0, 1)
    assert each.left == set()


def test_a_daemon_that_dropped_its_environment_is_not_waited_for(host: Host) -> None:
    done = host.run("echo before; setsid env -i sleep 5 & sleep 0.5; exit 3")
    assert (done.status, done.stdout.reveal()) == (3, b"before\n")


def test_a_flood_is_cut_and_the_program_does_not_notice(each: Host) -> None:
    done = each.run(
        "yes | head -c 3000000; yes err | head -c 3000000 >&2; exit 6", cap=1000, seconds=20
    )
    assert (done.status, done.truncated) == (6, True)
    assert (len(done.stdout), len(done.stderr)) == (1000, 1000)


def test_output_of_exactly_the_cap_is_not_cut(host: Host) -> None:
    done = host.run("yes | head -c 1000", cap=1000)
    assert (done.truncated, len(done.stdout)) == (False, 1000)


def test_standard_input_is_empty_unless_given(each: Host) -> None:
    assert each.run("cat; echo end").stdout.reveal() == b"end\n"


def test_the_pipe_stays_open_until_the_awaited_line_is_whole(each: Host) -> None:
    script = "read word; printf 'the answer'; sleep 0.5; echo \" $word\"; cat; echo closed"
    done = each.run(script, stdin=b"hello\n", until="answer")
    assert (done.stdout.reveal(), done.timed_out) == (b"the answer hello\nclosed\n", False)


def test_a_program_that_never_answers_ends_at_the_limit(each: Host) -> None:
    done = each.run("cat", stdin=b"question\n", until="answer", seconds=1)
    assert (done.timed_out, done.stdout.reveal()) == (True, b"question\n")


def test_the_environment_is_ours_alone(each: Host) -> None:
    done = each.command(
        Command(("/usr/bin/env",), env=(("HOME", SCRATCH), ("A", "it's $x `y` \\ \"z\" é")))
    )
    names = dict(line.split("=", 1) for line in done.stdout.reveal().decode().splitlines())
    of_the_shell = {"PWD", "OLDPWD", "SHLVL", "_", "LOGNAME"}
    assert names.keys() - of_the_shell == {"PATH", "HOME", "A", "FLEETSYNC_RUN"}
    assert names["A"] == "it's $x `y` \\ \"z\" é"
    assert names["HOME"].startswith(str(each.folder / "tmp"))


def test_no_value_of_the_environment_is_ever_a_word_of_a_command(host: Host) -> None:
    watch = "for f in /proc/[0-9]*/cmdline; do tr '\\0' ' ' <$f; echo; done; echo $VALUE"
    done = host.command(Command(("/bin/sh", "-c", watch), env=(("VALUE", "not-in-argv"),)))
    assert done.stdout.reveal().count(b"not-in-argv") == 1


def test_the_scratch_directory_stands_for_its_placeholder_everywhere(each: Host) -> None:
    laid = ScratchFile("deep/er", f"<{SCRATCH}>".encode())
    done = each.command(Command(
        ("/bin/sh", "-c", 'pwd; echo "$1" "$A"; cat deep/er', "sh", f"{SCRATCH}/x"),
        env=(("A", f"{SCRATCH}:{SCRATCH}"),), files=(laid,),
    ))
    here, words, content = done.stdout.reveal().decode().splitlines()
    assert (words, content) == (f"{here}/x {here}:{here}", f"<{here}>")


def test_the_scratch_directory_is_private(host: Host) -> None:
    done = host.run("stat -c %a . .. f", files=(ScratchFile("f"),))
    assert done.stdout.reveal().split() == [b"700", b"700", b"600"]


def _edit(path: Path, old: bytes, splice: Splice, new: bytes) -> FileEdit:
    fact = FileFact(
        str(path), FileKind.FILE, str(path), 0o600, 0, 0, len(old),
        sha256=hashlib.sha256(old).hexdigest(),
    )
    return FileEdit(fact, Dialect.JSON, (splice,), Sealed(new), ())


def test_a_candidate_is_built_from_the_live_file_and_its_digest_answered(each: Host) -> None:
    live = each.folder / "live.json"
    live.write_bytes(b"a\0b" + bytes(range(256)))
    new = b"a\0NEW%\\" + bytes(range(256))
    edit = _edit(live, live.read_bytes(), Splice(2, 3, b"NEW%\\"), new)
    command = Command(("/bin/cat", "c.json"), files=(ScratchFile("c.json", source=str(live)),))
    done = each.command(command, **{str(live): edit})
    assert done.stdout.reveal() == new
    assert done.digests == (("c.json", hashlib.sha256(new).hexdigest()),)


def test_a_candidate_of_a_file_that_moved_runs_nothing(host: Host) -> None:
    live = host.folder / "live.json"
    live.write_bytes(b"moved")
    edit = _edit(live, b"old", Splice(0, 1, b"O"), b"Old")
    command = Command(("/bin/cat", "c"), files=(ScratchFile("c", source=str(live)),))
    done = host.command(command, **{str(live): edit})
    assert (done.started, done.stdout.reveal()) == (False, b"")
    assert str(live) in done.problem


def test_a_candidate_that_comes_out_otherwise_runs_nothing(host: Host) -> None:
    live = host.folder / "live.json"
    live.write_bytes(b"old")
    edit = _edit(live, b"old", Splice(0, 1, b"O"), b"something else")
    command = Command(("/bin/cat", "c"), files=(ScratchFile("c", source=str(live)),))
    assert not host.command(command, **{str(live): edit}).started


def test_a_source_without_an_edit_is_copied_as_it_stands(host: Host) -> None:
    live = host.folder / "live.json"
    live.write_bytes(b"as it is")
    done = host.command(Command(("/bin/cat", "c"), files=(ScratchFile("c", source=str(live)),)))
    assert done.stdout.reveal() == b"as it is"


def test_a_missing_program_is_a_status(each: Host) -> None:
    assert each.command(Command(("/nowhere/program",))).status in {126, 127}


def without(host: Host, hidden: str) -> Host:
    """`host`, whose script does not find these programs to make a process group with."""
    text = 'command -v "$fs_tool" >/dev/null 2>&1 || continue\n        fs_leader'
    hiding = f'fs_hidden "$fs_tool" && continue\n        {text}'
    names = " | ".join(hidden.split()) or "none"
    function = f"fs_hidden() {{ case $1 in {names}) ;; *) return 1 ;; esac; }}"
    host.remote = replace(host.remote, prelude=function, replaced=((text, hiding),))
    return host


@pytest.mark.parametrize("hidden", ["setsid", "setsid perl", "setsid perl python3"])
@pytest.mark.parametrize("name", SHELLS)
def test_without_setsid_another_way_ends_the_program(
    tmp_path: Path, name: str, hidden: str
) -> None:
    host = without(Host(tmp_path, name), hidden)
    done = host.run("sleep 60", seconds=1)
    assert (done.timed_out, done.signal) == (True, 15)
    assert host.left == set()


_ALL_AT_ONCE = b"""
trap '' HUP
(trap '' TERM HUP; while :; do sleep 600; done) &
(sleep 600 & sleep 600) &
setsid sh -c 'trap "" TERM; sleep 600' &
(cat >/dev/null; sleep 600) &
yes & yes >&2 &
until ps -e | grep -c sleep | grep -q '[4-9]'; do :; done
echo >"$BEGUN"
sleep 600
"""


@pytest.mark.parametrize(("name", "hidden"), [
    (name, hidden)
    for name in ("dash", "bash", "busybox")
    for hidden in ("", "setsid", "setsid perl", "setsid perl python3")
    if FULL or name == "dash" or hidden == "setsid perl python3"
])
def test_whatever_a_program_starts_ends_with_it_however_its_group_was_made(
    tmp_path: Path, name: str, hidden: str
) -> None:
    host = without(Host(tmp_path, name), hidden)
    begun = tmp_path / "begun"
    done = host.command(Command(
        ("/bin/sh", "all"), (("BEGUN", str(begun)),), (ScratchFile("all", _ALL_AT_ONCE),),
        stdin=b"x", until="never", seconds=5, cap=1000,
    ))
    assert (begun.exists(), done.timed_out, done.truncated) == (True, True, True)
    assert (done.swept >= 1, host.left) == (True, set())


def test_a_run_whose_controller_is_gone_ends_at_its_limit_and_tidies_up(tmp_path: Path) -> None:
    host = Host(tmp_path, "dash")
    gone = 'exec 3<&0; "$@" <&3 & sleep 1; kill -s KILL "$!"; sleep 5'
    wait = f'cd /; {gone}; cat /proc/[0-9]*/comm >"$LEFT"'
    host.remote = replace(host.remote, within=namespace("/bin/sh", "-c", wait, "sh"))
    with pytest.raises(Lost):
        check.run(Runner(host.remote), Command(("/bin/sleep", "60"), seconds=2), {})
    assert host.left == set()
    assert list((tmp_path / "tmp").iterdir()) == []


def test_a_name_outside_the_scratch_directory_is_a_mistake(host: Host) -> None:
    with pytest.raises(ValueError, match="scratch"):
        host.run("true", files=(ScratchFile("../f"),))
