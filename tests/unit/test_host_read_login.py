"""The login shell is asked once, whatever its start-up files do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fleetsync.facts import Locate, Place, PlaceFact, PlaceKind, Read, State, Variable, Verdict
from fleetsync.probe import ask
from fleetsync.remote import Reader
from tests.integration.faults.host import ShellRemote
from tests.listing import listing
from tests.matrix import FULL
from tests.unit.host_read import SHELLS, Host, alone

START_UP = {
    "bash": (".profile", "export {}='{}'"),
    "zsh": (".zlogin", "export {}='{}'"),
    "fish": (".config/fish/config.fish", "set -gx {} '{}'"),
    "dash": (".profile", "export {}='{}'"),
    "tcsh": (".cshrc", "setenv {} '{}'"),
}
LOGINS = tuple(START_UP)
# What the login shell was started with stands in the environment of all it starts.
_UNTIL_ENDED = """
cd /; "$@"
looks=0
# grep fails where a process ends while it looks, whatever it found.
while grep -ls 'FS_IN=' /proc/[0-9]*/environ >"$LEFT"; [ -s "$LEFT" ] && [ "$looks" -lt 300 ]; do
    looks=$((looks + 1))
    sleep 0.1
done
"""
SILENT = "the login shell gave no answer in 1 seconds"


def start(host: Host, name: str, value: str, more: str = "") -> None:
    """Let the login shell's own start-up file set a variable."""
    file, line = START_UP[host.login]
    host.write(file, f"{line.format(name, value)}\n{more}\n")


@pytest.fixture(params=LOGINS)
def host(request: pytest.FixtureRequest, tmp_path: Path) -> Host:
    return Host(tmp_path, login=request.param)


def test_a_variable_of_the_login_shell_is_read(host: Host) -> None:
    start(host, "AGENT_DIR", "/a b/$c")
    assert host.variable("AGENT_DIR").login == "/a b/$c"


def test_a_credential_of_the_login_shell_is_judged(host: Host) -> None:
    start(host, "KEY", "sk-1")
    assert host.place(PlaceKind.LOGIN, "", "KEY").verdict is Verdict.RESOLVES


def test_noise_of_the_start_up_files_is_passed_over(host: Host) -> None:
    start(host, "DIR", "/x", "echo noise; printf 'no line end'; echo more 1>&2")
    assert host.variable("DIR").login == "/x"


def test_what_a_start_up_file_leaves_running_is_not_waited_for(host: Host) -> None:
    background = "sleep 60 &" if host.login != "fish" else "sleep 60 & ; disown"
    host.remote.within = alone('"$@"')
    start(host, "DIR", "/x", background)
    assert host.variable("DIR").login == "/x"


@pytest.mark.parametrize("login", ["bash", "zsh", "dash"])
def test_a_start_up_file_that_reads_gets_nothing(tmp_path: Path, login: str) -> None:
    host = Host(tmp_path, login=login)
    start(host, "DIR", "/x", "cat")
    assert host.variable("DIR").login == "/x"


def test_a_variable_of_both_environments_is_told_for_each(tmp_path: Path) -> None:
    host = Host(tmp_path, login="bash", environment={"DIR": "/session"})
    start(host, "DIR", "/login")
    fact = host.variable("DIR")
    assert (fact.session, fact.login) == ("/session", "/login")


def test_a_variable_that_is_set_nowhere_is_none(host: Host) -> None:
    fact = host.variable("NOWHERE")
    assert (fact.session, fact.login) == (None, None)


def test_an_empty_variable_is_not_an_unset_one(host: Host) -> None:
    start(host, "DIR", "")
    assert host.variable("DIR").login == ""


def test_a_login_shell_that_ends_at_once_gives_no_answer(tmp_path: Path) -> None:
    host = Host(tmp_path, login="bash", patience=1)
    start(host, "KEY", "sk-1", "exit 3")
    assert host.place(PlaceKind.LOGIN, "", "KEY") == PlaceFact(Verdict.UNKNOWN, "", SILENT)


