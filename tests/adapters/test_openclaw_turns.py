"""A real turn through OpenClaw: how it is started, and what its output tells.

The envelopes in turns/openclaw.json are those of 2026.9.6 (local: 2026.6.11), without what
a turn is not graded by.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fleetsync.adapter import SCRATCH, Done, Seen, TakesTurns, Target, Turn
from fleetsync.facts import FileFact, FileKind, Place, Verdict
from fleetsync.sealed import Sealed
from fleetsync_openclaw import adapter
from fleetsync_openclaw.turn import DENIED, OVERDUE
from tests.adapters.openclaw import (
    CONFIG,
    HOME,
    NAME,
    OLD,
    alias,
    config,
    target,
    wish,
)
from tests.adapters.test_openclaw_credential import DOTENV, PROFILE, RUNNING, UNIT, unit

RECORDED: dict[str, Any] = json.loads(
    (Path(__file__).parent / "turns/openclaw.json").read_text("utf-8")
)
TURN = Turn("f" * 32, alias(), "nonce-0a1b", "FS_1", 30)
PICTURE = replace(TURN, image=b"\x89PNG-and-so-on", expect="TOTAL")
WITH_AUTH = {"mode": "local", "auth": {"mode": "token", "token": "a-token"}}
KEYED = {DOTENV: Verdict.RESOLVES}
ALIVE = {"HOME": HOME}


def host(
    *, running: bool = False, gateway: dict[str, Any] | None = None, key: object = f"${{{NAME}}}",
    held: dict[Place, Verdict] | None = None, files: dict[str, object] | None = None, **more: Any,
) -> Target:
    table = config(key, **({"gateway": gateway} if gateway else {}), **more.pop("top", {}))
    return target(
        wish(), {CONFIG: table, **(files or {})}, held=held or KEYED,
        running=ALIVE if running else {}, **more,
    )


APART, DIRECT = host(), host(running=True, gateway=WITH_AUTH)


def test_the_adapter_takes_turns_with_one_reading_tool() -> None:
    assert isinstance(adapter, TakesTurns)
    assert adapter.tool(APART) == "read"


# --- which way it goes --------------------------------------------------------------


@pytest.mark.parametrize(
    ("seen", "through"),
    [
        (DIRECT, "gateway"),
        (host(running=True, gateway={"auth": {"mode": "none"}}), "gateway"),
        (host(gateway=WITH_AUTH), "exec"),
        (host(running=True), "exec"),
        (host(running=True, gateway={**WITH_AUTH, "mode": "remote"}), "exec"),
        (host(running=True, gateway=WITH_AUTH, installations=(OLD,)), "exec"),
        (host(running=True, gateway=WITH_AUTH,
              files={UNIT.replace("gateway", "gateway-lab"): unit()}), "exec"),
    ],
    ids=["runs", "lets everyone in", "does not run", "lets nobody in", "of another host",
         "an older version", "perhaps another profile's"],
)
def test_a_gateway_takes_the_turn_where_one_of_this_file_runs_and_lets_us_in(
    seen: Target, through: str
) -> None:
    assert adapter.seen(seen, TURN, done("gateway: wrong key")).through == through


def test_a_turn_of_the_gateway_has_a_session_in_memory_that_is_deleted() -> None:
    command = adapter.turn(DIRECT, TURN)
    script, session, made = command.argv[8], command.argv[11], json.loads(command.argv[12])
    assert session == "agent:main:dashboard:incognito-fs-1"
    assert made == {
        "key": session, "incognito": True, "permissionMode": "read-only", "cwd": f"{SCRATCH}/turn",
    }
    assert [word in script for word in ("sessions.create", "sessions.delete")] == [True, True]
    assert [file.name for file in command.files] == ["turn/AGENTS.md", "turn/nonce.txt"]
    assert command.argv[14:17] == ("main", "anvil/llm.primary", "30")
    assert command.argv[17:] == ("/usr/bin/node", "/opt/openclaw/openclaw.mjs")
    assert dict(command.env)["OPENCLAW_CONFIG_PATH"] == CONFIG
    assert command.keys == ()


def test_a_turn_apart_is_given_the_key_and_leaves_the_state_directory_alone() -> None:
    command = adapter.turn(APART, TURN)
    assert command.argv[3:8] == (
        "sh", f"{HOME}/.openclaw", "", "/usr/bin/node", "/opt/openclaw/openclaw.mjs"
    )
    assert command.argv[8:10] == ("agent", "exec")
    assert command.argv[11:] == (
        "--cwd", f"{SCRATCH}/turn", "--model", "anvil/llm.primary", "--timeout", "30", "--json",
    )
    assert command.keys == ((NAME, DOTENV),)
    assert command.seconds == 75


def test_a_turn_apart_denies_every_tool_but_the_reading_one() -> None:
    command = adapter.turn(APART, TURN)
    env = dict(command.env)
    assert env["OPENCLAW_CONFIG_PATH"] == f"{SCRATCH}/openclaw.json"
    assert env["OPENCLAW_INCLUDE_ROOTS"] == f"{HOME}/.openclaw"
    overlay = json.loads(command.files[0].content)
    assert overlay["$include"] == CONFIG
    assert overlay["tools"] == {"profile": "coding", "deny": list(DENIED), "toolSearch": False}
    assert overlay["agents"]["defaults"]["skipBootstrap"] is True


def test_an_older_version_takes_it_by_its_own_command() -> None:
    command = adapter.turn(host(installations=(OLD,)), TURN)
    assert command.argv[8:14] == ("agent", "--local", "--agent", "main", "--session-id", "fs-1")
    assert "toolSearch" not in json.loads(command.files[0].content)["tools"]


@pytest.mark.parametrize("seen", [
    host(key="anvil:manual", top={"auth": PROFILE}),
    host(key={"source": "store", "provider": "default", "id": NAME}),
    host(files={f"{HOME}/.openclaw/npm/package.json": "{}"}),
], ids=["a profile", "the store", "plugins"])
def test_openclaws_database_is_copied_where_it_is_needed(seen: Target) -> None:
    assert adapter.turn(seen, TURN).argv[5] == "yes"


@pytest.mark.parametrize("seen", [APART, DIRECT], ids=["exec", "gateway"])
def test_the_nonce_stands_in_the_file_alone(seen: Target) -> None:
    command = adapter.turn(seen, TURN)
    file = next(one for one in command.files if one.name.endswith("nonce.txt"))
    assert file.content == b"nonce-0a1b\n"
    assert any(f"READ: {SCRATCH}/{file.name}" in word for word in command.argv)
    assert not any("nonce-0a1b" in word for word in command.argv)
    assert not any("\n" in word for word in command.argv)


@pytest.mark.parametrize(("image", "name"), [(b"\x89PNG..", "png"), (b"\xff\xd8..", "jpg")])
def test_an_image_is_shown_by_its_path(image: bytes, name: str) -> None:
    command = adapter.turn(APART, replace(PICTURE, image=image))
    file = command.files[1]
    assert (file.name, file.content) == (f"turn/image.{name}", image)
    assert any(word.endswith(f": {SCRATCH}/{file.name}") for word in command.argv)


def test_a_copied_database_is_looked_for_and_never_read() -> None:
    path = f"{HOME}/.openclaw/state/openclaw.sqlite"
    seen = host(files={path: FileFact(path, FileKind.FILE, path, size=4096)})
    assert adapter.turn(seen, TURN).argv[5] == ""


# --- the default model --------------------------------------------------------------


@pytest.mark.parametrize(
    ("agents", "wanted"),
    [
        ({"defaults": {"model": "anvil/llm.primary"}}, "llm.primary"),
        ({"defaults": {"model": {"primary": "anvil/llm.primary@work"}}}, "llm.primary"),
        ({"defaults": {"model": "fast", "models": {"anvil/llm.primary": {"alias": "fast"}}}},
         "llm.primary"),
        ({"defaults": {"model": "other/llm.primary"}}, ""),
        ({"defaults": {"model": "anvil/llm.unknown"}}, ""),
        ({}, ""),
        ({"defaults": {"model": "other/x"}, "entries": {"main": {"model": "anvil/llm.primary"}}},
         "llm.primary"),
        ({"defaults": {"model": "anvil/llm.primary"},
          "entries": {"a": {}, "b": {"default": True, "model": {"primary": "other/x"}}}}, ""),
        ({"list": [{"id": "a", "model": "anvil/llm.primary"}, {"id": "b"}]}, "llm.primary"),
    ],
)
def test_the_default_alias_is_the_answering_agents(agents: dict[str, Any], wanted: str) -> None:
    assert adapter.default_alias(host(top={"agents": agents})) == wanted


# --- what its output tells ------------------------------------------------------------


def done(name: str, status: int = 0, stderr: str = "") -> Done:
    text = json.dumps(RECORDED[name]) if name in RECORDED else name
    return Done(True, status, stdout=Sealed(text.encode()), stderr=Sealed(stderr.encode()))


def seen(name: str, status: int = 0, **more: Any) -> Seen:
    asked = DIRECT if name.startswith("gateway") else APART
    return adapter.seen(asked, TURN, done(name, status, **more))


def test_a_turn_of_the_gateway_tells_all_of_itself() -> None:
    assert seen("gateway: good") == Seen(
        provider="anvil", model="llm.primary", context_window=393216, tools=("read",), stop="stop",
        fallback=False, answered_as="llm.primary", text=Sealed(b"nonce-0a1b"), requested=True,
        through="gateway",
    )


def test_a_turn_of_exec_tells_its_model_and_its_tools() -> None:
    assert seen("exec: good") == Seen(
        provider="anvil", model="llm.primary", tools=("read",), text=Sealed(b"nonce-0a1b"),
        requested=True, through="exec",
    )


def test_a_turn_of_an_older_version_tells_its_context_window() -> None:
    found = seen("local: good")
    assert (found.provider, found.model, found.context_window) == ("anvil", "llm.primary", 393216)
    assert (found.tools, found.stop, found.fallback) == (("read",), "stop", False)
    assert (found.fault, found.through, found.requested) == ("", "exec", True)


@pytest.mark.parametrize(("name", "asked"), [("gateway: good", DIRECT), ("exec: good", APART)])
def test_half_a_surrogate_pair_in_the_answer_is_an_answer(name: str, asked: Target) -> None:
    text = json.dumps(RECORDED[name]).replace("nonce-0a1b", r"half \ud83d")
    found = adapter.seen(asked, TURN, done(text))
    assert found.text is not None
    assert found.text.reveal() == b"half \xed\xa0\xbd"


@pytest.mark.parametrize("calls", [10**15, 10**30])
def test_a_number_of_calls_that_nobody_makes_takes_no_memory(calls: int) -> None:
    text = json.dumps(RECORDED["gateway: good"])
    assert '"calls": 1' in text
    found = adapter.seen(DIRECT, TURN, done(text.replace('"calls": 1', f'"calls": {calls}')))
    assert found.tools == ("read",) * 20


def test_another_name_that_the_router_answers_with_is_told() -> None:
    assert seen("gateway: rerouted").answered_as == "backend-xyz"


@pytest.mark.parametrize(
    ("name", "fault", "words"),
    [
        ("gateway: wrong key", "credential", "did not accept the key"),
        ("gateway: unresolved key", "credential", "does not resolve a key"),
        ("gateway: model not found", "catalog", "the model is unknown"),
        ("gateway: unknown provider", "catalog", "the model is unknown"),
        ("gateway: context overflow", "catalog", "less context than OpenClaw was told"),
        ("gateway: no answer", "timeout", "no answer came in time"),
        ("exec: wrong key", "credential", "did not accept the key"),
        ("exec: not allowed", "policy", "allowlist leaves the model out"),
        ("exec: unknown provider", "catalog", "the model is unknown"),
        ("exec: model not found", "catalog", "the model is unknown"),
        ("exec: context overflow", "catalog", "less context than OpenClaw was told"),
        ("local: unresolved key", "credential", "does not resolve a key"),
    ],
)
def test_a_failure_is_sorted_by_what_openclaw_says_of_it(
    name: str, fault: str, words: str
) -> None:
    found = seen(name, 1)
    assert found.fault == fault
    assert words in found.problem


def failed(message: str, status: str = "error") -> str:
    return json.dumps({"ok": False, "status": status, "error": {"message": message, "kind": "x"}})


@pytest.mark.parametrize(
    ("message", "status", "fault"),
    [
        ('Inline API key for provider "anvil" is temporarily disabled after a provider '
         "auth/billing failure. Retry after about 1 minute", "error", "credential"),
        ("LLM request failed: connection refused by the provider endpoint.", "timeout", "router"),
        ("429 rate limited", "error", "router"),
        ("LLM request timed out.", "timeout", "timeout"),
        ("Request was aborted.", "timeout", "timeout"),
        ("Gateway not reachable at ws://127.0.0.1:18789 (ECONNREFUSED)", "error", "crash"),
        ("unauthorized: gateway token mismatch", "error", "policy"),
        ("incognito sessions are web-only", "error", "policy"),
        ("something new", "error", "crash"),
    ],
)
def test_other_failures_are_sorted_too(message: str, status: str, fault: str) -> None:
    assert seen(failed(message, status), 1).fault == fault


def test_what_ended_for_its_seconds_is_a_timeout() -> None:
    found = adapter.seen(DIRECT, TURN, Done(True, OVERDUE))
    assert (found.fault, found.problem) == ("timeout", "no answer came in 30 s")


TRIES = (
    "[agent/embedded] embedded run agent end: runId=1 isError=true model=llm.primary provider={} "
    "error={} rawError=x\n"
)


@pytest.mark.parametrize(
    ("provider", "error", "fault"),
    [
        ("anvil", "anvil/llm.primary request failed (provider internal error, HTTP 500).",
         "router"),
        ("anvil", "LLM request failed: network connection error.", "router"),
        ("anvil", "something new", "timeout"),
        ("other", "LLM request failed: network connection error.", "timeout"),
    ],
)
def test_what_the_gateway_tried_again_and_again_is_sorted_by_its_log(
    provider: str, error: str, fault: str
) -> None:
    log = Sealed(TRIES.format(provider, error).encode())
    assert adapter.seen(DIRECT, TURN, Done(True, OVERDUE, stderr=log)).fault == fault


@pytest.mark.parametrize("text", ["", "oops", "[]", "[" * 100_000])
def test_no_result_is_a_crash(text: str) -> None:
    found = seen(text, 3)
    assert (found.fault, found.problem) == (
        "crash", "OpenClaw printed no result (exit status 3)"
    )


LEAK = "sk-live-0123456789"


def test_no_failures_own_text_is_told() -> None:
    assert LEAK not in repr(seen(failed(f"401 Incorrect API key provided: {LEAK}"), 1))
    assert LEAK not in repr(seen(failed(LEAK), 1, stderr=LEAK))


def changed(name: str, path: str, value: object) -> str:
    whole = json.loads(json.dumps(RECORDED[name]))
    *steps, last = path.split(".")
    table = whole
    for step in steps:
        table = table[step]
    table[last] = value
    return json.dumps(whole)


META = "result.meta"


@pytest.mark.parametrize(
    ("path", "value", "field", "wanted"),
    [
        (f"{META}.executionTrace.fallbackUsed", True, "fallback", True),
        (f"{META}.agentMeta.model", "llm.secondary", "fallback", True),
        (f"{META}.agentMeta.model", None, "model", None),
        (f"{META}.agentMeta.provider", "other", "provider", "other"),
        (f"{META}.agentMeta.contextTokens", 8000, "context_window", 8000),
        (f"{META}.agentMeta.contextTokens", "8000", "context_window", None),
        (f"{META}.stopReason", "length", "stop", "length"),
        (f"{META}.toolSummary", None, "tools", ()),
        (f"{META}.toolSummary.calls", 2, "tools", ("read", "read")),
        (f"{META}.toolSummary.tools", ["read", "exec"], "tools", ("read", "exec")),
        (f"{META}.toolSummary", {"calls": 3, "tools": ["read", "exec"]}, "tools",
         ("read", "exec", "another")),
        (f"{META}.toolSummary.failures", 1, "failed_tools", 1),
        (f"{META}.executionTrace.attempts", [], "requested", False),
        ("result.payloads", None, "text", None),
    ],
)
def test_each_piece_of_evidence_is_read_where_it_stands(
    path: str, value: object, field: str, wanted: object
) -> None:
    found = adapter.seen(DIRECT, TURN, done(changed("gateway: good", path, value)))
    assert getattr(found, field) == wanted


def test_another_model_of_exec_is_a_fallback() -> None:
    found = adapter.seen(APART, TURN, done(changed("exec: good", "model", "llm.secondary")))
    assert found.fallback is True


def test_a_variable_without_a_value_is_warned_about() -> None:
    line = 'Config (x): missing env var "A_KEY" at models.providers.b.apiKey - feature …\n'
    assert seen("exec: good", stderr=line * 2).warnings == (
        "models.providers.b.apiKey names A_KEY, which has no value",
    )


def test_a_gateway_that_has_the_key_takes_it_from_nobody() -> None:
    known = host(running=True, gateway=WITH_AUTH, held={RUNNING: Verdict.RESOLVES})
    assert known.credential.opens
    assert adapter.turn(known, TURN).keys == ()
