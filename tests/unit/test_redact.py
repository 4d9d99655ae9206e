"""The one exit for text: tokens and terminal controls do not pass."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetsync.documents import Span
from fleetsync.documents.shapes import anywhere
from fleetsync.redact import MASK, mask, named, printable, words

_KEYS = frozenset({
    "canary-of-this-host-4c0ffee", "b4b1f0de-0000-4000-8000-000000000000", "0123456789abcdef",
    "plain", "AbC-dEf_123.x+/=",
})
SECRETS = [
    "Authorization: Bearer abc.def-ghi",
    "https://user:hunter2hunter2@router/v1",
    "https://router/v1?api_key=hunter2hunter2",
    "sk-0123456789abcdef",
    "ghp_0123456789abcdefABCDEF",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln",
    "ROUTER_API_KEY=hunter2",
    '"apiKey": "hunter2hunter2"',
    "password: hunter2",
    "0123456789abcdef0123456789abcdef",
]


@pytest.mark.parametrize("text", SECRETS)
def test_token_shapes_lose_their_secret(text: str) -> None:
    shown = words(f"the host said: {text}")
    for secret in ("hunter2", "0123456789abcdef", "abc.def-ghi", "eyJhbGci"):
        assert secret not in shown
    assert MASK in shown


def test_ordinary_words_stay() -> None:
    text = "line 3, column 5: expected ',' or '}' in /home/u/.pi/agent/models.json (0.73.1)"
    assert words(text) == text


def test_a_host_keys_fingerprint_stays_whatever_its_letters() -> None:
    text = "the host has ssh-ed25519 SHA256:9+eDe2AfuvaBED5O9z6IBkKtUgQW77Fdiub1NB6DQLE"
    assert words(text) == text


def test_what_is_longer_than_a_fingerprint_is_masked_behind_its_name() -> None:
    assert MASK in words("SHA256:9+eDe2AfuvaBED5O9z6IBkKtUgQW77Fdiub1NB6DQLEmore")


def test_free_text_comes_on_one_line_and_bounded() -> None:
    assert words("a\n b\t c") == "a b c"
    assert len(words("word " * 1000)) == 400


@given(st.text())
def test_no_control_character_passes(text: str) -> None:
    shown = printable(text)
    assert not any((ord(c) < 32 and c not in "\n\t") or 127 <= ord(c) < 160 for c in shown)


@pytest.mark.parametrize("name", [
    "glm53-flash-393k-c1", "qwen2.5-coder-32b-instruct-q4_k_m-20260101", "vision.ocr",
    "meta-llama/Llama-3.3-70B-Instruct-GPTQ-Int4", "hf-mixtral-8x7b", "a fallback",
])
def test_a_models_name_is_shown_whole_whatever_it_is_made_of(name: str) -> None:
    assert named(f"answered as {name}", _KEYS.__contains__) == f"answered as {name}"


@pytest.mark.parametrize("key", [
    "sk-abcdef0123456789", "hf_AbCdEfGhIjKlMnOp", "AIzaSyA1234567890",
    "github_pat_11ABCDEF0123", "eyJhbGciOiJIUzI1NiJ9.e30.abc",
])
def test_a_token_in_a_names_place_is_masked(key: str) -> None:
    assert named(f"answered as {key}\x1b[2J", _KEYS.__contains__) == f"answered as {MASK}\\x1b[2J"


@pytest.mark.parametrize("text", [
    "{}", "answered as {}, which is no alias", "`{}`", "key={}", "https://u:{}@router", "x {}: y",
    "{} sk-abcdef0123456789",
])
@pytest.mark.parametrize("key", sorted(_KEYS))
def test_the_hosts_own_key_is_masked_whatever_its_shape(text: str, key: str) -> None:
    shown = named(text.format(key), _KEYS.__contains__)
    assert (key in shown, MASK in shown) == (False, True)


def test_a_name_has_an_end() -> None:
    assert len(named("model " * 1000, _KEYS.__contains__)) == 400


@pytest.mark.parametrize("piece", [
    "token-", "a-", "?token-", "&a.", "key", "sk-", "eyJ", "bearer ", "://", "a1", "=", "[?&]",
])
def test_no_text_takes_long_however_it_is_made(piece: str) -> None:
    # Twenty times what took half a minute when the time grew with the square of the length.
    text = piece * (200_000 // len(piece))
    assert len(words(text)) <= 400
    assert len(named(text, _KEYS.__contains__)) <= 400
    assert all(0 <= start < end <= len(text) for start, end in anywhere(text))


def test_a_masked_value_does_not_tell_its_length() -> None:
    assert mask("key: short", (Span(5, 10),)) == mask("key: a-much-longer-value", (Span(5, 24),))


def test_a_mask_over_several_lines_keeps_them() -> None:
    text = "a: |\n  one\n\n  two\nb: 1"
    assert mask(text, (Span(5, 17),)) == f"a: |\n{MASK}\n\n{MASK}\nb: 1"
