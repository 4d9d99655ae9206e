"""A run that hangs on its lifeline ends when the link is lost."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from fleetsync import check
from fleetsync.adapter import Command, Done
from fleetsync.errors import Lost
from fleetsync.remote import ANSWER_CAP, Runner
from tests.integration.faults.host import namespace, shell
from tests.matrix import FULL
from tests.unit.host_read import Host, alone

SHELLS = ("dash", "bash", "busybox", "zsh") if FULL else ("dash", "bash", "busybox")
PATH = (("PATH", "/usr/bin:/bin"),)


def run(remote: Runner, script: str, seconds: int = 20, stdin: bytes = b"") -> Done:
    command = Command(("/bin/sh", "-c", script), PATH, stdin=stdin, seconds=seconds)
    return check.run(remote, command, {}, lifeline=True)


@pytest.fixture(params=SHELLS)
def host(request: pytest.FixtureRequest, tmp_path: Path) -> Host:
    environment = {"TMPDIR": str(tmp_path)}
    return Host(tmp_path, request.param, environment=environment, within=alone('"$@"'))


def test_with_a_lifeline_a_program_runs_to_its_end(host: Host) -> None:
    done = run(Runner(host.remote), "cat; sleep 1; echo out; exit 5")
    assert (done.status, done.timed_out, done.stdout.reveal()) == (5, False, b"out\n")
    assert not list(host.folder.glob("fleetsync-*"))


def test_the_lifeline_is_not_the_programs_input(host: Host) -> None:
    assert run(Runner(host.remote), "cat; echo end", stdin=b"word\n").stdout.reveal() == (
        b"word\nend\n"
    )


def test_the_limit_holds_with_a_lifeline_too(host: Host) -> None:
    done = run(Runner(host.remote), "sleep 60", seconds=1)
    assert (done.timed_out, done.signal) == (True, 15)


def test_a_start_up_file_that_reads_a_line_does_not_hang_the_script(tmp_path: Path) -> None:
    host = Host(tmp_path, within=alone('read -r line; "$@"'))
    assert run(Runner(host.remote), "exit 5").status == 5


@dataclass
class Cut:
    """A host whose link is lost as soon as its program has made the file `begun`."""

    sh: Path
    environment: dict[str, str]
    folder: Path

    def connect(self) -> None: ...

    def close(self) -> None: ...

    def exchange(
        self, command: str, stdin: bytes, end: bytes, *, seconds: float, cap: int = ANSWER_CAP,
        hold: bool = False,
    ) -> bytes:
        left = 'cd /; "$@"; sleep 1; cat /proc/[0-9]*/comm >"$LEFT"'
        argv = [*namespace("/bin/sh", "-c", left, "sh"), str(self.sh), "-c", command]
        with subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=self.environment,
            cwd=self.folder,
        ) as process:
            assert process.stdin is not None and process.stdout is not None and hold
            process.stdin.write(stdin)
            process.stdin.flush()
            while not (self.folder / "begun").exists():
                pass
            process.stdout.close()
        raise Lost("the link was cut")


@pytest.mark.parametrize(
    "script",
    [
        "sleep 600", "trap '' TERM HUP; while :; do sleep 1; done", "yes", "cat; sleep 600",
        "setsid sleep 600 & setsid sleep 600", "(trap '' TERM; sleep 600) & sleep 600",
    ],
)
@pytest.mark.parametrize("name", SHELLS)
def test_a_lost_link_ends_the_run_and_tidies_up(tmp_path: Path, name: str, script: str) -> None:
    sh, path = shell(name, tmp_path / "tools")
    (tmp_path / "tmp").mkdir()
    environment = {
        "PATH": path, "TMPDIR": str(tmp_path / "tmp"), "LEFT": str(tmp_path / "left"),
        "HOME": str(tmp_path),
    }
    with pytest.raises(Lost):
        run(Runner(Cut(sh, environment, tmp_path)), f": >{tmp_path}/begun; {script}", 300)
    left = (tmp_path / "left").read_text().split()
    assert (set(left) - {"sh", "cat"}, list((tmp_path / "tmp").iterdir())) == (set(), [])
