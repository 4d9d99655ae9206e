"""A value that is a command is run on the host, bounded, and its output judged there."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from fleetsync import check
from fleetsync.facts import Ask, AskFact, Place, PlaceFact, PlaceKind, Resolve, Verdict
from fleetsync.remote import Runner
from fleetsync.sealed import Sealed
from tests.unit.host_read import SALTS, SHELLS, Host, alone
from tests.unit.test_host_read_places import CANARY, argvs, fingerprint

AUTH = Place(PlaceKind.JSON, "~/auth.json", "router\x1fkey")
LOGINS = ("bash", "zsh", "fish", "dash", "tcsh")

_UNTIL_ENDED = """
cd /; "$@"
looks=0
while cat /proc/[0-9]*/comm >"$LEFT"; grep -q sleep "$LEFT" && [ "$looks" -lt 300 ]; do
    looks=$((looks + 1))
    sleep 0.1
done
"""


@pytest.fixture(params=SHELLS)
def host(request: pytest.FixtureRequest, tmp_path: Path) -> Host:
    return Host(tmp_path, request.param, within=alone('"$@"'))


@pytest.fixture
def dash(tmp_path: Path) -> Host:
    return Host(tmp_path, within=alone('"$@"'))


def resolved(host: Host, command: str, seconds: int = 10) -> PlaceFact:
    host.write("auth.json", json.dumps({"router": {"key": f"!{command}"}}))
    return judged(host, AUTH, seconds)


def judged(host: Host, place: Place, seconds: int = 10) -> PlaceFact:
    question = Resolve(place, seconds)
    answer = check.answer(Runner(host.remote), {question}, SALTS)[question]
    assert isinstance(answer, PlaceFact)
    return answer


def span(path: Path, text: str, *, digest: str = "") -> Place:
    data = path.read_bytes()
    digest = digest or hashlib.sha256(data).hexdigest()
    start = data.index(text.encode())
    return Place(PlaceKind.SPAN, str(path), f"{start},{len(text.encode())},{digest}")


def test_the_output_of_a_command_is_judged_and_fingerprinted(host: Host) -> None:
    fact = resolved(host, "printf 'a\\\\b`c%%s*?[x]~&;$|\\n'")
    assert fact == PlaceFact(Verdict.RESOLVES, fingerprint("a\\b`c%s*?[x]~&;$|"))


def test_output_that_looks_like_a_reference_is_a_value(dash: Host) -> None:
    assert resolved(dash, "echo '$OTHER'").fingerprint == fingerprint("$OTHER")


@pytest.mark.parametrize(
    ("command", "fact"),
    [
        ("true", PlaceFact(Verdict.EMPTY)),
        ("echo", PlaceFact(Verdict.EMPTY)),
        ("echo sk-1; exit 3", PlaceFact(Verdict.EMPTY, "", "the command failed (status 3)")),
        ("no-such-program", PlaceFact(Verdict.EMPTY, "", "the command failed (status 127)")),
        ("echo two words", PlaceFact(Verdict.MALFORMED, "", "holds a space")),
        ("cat", PlaceFact(Verdict.EMPTY)),
        ("yes", PlaceFact(Verdict.MALFORMED, "", "the command prints more than 64 KiB")),
        ("echo changeme", PlaceFact(Verdict.PLACEHOLDER)),
    ],
)
def test_what_is_no_key_is_told_by_its_verdict(
    dash: Host, command: str, fact: PlaceFact
) -> None:
    assert resolved(dash, command, 3) == fact


def test_a_command_that_does_not_end_is_ended(tmp_path: Path) -> None:
    left = tmp_path / "left"
    host = Host(tmp_path, environment={"LEFT": str(left)}, within=alone(_UNTIL_ENDED))
    fact = resolved(host, "trap : TERM; (sleep 600); while :; do sleep 600; done", 1)
    assert fact == PlaceFact(Verdict.EMPTY, "", "the command gave no answer in 1 seconds")
    assert "sleep" not in left.read_text().split()


def test_a_value_that_is_no_command_any_more_is_not_run(dash: Host) -> None:
    dash.write("auth.json", '{"router":{"key":"touch made"}}')
    assert judged(dash, AUTH) == PlaceFact(
        Verdict.UNKNOWN, "", "no command stands there any more"
    )
    assert not (dash.home / "made").exists()


def test_a_place_that_is_gone_is_absent(dash: Host) -> None:
    assert judged(dash, AUTH) == PlaceFact(Verdict.ABSENT)


@pytest.mark.parametrize("login", LOGINS)
def test_the_command_has_the_login_shells_environment(tmp_path: Path, login: str) -> None:
    host = Host(tmp_path, login=login, within=alone('"$@"'))
    file, line = {
        "bash": (".profile", "export KEY_STORE=sk-1"),
        "zsh": (".zlogin", "export KEY_STORE=sk-1"),
        "fish": (".config/fish/config.fish", "set -gx KEY_STORE sk-1"),
        "dash": (".profile", "export KEY_STORE=sk-1"),
        "tcsh": (".cshrc", "setenv KEY_STORE sk-1"),
    }[login]
    host.write(file, f"{line}\necho noise\n")
    assert resolved(host, 'echo "$KEY_STORE"').fingerprint == fingerprint("sk-1")


def test_the_command_sees_no_variable_of_ours(dash: Host) -> None:
    assert resolved(dash, "env | grep '^FS' | head -n 1; true") == PlaceFact(Verdict.EMPTY)


def test_neither_the_command_nor_its_output_shows_in_the_process_list(host: Host) -> None:
    with argvs() as seen:
        fact = resolved(host, f"x={CANARY}; sleep 0.3; echo $x-key; sleep 0.3")
    assert fact.fingerprint == fingerprint(f"{CANARY}-key")
    assert (CANARY.encode() in host.said, CANARY.encode() in seen) == (False, False)


def test_a_command_in_a_catalog_file_is_taken_by_its_bytes(host: Host) -> None:
    file = host.write("models.json", '{"apiKey": "!echo sk-1"} // é')
    assert judged(host, span(file, "!echo sk-1")).fingerprint == fingerprint("sk-1")


@pytest.mark.parametrize("text", ["sk-1", "a\\b`c%s*?[x]~&;|", "$OTHER", "tail:"])
def test_the_bytes_of_a_catalog_file_are_judged_as_literal_text(host: Host, text: str) -> None:
    file = host.write("models.json", b"\xff\0" + text.encode() + b"\n")
    assert host.one(span(file, text)) == PlaceFact(Verdict.RESOLVES, fingerprint(text))


def test_bytes_that_are_no_key_are_told_so(dash: Host) -> None:
    file = dash.write("models.json", "'two words'\n")
    assert dash.one(span(file, "words'\n")) == PlaceFact(
        Verdict.MALFORMED, "", "holds a line end, a control or a non-ASCII character"
    )


def test_the_bytes_of_a_file_that_changed_are_not_judged(host: Host) -> None:
    file = host.write("models.json", "sk-1")
    assert host.one(span(file, "sk-1", digest="0" * 64)) == PlaceFact(
        Verdict.UNKNOWN, "", "the file changed"
    )


@pytest.mark.parametrize("name", ["1,2", "-1,2," + "0" * 64, "01,2," + "0" * 64, "$(x),1,"])
def test_what_is_no_span_is_not_sent(dash: Host, name: str) -> None:
    with pytest.raises(ValueError, match="no span"):
        dash.one(Place(PlaceKind.SPAN, "/f", name))


def test_a_client_program_is_asked_with_its_environment_alone(dash: Host) -> None:
    ask = Ask(("/bin/sh", "-c", 'echo "$A"; cat; exit 4'), env=(("A", "b"),))
    assert check.answer(Runner(dash.remote), {ask}, SALTS) == {ask: AskFact(4, Sealed(b"b\n"))}


@pytest.mark.parametrize("script", ["kill -s TERM $$", "sleep 600"])
def test_a_client_program_that_did_not_end_by_itself_has_no_status(
    dash: Host, script: str
) -> None:
    ask = Ask(("/bin/sh", "-c", script), 1, (("PATH", "/usr/bin:/bin"),))
    assert check.answer(Runner(dash.remote), {ask}, SALTS) == {ask: AskFact(None, Sealed(b""))}
