"""Keys that only OpenClaw finds: what it is asked, and what its answers mean."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from fleetsync.adapter import Credential
from fleetsync.facts import Ask, AskFact, Facts, FileFact, FileKind, Verdict
from fleetsync.sealed import Sealed
from fleetsync_openclaw import adapter
from tests.adapters.openclaw import (
    CONFIG,
    HOME,
    HOST,
    OLD,
    OPENCLAW,
    answered,
    config,
    wish,
)
from tests.adapters.test_openclaw_credential import PROFILE, secret

DATABASE = f"{HOME}/.openclaw/state/openclaw.sqlite"
THERE = FileFact(DATABASE, FileKind.FILE, DATABASE, size=1_500_000)
PATH = "models.providers.anvil.apiKey"


def facts(api_key: object, *, database: FileFact | None = THERE, **more: Any) -> Facts:
    top = {"auth": PROFILE} if api_key == "anvil:manual" else {}
    files: dict[str, object] = {CONFIG: config(api_key, **top)}
    if database:
        files[DATABASE] = database
    return answered(wish(), files, **more)


def gate(known: Facts) -> Credential:
    (only,) = adapter.targets(wish(), known)
    return only.credential


def asked(known: Facts) -> Ask:
    (only,) = gate(known).asks
    assert isinstance(only, Ask)
    return only


def judged(api_key: object, output: object, status: int | None = 0) -> Credential:
    known = facts(api_key)
    text = output if isinstance(output, str) else json.dumps(output)
    answer = AskFact(status, Sealed(text.encode()))
    return gate(known.with_answers(HOST, {asked(known): answer}))


def report(*findings: dict[str, str], checked: int = 1, complete: bool = True) -> dict[str, Any]:
    """As 2026.9.6 prints it."""
    resolution = {
        "refsChecked": checked, "skippedExecRefs": 0, "resolvabilityComplete": complete,
    }
    return {"version": 1, "status": "findings", "resolution": resolution, "findings": [*findings]}


def unresolved(message: str) -> dict[str, str]:
    return {"code": "REF_UNRESOLVED", "jsonPath": PATH, "message": message, "provider": "anvil"}


STORED = {"code": "PLAINTEXT_FOUND", "jsonPath": "profiles.anvil:manual.key",
          "profileId": "anvil:manual", "provider": "anvil"}
OTHER = {"code": "PLAINTEXT_FOUND", "jsonPath": "gateway.auth.token", "message": "plaintext"}
EXEC, STORE = secret("exec", "k"), secret("store", "ROUTER_API_KEY")
KINDS = [EXEC, STORE, "anvil:manual"]


@pytest.mark.parametrize("key", KINDS, ids=["exec", "store", "profile"])
def test_the_gate_pends_until_openclaw_was_asked(key: object) -> None:
    credential = gate(facts(key))
    assert credential.pends
    assert "indeterminate until OpenClaw is asked" in credential.cause
    assert credential.step == "apply asks it (`openclaw secrets audit`)"
    assert not any(look.opens for look in credential.trace)


@pytest.mark.parametrize(
    ("key", "stored", "extra"), [(EXEC, "", ("--allow-exec",)), (STORE, "yes", ())]
)
def test_the_hosts_own_openclaw_is_asked_beside_its_state(
    key: object, stored: str, extra: tuple[str, ...]
) -> None:
    ask = asked(facts(key))
    assert ask.argv[0:2] == ("/bin/sh", "-c")
    assert ask.argv[3:6] == ("sh", f"{HOME}/.openclaw", stored)
    assert ask.argv[6:] == (
        "/usr/bin/node", "/opt/openclaw/openclaw.mjs", "secrets", "audit", "--json", *extra
    )
    env = dict(ask.env)
    assert (env["HOME"], env["OPENCLAW_CONFIG_PATH"]) == (HOME, CONFIG)


@pytest.mark.parametrize(
    ("key", "output"),
    [
        (EXEC, report(OTHER)),
        (STORE, report(OTHER, complete=False)),
        (STORE, report({"code": "REF_SHADOWED", "jsonPath": PATH})),
        ("anvil:manual", report(OTHER, STORED, checked=0)),
    ],
)
def test_the_gate_opens_where_openclaw_finds_the_key(key: object, output: object) -> None:
    credential = judged(key, output)
    assert credential.opens, credential.cause
    assert not credential.pends
    (opening,) = (look for look in credential.trace if look.opens)
    assert (opening.fact.verdict, opening.fact.detail) == (
        Verdict.RESOLVES, "OpenClaw's own audit"
    )
    assert (credential.source, credential.variables) == (None, ())


LEAK = "sk-live-0123456789"


@pytest.mark.parametrize(
    ("key", "output", "status", "why"),
    [
        (EXEC, report(unresolved('Failed (Exec provider "v" exited with code 3.).')), 2,
         'OpenClaw does not resolve it (Exec provider "v" exited with code 3.)'),
        (EXEC, report(unresolved("Failed (resolved value is not a non-empty string).")), 2,
         "OpenClaw does not resolve it (resolved value is not a non-empty string)"),
        (EXEC, report(unresolved(f"Failed ({LEAK})")), 2, "OpenClaw does not resolve it"),
        (EXEC, report(complete=False), 0, "does not tell whether it resolves"),
        (STORE, report(unresolved('x (Secret store entry "A" was not found.).')), 2,
         '(Secret store entry "A" was not found.)'),
        (STORE, report(checked=0), 0, "does not tell whether it resolves"),
        ("anvil:manual", report(OTHER), 0, "OpenClaw's audit shows no key in it"),
        ("anvil:manual", report({**STORED, "profileId": "other"}), 0, "shows no key in it"),
        (EXEC, "", None, "gave no answer in 60 s"),
        (EXEC, f"{{{LEAK}", 1, "gave no answer (status 1)"),
        (EXEC, {"ok": False}, 1, "gave no answer (status 1)"),
        (EXEC, "[" * 100_000, 0, "gave no answer (status 0)"),
    ],
)
def test_what_cannot_be_told_stays_closed_and_says_why(
    key: object, output: object, status: int | None, why: str
) -> None:
    credential = judged(key, output, status)
    assert why in credential.cause
    assert LEAK not in repr(credential)
    assert not credential.pends
    assert not any(look.opens for look in credential.trace)


@pytest.mark.parametrize(
    ("known", "why"),
    [
        (facts(STORE, database=None), "there is no such database"),
        (facts(STORE, database=replace(THERE, size=2**40)), "more than are copied"),
        (facts(EXEC, installations=()), "no OpenClaw is installed"),
        (facts(STORE, installations=(OLD, OPENCLAW)), "no OpenClaw of this age is asked"),
    ],
    ids=["no database", "a large one", "not installed", "an older version"],
)
def test_what_need_not_be_asked_is_not(known: Facts, why: str) -> None:
    credential = gate(known)
    assert why in credential.cause
    assert not credential.pends


def test_an_older_version_is_asked_for_what_a_command_gives() -> None:
    assert asked(facts(EXEC, installations=(OLD,))).argv[6] == "/usr/bin/node"
