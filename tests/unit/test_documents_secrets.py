"""What is masked of a client's file before it is shown, and what stays readable."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fleetsync.documents import Dialect, Path, Where, parse
from fleetsync.redact import mask
from tests.matrix import FULL
from tests.unit.documents_json import DIALECTS, make

EXAMPLES = settings(max_examples=2000 if FULL else 100)

JSON5, YAML = Dialect.JSON5, Dialect.YAML


def shown(
    text: str, dialect: Dialect, managed: tuple[Path, ...] = (), known: tuple[str, ...] = ()
) -> str:
    """`text` as it may be shown."""
    document = parse(text.encode(), dialect)
    return mask(document.text, document.secret_spans(managed, known))


S = "hunter2"
T = "sk-proj-Ab12Cd34Ef56"

JSON_PLACES = [
    f'{{"apiKey": "{S}"}}',
    f'{{"headers": {{"X-Auth": "{S}"}}}}',
    f'{{"list": ["a", "{S}"]}}',
    f"{{apiKey: '{S}'}}",
    f'{{"apiKey": "it\\"s {S}"}}',
    f'{{"a": 1, "b": "{S}", "c": "x"}}',
    f'{{"a":"{S}","b":"{S}"}}',
    f'{{"text": "one\\\ntwo {S}"}}',
    '{"apiKey": "hunter2"}',
    f'{{"baseUrl": "https://me:{S}@router.example.net/v1"}}',
    f'{{"baseUrl": "https://router.example.net/v1?api_key={S}"}}',
    f'{{"https://me:{S}@router.example.net": 1}}',
    f'{{"api": "{S} with more"}}',
    f'{{// "apiKey": "{S}"\n}}',
    f"{{// 'apiKey': '{S}'\n}}",
    f"{{// apiKey: {S}\n}}",
    f"{{// password {S}\n}}".replace("password ", "password: "),
    f"{{// the password is {S} and more\n}}",
    f"{{// token={S}\n}}",
    f"{{// model: {S}\n}}",
    f"{{// see https://me:{S}@router.example.net\n}}",
    f"{{// Authorization: Bearer {S}\n}}",
    f"{{// try `{S}`\n}}",
    f'{{/* "apiKey":\n "{S}" */}}',
    f"{{/* x\n * password: {S}\n */}}",
    f"{{// password:\n// {S} on its own\n}}",
    f'{{// "{S}\n}}',
]

TOKENS = [
    "sk-proj-Ab12Cd34Ef56", "ghp_16C7e42F292c6912E7710c838347Ae178B4a", "xoxb-12345678-abcdef12",
    "AKIAIOSFODNN7EXAMPLE", "AIzaSyA1234567890abcdefg", "hf_AbCdEf12345678", "glpat-Ab12Cd34Ef56",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln", "d41d8cd98f00b204e9800998ecf8427e",
    "https://user:pw@example.net/v1", "dGhpcyBpcyBhIHNlY3JldCB0b2tlbg1",
]


@pytest.mark.parametrize("text", JSON_PLACES)
def test_a_secret_in_any_place_of_a_json_file_is_masked(text: str) -> None:
    assert S not in shown(text, JSON5)


YAML_PLACES = [
    f"api_key: {S}\n",
    f"api_key: '{S}'\n",
    f'api_key: "a\\tb {S}"\n',
    f"api_key:\n  {S}\n",
    f"api_key: one\n  two {S}\n  three\n",
    f"api_key: |\n  one\n  {S}\n",
    f"api_key: >-\n  {S}\n  two\n",
    f"a: {{x: {S}, y: {S}}}\n",
    f"a: [x, {S}]\n",
    f"- {S}\n- a: {S}\n",
    f"a: &anchor {S}\nb: *anchor\n",
    f"base_url: https://me:{S}@router.example.net/v1\n",
    f"# api_key: {S}\na: 1\n",
    f"a: 1  # password is {S}\n",
    f"a: 1\n# api_key: |\n#   {S} and more\n",
]


@pytest.mark.parametrize("text", YAML_PLACES)
def test_a_secret_in_any_place_of_a_yaml_file_is_masked(text: str) -> None:
    assert S not in shown(text, YAML)


@pytest.mark.parametrize("token", TOKENS)
def test_a_token_is_masked_in_a_managed_value_a_key_and_a_comment(token: str) -> None:
    text = f'{{ // now {token} here\n "managed": "{token}", "{token}": 1 }}'

    assert token not in shown(text, JSON5, managed=(("managed",),))


def test_numbers_booleans_and_nulls_stay() -> None:
    text = '{"contextWindow": 393216, "cost": [0.10, 1e-3], "on": true, "off": null, "x": ""}'

    assert shown(text, JSON5) == text


def test_a_number_that_is_a_password_or_as_long_as_a_token_is_masked() -> None:
    text = '{"pin": 1234, "password": 5678, "chat": 1234567890123456, "maxTokens": 4096}'

    assert shown(text, JSON5) == '{"pin": •••, "password": •••, "chat": •••, "maxTokens": 4096}'


def test_managed_values_and_known_words_stay() -> None:
    text = '{"m": [{"id": "llm.primary", "name": "The first", "note": "x"}], "d": "llm.primary"}'
    managed: tuple[Path, ...] = (("m", Where("id", "llm.primary"), "name"),)

    masked = shown(text, JSON5, managed, known=("llm.primary",))

    assert masked == text.replace('"x"', '"•••"')


@pytest.mark.parametrize("text", [
    '{"models": [{"id": "old", "headers": {"X": "planted"}, "list": ["planted"]}]}',
    '{"models": {"id": "planted"}}',
])
def test_what_stands_below_a_managed_mapping_is_masked(text: str) -> None:
    assert "planted" not in shown(text, JSON5, managed=(("models",),))


def test_a_managed_key_stays_whatever_it_looks_like() -> None:
    text = '{"compat": {"supportsUsageInStreaming9": true, "another0Key1With2Digits3x": true}}'
    masked = shown(text, JSON5, managed=(("compat", "supportsUsageInStreaming9"),))
    assert "supportsUsageInStreaming9" in masked
    assert "another0Key1With2Digits3x" not in masked


def test_the_items_of_a_managed_list_stay() -> None:
    masked = shown('{"input": ["word"], "more": ["planted"]}', JSON5, managed=(("input",),))
    assert masked == '{"input": ["word"], "more": ["•••"]}'


def test_words_of_the_clients_vocabulary_stay() -> None:
    text = '{"api": "openai-completions", "input": ["text", "image"], "type": "object"}'

    assert shown(text, JSON5) == text


def test_keys_stay() -> None:
    text = '{"providers": {"my-anvil": {"modelOverrides": {"qwen2.5-coder-32b-instruct": {}}}}}'

    assert shown(text, JSON5) == text


@pytest.mark.parametrize(
    "comment",
    [
        "// the machine in the cellar",
        "// contextWindow: 4096",
        "// reasoning: true,",
        "/* see https://router.example.net/docs */",
        "// don't touch, it's fine",
        "// ---------------------------",
        "// llm.primary",
    ],
)
def test_prose_and_numbers_in_comments_stay(comment: str) -> None:
    text = f"{{\n{comment}\n}}"

    assert shown(text, JSON5) == text


def test_a_known_word_in_a_comment_stays() -> None:
    text = '{\n  // model: "glm53-flash-393k-c1"\n}'

    assert shown(text, JSON5, known=("glm53-flash-393k-c1",)) == text


def test_an_ambiguous_managed_path_manages_nothing() -> None:
    text = '{"a": "x", "a": "y"}'

    assert shown(text, JSON5, managed=(("a",),)) == '{"a": "•••", "a": "•••"}'


def test_a_masked_text_keeps_its_lines() -> None:
    text = "a: |\n  one\n\n  two\nb: 1\n"

    assert len(shown(text, YAML).splitlines()) == len(text.splitlines())


@EXAMPLES
@given(st.data(), st.sampled_from(DIALECTS))
def test_spans_ascend_and_are_disjoint_and_leave_no_string_behind(
    data: st.DataObject, dialect: Dialect
) -> None:
    content = make(lambda some: some[data.draw(st.integers(0, len(some) - 1))], dialect)
    document = parse(content, dialect)
    spans = document.secret_spans((), ())

    edges = [edge for span in spans for edge in (span.start, span.end)]
    assert edges == sorted(edges)
    text = document.text
    for span in reversed(spans):
        text = text[: span.start] + "0" + text[span.end :]
    assert strings(parse(text.encode(), dialect).value(())) <= {"", "0"}


def strings(value: object) -> set[str]:
    """All strings that are values."""
    if isinstance(value, dict):
        return set().union(*map(strings, value.values()))
    if isinstance(value, list):
        return set().union(*map(strings, value))
    return {value} if isinstance(value, str) else set()


@pytest.mark.parametrize(
    "filler", ["a.", "-", "/", "key", "key ", "'", "password:", "sk-", "://a", "a=", "Bearer "]
)
def test_a_hostile_comment_is_answered(filler: str) -> None:
    text = "{}//" + filler * 20_000

    assert len(shown(text, JSON5)) <= len(text)
