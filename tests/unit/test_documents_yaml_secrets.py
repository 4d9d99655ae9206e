"""Secrets planted in every shape that YAML has: none is left when the spans are masked."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetsync.documents import Document, Path
from tests.unit.documents_yaml import Draw, Maker, many, read

MANAGED: tuple[Path, ...] = (("providers", "anvil", "models"), ("model", "default"))
KNOWN = ("llm.primary", "vision.general")
WORD = "correct-horse-battery"
"""No token's shape: only its place in the tree gives it away."""
TOKEN = "sk-9fQ2xLm7TzR4vBn8Kd3Yw"


def masked(document: Document, managed: tuple[Path, ...] = MANAGED) -> str:
    """The text that may be shown: every span as one bullet."""
    text, at, pieces = document.text, 0, []
    for span in document.secret_spans(managed, KNOWN):
        pieces += [text[at : span.start], "•"]
        at = span.end
    return "".join([*pieces, text[at:]])


def leaks(shown: str, secret: str) -> list[str]:
    """The parts of `secret` (its words of five letters or more) that `shown` still holds."""
    parts = [part for part in secret.replace("-", " ").split() if len(part) > 4]
    return [part for part in parts if part in shown]


SHAPES = [
    ("plain", "k: SECRET\n"),
    ("single quoted", "k: 'SECRET'\n"),
    ("double quoted", 'k: "SECRET"\n'),
    ("on the next line", "k:\n  SECRET\n"),
    ("plain over two lines", "k: WORD1\n  WORD2\n"),
    ("quoted over two lines", "k: 'WORD1\n  WORD2'\n"),
    ("double quoted over two lines", 'k: "WORD1\\\n  WORD2"\n'),
    ("in a literal block", "k: |\n  line\n  SECRET\nz: 1\n"),
    ("in a folded block", "k: >-\n  line\n\n  SECRET\n\nz: 1\n"),
    ("in a kept block", "k: |+\n  SECRET\n\n\nz: 1\n"),
    ("in an indented block", "k: |2\n   SECRET\n"),
    ("in a block that ends the file", "k: |\n  SECRET"),
    ("behind an anchor", "k: &a SECRET\nz: *a\n"),
    ("behind an anchor on the next line", "k: &a\n  SECRET\n"),
    ("behind an anchor and a comment", "k: &a # c\n  SECRET\n"),
    ("behind a tag", "k: !!str SECRET\n"),
    ("behind a tag and an anchor", "k: !!str &a 'SECRET'\n"),
    ("that is tagged null", "k: !!null SECRET\n"),
    ("in a list", "k:\n- SECRET\n- z\n"),
    ("in an indented list", "k:\n  - a: 1\n    b: SECRET\n"),
    ("in a nested list", "k:\n- - SECRET\n"),
    ("in brackets", "k: [a, SECRET, 'SECRET']\n"),
    ("in brackets on lines", "k: [\n  a,\n  SECRET\n]\n"),
    ("in braces", "k: {a: SECRET, \"b\": \"SECRET\"}\n"),
    ("in braces like JSON", 'k: {"a":"SECRET"}\n'),
    ("two on a line", "k: {password: SECRET, token: 'SECRET'}\n"),
    ("in a merged mapping", "k: &a {x: SECRET}\nz: {<<: *a}\n"),
    ("below a managed name elsewhere", "other: {models: SECRET}\n"),
    ("behind a safe key, of two words", "type: SECRET SECRET\n"),
    ("twice the same key", "k: SECRET\nk: SECRET\n"),
    ("below an explicit key", "? k\n: SECRET\n"),
    ("with CRLF", "k: SECRET\r\nz: 'SECRET'\r\n"),
    ("with a separator of YAML", "z: 1 # c\u2028k: SECRET\n"),
    ("after an emoji", "z: 😀\nk: SECRET\n"),
    ("as the userinfo of a URL", "base_url: https://user:SECRET@h.example/v1\n"),
    ("as the query of a URL", "base_url: https://h.example/v1?api_key=SECRET\n"),
    ("in a header", "headers: {Authorization: Bearer SECRET}\n"),
    ("in an argument list", "args: [--token, SECRET, --password=SECRET]\n"),
    ("in a comment behind a name", "k: 1 # password: SECRET\n"),
    ("in a commented-out block", "# providers:\n#   api_key: SECRET\nk: 1\n"),
    ("in a comment within brackets", "k: [1, # token = SECRET\n 2]\n"),
    ("in the comment of a block", "k: | # secret: SECRET\n  text\n"),
    ("in a comment behind the end", "k: 1\n...\n# password is SECRET\n"),
    ("in quotes in a comment", "k: 1 # it was 'SECRET'\n"),
]


@pytest.mark.parametrize("text", [s[1] for s in SHAPES], ids=[s[0] for s in SHAPES])
@pytest.mark.parametrize("secret", [WORD, TOKEN], ids=["word", "token"])
def test_a_secret_is_masked(text: str, secret: str) -> None:
    first, _, second = secret.partition("-")
    filled = text.replace("SECRET", secret).replace("WORD1", first).replace("WORD2", second)
    assert leaks(masked(read(filled)), secret) == []


def test_an_escaped_secret_is_masked_as_it_is_spelled() -> None:
    assert masked(read('k: "s\\u0065cret \\x41 \\"quoted\\""\n')) == 'k: "•"\n'


@pytest.mark.parametrize(
    "text", ["TOKEN: 1\n", "'TOKEN': 1\n", "? TOKEN\n: 1\n", "{TOKEN: 1}\n", "a: {b: {TOKEN}}\n",
             "model: {default: TOKEN}\n", "providers: {anvil: {models: {x: TOKEN}}}\n",
             "k: &TOKEN x\n", "# see TOKEN\nk: 1\n", "%TAG !e! tag:TOKEN,2002:\n---\nk: 1\n"]
)
def test_a_token_is_masked_even_as_a_key_or_a_managed_value(text: str) -> None:
    assert TOKEN not in masked(read(text.replace("TOKEN", TOKEN)))


def test_what_is_managed_known_or_a_number_is_shown() -> None:
    text = ("model:\n  default: llm.primary # the alias\n  timeout: 30\n"
            "providers:\n  anvil:\n    models:\n      llm.primary: {supports_vision: yes}\n"
            "spare: vision.general\n")
    assert masked(read(text)) == text


def test_what_stands_beside_the_managed_is_masked() -> None:
    text = "providers:\n  anvil:\n    api_key: 'k k'\n    models:\n      llm.primary: {n: 1}\n"
    assert masked(read(text)) == text.replace("k k", "•")


@st.composite
def planted(draw: Draw) -> str:
    """A generated text whose every word value is the secret."""
    maker = Maker(draw)
    maker.words = (WORD, f"'{WORD}'", f'"{WORD}"', "5", "true", "~")
    maker.texts = (WORD, f"# {WORD}", "")
    return "\n".join(maker.mapping(0, 0)) + "\n"


@given(planted())
@many(150)
def test_no_word_is_left_in_a_text_of_any_layout(text: str) -> None:
    assert WORD not in masked(read(text))
