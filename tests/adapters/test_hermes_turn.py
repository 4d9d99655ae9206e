"""A real turn through Hermes: the command, the script that runs it, what its output tells."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fleetsync.adapter import (
    SCRATCH,
    Command,
    Credential,
    Done,
    Seen,
    TakesTurns,
    Target,
    Turn,
    Wish,
)
from fleetsync.catalog import Alias, Policy
from fleetsync.facts import FileFact, FileKind, Installation, Place, PlaceKind
from fleetsync.sealed import Sealed
from fleetsync_hermes import adapter, oneshot

NAME = "ROUTER_API_KEY"
URL = "https://router.example.net/v1"
ALIAS = Alias(
    name="llm.primary", context_window=393216, max_output_tokens=4096, input=("text", "image")
)
WISH = Wish("hermes", "anvil", URL, NAME, (ALIAS,), frozenset({"llm.primary"}), Policy())
HERMES = Installation(
    ("/home/u/.local/bin/hermes",), "/home/u/.local/bin/hermes", "/opt/h/venv/bin/hermes",
    "known place", "hermes-agent", "0.19.0", interpreter="/opt/h/venv/bin/python",
)
CONFIG = (
    "model: {default: llm.primary, provider: 'custom:anvil'}\n"
    "providers:\n"
    f"  anvil: {{base_url: '{URL}', key_env: {NAME}}}\n"
    "  backup: {base_url: 'http://router.example.net/v1/'}\n"
)
TURN = Turn("0" * 32, ALIAS, "nonce-5f00", "fleetsync-7", 40)
IMAGE = replace(TURN, image=b"\x89PNG...", expect="the text in the image")
RECORDED: dict[str, Any] = json.loads(
    Path(__file__).with_name("test_hermes_turn.json").read_text("utf-8")
)
"""What real turns came to, by name: exit status, output, usage file and exported session
of Hermes (0.19.0 where the name says nothing else) in front of the stand-in router."""


def target(
    text: str = CONFIG, *, name: str = "default", pinned: str = "", **changes: Any
) -> Target:
    home = "/home/u/.hermes" if name == "default" else f"/home/u/.hermes/profiles/{name}"
    path, content = f"{home}/config.yaml", Sealed(text.encode())
    files = {"config": FileFact(path, FileKind.FILE, path, content=content)}
    context = {"managed": "/etc/hermes", "pinned": pinned}
    made = Target("hermes", name, WISH, files, (HERMES,), Credential(()), context=context)
    return replace(made, **changes)


def command(turn: Turn = TURN, **changes: Any) -> Command:
    assert isinstance(adapter, TakesTurns)
    return adapter.turn(target(**changes), turn)


def asked(made: Command) -> dict[str, Any]:
    """What the script is told."""
    assert made.argv[:4] == ("/opt/h/venv/bin/python", "-I", "-B", f"{SCRATCH}/oneshot.py")
    told: dict[str, Any] = json.loads(made.argv[4])
    return told


def words(made: Command) -> tuple[str, ...]:
    assert made.argv[5] == "/home/u/.local/bin/hermes"
    return made.argv[6:]


# --- the command ---------------------------------------------------------------------


def test_a_turn_names_its_model_and_provider_and_one_toolset() -> None:
    found = words(command())
    assert found[0] == "-z"
    assert found[2:] == (
        "-m", "llm.primary", "--provider", "custom:anvil", "-t", "file",
        "--usage-file", f"{SCRATCH}/usage.json",
    )
    assert adapter.tool(target()) == "read_file"


def test_the_nonce_stands_in_the_file_alone() -> None:
    made = command()
    assert {file.name: file.content for file in made.files}["nonce.txt"] == b"nonce-5f00\n"
    assert f'READ: "{SCRATCH}/nonce.txt"' in words(made)[1]
    assert not any("5f00" in word for word in (*made.argv, *dict(made.env).values()))


def test_a_turn_has_a_home_of_its_own() -> None:
    made = command()
    env = dict(made.env)
    assert (env["HOME"], env["HERMES_HOME"]) == (SCRATCH, f"{SCRATCH}/home")
    assert env["HERMES_SESSION_SOURCE"] == "fleetsync-7"
    sources = {file.name: file.source for file in made.files if file.source}
    assert sources == {"home/config.yaml": "/home/u/.hermes/config.yaml"}
    assert asked(made)["copies"] == {
        "/home/u/.hermes/.env": "home/.env",
        "/home/u/.hermes/.op.env": "home/.op.env",
        "/home/u/.hermes/auth.json": "home/auth.json",
        "/etc/hermes/.env": "managed/.env",
    }


def test_a_named_profile_stays_one_below_the_roots_pool() -> None:
    made = command(name="work")
    assert dict(made.env)["HERMES_HOME"] == f"{SCRATCH}/home/profiles/work"
    copies = asked(made)["copies"]
    assert copies["/home/u/.hermes/auth.json"] == "home/auth.json"
    assert copies["/home/u/.hermes/profiles/work/.env"] == "home/profiles/work/.env"
    assert "/home/u/.hermes/.env" not in copies


def test_a_request_is_tried_once_where_no_administrator_says_otherwise() -> None:
    made = command()
    assert dict(made.env)["HERMES_MANAGED_DIR"] == f"{SCRATCH}/managed"
    held = {file.name: file.content for file in made.files}
    assert held["managed/config.yaml"] == b"agent:\n  api_max_retries: 1\n"


def test_an_administrators_settings_count_for_the_turn() -> None:
    made = command(pinned="yes")
    assert dict(made.env)["HERMES_MANAGED_DIR"] == "/etc/hermes"
    assert "/etc/hermes/.env" not in asked(made)["copies"]


def test_nothing_can_be_written_and_no_hook_runs() -> None:
    env = dict(command().env)
    assert env["HERMES_WRITE_SAFE_ROOT"] == f"{SCRATCH}/nothing"
    assert env["HERMES_SAFE_MODE"] == "1"


def test_a_turn_is_bounded_and_its_record_comes_after() -> None:
    made = command()
    assert asked(made)["seconds"] == 40
    assert asked(made)["record"] == ["/home/u/.local/bin/hermes", "sessions", "export", "-"]
    assert made.seconds > 40 + oneshot.RECORD
    assert dict(made.env)["HERMES_STREAM_READ_TIMEOUT"] == "40"
    assert made.returns == ("usage.json", "session.jsonl")


def test_a_key_is_given_from_where_a_process_of_hermes_has_it() -> None:
    given = ((NAME, Place(PlaceKind.LOGIN, "", NAME)),)
    assert command(credential=Credential((), variables=given)).keys == given


@pytest.mark.parametrize(
    ("image", "name"), [(b"\x89PNG...", "image.png"), (b"\xff\xd8\xff", "image.jpg")]
)
def test_an_image_is_shown_and_its_text_is_not_told(image: bytes, name: str) -> None:
    made = command(replace(IMAGE, image=image))
    assert {file.name: file.content for file in made.files}[name] == image
    found = words(made)
    assert found[:2] == ("chat", "-q")
    assert found[3:8] == ("-Q", "--image", f"{SCRATCH}/{name}", "--max-turns", "2")
    assert not any("the text in the image" in word for word in made.argv)


@pytest.mark.parametrize(
    ("text", "alias"),
    [
        (CONFIG, "llm.primary"),
        (CONFIG.replace("custom:anvil", "anvil"), "llm.primary"),
        (CONFIG.replace("custom:anvil", "backup"), ""),
        (CONFIG.replace("default: llm.primary", "default: llm.other"), ""),
        ("model: [\n", ""),
    ],
)
def test_the_default_alias_is_the_profiles_own_where_it_is_ours(text: str, alias: str) -> None:
    assert adapter.default_alias(target(text)) == alias


# --- the script on the host ----------------------------------------------------------


def run(directory: Path, code: str, **changes: Any) -> subprocess.CompletedProcess[str]:
    """The script with a stand-in for Hermes: `code` in Python, or as a record."""
    told = {"copies": {}, "seconds": 20, "record": ["/bin/echo", '{"messages": []}'], **changes}
    return subprocess.run(
        [sys.executable, "-I", "-B", str(oneshot.__file__), json.dumps(told),
         sys.executable, "-c", code],
        cwd=directory, capture_output=True, text=True, timeout=60, check=False,
    )


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("print('said')", 0),
        ("raise SystemExit(2)", 2),
        ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", 143),
    ],
)
def test_the_script_ends_as_the_turn_did(code: str, status: int, tmp_path: Path) -> None:
    assert run(tmp_path, code).returncode == status
    assert (tmp_path / "session.jsonl").read_text() == '{"messages": []}\n'


def test_the_scripts_output_is_hermes_own(tmp_path: Path) -> None:
    done = run(tmp_path, "import sys; print('said'); print('noise', file=sys.stderr)")
    assert (done.stdout, done.stderr) == ("said\n", "noise\n")


def test_the_script_ends_a_turn_at_its_limit_and_records_it(tmp_path: Path) -> None:
    assert run(tmp_path, "import time; time.sleep(60)", seconds=0.5).returncode == oneshot.LATE
    assert (tmp_path / "session.jsonl").read_text() == '{"messages": []}\n'


def test_the_script_copies_what_is_there_for_its_owner_alone(tmp_path: Path) -> None:
    real, scratch = tmp_path / "real", tmp_path / "scratch"
    real.mkdir()
    scratch.mkdir()
    (real / ".env").write_text(f"{NAME}=x\n")
    (real / ".env").chmod(0o644)
    copies = {str(real / ".env"): "home/profiles/work/.env", str(real / "auth.json"): "home/a"}
    code = "print(open('home/profiles/work/.env').read(), end='')"
    assert run(scratch, code, copies=copies).stdout == f"{NAME}=x\n"
    assert (scratch / "home/profiles/work/.env").stat().st_mode & 0o777 == 0o600
    assert not (scratch / "home/a").exists()


# --- what the output tells -----------------------------------------------------------


def done(row: Mapping[str, Any], **changes: Any) -> Done:
    """How the recorded turn ended."""
    session = "".join(f"{json.dumps(one)}\n" for one in row["session"]).encode()
    files = [("session.jsonl", Sealed(session))]
    if row["usage"] is not None:
        files.append(("usage.json", Sealed(json.dumps(row["usage"]).encode())))
    plain = Done(
        True, status=row["status"], stdout=Sealed.of(row["stdout"]),
        stderr=Sealed.of(row["stderr"]), files=tuple(files),
    )
    return replace(plain, **changes)


def seen(name: str, turn: Turn = TURN, **changes: Any) -> Seen:
    return adapter.seen(target(), turn, done(RECORDED[name], **changes))


ANSWERED = Seen(
    provider="anvil", model="llm.primary", router=URL, tools=("read_file",), stop="stop",
    fallback=False, text=Sealed(b"nonce-5f00"), requested=True,
)


@pytest.mark.parametrize("name", ["answered, 0.19.0", "answered, 0.18.2"])
def test_an_answer_tells_all_but_what_the_router_calls_itself(name: str) -> None:
    assert seen(name) == ANSWERED


@pytest.mark.parametrize("name", ["answered, 0.19.0", "answered, 0.18.2"])
def test_half_a_surrogate_pair_in_a_turn_is_text(name: str) -> None:
    row = json.dumps(RECORDED[name]).replace("nonce-5f00", r"half \ud83d")
    found = adapter.seen(target(), TURN, done(json.loads(row)))
    assert (found.text, found.failed_tools) == (Sealed.of("half \ud83d"), 0)


@pytest.mark.parametrize("name", ["image, 0.19.0", "image, 0.18.2"])
def test_an_image_turn_tells_by_its_session_alone(name: str) -> None:
    text = Sealed(b"the text in the image")
    assert seen(name, IMAGE) == replace(ANSWERED, tools=(), text=text)


@pytest.mark.parametrize("name", ["fallback, 0.19.0", "fallback, 0.18.2"])
def test_a_fallback_betrays_itself_by_model_and_provider(name: str) -> None:
    found = seen(name)
    assert (found.provider, found.model, found.fallback) == ("backup", "spare.model", True)
    assert found.text == Sealed(b"nonce-5f00")


FAILED = {
    "401": ("credential", "the router refused this host's key (HTTP 401)"),
    "401, 0.18.2": ("credential", "the router refused this host's key (HTTP 401)"),
    "image, 401": ("credential", "the router refused this host's key (HTTP 401)"),
    "404": ("catalog", "the router knows no such model (HTTP 404)"),
    "500": ("router", "the router answered with HTTP 500"),
    "over the window": ("catalog", "the request is over the model's context window"),
    "a page": ("router", "the router's answer is no stream of an answer"),
    "half an answer": ("router", "the router's answer could not be read"),
    "connection broken": ("router", "no connection to the router"),
    "no answer": ("timeout", "no answer in 40 s: Hermes was ended"),
}


@pytest.mark.parametrize(("name", "told"), FAILED.items(), ids=FAILED)
def test_a_failure_is_told_apart_in_words_of_ours(name: str, told: tuple[str, str]) -> None:
    found = seen(name)
    assert (found.fault, found.problem) == told
    unanswered = (found.provider, found.model, found.router, found.stop, found.text)
    assert unanswered == (None,) * 5


def test_a_request_that_failed_was_sent_all_the_same() -> None:
    assert {name: seen(name).requested for name in FAILED} == {
        **dict.fromkeys(FAILED, True), "no answer": None,
    }


def test_an_answer_that_is_cut_for_its_length_says_so() -> None:
    found = seen("cut for its length")
    assert (found.stop, found.fault, found.model) == ("length", "", None)


def test_another_tool_that_was_called_is_named_with_its_failure() -> None:
    found = seen("another tool")
    assert (found.tools, found.failed_tools) == (("write_file",), 1)


def test_what_a_router_says_of_a_key_goes_no_further() -> None:
    told = Sealed(b"HTTP 401: Incorrect API key provided: canary-4c0ffee\n")
    assert "canary" not in repr(seen("401", stdout=told))


def test_a_run_that_the_host_ended_is_late() -> None:
    found = adapter.seen(target(), TURN, Done(True, status=0, signal=15, timed_out=True))
    assert (found.fault, found.requested) == ("timeout", None)


@pytest.mark.parametrize(
    ("stderr", "fault"),
    [
        ("hermes -z: agent failed: No inference provider configured. Run ...", "credential"),
        ("hermes -z: agent failed: Unknown provider 'anvil'", "catalog"),
        ("Traceback (most recent call last):", "crash"),
    ],
)
def test_a_hermes_that_sends_nothing_says_why(stderr: str, fault: str) -> None:
    usage = {"failed": True, "failure": stderr, "api_calls": None}
    row = {"status": 1, "stdout": "", "stderr": stderr, "usage": usage, "session": []}
    found = adapter.seen(target(), TURN, done(row))
    assert (found.fault, found.requested, found.tools) == (fault, False, None)


def test_an_answer_that_broke_off_is_the_routers_fault() -> None:
    row = json.loads(json.dumps(RECORDED["cut for its length"]))
    told = "[System: The previous response was cut off by a network error mid-stream. Continue]"
    row["session"][0]["messages"].insert(-1, {"role": "user", "content": told})
    found = adapter.seen(target(), TURN, done(row))
    assert (found.fault, found.problem) == ("router", "the router's answer broke off")


@pytest.mark.parametrize("data", [b"", b"[]", b"{", b"[" * 5000, b"\xff", b'{"messages": 1}\n'])
def test_output_that_is_none_of_hermes_tells_nothing(data: bytes) -> None:
    files = (("usage.json", Sealed(data)), ("session.jsonl", Sealed(data)))
    found = adapter.seen(target(), TURN, Done(True, status=0, files=files))
    assert (found.model, found.provider, found.text, found.fault) == (None, None, None, "crash")


@pytest.mark.parametrize(
    ("told", "url", "provider"),
    [
        ("custom", URL, "anvil"),
        ("custom", "http://router.example.net/v1", "backup"),
        ("custom", "https://elsewhere.example.org/v1", "custom"),
        ("custom:anvil", "https://elsewhere.example.org/v1", "anvil"),
        ("custom:other", URL, "other"),
        ("openrouter", "https://openrouter.example.org/v1", "openrouter"),
    ],
)
def test_the_provider_is_the_entry_with_the_address_that_was_billed(
    told: str, url: str, provider: str
) -> None:
    row = json.loads(json.dumps(RECORDED["answered, 0.19.0"]))
    row["session"][0] |= {"billing_provider": told, "billing_base_url": url}
    found = adapter.seen(target(), TURN, done(row))
    assert (found.provider, found.router) == (provider, url)


def test_of_several_sessions_the_turns_own_counts() -> None:
    row = json.loads(json.dumps(RECORDED["answered, 0.19.0"]))
    row["session"].insert(0, {**row["session"][0], "id": "another", "messages": []})
    assert adapter.seen(target(), TURN, done(row)) == ANSWERED
