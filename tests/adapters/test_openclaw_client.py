"""What the OpenClaw adapter asks of a host, and what it makes of the answers."""

from __future__ import annotations

import json
import plistlib
from dataclasses import replace
from typing import Any

import pytest

from fleetsync.adapter import SCRATCH, Done, Loaded, Planned, Target
from fleetsync.facts import Facts, FileFact, FileKind, Place, PlaceKind, Read, Verdict
from fleetsync.sealed import Sealed
from fleetsync_openclaw import adapter
from fleetsync_openclaw.loader import questions
from tests.adapters.openclaw import (
    CONFIG,
    HOME,
    NAME,
    OLD,
    OPENCLAW,
    alias,
    answered,
    config,
    file,
    target,
    wish,
)

KEYED = {Place(PlaceKind.DOTENV, "~/.openclaw/.env", NAME): Verdict.RESOLVES}
UNITS = f"{HOME}/.config/systemd/user"
WISH = wish()


def unit(*lines: str, start: str = "/usr/bin/node /opt/openclaw/dist/index.js gateway") -> str:
    return "\n".join(("[Service]", f"ExecStart={start}", *lines, ""))


def test_the_ordinary_host_is_asked_once() -> None:
    first = adapter.questions(WISH, Facts())
    facts = answered(WISH, {CONFIG: config()})
    assert set(facts.answers) == set(first)
    assert Read("~/.openclaw/openclaw.json") in first


def test_secret_stores_are_never_read() -> None:
    files = {CONFIG: config(), f"{UNITS}/openclaw-gateway.service": unit("EnvironmentFile=%h/e")}
    asked = answered(WISH, files).answers
    reads = {q.pattern for q in asked if isinstance(q, Read) and q.content}
    assert not {pattern for pattern in reads if pattern.endswith((".env", "/e", ".sqlite"))}


def test_an_included_file_is_asked_for_and_has_its_path_as_role() -> None:
    files: dict[str, object] = {
        CONFIG: '{ models: { $include: "./parts/m.json5" } }',
        f"{HOME}/.openclaw/parts/m.json5": config()["models"],
    }
    seen = target(WISH, files, held=KEYED)
    assert list(seen.files) == ["config", "parts/m.json5"]
    assert adapter.plan(seen).edits == ()


@pytest.mark.parametrize(
    ("variables", "path"),
    [
        ({"OPENCLAW_CONFIG_PATH": "/srv/oc.json"}, "/srv/oc.json"),
        ({"OPENCLAW_CONFIG_PATH": f"{HOME}/oc.json"}, f"{HOME}/oc.json"),
        ({"OPENCLAW_STATE_DIR": "/srv/state/"}, "/srv/state/openclaw.json"),
        ({"OPENCLAW_STATE_DIR": "~/state"}, f"{HOME}/state/openclaw.json"),
        ({"OPENCLAW_HOME": "/srv"}, "/srv/.openclaw/openclaw.json"),
        ({"OPENCLAW_HOME": "/srv", "OPENCLAW_STATE_DIR": "/x"}, "/x/openclaw.json"),
    ],
)
def test_variables_lead_to_the_file(variables: dict[str, str], path: str) -> None:
    seen = target(WISH, {path: config("key-of-the-file")}, variables=variables)
    assert (seen.files["config"].path, seen.refusals) == (path, ())
    assert ", ".join(variables) in seen.notes[0] or len(variables) > 1


def test_a_file_whose_path_reads_like_a_pattern_is_refused() -> None:
    path = f"{HOME}/c[1].json"
    seen = target(wish(), {path: config()}, variables={"OPENCLAW_CONFIG_PATH": path})
    assert "could be taken for another file" in seen.refusals[0].reason


def test_an_include_whose_name_reads_like_a_pattern_is_refused() -> None:
    seen = target(wish(), {CONFIG: {"models": {"$include": "./m[1].json"}}})
    assert "$include ./m[1].json has a *, ? or [ in it" in seen.refusals[0].reason


def test_a_relative_variable_is_refused() -> None:
    seen = target(WISH, {}, variables={"OPENCLAW_STATE_DIR": "state"})
    assert "OPENCLAW_STATE_DIR is the relative path state" in seen.refusals[0].reason


