"""What can be a key, and how it is spelled where it goes."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from fleetsync.adapter import Keep
from fleetsync.facts import Place, PlaceFact, PlaceKind, Verdict
from fleetsync.new_key import NewKey, fault
from fleetsync.probe import Salts
from fleetsync.sealed import Sealed

from .host_read import Host

GOOD = ("k", "sk-0123456789abcdef", "a.b_c-d/e+f=", "#;&|<(){}[]*?~`^%@!$", "nothing", "xy" * 4096)
BAD = {
    "": "it is empty",
    "a b": "it holds a space",
    " a": "it holds a space",
    "a\tb": "it holds a control or a non-ASCII character",
    "ä": "it holds a control or a non-ASCII character",
    "a\nb": "it holds a line end",
    "$KEY": "it is a reference or a command, and no key: it begins with $ or !",
    "${KEY}": "it is a reference or a command, and no key: it begins with $ or !",
    "!cmd": "it is a reference or a command, and no key: it begins with $ or !",
    "'a'": "it holds a quote",
    'a"b': "it holds a quote",
    "<key>": "it is a placeholder",
    "{{ROUTER}}": "it is a placeholder",
    "xxx": "it is a placeholder",
    "XX": "it is a placeholder",
    "CHANGE_ME": "it is a placeholder",
    "replace-this": "it is a placeholder",
    "YOUR_API_KEY_HERE": "it is a placeholder",
    "your-secret-token": "it is a placeholder",
    "none": "it is a placeholder",
    "sk-xxxx": "it is a placeholder",
    "***hidden": "it is a placeholder",
    "...": "it is a placeholder",
    "k" * 8193: "it is longer than 8 KiB",
}


@pytest.mark.parametrize("text", GOOD)
def test_this_can_be_a_key(text: str) -> None:
    assert fault(text) == ""


@pytest.mark.parametrize("text", BAD)
def test_this_can_be_none(text: str) -> None:
    assert fault(text) == BAD[text]


def test_a_host_that_finds_it_in_a_file_says_the_same(tmp_path: Path) -> None:
    host = Host(tmp_path)
    # In a file of its own `!cmd` is no command; a host judges longer texts as well.
    bad = [text for text in BAD if not text.startswith("!") and len(text) <= 8192]
    places = {
        text: Place(PlaceKind.FILE, str(host.write(str(number), text)), "")
        for number, text in enumerate((*GOOD, *bad))
    }
    _, answers = host.ask(*places.values())
    found = {text for text, place in places.items() if _resolves(answers[place])}
    assert found == set(GOOD)


def _resolves(fact: object) -> bool:
    return isinstance(fact, PlaceFact) and fact.verdict is Verdict.RESOLVES


def test_a_fingerprint_is_the_hosts(tmp_path: Path) -> None:
    host = Host(tmp_path)
    fact = host.place(PlaceKind.FILE, str(host.write("key", "sk-one-1\n")))
    assert fact.fingerprint == host.salts.fingerprint(b"sk-one-1")
    assert fact.fingerprint != Salts.fresh().fingerprint(b"sk-one-1")


@pytest.mark.parametrize(
    ("text", "kind", "why"),
    [
        ("a$b", PlaceKind.JSON, "it holds a $"),
        ("a$b", PlaceKind.DOTENV, "it holds a $"),
        ("a\\b", PlaceKind.DOTENV, "it holds a backslash"),
        ("a$b", PlaceKind.FILE, ""),
        ("a\\b", PlaceKind.JSON, ""),
        ("oauth", PlaceKind.JSON, "it is a word for a kind of entry"),
        ("oauth", PlaceKind.FILE, ""),
    ],
)
def test_what_a_place_would_read_differently_cannot_stand_there(
    text: str, kind: PlaceKind, why: str
) -> None:
    assert fault(text, kind).startswith(why)
    assert bool(fault(text, kind)) == bool(why)


@pytest.mark.parametrize(
    "keep",
    [
        Keep(),
        Keep(Place(PlaceKind.LOGIN, "", "KEY")),
        Keep(Place(PlaceKind.JSON, "/f", "k"), before="{"),
        Keep(Place(PlaceKind.JSON, "/f", "k"), before='{"a":\n', after="}"),
        Keep(Place(PlaceKind.JSON, "/f", "k"), before='{"ä":', after="}"),
    ],
)
def test_a_place_that_takes_no_key_is_a_fault_of_its_adapter(keep: Keep) -> None:
    with pytest.raises(ValueError, match=r"key|Expecting"):
        NewKey(Sealed(b"k"), keep)


@pytest.mark.parametrize("exists", [True, False])
@pytest.mark.parametrize("kind", [PlaceKind.JSON, PlaceKind.DOTENV, PlaceKind.FILE])
def test_no_program_is_needed_to_spell_a_key(kind: PlaceKind, exists: bool) -> None:
    text = "a.b#c&d;e`f(g)!*?~"
    key = NewKey(Sealed(text.encode()), Keep(Place(kind, "/f", "k")))
    line = key.call(exists=exists).render()
    assert "$(" not in line
    said = subprocess.run(
        ["/bin/sh", "-c", f"{line.split()[0]}() {{ printf '%s\\n' \"$@\"; }}\n{line}"],
        stdout=subprocess.PIPE, check=True, text=True,
    ).stdout
    assert text in said


def test_a_key_is_in_no_repr() -> None:
    key = NewKey(Sealed(b"sk-canary-1"), Keep(Place(PlaceKind.FILE, "/f", "")))
    assert "canary" not in repr(key)


def test_the_keys_on_the_way_are_json() -> None:
    keep = Keep(Place(PlaceKind.JSON, "/f", 'a"b\x1fk'))
    call = NewKey(Sealed(b"s"), keep).call(exists=False)
    assert json.loads("\n".join(call.arguments)) == {'a"b': {"k": "s"}}
