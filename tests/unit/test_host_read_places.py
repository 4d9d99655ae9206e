"""Credentials are judged on the host: verdicts and salted fingerprints leave it, no more."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from fleetsync.errors import HostUnusable
from fleetsync.facts import Place, PlaceFact, PlaceKind, Verdict
from fleetsync.probe import Salts, ask
from fleetsync.remote import Reader
from tests.integration.faults.host import ShellRemote
from tests.unit.host_read import SALTS, SHELLS, Host

KEY = "ROUTER_API_KEY"
AUTH = ("~/auth.json", "router\x1fkey")
CANARY = "canary-7f3e"
VERDICTS = (
    ("sk-1234", Verdict.RESOLVES, ""),
    ("x", Verdict.PLACEHOLDER, ""),
    ("XXXX", Verdict.PLACEHOLDER, ""),
    ("changeme", Verdict.PLACEHOLDER, ""),
    ("Change_Me", Verdict.PLACEHOLDER, ""),
    ("YOUR-API-KEY", Verdict.PLACEHOLDER, ""),
    ("REPLACE_THIS", Verdict.PLACEHOLDER, ""),
    ("<your key here>".replace(" ", "-"), Verdict.PLACEHOLDER, ""),
    ("none", Verdict.PLACEHOLDER, ""),
    ("null", Verdict.PLACEHOLDER, ""),
    ("", Verdict.EMPTY, ""),
    ("$OTHER_KEY", Verdict.REFERENCE, "OTHER_KEY"),
    ("${OTHER_KEY}", Verdict.REFERENCE, "OTHER_KEY"),
    ("$OTHER-KEY", Verdict.RESOLVES, "holds a $"),
    ("${OTHER", Verdict.RESOLVES, "holds a $"),
    ("sk-$OTHER", Verdict.RESOLVES, "holds a $"),
    ("$$OTHER", Verdict.RESOLVES, ""),
    ("sk-$!OTHER$1$", Verdict.RESOLVES, ""),
    ("api_key", Verdict.PLACEHOLDER, "api_key"),
    ("oauth", Verdict.PLACEHOLDER, "oauth"),
    ("!pass show router", Verdict.COMMAND, ""),
    ("two words", Verdict.MALFORMED, "holds a space"),
    ("tail ", Verdict.MALFORMED, "holds a space"),
    ("it's", Verdict.MALFORMED, "holds a quote"),
    ('"quoted"', Verdict.MALFORMED, "holds a quote"),
    ("line\n", Verdict.MALFORMED, "holds a line end, a control or a non-ASCII character"),
    ("car\rriage", Verdict.MALFORMED, "holds a line end, a control or a non-ASCII character"),
    ("kéy", Verdict.MALFORMED, "holds a line end, a control or a non-ASCII character"),
    ("a\\b`c%s*?[x]~&;|", Verdict.RESOLVES, ""),
)


@pytest.fixture(params=SHELLS)
def host(request: pytest.FixtureRequest, tmp_path: Path) -> Host:
    return Host(tmp_path, request.param)


def auth(host: Host, value: object) -> PlaceFact:
    host.write("auth.json", json.dumps({"router": {"type": "api_key", "key": value}}))
    return host.place(PlaceKind.JSON, *AUTH)


def fingerprint(value: str, salts: Salts = SALTS) -> str:
    inner = hashlib.sha256((salts.first + value).encode()).hexdigest()
    return hashlib.sha256((salts.second + inner).encode()).hexdigest()[:12]


def test_each_value_has_its_verdict(host: Host) -> None:
    for at, (value, _, _) in enumerate(VERDICTS):
        host.write(f"{at}/auth.json", json.dumps({"router": {"key": value}}))
    places = [Place(PlaceKind.JSON, f"~/{at}/auth.json", AUTH[1]) for at in range(len(VERDICTS))]
    _, answers = host.ask(*places)
    found = [(fact.verdict, fact.detail) for fact in map(answers.get, places)
             if isinstance(fact, PlaceFact)]
    assert found == [(verdict, detail) for _, verdict, detail in VERDICTS]


def test_a_value_that_resolves_has_the_fingerprint_of_both_salts(host: Host) -> None:
    value = "a\\b`c%s*?[x]~&;|"
    assert auth(host, value).fingerprint == fingerprint(value)


def test_equal_keys_on_two_hosts_have_equal_fingerprints(tmp_path: Path) -> None:
    one, other = Host(tmp_path / "one", "dash"), Host(tmp_path / "other", "busybox")
    assert auth(one, "sk-1").fingerprint == auth(other, "sk-1").fingerprint != ""


def test_another_runs_salts_give_another_fingerprint(tmp_path: Path) -> None:
    host = Host(tmp_path)
    before = auth(host, "sk-1").fingerprint
    host.salts = Salts.fresh()
    assert auth(host, "sk-1").fingerprint != before


def test_a_value_that_does_not_resolve_has_no_fingerprint(tmp_path: Path) -> None:
    assert auth(Host(tmp_path), "changeme").fingerprint == ""


@pytest.mark.parametrize("value", [None, 5, True, ["sk-1"], {"key": "sk-1"}])
def test_what_is_no_string_is_malformed(tmp_path: Path, value: object) -> None:
    assert auth(Host(tmp_path), value) == PlaceFact(Verdict.MALFORMED, "", "not a string")


def test_a_missing_member_is_absent(tmp_path: Path) -> None:
    host = Host(tmp_path)
    host.write("auth.json", '{"other":{"key":"sk-1"}}')
    assert host.place(PlaceKind.JSON, *AUTH).verdict is Verdict.ABSENT


def test_a_missing_file_is_absent(host: Host) -> None:
    assert host.place(PlaceKind.JSON, *AUTH) == PlaceFact(Verdict.ABSENT)


def test_a_dangling_link_is_absent_and_says_so(tmp_path: Path) -> None:
    host = Host(tmp_path)
    (host.home / "auth.json").symlink_to("gone")
    assert host.place(PlaceKind.JSON, *AUTH) == PlaceFact(
        Verdict.ABSENT, "", "the link leads nowhere"
    )


def test_broken_json_is_unreadable(tmp_path: Path) -> None:
    host = Host(tmp_path)
    host.write("auth.json", '{"router":{"key":"sk-1"},}')
    assert host.place(PlaceKind.JSON, *AUTH) == PlaceFact(
        Verdict.UNREADABLE, "", "not valid JSON"
    )


def test_a_directory_is_unreadable(tmp_path: Path) -> None:
    host = Host(tmp_path)
    (host.home / "auth.json").mkdir()
    assert host.place(PlaceKind.JSON, *AUTH).verdict is Verdict.UNREADABLE


def test_a_file_that_may_not_be_read_is_unreadable() -> None:
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        host = Host(Path(name), user=65534 if os.geteuid() == 0 else None)
        host.write("auth.json", '{"router":{"key":"sk-1"}}', 0o000)
        assert host.place(PlaceKind.JSON, *AUTH) == PlaceFact(
            Verdict.UNREADABLE, "", "permission denied"
        )


@pytest.mark.parametrize(
    ("mode", "detail"),
    [
        (0o600, ""), (0o400, ""), (0o700, ""), (0o644, "readable by others (644)"),
        (0o640, "readable by others (640)"), (0o620, "writable by others (620)"),
    ],
)
def test_a_key_that_others_can_reach_counts_and_says_so(
    tmp_path: Path, mode: int, detail: str
) -> None:
    host = Host(tmp_path)
    host.write("auth.json", '{"router":{"key":"sk-1"}}', mode)
    fact = host.place(PlaceKind.JSON, *AUTH)
    assert (fact.verdict, fact.detail) == (Verdict.RESOLVES, detail)


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("KEY=sk-1", "sk-1"), ("export KEY=sk-1", "sk-1"), ("  KEY = sk-1  ", "sk-1"),
        ("KEY='sk-1'", "sk-1"), ('KEY="sk-1" # mine', "sk-1"), ("KEY=sk-1 # mine", "sk-1"),
        ("KEY='sk#1'", "sk#1"), ("KEY=sk-1\r", "sk-1"), ("KEY=old\nKEY=sk-1", "sk-1"),
        ("KEY=sk=1==", "sk=1=="), ("export \tKEY\t=sk-1", "sk-1"), ("KEY=sk-1\nKEY x=2", "sk-1"),
        ("KEY='sk-$1'#mine", "sk-$1"), ("A='it'\nKEY=sk-1\nB=don't", "sk-1"),
    ],
)
def test_an_assignment_is_read_as_dotenv_readers_do(
    tmp_path: Path, line: str, value: str
) -> None:
    host = Host(tmp_path)
    host.write(".env", f"# KEY=no\nOTHER_KEY=no\n{line}")
    assert host.place(PlaceKind.DOTENV, "~/.env", "KEY").fingerprint == fingerprint(value)


def test_assignments_are_read_alike_in_every_shell(host: Host) -> None:
    host.write(".env", "A=1\n\n  export KEY = 'sk#1' # x\nB=2")
    assert host.place(PlaceKind.DOTENV, "~/.env", "KEY").fingerprint == fingerprint("sk#1")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('KEY="sk-\\n1"', "holds a backslash"), ("KEY=sk\\1", "holds a backslash"),
        ('KEY="sk-1"x', "holds something after its quotes"),
        ("KEY=sk#1", "holds a # outside of quotes"), ("KEY=`sk-1`", "holds a quote"),
        ("KEY=sk-${A}", "holds a reference inside other text"),
        ("KEY=sk-1\0", "holds a line end, a control or a non-ASCII character"),
        ('A="one\nKEY=sk-1\n"', "stands after a quote that is not closed on its line"),
        ("A=`one\nKEY=sk-1\n`", "stands after a quote that is not closed on its line"),
        ("KEY=sk-1\nKEY: sk-2", "stands before a colon"),
    ],
)
def test_what_readers_of_such_files_take_differently_is_no_key(
    host: Host, text: str, why: str
) -> None:
    host.write(".env", f"{text}\n")
    assert host.place(PlaceKind.DOTENV, "~/.env", "KEY") == PlaceFact(Verdict.MALFORMED, "", why)


@pytest.mark.parametrize(("kind", "name"), [(PlaceKind.DOTENV, "KEY"), (PlaceKind.FILE, "")])
def test_what_may_be_a_key_that_begins_with_a_dollar_stays(
    tmp_path: Path, kind: PlaceKind, name: str
) -> None:
    host = Host(tmp_path)
    host.write("held", "KEY=$ecret99" if name else "$ecret99")
    assert host.place(kind, "~/held", name) == PlaceFact(Verdict.REFERENCE)


def test_a_file_without_the_assignment_is_absent(host: Host) -> None:
    host.write(".env", "OTHER_KEY=1\nKEYS=2\n#KEY=3\n")
    assert host.place(PlaceKind.DOTENV, "~/.env", "KEY").verdict is Verdict.ABSENT


def test_of_several_files_the_last_assignment_counts(host: Host) -> None:
    for name, text in (("10", "KEY=old"), ("20 b", "KEY=sk-1"), ("30", "OTHER=1")):
        host.write(f".config/environment.d/{name}.conf", text)
    fact = host.place(PlaceKind.DOTENV, "~/.config/environment.d/*.conf", "KEY")
    assert fact.fingerprint == fingerprint("sk-1")


@pytest.mark.parametrize("text", ["sk-1", "sk-1\n", "sk-1\r\n"])
def test_a_whole_file_is_a_key_without_its_final_line_end(tmp_path: Path, text: str) -> None:
    host = Host(tmp_path)
    host.write("key", text)
    assert host.place(PlaceKind.FILE, "~/key").fingerprint == fingerprint("sk-1")


def test_a_line_that_names_the_variable_is_told_by_its_number(host: Host) -> None:
    host.write(".zshrc", "# KEY\nMY_KEYS=1\nsetenv KEY sk-1\n")
    assert host.place(PlaceKind.MENTION, "~/.zshrc", "KEY") == PlaceFact(
        Verdict.INDETERMINATE, "", "line 3 names it"
    )


def test_the_sessions_environment_is_judged(host: Host) -> None:
    host.remote.environment = {**host.remote.environment, KEY: "sk-1"}
    assert host.place(PlaceKind.SESSION, "", KEY) == PlaceFact(
        Verdict.RESOLVES, fingerprint("sk-1")
    )


def test_a_reference_in_an_environment_is_a_placeholder(tmp_path: Path) -> None:
    host = Host(tmp_path, environment={KEY: "${OTHER}"})
    assert host.place(PlaceKind.SESSION, "", KEY).verdict is Verdict.PLACEHOLDER


def test_a_variable_that_is_not_set_is_absent(host: Host) -> None:
    assert host.place(PlaceKind.SESSION, "", KEY) == PlaceFact(Verdict.ABSENT)


def test_a_host_without_a_user_manager_cannot_judge_it(tmp_path: Path) -> None:
    assert Host(tmp_path).place(PlaceKind.USER_MANAGER, "", KEY).verdict is Verdict.UNKNOWN


@pytest.mark.parametrize("line", [f"{KEY}=sk-1", f"{KEY}=sk-1\nZ=2", f"A=1\n{KEY}=sk-1"])
def test_the_user_managers_environment_is_judged(tmp_path: Path, line: str) -> None:
    host = Host(tmp_path)
    (host.tools / "systemctl").write_text(f"#!/bin/sh\ncat <<'E'\n{line}\nE\n")
    (host.tools / "systemctl").chmod(0o755)
    fact = host.place(PlaceKind.USER_MANAGER, "", KEY)
    assert fact.fingerprint == fingerprint("sk-1")


@pytest.mark.parametrize("name", ["A B", "$(x)", "1A", "", "A=B", "A;B"])
def test_what_cannot_name_a_variable_is_not_sent(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match="not the name of a variable"):
        Host(tmp_path).place(PlaceKind.LOGIN, "", name)


def test_a_path_with_a_line_end_is_not_put_to_the_host(tmp_path: Path) -> None:
    fact = Host(tmp_path).place(PlaceKind.JSON, "/a\nb", "key")
    assert fact.verdict is Verdict.UNKNOWN


CANARIES = (
    *(CANARY + "k" * length for length in (0, 1, 40, 189)),
    CANARY + "'\"", f"{CANARY}\nsecond", f"{CANARY} é", f"${CANARY}", f"!echo {CANARY}",
    f"<{CANARY}>", f"${{{CANARY}}}", f"changeme {CANARY}",
)


def _plant(host: Host, value: str) -> tuple[Place, ...]:
    host.write("auth.json", json.dumps({"router": {"key": value}}))
    host.write("raw.json", json.dumps({"router": {"key": value}}, ensure_ascii=False))
    host.write(".env", f"{KEY}={value}\n")
    host.write("key", value)
    quoted = value.replace("'", "'\\''")
    host.write(".profile", f"export {KEY}='{quoted}'\n")
    host.remote.environment = {**host.remote.environment, KEY: value}
    return (
        Place(PlaceKind.JSON, *AUTH), Place(PlaceKind.JSON, "~/raw.json", AUTH[1]),
        Place(PlaceKind.DOTENV, "~/.env", KEY), Place(PlaceKind.FILE, "~/key", ""),
        Place(PlaceKind.MENTION, "~/.profile", KEY), Place(PlaceKind.SESSION, "", KEY),
        Place(PlaceKind.LOGIN, "", KEY), Place(PlaceKind.INTERACTIVE, "", KEY),
    )


@contextmanager
def argvs() -> Iterator[bytearray]:
    """All command lines that show in /proc while the block runs."""
    seen, stop = bytearray(), threading.Event()

    def watch() -> None:
        while not stop.is_set():
            for process in filter(str.isdigit, os.listdir("/proc")):  # noqa: PTH208
                # A process that ends meanwhile may fail even to be looked for.
                with suppress(OSError):
                    seen.extend(Path("/proc", process, "cmdline").read_bytes())

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield seen
    finally:
        stop.set()
        thread.join()


def test_no_value_ever_leaves_the_host_or_shows_in_the_process_list(host: Host) -> None:
    with argvs() as seen:
        for value in CANARIES:
            host.ask(*_plant(host, value))
    assert (CANARY.encode() in host.said, CANARY.encode() in seen) == (False, False)


def test_a_trace_that_a_start_up_file_wants_is_not_in_the_answer(tmp_path: Path) -> None:
    host = Host(tmp_path, "bash", environment={"SHELLOPTS": "xtrace", "BASH_XTRACEFD": "1"})
    answers = host.ask(*_plant(host, CANARIES[2]))[1]
    assert Verdict.RESOLVES in {f.verdict for f in answers.values() if isinstance(f, PlaceFact)}
    assert CANARY.encode() not in host.said


def test_a_shell_that_would_show_a_key_in_the_process_list_is_not_used(tmp_path: Path) -> None:
    host = Host(tmp_path, "bash")
    remote = ShellRemote(
        host.tools / "sh", "/usr/bin:/bin", host.home,
        replaced=(('eval "$fs_define_put"\n', 'enable -n printf\neval "$fs_define_put"\n'),),
    )
    with pytest.raises(HostUnusable, match="no printf"):
        ask(Reader(remote), [Place(PlaceKind.SESSION, "", KEY)], SALTS)


def test_the_canaries_are_really_looked_at(tmp_path: Path) -> None:
    host = Host(tmp_path)
    places = _plant(host, CANARIES[2])
    _, answers = host.ask(*places)
    verdicts = [fact.verdict for fact in answers.values() if isinstance(fact, PlaceFact)]
    assert verdicts.count(Verdict.RESOLVES) == len(places) - 1
