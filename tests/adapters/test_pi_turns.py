"""One real turn through Pi: the command for it, and what recorded output is taken for.

`turns/pi-VERSION.json` hold what real Pis printed to a stand-in router that went wrong in
these ways, without what nobody reads of it.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fleetsync import grading
from fleetsync.adapter import (
    SCRATCH,
    Command,
    Credential,
    Done,
    KeepsKeys,
    Seen,
    TakesTurns,
    Target,
    Turn,
    Wish,
)
from fleetsync.catalog import Alias, Policy
from fleetsync.facts import FileFact, FileKind, Installation, Place, PlaceKind, Resolve
from fleetsync.grading import Evidence
from fleetsync.outcome import TurnVerdict
from fleetsync.sealed import Sealed
from fleetsync_pi import adapter

NEW, OLD = "1.6.0", "0.73.1"
VERSIONS = (NEW, "0.84.4", OLD)
RECORDED: dict[str, dict[str, Any]] = {
    version: json.loads((Path(__file__).parent / f"turns/pi-{version}.json").read_text("utf-8"))
    for version in VERSIONS
}
PRIMARY = Alias(name="llm.primary", context_window=393216, max_output_tokens=4096)
SECONDARY = PRIMARY.model_copy(update={"name": "llm.secondary"})
WISH = Wish(
    "pi", "anvil", "https://r.example/v1", "ROUTER_API_KEY", (PRIMARY, SECONDARY),
    frozenset({"llm.primary", "llm.secondary"}), Policy(),
)
LOGIN = Place(PlaceKind.LOGIN, "", "ROUTER_API_KEY")
COMMAND = Resolve(Place(PlaceKind.SPAN, "/home/u/.pi/agent/models.json", "1,2,0"))
ROWS = [{"id": "llm.primary"}, {"id": "llm.secondary"}]


def file(name: str, content: object) -> FileFact:
    path = f"/home/u/.pi/agent/{name}.json"
    if content is None:
        return FileFact(path, FileKind.ABSENT)
    return FileFact(path, FileKind.FILE, content=Sealed(json.dumps(content).encode()))


def target(
    version: str = NEW, settings: object = None, models: object = None, stored: str = "",
    credential: Credential | None = None, wish: Wish = WISH,
) -> Target:
    provider = {"baseUrl": WISH.base_url, "api": "openai-completions", "apiKey": "k"}
    models = models or {"anvil": {**provider, "models": ROWS}}
    files = {
        "models": file("models", {"providers": models}), "settings": file("settings", settings)
    }
    one = Installation(
        ("/usr/bin/pi",), "/usr/bin/pi", "/opt/pi/cli.js", "PATH",
        "@earendil-works/pi-coding-agent", version, interpreter="/usr/bin/node",
    )
    return Target(
        "pi", "pi", wish, files, (one,), credential or Credential((), variables=(("N", LOGIN),)),
        context={"stored": stored, "home": "/home/u", "path": "/opt/tools/bin:/usr/bin"},
    )


def turn(**changes: Any) -> Turn:
    return replace(Turn("0" * 32, PRIMARY, "nonce-0", "fleetsync-0", 90), **changes)


def files(command: Command) -> dict[str, bytes | str]:
    return {one.name: one.source or one.content for one in command.files}


# --- the command -----------------------------------------------------------------


def test_pi_keeps_keys_and_takes_turns() -> None:
    assert isinstance(adapter, KeepsKeys)
    assert isinstance(adapter, TakesTurns)


def test_a_turn_reads_a_nonce_that_the_prompt_does_not_hold() -> None:
    command = adapter.turn(target(), turn(nonce="nonce-4c0ffee"))
    assert "nonce-4c0ffee" not in repr((command.argv, command.env))
    assert files(command)["fleetsync-nonce.txt"] == b"nonce-4c0ffee\n"
    assert f"{SCRATCH}/fleetsync-nonce.txt" in command.argv[command.argv.index("-p") + 1]


def test_a_turn_may_call_the_reading_tool_alone_and_leaves_no_session() -> None:
    argv = adapter.turn(target(), turn()).argv
    assert argv[:4] == ("/usr/bin/node", "/opt/pi/cli.js", "--mode", "json")
    assert argv[argv.index("--tools") + 1] == adapter.tool(target()) == "read"
    assert {"--no-session", "--no-extensions", "--no-context-files"} < {*argv}
    asked = [argv[argv.index(flag) + 1] for flag in ("--provider", "--model")]
    assert asked == ["anvil", "llm.primary"]


@pytest.mark.parametrize(("version", "knows"), [(NEW, True), ("0.78.0", False), (OLD, False)])
def test_a_flag_is_given_only_to_a_version_that_knows_it(version: str, knows: bool) -> None:
    assert ("--no-approve" in adapter.turn(target(version), turn()).argv) is knows


def test_a_turn_is_given_the_variables_by_the_host_and_nothing_else() -> None:
    command = adapter.turn(target(), turn())
    assert command.keys == (("N", LOGIN),)
    environment = dict(command.env)
    assert environment["HOME"] == environment["PI_CODING_AGENT_DIR"] == SCRATCH
    assert environment["PATH"] == "/usr/bin:/usr/local/bin:/usr/bin:/bin"


def test_a_command_for_the_key_runs_in_the_accounts_home() -> None:
    command = adapter.turn(target(credential=Credential((), source=COMMAND)), turn())
    environment = dict(command.env)
    assert environment["HOME"] == "/home/u"
    assert "/opt/tools/bin:/usr/bin" in environment["PATH"]
    assert environment["PI_CODING_AGENT_DIR"] == SCRATCH


@pytest.mark.parametrize("stored", ["resolves", "reference", "command"])
def test_an_entry_in_auth_json_is_copied_on_the_host(stored: str) -> None:
    command = adapter.turn(target(stored=stored), turn())
    assert files(command)["auth.json"] == "/home/u/.pi/agent/auth.json"


def test_auth_json_without_an_entry_stays_where_it_is() -> None:
    assert "auth.json" not in files(adapter.turn(target(), turn()))


@pytest.mark.parametrize(("seconds", "patience"), [(90, 85_000), (8, 4_000), (1, 1_000)])
def test_pi_gives_up_before_the_turn_is_ended_and_never_tries_again(
    seconds: int, patience: int
) -> None:
    command = adapter.turn(target(), turn(seconds=seconds))
    assert command.seconds == seconds
    settings = json.loads(files(command)["settings.json"])
    assert settings["httpIdleTimeoutMs"] == settings["retry"]["provider"]["timeoutMs"] == patience
    assert settings["retry"]["enabled"] is False
    assert settings["retry"]["provider"]["maxRetries"] == 0


def test_the_users_patterns_for_the_router_come_along() -> None:
    patterns = ["anvil/llm.gone", "openai/gpt", 7, "anvil/*"]
    command = adapter.turn(target(settings={"enabledModels": patterns, "theme": "x"}), turn())
    settings = json.loads(files(command)["settings.json"])
    assert settings["enabledModels"] == ["anvil/llm.gone", "anvil/*"]
    assert "theme" not in settings


@pytest.mark.parametrize(
    ("image", "name"), [(b"\x89PNG\r\n", "image.png"), (b"\xff\xd8\xff", "image.jpg")]
)
def test_an_image_is_shown_without_any_tool(image: bytes, name: str) -> None:
    command = adapter.turn(target(), turn(image=image, expect="INVOICE 7"))
    assert f"@{SCRATCH}/{name}" in command.argv
    assert "--no-tools" in command.argv
    assert "--tools" not in command.argv
    assert files(command)[name] == image
    assert "INVOICE" not in repr(command.argv)


# --- what it printed -------------------------------------------------------------


def done(version: str, case: str) -> tuple[Turn, Done]:
    held = RECORDED[version][case]
    lines = (one if isinstance(one, str) else json.dumps(one) for one in held["events"])
    asked = turn(nonce=held["nonce"])
    if case == "image":
        asked = turn(image=b"\x89PNG", expect="the text in the image")
    out, err = ("".join(f"{line}\n" for line in lines), held["stderr"])
    return asked, Done(
        True, held["status"], stdout=Sealed(out.encode()), stderr=Sealed(err.encode())
    )


def seen(version: str, case: str) -> Seen:
    return adapter.seen(target(version), *done(version, case))


GRADED = {
    "pass": TurnVerdict.PASSED,
    "image": TurnVerdict.PASSED,
    "stale": TurnVerdict.PASSED,
    "wrong key": TurnVerdict.CREDENTIAL,
    "no key": TurnVerdict.CREDENTIAL,
    "404": TurnVerdict.CATALOG,
    "overflow": TurnVerdict.CATALOG,
    "custom id": TurnVerdict.CATALOG,
    "broken models": TurnVerdict.CATALOG,
    "too long": TurnVerdict.CATALOG,
    "429": TurnVerdict.ROUTER,
    "500": TurnVerdict.ROUTER,
    "html": TurnVerdict.ROUTER,
    "invalid json": TurnVerdict.ROUTER,
    "reset": TurnVerdict.ROUTER,
    "refused": TurnVerdict.ROUTER,
    "empty": TurnVerdict.ROUTER,
    "wrong text": TurnVerdict.ROUTER,
    "wrong model": TurnVerdict.WRONG_MODEL,
    "extra call": TurnVerdict.POLICY,
    "other tool": TurnVerdict.POLICY,
    "no call": TurnVerdict.POLICY,
    "hang": TurnVerdict.TIMEOUT,
}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(("case", "verdict"), GRADED.items())
def test_every_ending_has_its_own_verdict(
    version: str, case: str, verdict: TurnVerdict
) -> None:
    asked, ended = done(version, case)
    found = adapter.seen(target(version), asked, ended)
    graded = grading.grade(Evidence(WISH, "read", asked, ended, found))
    assert graded.verdict is verdict, graded.reason


@pytest.mark.parametrize(("version", "fault"), [(NEW, "timeout"), ("0.84.4", "router")])
def test_a_stream_that_stalls_is_given_up(version: str, fault: str) -> None:
    """0.84.4 says `terminated` alone; 0.73.1 waits for ever."""
    assert seen(version, "stall").fault == fault


@pytest.mark.parametrize("version", VERSIONS)
def test_a_command_that_fails_is_a_matter_of_the_credential(version: str) -> None:
    only = target(version, credential=Credential((), source=COMMAND))
    found = adapter.seen(only, *done(version, "command fails"))
    assert (found.fault, found.requested) == ("credential", False)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_passed_turn_tells_what_pi_tells(version: str) -> None:
    found = seen(version, "pass")
    assert (found.provider, found.model, found.tools) == ("anvil", "llm.primary", ("read",))
    assert (found.stop, found.failed_tools, found.fallback) == ("stop", 0, False)
    assert (found.requested, found.fault, found.warnings) == (True, "", ())
    assert found.text is not None
    assert found.text.reveal().decode() == RECORDED[version]["pass"]["nonce"]
    assert (found.router, found.context_window, found.answered_as) == (None, None, None)


@pytest.mark.parametrize("version", VERSIONS)
def test_another_name_of_the_router_is_told(version: str) -> None:
    assert seen(version, "wrong model").answered_as == "another-model"


@pytest.mark.parametrize("version", VERSIONS)
def test_a_stale_pattern_is_told_as_pi_warns_of_it(version: str) -> None:
    assert seen(version, "stale").warnings == (
        "no model matches the user's pattern anvil/llm.gone in settings.json",
    )


@pytest.mark.parametrize(
    ("version", "case", "requested"),
    [
        (NEW, "wrong key", True), (NEW, "no key", False), (OLD, "no key", True),
        (NEW, "refused", False), (OLD, "refused", None), (NEW, "reset", True),
        (NEW, "hang", True), (NEW, "broken models", False), (OLD, "command fails", False),
    ],
)
def test_whether_a_request_left_pi_is_told_where_it_shows(
    version: str, case: str, requested: bool | None
) -> None:
    assert seen(version, case).requested is requested


def printed(*events: object, stderr: str = "", **ending: Any) -> Seen:
    out = "".join(f"{one if isinstance(one, str) else json.dumps(one)}\n" for one in events)
    ended = Done(True, stdout=Sealed(out.encode()), stderr=Sealed(stderr.encode()), **ending)
    return adapter.seen(target(), turn(), ended)


def reply(**message: object) -> dict[str, object]:
    whole = {"role": "assistant", "provider": "anvil", "model": "llm.primary", **message}
    return {"type": "message_end", "message": whole}


SETTLED = {"type": "agent_settled", "aborted": False}
ANSWER = reply(stopReason="stop", content=[{"type": "text", "text": "nonce-0"}])


@pytest.mark.parametrize(
    ("events", "fault"),
    [
        ((ANSWER, SETTLED), ""),
        ((ANSWER,), "crash"),
        ((ANSWER, {"type": "agent_settled", "aborted": True}), "crash"),
        ((ANSWER, "Segmentation fault", SETTLED), "crash"),
        (("[" * 90_000, ANSWER, SETTLED), "crash"),
        (("[]", ANSWER, SETTLED), "crash"),
    ],
)
def test_a_run_that_does_not_end_as_a_turn_does_is_a_crash(
    events: tuple[object, ...], fault: str
) -> None:
    assert printed(*events).fault == fault


def test_a_program_that_prints_nothing_and_fails_is_a_crash() -> None:
    found = printed(stderr="SyntaxError: sk-hunter2", status=1)
    assert (found.fault, found.problem) == ("crash", "Pi ended with status 1 before any request")


@pytest.mark.parametrize("ending", [{"timed_out": True}, {"truncated": True}, {"signal": 9}])
def test_a_run_that_was_ended_is_not_called_a_crash(ending: dict[str, Any]) -> None:
    assert printed(ANSWER, '{"type": "message_en', **ending).fault == ""


def test_two_models_in_one_turn_are_a_fallback() -> None:
    other = reply(model="gpt", stopReason="toolUse", content=[{"type": "toolCall", "name": "read"}])
    assert printed(other, ANSWER, SETTLED).fallback is True


def test_one_strange_name_among_the_answers_is_not_hidden_by_the_last() -> None:
    other = reply(responseModel="another", stopReason="toolUse", content=[])
    served = reply(responseModel="llm.primary", stopReason="stop", content=[])
    assert printed(other, served, SETTLED).answered_as == "another"


def test_nothing_that_the_router_or_a_file_said_is_repeated() -> None:
    told = [
        "401: Incorrect API key provided: sk-hunter2",
        "500: sk-hunter2",
        "Connection error.: sk-hunter2",
        "sk-hunter2 is not valid JSON",
        "sk-hunter2",
    ]
    for one in told:
        found = printed(reply(stopReason="error", errorMessage=one), SETTLED,
                        stderr="Warning: sk-hunter2\nFailed: sk-hunter2\n")
        assert found.fault
        assert "hunter2" not in repr(found)


@pytest.mark.parametrize(
    "message", [None, 7, "text", [], {"role": "assistant", "content": 7, "model": 7}]
)
def test_odd_events_are_survived(message: object) -> None:
    found = printed({"type": "message_end", "message": message}, SETTLED)
    assert (found.provider, found.model, found.stop) == (None, None, None)


# --- the default alias -----------------------------------------------------------

OTHER = {"apiKey": "k", "models": [{"id": "qwen"}]}
OURS = {"apiKey": "k", "models": ROWS}
FIRST = {"defaultProvider": "anvil", "defaultModel": "llm.primary"}
SECOND = {"defaultProvider": "anvil", "defaultModel": "llm.secondary"}
DEFAULTS: list[tuple[object, object, str]] = [
    (None, None, "llm.primary"),
    (SECOND, None, "llm.secondary"),
    ({"enabledModels": ["anvil/llm.secondary"]}, None, "llm.secondary"),
    ({"enabledModels": ["anvil/llm.secondary:high"]}, None, "llm.secondary"),
    ({"enabledModels": ["llm.secondary"]}, None, "llm.secondary"),
    ({"enabledModels": ["anvil/llm.secondary"], **FIRST}, None, "llm.secondary"),
    ({"enabledModels": ["anvil/llm.secondary", "anvil/llm.primary"], **FIRST}, None, "llm.primary"),
    ({"enabledModels": ["anvil/*"], **SECOND}, None, "llm.secondary"),
    ({"enabledModels": ["anvil/*"]}, None, "llm.primary"),
    ({"enabledModels": ["anvil/llm.gone", "anvil/llm.secondary"]}, None, "llm.secondary"),
    ({"enabledModels": ["anvil/llm.gone"]}, None, "llm.primary"),
    ({"enabledModels": ["local/qwen", "anvil/*"]}, {"anvil": OURS, "local": OTHER}, ""),
    ({"defaultProvider": "anvil", "defaultModel": "llm.gone"}, None, "llm.primary"),
    ({"defaultProvider": "local", "defaultModel": "qwen"}, {"anvil": OURS, "local": OTHER}, ""),
    (None, {"local": OTHER, "anvil": OURS}, ""),
    (None, {"anvil": OURS, "local": OTHER}, "llm.primary"),
    (None, {"local": {"models": [{"id": "qwen"}]}, "anvil": OURS}, "llm.primary"),
    (None, {"anvil": {"models": [{"id": "mine"}, *ROWS]}}, ""),
    (None, {"anvil": {"models": [ROWS[1]]}}, "llm.secondary"),
    (None, {"anvil": {"models": []}}, "llm.primary"),
]


@pytest.mark.parametrize(("settings", "models", "alias"), DEFAULTS)
def test_the_default_alias_is_what_a_bare_pi_uses(
    settings: object, models: object, alias: str
) -> None:
    assert adapter.default_alias(target(settings=settings, models=models)) == alias


# --- a key of its own ------------------------------------------------------------


@pytest.mark.parametrize("stored", ["", "resolves", "empty", "placeholder"])
def test_a_new_key_goes_into_auth_json(stored: str) -> None:
    found = adapter.keep(target(stored=stored))
    assert found.place == Place(PlaceKind.JSON, "/home/u/.pi/agent/auth.json", "anvil")
    assert found.companion == "/home/u/.pi/agent/auth.json.lock"
    entry = json.loads(f"{found.before}{json.dumps('a-key')}{found.after}")
    assert entry == {"type": "api_key", "key": "a-key"}


@pytest.mark.parametrize("stored", ["reference", "command"])
def test_an_entry_that_names_its_key_is_left_to_the_operator(stored: str) -> None:
    found = adapter.keep(target(stored=stored))
    assert found.place is None
    assert f"is a {stored}" in found.lines


@pytest.mark.parametrize(("version", "spelled"), [(OLD, "ROUTER_API_KEY"),
                                                  ("0.78.0", "$ROUTER_API_KEY")])
def test_a_version_that_needs_its_api_key_in_models_json_is_told_the_lines(
    version: str, spelled: str
) -> None:
    found = adapter.keep(target(version))
    assert found.place is None
    assert "export ROUTER_API_KEY=" in found.lines
    assert f'"apiKey": "{spelled}"' in found.lines