def test_a_variable_that_only_interactive_shells_have_is_found_on_request(
    tmp_path: Path,
) -> None:
    host = Host(tmp_path, login="bash")
    host.write(".bashrc", "case $- in *i*) export KEY=sk-1 ;; esac\n")
    login, interactive = (
        host.place(kind, "", "KEY").verdict for kind in (PlaceKind.LOGIN, PlaceKind.INTERACTIVE)
    )
    assert (login, interactive) == (Verdict.ABSENT, Verdict.RESOLVES)


_HANGS = ("sleep 600", "while true\ndo :\ndone", "trap '' TERM; sleep 600")


@pytest.mark.parametrize(("name", "hang"), [
    (name, hang) for name in SHELLS for hang in _HANGS
    if FULL or name == "dash" or hang == _HANGS[-1]
])
def test_a_start_up_file_that_hangs_is_given_up_and_ended(
    tmp_path: Path, name: str, hang: str
) -> None:
    left = tmp_path / "left"
    host = Host(tmp_path, name, login="bash", patience=1, within=alone(_UNTIL_ENDED))
    host.remote.environment = {**host.remote.environment, "LEFT": str(left)}
    start(host, "KEY", "sk-1", f"/bin/sh -c 'sleep 600' &\n{hang}")
    fact = host.place(PlaceKind.LOGIN, "", "KEY")
    assert (fact.detail, left.read_text()) == (SILENT, "")


def test_without_setsid_the_shell_that_hangs_is_ended_all_the_same(tmp_path: Path) -> None:
    left = tmp_path / "left"
    host = Host(tmp_path, login="bash")
    start(host, "KEY", "sk-1", "while :; do :; done")
    remote = ShellRemote(
        host.tools / "sh", host.remote.environment["PATH"], host.home,
        replaced=(("command -v setsid", "command -v no-setsid"),),
        environment={"SHELL": host.remote.shell, "LEFT": str(left)},
        within=alone(_UNTIL_ENDED),
    )
    place = Place(PlaceKind.LOGIN, "", "KEY")
    _, answers = ask(Reader(remote), (place,), host.salts, patience=1)
    assert (answers[place], left.read_text()) == (PlaceFact(Verdict.UNKNOWN, "", SILENT), "")


QUESTIONS = (
    Read("~/.agent/models.json"),
    Read("~/.agent/*/config"),
    Locate(("agent",), ("@example/agent",), ("run.js",)),
    Variable("AGENT_DIR"),
    State(),
    Place(PlaceKind.SESSION, "", "KEY"),
    Place(PlaceKind.LOGIN, "", "KEY"),
    Place(PlaceKind.JSON, "~/.agent/auth.json", "router\x1fkey"),
    Place(PlaceKind.DOTENV, "~/.agent/.env", "KEY"),
    Place(PlaceKind.FILE, "~/.agent/key", ""),
    Place(PlaceKind.MENTION, "~/.profile", "KEY"),
    Place(PlaceKind.USER_MANAGER, "", "KEY"),
)


def _furnish(host: Host) -> None:
    host.write(".agent/models.json", '{"models":[]}')
    host.write(".agent/a/config", "x")
    host.write(".agent/auth.json", json.dumps({"router": {"key": "sk-1"}}))
    host.write(".agent/.env", "KEY=sk-1\n")
    host.write(".agent/key", "sk-1\n")
    host.write(".local/lib/agent/package.json", '{"name":"@example/agent","version":"1"}')
    cli = host.write(".local/lib/agent/run.js", "#!/usr/bin/env node\n", 0o755)
    host.write(".local/bin/x")
    (host.home / ".local/bin/agent").symlink_to(cli)


@pytest.mark.parametrize("name", SHELLS)
@pytest.mark.parametrize("login", LOGINS)
def test_nothing_on_the_host_changes(tmp_path: Path, name: str, login: str) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    host = Host(tmp_path, name, login, {"TMPDIR": str(temporary)})
    _furnish(host)
    start(host, "KEY", "sk-1")
    host.variable("FIRST_START")  # a shell makes files of its own the first time
    before = listing(host.home, temporary)
    host.ask(*QUESTIONS)
    assert listing(host.home, temporary) == before