def test_a_running_gateway_decides_where_no_unit_does_and_the_shell_must_agree() -> None:
    files = {f"{HOME}/gw.json": config("k-1234")}
    moved = {"OPENCLAW_CONFIG_PATH": f"{HOME}/gw.json"}
    seen = target(WISH, files, running=moved)
    assert seen.files["config"].path == f"{HOME}/gw.json"
    assert seen.refusals[0].reason == (
        "OPENCLAW_CONFIG_PATH of the gateway that runs reads ~/gw.json, but `openclaw` in a "
        "login shell reads ~/.openclaw/openclaw.json"
    )
    assert target(WISH, files, running=moved, variables=moved).refusals == ()


def test_a_running_gateway_must_read_what_its_unit_says() -> None:
    service = unit("Environment=OPENCLAW_CONFIG_PATH=%h/gw.json")
    files = {f"{HOME}/gw.json": config("k-1234"), f"{UNITS}/openclaw-gateway.service": service}
    other = {"OPENCLAW_CONFIG_PATH": f"{HOME}/other.json"}
    unit_path = {"OPENCLAW_CONFIG_PATH": f"{HOME}/gw.json"}
    seen = target(WISH, files, running=other, variables=unit_path)
    assert "the gateway that runs reads ~/other.json" in seen.refusals[0].reason
    assert target(WISH, files, running=unit_path, variables=unit_path).refusals == ()


def test_a_gateways_unit_decides_and_the_shell_must_agree() -> None:
    service = unit("Environment=OPENCLAW_CONFIG_PATH=%h/gw.json")
    files = {f"{HOME}/gw.json": config("k-1234"), f"{UNITS}/openclaw-gateway.service": service}
    seen = target(WISH, files)
    assert seen.files["config"].path == f"{HOME}/gw.json"
    assert seen.refusals[0].reason == (
        "openclaw-gateway.service reads ~/gw.json, but `openclaw` in a login shell reads "
        "~/.openclaw/openclaw.json"
    )
    agreeing = target(WISH, files, variables={"OPENCLAW_CONFIG_PATH": f"{HOME}/gw.json"})
    assert agreeing.refusals == ()


def test_a_launch_agent_is_a_unit_too() -> None:
    table = {
        "ProgramArguments": ["node", "index.js", "gateway"],
        "EnvironmentVariables": {NAME: "k-1234"},
    }
    path = f"{HOME}/Library/LaunchAgents/ai.openclaw.gateway.plist"
    seen = target(WISH, {CONFIG: config(), path: plistlib.dumps(table).decode()})
    assert seen.credential.opens
    assert path in seen.credential.warnings[0] or NAME in seen.credential.warnings[0]


def test_a_unit_of_another_account_does_not_count() -> None:
    service = unit("User=other", "Environment=OPENCLAW_CONFIG_PATH=/other.json")
    files = {CONFIG: config(), "/etc/systemd/system/openclaw.service": service}
    assert target(WISH, files, held=KEYED).refusals == ()


def test_profiles_of_the_inventory_are_targets_and_others_are_named() -> None:
    lab = f"{UNITS}/openclaw-gateway-lab.service"
    files = {CONFIG: config(), f"{HOME}/.openclaw-lab/openclaw.json": config("k"), lab: unit()}
    (only,) = adapter.targets(WISH, answered(WISH, files, held=KEYED))
    assert only.name == "openclaw"
    assert only.notes[0].startswith("profile lab has a gateway here too")
    both = replace(WISH, options={"profiles": ("default", "lab")})
    first, second = adapter.targets(both, answered(both, files, held=KEYED))
    assert (first.name, second.name) == ("openclaw", "openclaw/lab")
    assert second.files["config"].path == f"{HOME}/.openclaw-lab/openclaw.json"


def test_a_host_without_openclaw_is_absent() -> None:
    assert target(WISH, {}, installations=()).absent
    stranger = replace(OPENCLAW, package="", version="")
    assert "is not OpenClaw" in target(WISH, {}, installations=(stranger,)).absent


