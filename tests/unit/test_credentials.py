"""How the places of a credential are told: by verdicts, the client's own places first."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fleetsync.adapter import Credential, Look, Target
from fleetsync.credentials import elsewhere, hint, places, trace
from fleetsync.facts import Answer, Place, PlaceFact, PlaceKind, Question, Resolve, Verdict
from tests import standin

NAME = standin.NAME
LOGIN = Place(PlaceKind.LOGIN, "", NAME)
INTERACTIVE = Place(PlaceKind.INTERACTIVE, "", NAME)
MANAGER = Place(PlaceKind.USER_MANAGER, "", NAME)
BASHRC = Place(PlaceKind.MENTION, "~/.bashrc", NAME)
ABSENT, FOUND = PlaceFact(Verdict.ABSENT), PlaceFact(Verdict.RESOLVES, "0123456789ab")
CLOSED = Credential((Look(LOGIN.told, ABSENT),), "Pi would find no key", "set it")
TARGET = Target("pi", "pi", standin.wish(), {}, (), CLOSED)


def words(credential: Credential, answers: dict[Question, Answer]) -> dict[str, str]:
    return {row.place: row.verdict for row in trace(credential, NAME, answers)}


def test_the_clients_own_places_come_first_and_none_is_told_twice() -> None:
    rows = trace(CLOSED, NAME, {LOGIN: ABSENT, BASHRC: ABSENT})
    assert [(row.place, row.explains) for row in rows] == [
        (LOGIN.told, False), (BASHRC.told, True),
    ]


@pytest.mark.parametrize("verdict", Verdict)
def test_every_verdict_on_a_place_of_the_client_is_told_in_its_own_word(
    verdict: Verdict,
) -> None:
    rows = trace(Credential((Look("here", PlaceFact(verdict)),), "c"), NAME, {})
    assert [row.verdict for row in rows] == [verdict.value]


@pytest.mark.parametrize(
    ("detail", "told"),
    [("OTHER_KEY", "OTHER_KEY"), (NAME, NAME), ("SecretRef file", "SecretRef file"),
     ("ecret99", ""), ("ABCDEF123", "")],
)
def test_a_reference_is_told_where_it_is_spelled_as_variables_are(detail: str, told: str) -> None:
    look = Look("here", PlaceFact(Verdict.REFERENCE, detail=detail))
    (row,) = trace(Credential((look,), "c"), NAME, {})
    assert row.detail == told


def test_a_command_that_nobody_ran_is_indeterminate() -> None:
    asks = frozenset({Resolve(Place(PlaceKind.JSON, "~/a", "key"))})
    pending = Credential((Look("here", PlaceFact(Verdict.COMMAND)),), "c", asks=asks)
    assert words(pending, {}) == {"here": "indeterminate"}


@pytest.mark.parametrize(("place", "word"), [
    (INTERACTIVE, "interactive shells only"), (MANAGER, "service unit only"),
    (Place(PlaceKind.DOTENV, "~/.env", NAME), "present"),
])
def test_a_key_that_others_see_is_told_by_who_sees_it(place: Place, word: str) -> None:
    assert words(CLOSED, {place: FOUND})[place.told] == word


def test_a_key_that_others_see_too_is_present_where_the_gate_is_open() -> None:
    opened = Credential((Look(LOGIN.told, FOUND, opens=True),))
    assert words(opened, {INTERACTIVE: FOUND})[INTERACTIVE.told] == "present"


def test_a_fingerprint_is_in_no_row() -> None:
    assert "0123456789ab" not in repr(trace(CLOSED, NAME, {INTERACTIVE: FOUND, BASHRC: FOUND}))


def test_an_interactive_shell_is_asked_only_when_wished() -> None:
    assert INTERACTIVE not in places(NAME)
    assert INTERACTIVE in places(NAME, deep=True)


def test_a_key_of_interactive_shells_alone_is_told_with_what_to_do() -> None:
    told = elsewhere("node", TARGET, {INTERACTIVE: FOUND})
    assert told is not None
    assert told.reason == "Pi would find no key; it is set for interactive shells only"
    assert "~/.profile" in told.step
    assert 'credential_scope = "interactive" in [hosts.node.pi.policy]' in told.step


def test_a_key_of_services_alone_is_told_with_what_to_do() -> None:
    told = elsewhere("node", TARGET, {MANAGER: FOUND})
    assert told is not None
    assert told.reason.endswith("it is set for services of the user manager only")


@pytest.mark.parametrize(
    "kind", [PlaceKind.KEYRING, PlaceKind.WINDOWS, PlaceKind.CREDENTIALS]
)
def test_places_of_the_whole_host_are_looked_at_too(kind: PlaceKind) -> None:
    place = Place(kind, "", NAME)
    assert place in places(NAME)
    locked = PlaceFact(Verdict.UNREADABLE, detail="present but locked")
    (row,) = [row for row in trace(CLOSED, NAME, {place: locked}) if row.explains]
    assert (row.place, row.verdict, row.detail) == (
        place.told, "unreadable", "present but locked",
    )


def test_a_variable_that_the_client_would_not_take_explains_nothing() -> None:
    other = replace(TARGET, credential=Credential((Look("auth.json", ABSENT),), "c"))
    assert elsewhere("node", other, {INTERACTIVE: FOUND}) is None


@pytest.mark.parametrize("fact", [ABSENT, PlaceFact(Verdict.UNKNOWN), PlaceFact(Verdict.EMPTY)])
def test_what_others_do_not_see_either_explains_nothing(fact: PlaceFact) -> None:
    assert elsewhere("node", TARGET, {INTERACTIVE: fact, MANAGER: fact}) is None


def test_a_start_up_file_that_names_the_key_leads_to_a_deeper_look() -> None:
    named = PlaceFact(Verdict.INDETERMINATE, detail="line 3 names it")
    assert hint(TARGET, {BASHRC: named}).startswith(
        f"{NAME} is mentioned in ~/.bashrc: `fleetsync doctor --deep`"
    )
    assert hint(TARGET, {BASHRC: named, INTERACTIVE: ABSENT}) == ""
    assert hint(TARGET, {BASHRC: ABSENT}) == ""
