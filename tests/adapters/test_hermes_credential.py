"""The gate of the Hermes adapter: what Hermes makes of each way to hold a key."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any

import pytest

from fleetsync.adapter import Credential, Wish
from fleetsync.catalog import Alias, Policy
from fleetsync.documents import Dialect
from fleetsync.documents import parse as parse_document
from fleetsync.facts import (
    Facts,
    FileFact,
    FileKind,
    HostFacts,
    Place,
    PlaceFact,
    PlaceKind,
    Question,
    Verdict,
)
from fleetsync.sealed import Sealed
from fleetsync_hermes.credential import judge
from fleetsync_hermes.entry import called, entries
from fleetsync_hermes.homes import Home
from fleetsync_hermes.sources import Sources, of_entry, places, vendor
from fleetsync_hermes.versions import parse

NAME = "ROUTER_API_KEY"
URL = "https://router.example.net/v1"
DERIVED = "EXAMPLE_API_KEY"
ALIAS = Alias(name="llm.primary", context_window=70000, max_output_tokens=4)
ROOT = Home("default", "~/.hermes")
WORK = Home("work", "/home/u/.hermes/profiles/work")
HOST = HostFacts(PurePosixPath("/home/u"), "u", 1000, "/bin/sh", "Linux", "/usr/bin")

MANAGED, OWN, ROOTS, LATE = "managed", "own", "root", "op"
SESSION, LOGIN, INTERACTIVE = "session", "login", "interactive"
"""Where a variable stands, in the words of the tables below."""

Held = Mapping[tuple[str, str], Verdict]


def env(where: str, name: str, home: Home) -> Place:
    """The place of a variable, by the words above."""
    files = {
        MANAGED: "/etc/hermes/.env", OWN: f"{home.directory}/.env", ROOTS: "~/.hermes/.env",
        LATE: f"{home.directory}/.op.env",
    }
    if where in files:
        return Place(PlaceKind.DOTENV, files[where], name)
    return Place(PlaceKind[where.upper()], "", name)


def pool(home: Home, index: int = 0, field: str = "access_token") -> Place:
    keys = "\x1f".join(("credential_pool", "custom:anvil", str(index), field))
    return Place(PlaceKind.JSON, f"{home.directory}/auth.json", keys)


def mapping(*lines: str) -> str:
    rows = "".join(f"    {line}\n" for line in lines)
    return f"providers:\n  anvil:\n    base_url: {URL}\n{rows}"


def listed(*lines: str) -> str:
    rows = "".join(f"  {line}\n" for line in lines)
    return f"custom_providers:\n- name: anvil\n  base_url: {URL}\n{rows}"


def sources(
    text: str,
    held: Held | None = None,
    stored: Mapping[Place, Verdict] | None = None,
    *,
    home: Home = ROOT,
    scope: str = "persistent",
) -> Sources:
    policy = Policy.model_validate({"credential_scope": scope})
    wish = Wish("hermes", "anvil", URL, NAME, (ALIAS,), frozenset(), policy)
    found = parse_document(text.encode(), Dialect.YAML)
    (entry,) = called(entries(found), "anvil")
    content = Sealed(text.encode())
    config = FileFact(f"{home.directory}/config.yaml", FileKind.FILE, content=content)
    made = of_entry(wish, Facts(HOST), home, config, found, entry)
    answers: dict[Question, PlaceFact] = {
        place: PlaceFact(Verdict.ABSENT) for place in places(made)
    }
    for (where, name), verdict in (held or {}).items():
        answers[env(where, name, home)] = PlaceFact(verdict)
    answers |= {place: PlaceFact(verdict) for place, verdict in (stored or {}).items()}
    return replace(made, facts=Facts(HOST, answers))


def gate(text: str, version: str = "0.19.0", **more: Any) -> Credential:
    parsed = parse(version)
    assert parsed is not None
    return judge(sources(text, **more), parsed)


GOOD, EMPTY = Verdict.RESOLVES, Verdict.EMPTY
BY_NAME = mapping(f"key_env: {NAME}")
BY_REFERENCE = mapping(f"api_key: ${{{NAME}}}")
LITERAL = mapping("api_key: a-real-looking-key")
NOTHING = mapping()

OPEN = {
    "key_env in the profile's .env": (BY_NAME, {"held": {(OWN, NAME): GOOD}}),
    "key_env in the session": (BY_NAME, {"held": {(SESSION, NAME): GOOD}}),
    "key_env in the login shell": (BY_NAME, {"held": {(LOGIN, NAME): GOOD}}),
    "key_env in an interactive shell, accepted": (
        BY_NAME, {"held": {(INTERACTIVE, NAME): GOOD}, "scope": "interactive"},
    ),
    "key_env in an administrator's .env": (
        BY_NAME, {"held": {(MANAGED, NAME): GOOD, (OWN, NAME): EMPTY}},
    ),
    "key_env in .op.env alone": (BY_NAME, {"held": {(LATE, NAME): GOOD}}),
    "another variable's name": (mapping("key_env: OTHER"), {"held": {(OWN, "OTHER"): GOOD}}),
    "a key in the file": (LITERAL, {}),
    "a reference in the file": (BY_REFERENCE, {"held": {(OWN, NAME): GOOD}}),
    "two references in the file": (
        mapping("api_key: ${A}-${B}"), {"held": {(OWN, "A"): GOOD, (LOGIN, "B"): GOOD}},
    ),
    "the pool of the profile": (BY_NAME, {"stored": {pool(ROOT): GOOD}}),
    "the second entry of the pool": (BY_NAME, {"stored": {pool(ROOT, 1): GOOD}}),
    "the pool of the root, read by a profile": (
        BY_NAME, {"stored": {pool(ROOT): GOOD}, "home": WORK},
    ),
    "a pool's borrowed entry beside key_env": (
        BY_NAME, {"stored": {pool(ROOT): EMPTY}, "held": {(OWN, NAME): GOOD}},
    ),
    "a variable named after the host": (NOTHING, {"held": {(LOGIN, DERIVED): GOOD}}),
    "key_env of a list's entry": (listed(f"key_env: {NAME}"), {"held": {(OWN, NAME): GOOD}}),
    "api_key_env of a list's entry": (
        listed(f"api_key_env: {NAME}"), {"held": {(OWN, NAME): GOOD}},
    ),
    "a process key for a profile": (
        BY_NAME, {"held": {(LOGIN, NAME): GOOD}, "home": WORK},
    ),
    "the file's key where key_env has none and an empty list takes the pool": (
        LITERAL + f"    key_env: {NAME}\ncustom_providers: []\n", {},
    ),
}

CLOSED = {
    "key_env with no value": (BY_NAME, {}, "key_env names ROUTER_API_KEY, which has no value"),
    "no key at all": (NOTHING, {}, "providers.anvil names no key"),
    "a value that the file does not name": (
        NOTHING, {"held": {(OWN, NAME): GOOD}}, "providers.anvil names no key",
    ),
    "an empty assignment hides the environment": (
        BY_NAME, {"held": {(OWN, NAME): EMPTY, (LOGIN, NAME): GOOD}}, "no value for this profile",
    ),
    "a placeholder in .env": (
        BY_NAME, {"held": {(OWN, NAME): Verdict.PLACEHOLDER}}, "no value for this profile",
    ),
    "an unreadable .env": (
        BY_NAME, {"held": {(OWN, NAME): Verdict.UNREADABLE, (LOGIN, NAME): GOOD}}, "no value",
    ),
    "interactive shells only": (
        BY_NAME, {"held": {(INTERACTIVE, NAME): GOOD}}, "no value for this profile",
    ),
    "the root's .env, not read by a profile": (
        BY_NAME, {"held": {(ROOTS, NAME): GOOD}, "home": WORK},
        "a profile does not read the default profile's .env",
    ),
    "an unset reference is sent": (BY_REFERENCE, {}, "Hermes sends the name itself"),
    "one of two references unset": (
        mapping("api_key: ${KEY_A}-${KEY_B}"), {"held": {(OWN, "KEY_A"): GOOD}},
        "names KEY_B, which",
    ),
    "a reference without braces": (mapping(f"api_key: ${NAME}"), {}, "reads no $NAME there"),
    "a placeholder in the file": (mapping("api_key: changeme"), {}, "it is a placeholder"),
    "the file's bad key hides key_env": (
        mapping("api_key: your-key", f"key_env: {NAME}"), {"held": {(OWN, NAME): GOOD}},
        "it is a placeholder",
    ),
    "keyEnv is not read": (
        mapping(f"keyEnv: {NAME}"), {"held": {(OWN, NAME): GOOD}}, "keyEnv is not read here",
    ),
    "api_key_env is not read in a mapping": (
        mapping(f"api_key_env: {NAME}"), {"held": {(OWN, NAME): GOOD}}, "api_key_env is not read",
    ),
    "an unreadable pool": (
        BY_NAME, {"stored": {pool(ROOT): Verdict.UNREADABLE}, "held": {(OWN, NAME): GOOD}},
        "it comes before config.yaml",
    ),
    "a pool that cannot be judged": (
        LITERAL, {"stored": {pool(ROOT): Verdict.UNKNOWN}}, "it comes before config.yaml",
    ),
    "a malformed key in the pool": (
        LITERAL, {"stored": {pool(ROOT): Verdict.MALFORMED}}, "is malformed",
    ),
    "another host's variable": (
        NOTHING, {"held": {(LOGIN, "OPENAI_API_KEY"): GOOD}}, "names no key",
    ),
    "what is no variable's name": (
        mapping("key_env: sk-live-0123456789"), {}, "not spelled like a variable",
    ),
}


SOURCES = {
    "a variable in .env": (BY_NAME, {"held": {(OWN, NAME): GOOD}}, env(OWN, NAME, ROOT), False),
    "a variable of the session": (
        BY_NAME, {"held": {(SESSION, NAME): GOOD}}, env(SESSION, NAME, ROOT), True,
    ),
    "a variable of the login shell, by reference": (
        BY_REFERENCE, {"held": {(LOGIN, NAME): GOOD}}, env(LOGIN, NAME, ROOT), True,
    ),
    "a variable of an interactive shell": (
        BY_NAME, {"held": {(INTERACTIVE, NAME): GOOD}, "scope": "interactive"},
        env(INTERACTIVE, NAME, ROOT), True,
    ),
    "an administrator's .env": (
        BY_NAME, {"held": {(MANAGED, NAME): GOOD}}, env(MANAGED, NAME, ROOT), False,
    ),
    "an entry of the pool": (BY_NAME, {"stored": {pool(ROOT, 1): GOOD}}, pool(ROOT, 1), False),
    "an entry of the root's pool": (
        BY_NAME, {"stored": {pool(ROOT): GOOD}, "home": WORK}, pool(ROOT), False,
    ),
}


@pytest.mark.parametrize(("text", "more", "place", "given"), SOURCES.values(), ids=SOURCES)
def test_the_host_can_take_the_key_from_where_hermes_does(
    text: str, more: dict[str, Any], place: Place, given: bool
) -> None:
    credential = gate(text, **more)
    assert credential.source == place
    assert credential.variables == (((NAME, place),) if given else ())


def test_a_variable_named_after_the_host_is_given_under_that_name() -> None:
    place = env(LOGIN, DERIVED, ROOT)
    credential = gate(NOTHING, held={(LOGIN, DERIVED): GOOD})
    assert (credential.source, credential.variables) == (place, ((DERIVED, place),))


@pytest.mark.parametrize("text", ["${A}-${B}", "x${A}", "Bearer ${A}"])
def test_a_composed_key_has_no_source_and_its_variables_are_given_all_the_same(text: str) -> None:
    held = {(LOGIN, "A"): GOOD, (LOGIN, "B"): GOOD}
    credential = gate(mapping(f"api_key: '{text}'"), held=held)
    assert credential.opens
    assert credential.source is None
    names = [name for name, _ in credential.variables]
    assert names == [name for name in "AB" if f"{{{name}}}" in text]


@pytest.mark.parametrize("spelled", ["key-{}", "'key-{}'", '"key-{}"', "'key {}'"])
@pytest.mark.parametrize("before", ["", "# gr\u00fc\u00dfe \U0001f980\n", "\ufeff"])
@pytest.mark.parametrize("form", [mapping, listed])
def test_the_bytes_of_a_literal_key_are_named(form: Any, before: str, spelled: str) -> None:
    text = before + form(f"api_key: {spelled.format('4c0ffee')}  # mine")
    place = gate(text).source
    assert isinstance(place, Place)
    assert place.kind is PlaceKind.SPAN
    assert place.where == "~/.hermes/config.yaml"
    offset, length, sha256 = place.name.split(",")
    data = text.encode()
    cut = data[int(offset) : int(offset) + int(length)]
    assert cut.decode() == spelled.format("4c0ffee").strip("'\"")
    assert sha256 == Sealed(data).sha256


@pytest.mark.parametrize(
    "spelled", [r'"key-\u0034c"', "'it''s'", "&a key-4c0ffee", "!!str key-4c0ffee", "' key '",
                "0123456", "|-\n      key-4c0ffee", "key\n      folded"],
)
def test_a_literal_key_that_is_not_written_as_it_is_read_has_no_source(spelled: str) -> None:
    credential = gate(mapping(f"api_key: {spelled}"))
    assert credential.opens
    assert credential.source is None


def test_a_literal_key_bears_its_fingerprint_and_tells_who_else_reads_it() -> None:
    made = sources(LITERAL)
    assert made.literal is not None
    assert made.literal in places(made)
    fact = PlaceFact(Verdict.RESOLVES, "f" * 12, "readable by others (644)")
    version = parse("0.19.0")
    assert version is not None
    answers = {**made.facts.answers, made.literal: fact}
    credential = judge(replace(made, facts=Facts(HOST, answers)), version)
    assert credential.trace[-1].fact.fingerprint == "f" * 12
    assert "providers.anvil api_key is readable by others" in credential.warnings[0]


def test_a_pool_that_a_profile_inherits_is_said_to_be_the_roots() -> None:
    (*_, look) = gate(BY_NAME, stored={pool(ROOT): GOOD}, home=WORK).trace
    assert look.fact.detail == "the default profile's, which this profile inherits"


def test_a_profile_with_a_pool_of_its_own_inherits_none() -> None:
    stored = {pool(WORK, 0, "id"): GOOD, pool(ROOT): GOOD}
    credential = gate(BY_NAME, stored=stored, home=WORK)
    assert "key_env names ROUTER_API_KEY, which has no value" in credential.cause


@pytest.mark.parametrize(("text", "more"), OPEN.values(), ids=OPEN)
def test_the_gate_opens_where_hermes_finds_its_key(text: str, more: dict[str, Any]) -> None:
    credential = gate(text, **more)
    assert credential.opens, credential.cause
    assert any(look.opens for look in credential.trace)


@pytest.mark.parametrize(("text", "more", "cause"), CLOSED.values(), ids=CLOSED)
def test_the_gate_stays_closed_and_says_why(
    text: str, more: dict[str, Any], cause: str
) -> None:
    credential = gate(text, **more)
    assert cause in credential.cause
    assert credential.step
    assert not any(look.opens for look in credential.trace)


def test_the_trace_of_a_profile_is_in_hermes_own_order() -> None:
    told = [look.place for look in gate(BY_NAME, home=WORK).trace]
    assert told[4:] == [
        f"{WORK.directory}/config.yaml providers.anvil key_env",
        f"{NAME} in /etc/hermes/.env",
        f"{NAME} in {WORK.directory}/.env",
        f"{NAME} in the environment of an ssh command",
        f"{NAME} in the login shell's environment",
        f"{NAME} in {WORK.directory}/.op.env",
        f"{DERIVED} in /etc/hermes/.env",
        f"{DERIVED} in {WORK.directory}/.env",
        f"{DERIVED} in the environment of an ssh command",
        f"{DERIVED} in the login shell's environment",
        f"{DERIVED} in {WORK.directory}/.op.env",
    ]
    assert [place.partition(" ")[0] for place in told[:4]] == [
        f"{WORK.directory}/auth.json", f"{WORK.directory}/auth.json",
        "~/.hermes/auth.json", "~/.hermes/auth.json",
    ]


@pytest.mark.parametrize("line", ["key_env: {}", "api_key: ${{{}}}"])
def test_a_key_that_stands_where_a_name_belongs_is_never_told(line: str) -> None:
    key = "deadbeefcafe0123456789"
    credential = gate(mapping(line.format(key)))
    assert credential.cause
    assert key not in repr(credential)


def test_a_variable_of_unusual_spelling_opens_the_gate() -> None:
    assert gate(mapping("key_env: anvil_key"), held={(OWN, "anvil_key"): GOOD}).opens


def test_a_key_that_the_file_does_not_name_is_shown_where_it_lies() -> None:
    credential = gate(NOTHING, held={(OWN, NAME): GOOD})
    assert (f"{NAME} in ~/.hermes/.env", GOOD) in [
        (look.place, look.fact.verdict) for look in credential.trace
    ]


@pytest.mark.parametrize(
    ("field", "key"),
    [("api_key", "sk-0123456789abcdef"), ("api_key", "Abc$Def"), ("api_key", "lowercaseword"),
     ("api_key", "${sk-live}"), ("key_env", "sk-0123456789abcdef"), ("key_env", "${sk-live}")],
)
def test_a_key_in_the_file_is_never_shown(field: str, key: str) -> None:
    text = mapping(f"{field}: '{key}'")
    assert key not in repr(gate(text))
    assert key not in repr(sources(text))


def test_a_command_for_the_key_is_indeterminate_where_a_version_runs_it() -> None:
    text = mapping(f"key_env: {NAME}", "key_cmd: pass router")
    held = {(OWN, NAME): GOOD}
    assert gate(text, held=held).opens
    assert "indeterminate" in gate(text, "0.20.1", held=held).cause


def test_a_loose_secret_file_is_warned_about() -> None:
    made = sources(BY_NAME)
    place = env(OWN, NAME, ROOT)
    loose = PlaceFact(Verdict.RESOLVES, detail="readable by others (644)")
    answers = {**made.facts.answers, place: loose}
    version = parse("0.19.0")
    assert version is not None
    found = judge(replace(made, facts=Facts(HOST, answers)), version)
    assert found.warnings == (f"{NAME} in ~/.hermes/.env is readable by others",)


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://router.example.net/v1", "EXAMPLE_API_KEY"),
        ("https://api.deep-seek.com", "DEEP_SEEK_API_KEY"),
        ("https://api.openai.com/v1", ""),
        ("http://10.0.0.5:8080/v1", ""),
        ("http://[::1]:8080/v1", ""),
        ("http://localhost/v1", ""),
        ("http://anvil/v1", ""),
        ("http://[broken/v1", ""),
        ("", ""),
    ],
)
def test_the_variable_named_after_a_host_is_the_one_hermes_derives(url: str, name: str) -> None:
    assert vendor(url) == name