@pytest.mark.parametrize(
    ("one", "why"),
    [
        (replace(OPENCLAW, interpreter_version="20.20.2"), "/usr/bin/node is Node 20.20.2; "
         "OpenClaw 2026.9.6 needs 24.16 or later of 24, or 26.1 and later"),
        (replace(OPENCLAW, interpreter_version="25.1.0"), "/usr/bin/node is Node 25.1.0; "
         "OpenClaw 2026.9.6 needs 24.16 or later of 24, or 26.1 and later"),
        (replace(OPENCLAW, version=""), "/usr/bin/openclaw: its package.json gives no version"),
        (replace(OPENCLAW, problem="no node"), "/usr/bin/openclaw: no node"),
        (replace(OPENCLAW, found="inventory", package=""),
         "/usr/bin/openclaw does not lead to a package of OpenClaw"),
    ],
)
def test_an_installation_that_cannot_run_is_refused(one: Any, why: str) -> None:
    asked = replace(WISH, options={"commands": (("/usr/bin/openclaw",),)})
    seen = target(asked, {CONFIG: config()}, installations=(one,), held=KEYED)
    assert [refusal.reason for refusal in seen.refusals] == [why]


def test_what_is_installed_is_told() -> None:
    ancient = replace(OPENCLAW, version="2026.7.1")
    files = {CONFIG: config(meta={"lastTouchedAt": "x"})}
    notes = target(WISH, files, installations=(OPENCLAW, ancient), held=KEYED).notes
    assert notes[0].startswith("2 installations share this configuration")
    assert "meta.lastTouchedAt" in notes[1]
    assert notes[2].startswith("OpenClaw 2026.7.1 is not one tested")


def test_an_absent_file_is_refused_with_the_stanza() -> None:
    (refusal,) = target(WISH, {}, held=KEYED).refusals
    assert refusal.reason == f"{CONFIG} is absent, so OpenClaw has no provider anvil"
    assert f'"apiKey": "${{{NAME}}}"' in refusal.step


@pytest.mark.parametrize("kind", [FileKind.DIRECTORY, FileKind.DANGLING, FileKind.UNREADABLE])
def test_what_is_no_readable_file_is_refused(kind: FileKind) -> None:
    (refusal,) = target(WISH, {CONFIG: FileFact(CONFIG, kind)}, held=KEYED).refusals
    assert refusal.reason == f"{CONFIG}: {kind.value}"


def test_a_broken_file_is_refused_with_line_and_column() -> None:
    (refusal,) = target(WISH, {CONFIG: "{\n  models: oops }"}, held=KEYED).refusals
    assert refusal.reason.startswith(f"{CONFIG}: line 2, column 11:")


def test_a_broken_include_is_named() -> None:
    files: dict[str, object] = {
        CONFIG: '{ models: { $include: "m.json" } }', f"{HOME}/.openclaw/m.json": "{,}",
    }
    (refusal,) = target(WISH, files, held=KEYED).refusals
    assert f"included file {HOME}/.openclaw/m.json" in refusal.reason


def test_a_link_is_edited_where_it_leads_and_warned_about() -> None:
    link = replace(file(CONFIG, json.dumps(config())), real=f"{HOME}/dotfiles/openclaw.json")
    seen = target(WISH, {CONFIG: link}, held=KEYED)
    assert seen.refusals == ()
    assert "next write replaces the link by a file" in seen.notes[0]


@pytest.mark.parametrize(
    ("name", "mode", "told"),
    [
        ("llm.old", "merge", "still shows llm.old"),
        ("llm.primary", "merge", "fills what openclaw.json omits"),
        ("llm.old", "replace", ""),
    ],
)
def test_what_an_older_version_left_is_told(name: str, mode: str, told: str) -> None:
    table = config()
    table["models"]["mode"] = mode
    left = {"providers": {"anvil": {"models": [{"id": name}]}}}
    files = {CONFIG: table, f"{HOME}/.openclaw/agents/main/agent/models.json": left}
    notes = "".join(target(WISH, files, held=KEYED).notes)
    assert told in notes
    assert bool(told) == bool(notes)


# --- the loader ---------------------------------------------------------------------


def stale_target(**known: Any) -> Target:
    table = config()
    table["models"]["providers"]["anvil"]["models"][0]["contextWindow"] = 524288
    return target(WISH, {CONFIG: table}, held=KEYED, **known)


def kinds(seen: Target) -> list[str]:
    return [one.kind for one in questions(seen, adapter.plan(seen))]


