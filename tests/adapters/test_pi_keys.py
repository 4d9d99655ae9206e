"""Where in models.json an apiKey stands, so that the host finds its bytes by itself."""

from __future__ import annotations

import hashlib

import pytest

from fleetsync.facts import FileFact, FileKind, Place, PlaceKind
from fleetsync.sealed import Sealed
from fleetsync_pi.files import MODELS, document
from fleetsync_pi.keys import Written, headers, written

PATH = "/home/u/.pi/agent/models.json"
KEYS = "providers\x1fanvil\x1fapiKey"


def found(text: str) -> tuple[Written | None, bytes]:
    data = text.encode()
    file = FileFact(PATH, FileKind.FILE, content=Sealed(data), sha256="of-the-host")
    return written(file, document(file, MODELS), "anvil"), data


def spelled(literal: str, before: str = "", after: str = "") -> str:
    return f'{before}{{"providers": {{"anvil": {{"apiKey": {literal}{after}}}}}}}'


@pytest.mark.parametrize("before", ["", "// a comment\n", "\ufeff", "// Gerät\r\n", "\ufeff// é\n"])
@pytest.mark.parametrize("key", ["sk-0123", "$NAME", "!pass show router", "schlüssel", ""])
def test_a_plain_string_is_told_by_its_bytes(before: str, key: str) -> None:
    one, data = found(spelled(f'"{key}"', before))
    assert one is not None
    assert one.text == key
    assert one.place is not None
    assert (one.place.kind, one.place.where) == (PlaceKind.SPAN, PATH)
    offset, length, digest = one.place.name.split(",")
    assert data[int(offset) : int(offset) + int(length)] == key.encode()
    assert digest == hashlib.sha256(data).hexdigest()


def test_a_string_with_escapes_is_told_by_its_keys_where_the_file_is_strict() -> None:
    one, _ = found(spelled(r'"!op read \"op://x\""'))
    assert one == Written('!op read "op://x"', Place(PlaceKind.JSON, PATH, KEYS))


@pytest.mark.parametrize(("before", "after"), [("// c\n", ""), ("", ","), ("\ufeff", "")])
def test_a_string_with_escapes_in_any_other_file_is_known_to_a_parser_alone(
    before: str, after: str
) -> None:
    one, _ = found(spelled(r'"!op read \"op://x\""', before, after))
    assert one == Written('!op read "op://x"', None)


@pytest.mark.parametrize("literal", ["null", "7", '["a"]', '{"a": "b"}'])
def test_what_is_no_string_is_no_key(literal: str) -> None:
    assert found(spelled(literal))[0] is None


def test_a_key_shows_in_no_repr() -> None:
    one, _ = found(spelled('"sk-hunter2"'))
    assert "hunter2" not in repr(one)


def test_only_what_may_be_a_key_or_a_command_is_judged_on_the_host() -> None:
    assert Written("sk-0123").may_be_key
    assert Written("!pass show router").may_be_key
    assert Written("lower").may_be_key
    assert not Written("$NAME").may_be_key
    assert not Written("pre-$NAME").may_be_key
    assert not Written("  ").may_be_key


def test_the_variables_of_all_headers_of_the_provider_are_told() -> None:
    text = """{"providers": {
      "other": {"headers": {"a": "$OTHER"}},
      "anvil": {"headers": {"a": "$ONE", "b": "x ${TWO}", "c": "plain", "d": 7, "e": "$$NO"},
                "models": [{"id": "m", "headers": {"f": "$THREE"}}, 7, {"headers": []}]}}}"""
    data = text.encode()
    file = FileFact(PATH, FileKind.FILE, content=Sealed(data))
    assert headers(document(file, MODELS), "anvil") == {"ONE", "TWO", "THREE"}
