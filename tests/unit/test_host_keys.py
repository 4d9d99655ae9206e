"""A program gets its keys from their places on the host, and its files come back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fleetsync import check
from fleetsync.adapter import Command, Done, ScratchFile
from fleetsync.facts import Place, PlaceKind
from fleetsync.remote import Runner
from tests.unit.host_read import SHELLS, Host, alone
from tests.unit.test_host_read_places import CANARY, argvs

AUTH = Place(PlaceKind.JSON, "~/auth.json", "router\x1fkey")
KEY = f"{CANARY}-a\\b`c%s*?[x]~&;$|"


@pytest.fixture(params=SHELLS)
def host(request: pytest.FixtureRequest, tmp_path: Path) -> Host:
    return made(tmp_path, request.param)


@pytest.fixture
def dash(tmp_path: Path) -> Host:
    return made(tmp_path)


def made(folder: Path, name: str = "dash", login: str = "") -> Host:
    environment = {"TMPDIR": str(folder)}
    host = Host(folder, name, login, environment, within=alone('"$@"'))
    host.write("auth.json", json.dumps({"router": {"key": KEY}}))
    return host


def run(host: Host, script: str, *places: Place, **more: object) -> Done:
    keys = tuple((f"KEY_{at}", place) for at, place in enumerate(places))
    command = Command(
        ("/bin/sh", "-c", script), (("PATH", "/usr/bin:/bin"),), keys=keys,
        **more,  # type: ignore[arg-type]  # fields of a Command
    )
    done = check.run(Runner(host.remote), command, {}, "ab12")
    assert not list(host.folder.glob("fleetsync-*"))
    return done


def test_the_host_fills_the_variables_from_their_places(host: Host) -> None:
    host.write(".env", "KEY=from-dotenv\n")
    done = run(
        host, 'cd "$OLDPWD"; printf "%s %s" "$KEY_0" "$KEY_1" | tr a-z A-Z', AUTH,
        Place(PlaceKind.DOTENV, "~/.env", "KEY"),
    )
    assert done.stdout.reveal().decode() == f"{KEY} from-dotenv".upper()


def test_a_key_of_the_login_shell_is_taken_from_it(tmp_path: Path) -> None:
    host = made(tmp_path, login="bash")
    host.write(".profile", "export KEY=sk-1\n")
    done = run(host, 'test "$KEY_0" = sk-1', Place(PlaceKind.LOGIN, "", "KEY"))
    assert (done.started, done.status) == (True, 0)


def test_no_key_shows_in_the_process_list_or_leaves_the_host(host: Host) -> None:
    with argvs() as seen:
        done = run(host, 'sleep 0.3; test -n "$KEY_0"; exit 4', AUTH)
    assert done.status == 4
    assert (CANARY.encode() in host.said, CANARY.encode() in seen) == (False, False)


def test_a_key_is_in_no_file_of_the_run(host: Host) -> None:
    done = run(host, f"cd ..; grep -rl --devices=skip {CANARY[:6]} . >&2; exit 0", AUTH)
    assert (done.started, done.stderr.reveal()) == (True, b"")


def test_without_a_value_at_its_place_nothing_is_run(host: Host) -> None:
    (host.home / "auth.json").unlink()
    done = run(host, f"touch {host.folder}/ran", AUTH)
    assert (done.started, done.problem) == (
        False, "KEY_0 has no value at ~/auth.json router.key any more"
    )
    assert not (host.folder / "ran").exists()


def test_files_of_the_scratch_directory_come_back(host: Host) -> None:
    script = "mkdir deep; printf 'a\\0\\377\\n' >deep/made; exit 2"
    done = run(host, script, returns=("deep/made", "laid", "never"),
               files=(ScratchFile("laid", b"x"),))
    assert [(name, sealed.reveal()) for name, sealed in done.files] == [
        ("deep/made", b"a\0\xff\n"), ("laid", b"x"),
    ]


@pytest.mark.parametrize(
    "script",
    ["ln -s /etc/passwd f", "ln -s /etc d", "mkdir f", "mkfifo f", "ln -s .. d; echo >../passwd"],
)
def test_what_is_no_file_of_the_scratch_directory_stays(dash: Host, script: str) -> None:
    assert run(dash, script, returns=("f", "d/passwd")).files == ()


def test_a_file_over_the_cap_is_cut_and_told(dash: Host) -> None:
    done = run(dash, "yes | head -c 1001 >f", returns=("f",), cap=1000)
    assert (done.truncated, len(done.files[0][1])) == (True, 1000)


def test_a_name_outside_the_scratch_directory_is_a_mistake(dash: Host) -> None:
    with pytest.raises(ValueError, match="scratch"):
        run(dash, "true", returns=("../f",))


def test_the_run_is_named_and_tagged_by_its_identity(dash: Host) -> None:
    done = run(dash, 'echo "$FLEETSYNC_RUN"; pwd')
    assert done.stdout.reveal().split() == [
        b"ab12", f"{dash.folder}/fleetsync-ab12/scratch".encode()
    ]


def test_how_long_it_ran_is_told_by_the_hosts_clock(host: Host) -> None:
    assert 0.9 < run(host, "sleep 1").seconds < 600