def test_a_change_is_asked_about_and_so_is_the_file_as_it_is() -> None:
    assert kinds(stale_target()) == ["candidate", "rows", "baseline", "service", "applied"]
    in_step = target(WISH, {CONFIG: config()}, held=KEYED)
    assert kinds(in_step) == ["candidate", "rows", "service", "applied"]
    both = target(WISH, {CONFIG: config()}, held=KEYED, installations=(OPENCLAW, OLD))
    assert kinds(both) == ["candidate", "rows", "candidate", "rows", "service", "applied"]


def test_a_gateway_of_another_host_is_not_asked() -> None:
    files = {CONFIG: config(gateway={"mode": "remote", "remote": {"url": "wss://far"}})}
    assert "applied" not in kinds(target(WISH, files, held=KEYED))


def test_the_candidate_is_judged_in_the_scratch_directory_with_its_includes() -> None:
    files: dict[str, object] = {
        CONFIG: '{ models: { $include: "./parts/m.json5" } }',
        f"{HOME}/.openclaw/parts/m.json5": config()["models"],
    }
    seen = target(WISH, files, held=KEYED)
    command = adapter.loaders(seen, Planned())[0]
    assert command.argv == (
        "/usr/bin/node", "/opt/openclaw/openclaw.mjs", "config", "validate", "--json",
    )
    env = dict(command.env)
    assert (env["HOME"], env["OPENCLAW_STATE_DIR"]) == (SCRATCH, f"{SCRATCH}/state")
    assert env["OPENCLAW_CONFIG_PATH"] == f"{SCRATCH}/files/openclaw.json"
    assert [(one.name, one.source) for one in command.files] == [
        ("files/openclaw.json", CONFIG),
        ("files/parts/m.json5", f"{HOME}/.openclaw/parts/m.json5"),
    ]
    assert command.stdin == b""


def test_plugins_of_the_real_state_directory_take_part() -> None:
    files = {CONFIG: config(), f"{HOME}/.openclaw/extensions/mine": ""}
    command = adapter.loaders(target(WISH, files, held=KEYED), Planned())[0]
    assert dict(command.env)["OPENCLAW_STATE_DIR"] == f"{HOME}/.openclaw"


def test_the_service_is_asked_about_in_the_real_home() -> None:
    command = adapter.loaders(stale_target(), adapter.plan(stale_target()))[3]
    env = dict(command.env)
    assert command.argv[2:] == ("gateway", "status", "--json")
    assert (env["HOME"], env["XDG_RUNTIME_DIR"]) == (HOME, "/run/user/1000")
    assert env["OPENCLAW_STATE_DIR"].startswith(SCRATCH)


def printed(value: object, status: int = 0) -> Done:
    return Done(True, status, stdout=Sealed(json.dumps(value).encode()))


VALID = printed({"valid": True, "path": "x"})
ROW = {
    "id": "llm.primary", "name": "P", "contextWindow": 393216, "maxTokens": 4096,
    "reasoning": False, "input": ["text"], "api": "openai-completions",
}
NO_SERVICE = printed({"service": {"command": None}, "config": {"daemon": {"path": "/x"}}})
REFUSED = {"ok": False, "error": {"message": "Gateway not reachable (ECONNREFUSED)."}}
DOWN = printed(REFUSED, 1)


def judged(
    *,
    candidate: Done = VALID,
    rows: Done | None = None,
    baseline: Done | None = None,
    service: Done = NO_SERVICE,
    applied: Done = DOWN,
) -> Loaded:
    seen = target(WISH, {CONFIG: config()}, held=KEYED) if baseline is None else stale_target()
    done = (candidate, rows or printed([ROW]), *([baseline] if baseline else ()), service, applied)
    return adapter.loaded(seen, adapter.plan(seen), done)


def test_the_loader_agrees_with_exactly_the_wish() -> None:
    assert judged() == Loaded(True)
    assert judged(baseline=VALID) == Loaded(True)
    assert judged(rows=printed([ROW, {**ROW, "id": "llm.other", "contextWindow": 1}])).agrees


