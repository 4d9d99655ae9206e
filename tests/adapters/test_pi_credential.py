"""The gate of the Pi adapter: what each version of Pi makes of each way to hold a key."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from fleetsync.adapter import Credential, Wish
from fleetsync.catalog import Alias, Policy
from fleetsync.facts import Answer, Facts, Place, PlaceFact, PlaceKind, Question, Resolve, Verdict
from fleetsync_pi.credential import judge
from fleetsync_pi.keys import Stored, Written
from fleetsync_pi.sources import Sources
from fleetsync_pi.versions import parse

OLD, MIDDLE, NEW = "0.73.1", "0.78.0", "1.6.0"
NAME = "ROUTER_API_KEY"
ALIAS = Alias(name="llm.primary", context_window=8, max_output_tokens=4)
AUTH = Stored("~/.pi/agent", "anvil")
MODELS = "~/.pi/agent/models.json"
SPAN = Place(PlaceKind.SPAN, MODELS, "9,9,0")


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
    span: PlaceFact | None = None,
    place: Place | None = SPAN,
    printed: PlaceFact | None = None,
    prints: Mapping[PlaceKind, str] | None = None,
    headers: frozenset[str] = frozenset(),
) -> Credential:
    policy = Policy.model_validate({"credential_scope": scope})
    wish = Wish("pi", "anvil", "https://r/v1", NAME, (ALIAS,), frozenset(), policy)
    auth = auth or PlaceFact(Verdict.ABSENT)
    prints = prints or {}
    key = None if api_key is None else Written(api_key, place)
    whole = Verdict.ABSENT if auth.verdict is Verdict.ABSENT else Verdict.MALFORMED
    answers: dict[Question, Answer] = {
        AUTH.entry: PlaceFact(entry or whole),
        AUTH.kind: PlaceFact(Verdict.PLACEHOLDER, detail=says),
        AUTH.key: auth,
    }
    shells = {
        PlaceKind.SESSION: session, PlaceKind.LOGIN: login, PlaceKind.INTERACTIVE: interactive,
    }
    for kind, held in shells.items():
        for name in {NAME, *(held or {}), *(key.variables if key else ())}:
            verdict = (held or {}).get(name, Verdict.ABSENT)
            answers[Place(kind, "", name)] = PlaceFact(verdict, prints.get(kind, ""))
    if span is not None:
        answers[SPAN] = span
    facts = Facts(None, answers)
    if printed is not None:
        commands = (Resolve(SPAN), Resolve(AUTH.key))
        facts = Facts(None, {**answers, **dict.fromkeys(commands, printed)})
    parsed = parse(version)
    assert parsed is not None
    return judge(Sources(wish, facts, AUTH, MODELS, key, readable, headers), parsed)


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
    (OLD, "!pass router", {"printed": PlaceFact(Verdict.RESOLVES)}),
    (NEW, "!pass router", {"printed": PlaceFact(Verdict.RESOLVES)}),
    (NEW, None, {"auth": PlaceFact(Verdict.COMMAND), "printed": PlaceFact(Verdict.LOOSE)}),
]

CLOSED = [
    (NEW, f"${NAME}", {}, "has no value where Pi would see it"),
    (NEW, f"${NAME}", {"login": {NAME: Verdict.EMPTY}}, "has no value"),
    (NEW, f"${NAME}", {"login": {NAME: Verdict.EMPTY}, "session": SET}, "has no value"),
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
    (NEW, "a-real-looking-key", {"span": PlaceFact(Verdict.PLACEHOLDER)}, "it is placeholder"),
    (NEW, "key in words", {"span": PlaceFact(Verdict.MALFORMED)}, "it is malformed"),
    (NEW, "!pass router", {}, "indeterminate until it is run"),
    (NEW, "!pass router", {"place": None}, "whose spelling only Pi reads"),
    (NEW, "!pass router", {"printed": PlaceFact(Verdict.EMPTY)}, "gives no key: empty"),
    (NEW, "!pass router", {"printed": PlaceFact(Verdict.UNKNOWN, detail="no answer in 10 s")},
     "gives no key: unknown (no answer in 10 s)"),
    (NEW, None, {}, "neither auth.json nor models.json"),
    (NEW, None, {"login": SET}, "neither auth.json nor models.json"),
    (NEW, "good-literal-key", {"auth": PlaceFact(Verdict.REFERENCE, detail="A_GONE")}, "A_GONE"),
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
    assert "hunter2x" not in repr(replace(shown, variables=()))


@pytest.mark.parametrize("api_key", [None, "a-real-looking-key"])
def test_a_stored_key_that_begins_with_a_dollar_is_not_taken_for_a_variables_name(
    api_key: str | None,
) -> None:
    found = gate(NEW, api_key, auth=PlaceFact(Verdict.REFERENCE, detail="ecret99"))
    assert not found.opens
    assert "ecret99" not in repr((found.trace, found.cause, found.step))


def test_a_loose_secret_file_is_warned_about() -> None:
    loose = PlaceFact(Verdict.RESOLVES, detail="readable by others (0644)")
    assert gate(NEW, None, auth=loose).warnings == (
        "~/.pi/agent/auth.json anvil.key is readable by others",
    )


LOGIN, SESSION = Place(PlaceKind.LOGIN, "", NAME), Place(PlaceKind.SESSION, "", NAME)
FOUND = PlaceFact(Verdict.RESOLVES, "f" * 12)

SOURCES = [
    (NEW, None, {"auth": FOUND}, AUTH.key, ()),
    (NEW, f"${NAME}", {"login": SET, "session": SET}, LOGIN, (LOGIN,)),
    (NEW, f"${{{NAME}}}", {"session": SET}, SESSION, (SESSION,)),
    (OLD, NAME, {"login": SET}, LOGIN, (LOGIN,)),
    (NEW, None, {"auth": PlaceFact(Verdict.REFERENCE, detail=NAME), "login": SET}, LOGIN, (LOGIN,)),
    (NEW, f"pre-${NAME}", {"login": SET}, None, (LOGIN,)),
    (NEW, f"${NAME}", {}, None, ()),
    (NEW, "a-real-looking-key", {"span": FOUND}, SPAN, ()),
    (NEW, "a-real-looking-key", {"span": PlaceFact(Verdict.UNKNOWN)}, None, ()),
    (NEW, "has$$escapes", {"span": FOUND}, None, ()),
    (OLD, "has$$escapes", {"span": FOUND}, SPAN, ()),
    (NEW, "!pass router", {"printed": FOUND}, Resolve(SPAN), ()),
    (NEW, None, {"auth": PlaceFact(Verdict.COMMAND), "printed": FOUND}, Resolve(AUTH.key), ()),
]


@pytest.mark.parametrize(("version", "api_key", "held", "source", "given"), SOURCES)
def test_the_host_is_told_where_it_finds_the_key_itself(
    version: str, api_key: str | None, held: dict[str, object],
    source: Place | Resolve | None, given: tuple[Place, ...],
) -> None:
    credential = gate(version, api_key, **held)  # type: ignore[arg-type]
    assert credential.source == source
    assert credential.variables == tuple((place.name, place) for place in given)


@pytest.mark.parametrize(
    ("api_key", "auth", "asked"),
    [
        ("!pass router", None, Resolve(SPAN)),
        (None, PlaceFact(Verdict.COMMAND), Resolve(AUTH.key)),
        ("a-real-looking-key", PlaceFact(Verdict.COMMAND), Resolve(AUTH.key)),
    ],
)
def test_a_command_is_asked_for_where_one_may_run(
    api_key: str | None, auth: PlaceFact | None, asked: Resolve
) -> None:
    credential = gate(NEW, api_key, auth=auth)
    assert credential.pends
    assert credential.asks == {asked}
    assert not gate(NEW, api_key, auth=auth, printed=FOUND).pends


@pytest.mark.parametrize("version", [OLD, NEW])
def test_what_auth_json_hides_is_said(version: str) -> None:
    trace = gate(version, "a-real-looking-key", auth=FOUND, span=FOUND).trace
    assert [(look.place, look.fact.verdict, look.fact.detail) for look in trace] == [
        ("~/.pi/agent/auth.json anvil.key", Verdict.RESOLVES, ""),
        ("~/.pi/agent/models.json apiKey", Verdict.SHADOWED, "auth.json"),
    ]


def test_what_the_login_shell_overrides_is_shadowed_by_it() -> None:
    trace = gate(NEW, f"${NAME}", session=SET, login={NAME: Verdict.EMPTY}).trace
    assert [(look.fact.verdict, look.fact.detail) for look in trace[2:]] == [
        (Verdict.SHADOWED, "the login shell's, which is empty"), (Verdict.EMPTY, ""),
    ]


def test_two_values_of_one_variable_are_warned_about() -> None:
    prints = {PlaceKind.SESSION: "a" * 12, PlaceKind.LOGIN: "b" * 12}
    (warning,) = gate(NEW, f"${NAME}", session=SET, login=SET, prints=prints).warnings
    assert warning.startswith(f"{NAME} has one value in the login shell and another elsewhere")
    same = dict.fromkeys(prints, "a" * 12)
    assert gate(NEW, f"${NAME}", session=SET, login=SET, prints=same).warnings == ()


def test_a_key_in_a_file_that_others_read_is_warned_about() -> None:
    loose = PlaceFact(Verdict.RESOLVES, "f" * 12, "readable by others (0644)")
    assert gate(NEW, "a-real-looking-key", span=loose).warnings == (
        "~/.pi/agent/models.json apiKey is readable by others",
    )


TEAM = frozenset({"TEAM_ID"})


def test_the_variables_of_headers_are_given_too() -> None:
    held = {NAME: Verdict.RESOLVES, "TEAM_ID": Verdict.RESOLVES}
    credential = gate(NEW, f"${NAME}", login=held, headers=TEAM)
    assert [name for name, _ in credential.variables] == [NAME, "TEAM_ID"]
    assert credential.source == LOGIN
    assert credential.warnings == ()


@pytest.mark.parametrize(("version", "warned"), [(NEW, 1), (OLD, 0)])
def test_a_header_without_its_variable_is_warned_about(version: str, warned: int) -> None:
    credential = gate(version, "a-real-looking-key", span=FOUND, headers=TEAM)
    assert credential.opens
    assert len([w for w in credential.warnings if "a header of provider anvil" in w]) == warned
    odd = gate(version, "a-real-looking-key", span=FOUND, headers=frozenset({"hunter2x"}))
    assert "hunter2x" not in repr(odd)
