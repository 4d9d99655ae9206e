"""Facts: sealed bytes do not travel, and questions grow."""

from __future__ import annotations

import json
import pickle
from pathlib import PurePosixPath

import pytest

from fleetsync.facts import (
    Facts,
    FileFact,
    FileKind,
    HostFacts,
    Locate,
    Place,
    PlaceFact,
    PlaceKind,
    Read,
    Variable,
    VariableFact,
    Verdict,
)
from fleetsync.sealed import Sealed

SECRET = b"canary-secret"
HOST = HostFacts(PurePosixPath("/home/u"), "u", 1000, "/bin/sh", "Linux", "/bin")


def test_sealed_bytes_show_in_no_text() -> None:
    sealed = Sealed(SECRET)
    assert "canary" not in f"{sealed!r}{sealed}"
    assert len(sealed) == len(SECRET)
    assert sealed.reveal() == SECRET


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_sealed_bytes_are_in_no_pickle(protocol: int) -> None:
    with pytest.raises(TypeError, match="do not travel"):
        pickle.dumps({"file": [Sealed(SECRET)]}, protocol)


def test_sealed_bytes_are_in_no_json() -> None:
    with pytest.raises(TypeError):
        json.dumps(Sealed(SECRET))


def test_sealed_bytes_are_equal_by_content() -> None:
    assert Sealed(SECRET) == Sealed(SECRET)
    assert hash(Sealed(SECRET)) == hash(Sealed(SECRET))
    assert Sealed(SECRET) != Sealed(b"other")


def test_only_unanswered_questions_are_missing() -> None:
    first, second = Read("~/a"), Read("~/b")
    facts = Facts().with_answers(HOST, {first: ()})
    assert facts.missing(frozenset({first, second})) == frozenset({second})


def test_what_nobody_asked_is_absent_or_unknown() -> None:
    facts = Facts()
    assert (facts.files(Read("~/*")), facts.installations(Locate(("pi",)))) == ((), ())
    assert facts.file(Read("~/a")) == FileFact("~/a", FileKind.ABSENT)
    assert facts.place(Place(PlaceKind.LOGIN, "", "KEY")) == PlaceFact(Verdict.UNKNOWN)
    assert facts.variable(Variable("HOME")) is None


def test_an_answer_is_had_by_its_question() -> None:
    file, place = FileFact("/a", FileKind.FILE), PlaceFact(Verdict.EMPTY)
    one, other = Read("/a"), Place(PlaceKind.LOGIN, "", "KEY")
    facts = Facts(HOST, {one: (file,), other: place})
    assert (facts.file(one), facts.files(one), facts.place(other)) == (file, (file,), place)


def test_a_login_shells_value_comes_before_the_sessions() -> None:
    assert VariableFact("session", "login").value == "login"
    assert VariableFact("session", None).value == "session"
    assert VariableFact(None, None).value is None


@pytest.mark.parametrize("kind", PlaceKind)
def test_every_kind_of_place_has_words(kind: PlaceKind) -> None:
    assert Place(kind, "~/file", "NAME").told.strip()
    assert "\x1f" not in Place(PlaceKind.JSON, "~/file", "a\x1fb").told