@pytest.mark.parametrize(
    ("answers", "why"),
    [
        ({"rows": printed([{**ROW, "contextWindow": 9}])}, "contextWindow is 9, not 393216"),
        ({"rows": printed([{**ROW, "input": ["image"]}])}, "input is something else, not text"),
        ({"rows": printed([])}, "llm.primary is missing"),
        ({"rows": printed([ROW | {"maxTokens": 8192}, ROW])}, "maxTokens is 8192, not 4096"),
        ({"rows": Done(True, 1, stdout=Sealed(b"sk-secret"))}, "get gave no answer (exit status 1"),
        ({"candidate": Done(True, signal=9)}, "validate gave no answer (signal 9)"),
        ({"candidate": Done(True, timed_out=True)}, "no answer in 120 s"),
        ({"candidate": Done(False, problem="no such program")}, "no such program"),
        (
            {"candidate": printed({"valid": False, "issues": [
                {"path": "models", "message": 'Unrecognized key: "bogus"'},
                {"path": "models.x", "message": "Invalid value sk-secret"},
                {"path": "a b", "message": "unknown channel id: mine"},
                {"path": "models.y", "message": "Too small: expected number to be >0"},
            ]})},
            'it would reject the file: models: Unrecognized key: "bogus"; models.x; '
            "somewhere: unknown channel id: mine; models.y: Too small: expected number to be >0",
        ),
        (
            {"service": printed(
                {"service": {"command": {}}, "config": {"daemon": {"path": "/etc/oc.json"}}}
            )},
            "its service reads another configuration file",
        ),
        ({"applied": printed({"path": "/etc/oc.json"})}, "gateway reads another configuration"),
    ],
)
def test_the_loader_disagrees_and_says_why(answers: dict[str, Done], why: str) -> None:
    loaded = judged(**answers)
    assert not loaded.agrees
    assert why in loaded.reason
    assert "sk-secret" not in loaded.reason


def test_a_service_without_a_path_of_its_own_reads_the_default_file() -> None:
    read = {"daemon": {"path": "/tmp/scratch/no-state-of-its-own/openclaw.json"}}
    assert judged(service=printed({"service": {"command": {}}, "config": read})).agrees


def test_a_file_that_was_invalid_before_is_said_so_with_its_cause() -> None:
    issue = {"path": "meta", "message": 'Unrecognized key: "lastTouchedAt"'}
    bad = printed({"valid": False, "issues": [issue]}, 1)
    loaded = judged(candidate=bad, rows=bad, baseline=bad)
    assert loaded.reason == (
        'OpenClaw 2026.9.6 rejects the file as it already stands: meta: Unrecognized key: '
        '"lastTouchedAt" (keys of an older version: OpenClaw was updated and its gateway not '
        "started since; its start brings the file up to date)"
    )


@pytest.mark.parametrize(
    ("answer", "wanted"),
    [
        ({"path": CONFIG, "configRevisionHash": "a", "appliedConfigHash": "a"},
         Loaded(True, applied=True)),
        ({"path": CONFIG, "configRevisionHash": "b", "appliedConfigHash": "a"},
         Loaded(True, pending="the running gateway has not applied the file yet", applied=False)),
        (REFUSED, Loaded(True)),
        ({"ok": False, "error": {"message": "unauthorized: gateway token mismatch"}},
         Loaded(True, notes=("no gateway answered whether it uses the file",))),
    ],
)
def test_a_running_gateway_must_have_applied_the_file(answer: object, wanted: Loaded) -> None:
    assert judged(applied=printed(answer)) == wanted
    assert judged(applied=printed(answer), baseline=VALID) == Loaded(True)


def test_the_candidate_must_hold_the_compat_keys_too() -> None:
    asked = wish(alias(compat={"supports_tools": True, "no_such_key": 1}))
    table = config()
    table["models"]["providers"]["anvil"]["models"][0]["compat"] = {"supportsTools": True}
    seen = target(asked, {CONFIG: table}, held=KEYED)
    rest = (NO_SERVICE, DOWN)
    good = printed([{**ROW, "compat": {"supportsTools": True}}])
    assert adapter.loaded(seen, Planned(), (VALID, good, *rest)).agrees
    assert "compat.supportsTools is not true" in adapter.loaded(
        seen, Planned(), (VALID, printed([ROW]), *rest)
    ).reason
