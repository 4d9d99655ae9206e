"""The gate of the Pi adapter: what each version of Pi makes of each way to hold a key."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from fleetsync.adapter import Credential, Wish
from fleetsync.catalog import Alias, Policy
from fleetsync.facts import Facts, Place, PlaceFact, PlaceKind, Question, Verdict
from fleetsync_pi.credential import Sources, Stored, judge, variables
from fleetsync_pi.versions import parse

OLD, MIDDLE, NEW = "0.73.1", "0.78.0", "1.6.0"
NAME = "ROUTER_API_KEY"
ALIAS = Alias(name="llm.primary", context_window=8, max_output_tokens=4)
AUTH = Stored("~/.pi/agent", "anvil")


def gate(
    version: str,
    api_key: str | None,
    *,
    session: Mapping[str, Verdict] | None = None,
    login: Mapping[str, Verdict] | None = None,
    interactive: Mapping[str, Verdict] | None = None,
    auth: PlaceFact | None = None,
    entry: Verdict | None = None,
    says: str = "api_key",
    scope: str = "persistent",
    readable: bool = True,
) -> Credential:
    policy = Policy.model_validate({"credential_scope": scope})
    wish = Wish("pi", "anvil", "https://r/v1", NAME, (ALIAS,), frozenset(), policy)
    auth = auth or PlaceFact(Verdict.ABSENT)
    whole = Verdict.ABSENT if auth.verdict is Verdict.ABSENT else Verdict.MALFORMED
    answers: dict[Question, PlaceFact] = {
        AUTH.entry: PlaceFact(entry or whole),
        AUTH.kind: PlaceFact(Verdict.PLACEHOLDER, detail=says),
        AUTH.key: auth,
    }
    shells = {
        PlaceKind.SESSION: session, PlaceKind.LOGIN: login, PlaceKind.INTERACTIVE: interactive,
    }
    for kind, held in shells.items():
        for name in {NAME, *(held or {}), *variables(api_key)}:
            verdict = (held or {}).get(name, Verdict.ABSENT)
            answers[Place(kind, "", name)] = PlaceFact(verdict)
    parsed = parse(version)
    assert parsed is not None
    models = "~/.pi/agent/models.json"
    sources = Sources(wish, Facts(None, answers), AUTH, models, api_key, readable)
    return judge(sources, parsed)


SET = {NAME: Verdict.RESOLVES}

OPEN = [
    (NEW, f"${NAME}", {"session": SET}),
    (NEW, f"${{{NAME}}}", {"login": SET}),
    (NEW, f"${NAME}", {"interactive": SET, "scope": "interactive"}),
    (NEW, "a-real-looking-key", {}),
    (NEW, "pre-$A-$B", {"login": {"A": Verdict.RESOLVES, "B": Verdict.RESOLVES}}),
    (NEW, "has$$escaped$!signs", {}),
    (NEW, None, {"auth": PlaceFact(Verdict.RESOLVES)}),
    (NEW, f"${NAME}", {"auth": PlaceFact(Verdict.RESOLVES)}),
    (NEW, None, {"auth": PlaceFact(Verdict.REFERENCE, detail=NAME), "login": SET}),
    (MIDDLE, NAME, {"login": SET}),
    (OLD, NAME, {"login": SET}),
    (OLD, "a-real-looking-key", {}),
    (OLD, "abc", {"auth": PlaceFact(Verdict.RESOLVES)}),
    (OLD, "abc", {"auth": PlaceFact(Verdict.RESOLVES, detail="holds a $")}),
]

CLOSED = [
    (NEW, f"${NAME}", {}, "has no value where Pi would see it"),
    (NEW, f"${NAME}", {"login": {NAME: Verdict.EMPTY}}, "has no value"),
    (NEW, f"${NAME}", {"interactive": SET}, "has no value"),
    (NEW, f"${NAME}", {"login": {NAME: Verdict.UNKNOWN}}, "cannot be told"),
    (NEW, "pre-$A_A-$B_B", {"login": {"A_A": Verdict.RESOLVES}}, "names B_B"),
    (NEW, "$deadbeef0123", {}, "names a variable, which has no value"),
    (NEW, "pre-$odd", {}, "names a variable, which has no value"),
    (NEW, "good-literal-key", {"readable": False}, "models.json cannot be read"),
    (NEW, NAME, {"login": SET}, "a bare name is sent as the key"),
    (NEW, "SOME_OTHER_KEY", {}, "a bare name is sent as the key"),
    (NEW, "", {}, "it is empty"),
    (NEW, "changeme", {}, "placeholder"),
    (NEW, "<your key>", {}, "placeholder"),
    (NEW, "!pass router", {}, "indeterminate"),
    (NEW, None, {}, "neither auth.json nor models.json"),
    (NEW, None, {"login": SET}, "neither auth.json nor models.json"),
    (NEW, "good-literal-key", {"auth": PlaceFact(Verdict.REFERENCE, detail="GONE")}, "GONE"),
    (NEW, "good-literal-key", {"auth": PlaceFact(Verdict.EMPTY)}, "comes before apiKey"),
    (NEW, "good-literal-key", {"auth": PlaceFact(Verdict.UNREADABLE)}, "comes before apiKey"),
    (NEW, "good-literal-key", {"auth": PlaceFact(Verdict.UNKNOWN)}, "comes before apiKey"),
    (NEW, "good-literal-key", {"auth": PlaceFact(Verdict.COMMAND)}, "indeterminate"),
    (NEW, f"${NAME}", {"entry": Verdict.MALFORMED, "login": SET}, "is no entry"),
    (NEW, f"${NAME}", {"entry": Verdict.RESOLVES, "login": SET}, "is no entry"),
    (NEW, None, {"auth": PlaceFact(Verdict.RESOLVES), "says": "oauth"}, "is no entry"),
    (NEW, None, {"auth": PlaceFact(Verdict.RESOLVES), "says": ""}, "is no entry"),
    (NEW, None, {"auth": PlaceFact(Verdict.RESOLVES, detail="holds a $")}, "inside other text"),
    (OLD, f"${NAME}", {"login": SET}, "it reads no $NAME"),
    (OLD, NAME, {}, "has no value where Pi would see it"),
    (OLD, None, {"login": SET}, "neither auth.json nor models.json"),
    (OLD, "abc", {"auth": PlaceFact(Verdict.REFERENCE, detail=NAME), "login": SET}, "itself"),
]


@pytest.mark.parametrize(("version", "api_key", "held"), OPEN)
def test_the_gate_opens_where_pi_finds_its_key(
    version: str, api_key: str | None, held: dict[str, object]
) -> None:
    credential = gate(version, api_key, **held)  # type: ignore[arg-type]
    assert credential.opens, credential.cause
    assert any(look.opens for look in credential.trace)


@pytest.mark.parametrize(("version", "api_key", "held", "cause"), CLOSED)
def test_the_gate_stays_closed_and_says_why(
    version: str, api_key: str | None, held: dict[str, object], cause: str
) -> None:
    credential = gate(version, api_key, **held)  # type: ignore[arg-type]
    assert cause in credential.cause
    assert credential.step


def test_the_trace_is_in_pis_own_order() -> None:
    places = [look.place for look in gate(NEW, f"${NAME}").trace]
    assert places == [
        "~/.pi/agent/auth.json anvil.key",
        "~/.pi/agent/models.json apiKey",
        f"{NAME} in the environment of an ssh command",
        f"{NAME} in the login shell's environment",
    ]


@pytest.mark.parametrize("version", [OLD, MIDDLE, NEW])
@pytest.mark.parametrize("key", ["sk-0123456789abcdef", "Abc$Def", "lowercaseword", "mixed_Word1"])
def test_a_key_in_the_file_is_never_shown(version: str, key: str) -> None:
    assert key not in repr(gate(version, key))


@pytest.mark.parametrize("version", [OLD, MIDDLE, NEW])
@pytest.mark.parametrize("set_there", [Verdict.RESOLVES, Verdict.ABSENT])
def test_a_piece_of_a_key_is_not_taken_for_a_variables_name(
    version: str, set_there: Verdict
) -> None:
    shown = gate(version, "abc$hunter2x", login={"hunter2x": set_there})
    assert "hunter2x" not in repr(shown)


def test_a_loose_secret_file_is_warned_about() -> None:
    loose = PlaceFact(Verdict.RESOLVES, detail="readable by others (0644)")
    assert gate(NEW, None, auth=loose).warnings == (
        "~/.pi/agent/auth.json anvil.key is readable by others",
    )
