"""Edits of YAML by example: what is written, in which style, and where."""

from __future__ import annotations

from textwrap import dedent

import pytest

from fleetsync.documents import Append, Edit, Item, Path, Remove, Set, Value, Where
from fleetsync.documents.yaml_spell import spell
from fleetsync.errors import EditRefused
from tests.unit.documents_yaml import TRICKY, load, read


def edited(text: str, *edits: Edit) -> str:
    return read(text).edit(edits).data.decode()


NEW: Value = {"context_length": 131072, "supports_vision": True}

SCALARS: list[tuple[str, str, Path, Value, str]] = [
    ("plain stays plain", "a: x # c\n", ("a",), "w.z", "a: w.z # c\n"),
    ("single quotes stay", "a: 'x'\n", ("a",), "w", "a: 'w'\n"),
    ("double quotes stay", 'a: "x"\n', ("a",), "w", 'a: "w"\n'),
    ("a quote is doubled", "a: 'x'\n", ("a",), "it's", "a: 'it''s'\n"),
    ("a line end needs double quotes", "a: 'x'\n", ("a",), "w\nz", 'a: "w\\nz"\n'),
    ("a number is plain", "a: '5'\n", ("a",), 6, "a: 6\n"),
    ("a switch is plain", "a: off\n", ("a",), True, "a: true\n"),
    ("an equal value in other words stays", "a: off\n", ("a",), False, "a: off\n"),
    ("an equal number in other words stays", "a: 1_000\n", ("a",), 1000, "a: 1_000\n"),
    ("a null is filled", "a:\nb: 1\n", ("a",), 5, "a: 5\nb: 1\n"),
    ("a null is filled before its comment", "a: # c\n", ("a",), 5, "a: 5 # c\n"),
    ("a tilde is replaced", "a: ~ # c\n", ("a",), "x", "a: x # c\n"),
    ("a null in braces is filled", "a: {b, c: }\n", ("a", "b"), 1, "a: {b: 1, c: }\n"),
    ("an item is replaced", "a:\n- x\n- w # c\n", ("a", 1), "z", "a:\n- x\n- z # c\n"),
    ("an empty item is filled", "a:\n-\n- w\n", ("a", 0), "x", "a:\n- x\n- w\n"),
    ("a value below its key stays below", "a:\n  x\nb: 1\n", ("a",), "w", "a:\n  w\nb: 1\n"),
    ("several lines become one", "a: one\n  two # c\nb: 1\n", ("a",), "x", "a: x # c\nb: 1\n"),
    ("a block becomes one line", "a: | # c\n  x\n  w\n\nb: 1\n", ("a",), "z", "a: z # c\n\nb: 1\n"),
    ("spacing stays", "a :   x\n", ("a",), "w", "a :   w\n"),
    ("a tab stays", "a:\tx\n", ("a",), "w", "a:\tw\n"),
    ("an unused anchor stays", "a: &n x\n", ("a",), "w", "a: &n w\n"),
    ("a quoted key", "'a.b': x\n", ("a.b",), "w", "'a.b': w\n"),
    ("a dotted key is one key", "a.b: x\na: {b: 1}\n", ("a.b",), "w", "a.b: w\na: {b: 1}\n"),
    ("no final newline", "a: x", ("a",), "w", "a: w"),
    ("a local key beside a merge", "d: &d {x: 1}\na:\n  <<: *d\n  w: 2\n", ("a", "w"), 3,
     "d: &d {x: 1}\na:\n  <<: *d\n  w: 3\n"),
    ("a map becomes a scalar", "a: # c\n  b: 1\n  c: 2\nd: 1\n", ("a",), 5, "a: 5 # c\nd: 1\n"),
    ("a list becomes empty", "a:\n- b # c\nd: 1\n", ("a",), [], "a: [] # c\nd: 1\n"),
    ("a date's text is no string", "a: 2024-01-01\n", ("a",), "2024-01-01", 'a: "2024-01-01"\n'),
]


@pytest.mark.parametrize(
    ("before", "path", "value", "after"), [case[1:] for case in SCALARS],
    ids=[case[0] for case in SCALARS],
)
def test_a_value_is_set_in_its_own_style(
    before: str, path: Path, value: Value, after: str
) -> None:
    assert edited(before, Set(path, value)) == after


INSERTS: list[tuple[str, str, Path, Value, str]] = [
    ("after the last entry", "m:\n  a: 1 # c\nz: 1\n", ("m", "b"), 2,
     "m:\n  a: 1 # c\n  b: 2\nz: 1\n"),
    ("before the comments that follow", "m:\n  a: 1\n  # b: 5\n\n# next\nz: 1\n", ("m", "b"), 2,
     "m:\n  a: 1\n  b: 2\n  # b: 5\n\n# next\nz: 1\n"),
    ("above a commented-out example at the end", "m:\n  a: 1\n\n# n:\n#   b: 1\n", ("m", "b"), 2,
     "m:\n  a: 1\n  b: 2\n\n# n:\n#   b: 1\n"),
    ("at the root above the closing comments", "m: 1\n\n# example\n", ("r",), 2,
     "m: 1\nr: 2\n\n# example\n"),
    ("into empty braces", "m: {}  # none yet\nz: 1\n", ("m", "a"), NEW,
     "m:  # none yet\n  a:\n    context_length: 131072\n    supports_vision: true\nz: 1\n"),
    ("into an empty list", "m: [] # none\n", ("m",), ["x", {"id": "a", "n": [1]}],
     "m: # none\n  - x\n  - id: a\n    \"n\":\n      - 1\n"),
    ("into a null", "m:\n# - name: x\n#   url: w\nz: 1\n", ("m", "a"), 1,
     "m:\n  a: 1\n# - name: x\n#   url: w\nz: 1\n"),
    ("into a tilde", "m: ~ # c\n", ("m", "a"), 1, "m: # c\n  a: 1\n"),
    ("with missing parents", "a: 1\n", ("m", "llm.primary", "n.n"), 5,
     "a: 1\nm:\n  llm.primary:\n    n.n: 5\n"),
    ("into an empty file", "", ("m", "a"), 1, "m:\n  a: 1\n"),
    ("into a file of comments", "# c\n", ("m",), 1, "# c\nm: 1\n"),
    ("into a comment without a newline", "# c", ("m",), 1, "# c\nm: 1"),
    ("after a marker", "---\n", ("m",), 1, "---\nm: 1\n"),
    ("after a marker without a newline", "---", ("m",), 1, "---\nm: 1"),
    ("between the markers", "--- # c\n# d\n...\n", ("m",), 1, "--- # c\n# d\nm: 1\n...\n"),
    ("before the closing marker", "---\na: 1\n...\n", ("m",), 1, "---\na: 1\nm: 1\n...\n"),
    ("without a final newline", "a: 1", ("m", "x"), 1, "a: 1\nm:\n  x: 1"),
    ("with four spaces", "a:\n    b:\n        c: 1\n", ("a", "d", "e"), 1,
     "a:\n    b:\n        c: 1\n    d:\n        e: 1\n"),
    ("with the step of the neighbours", "z:\n    w: 1\na:\n  b:\n   c: 1\n", ("a", "d", "e"), 1,
     "z:\n    w: 1\na:\n  b:\n   c: 1\n  d:\n   e: 1\n"),
    ("with dashes under the key", "l:\n- x\n", ("m",), ["w"], "l:\n- x\nm:\n- w\n"),
    ("with indented dashes", "l:\n  - x\n", ("m",), ["w"], "l:\n  - x\nm:\n  - w\n"),
    ("with a spaced colon", "m :\n  a : 1\n", ("m", "b"), 2, "m :\n  a : 1\n  b : 2\n"),
    ("with quoted keys", "m:\n  'a': 1\n  'b': 2\n", ("m", "c"), 3,
     "m:\n  'a': 1\n  'b': 2\n  'c': 3\n"),
    ("with quoted values", 'm:\n  a: "x"\n  b: "w"\n', ("m", "c"), "z",
     'm:\n  a: "x"\n  b: "w"\n  c: "z"\n'),
    ("in braces", "m: {a: 1, b: 2} # c\n", ("m", "c"), 3, "m: {a: 1, b: 2, c: 3} # c\n"),
    ("in braces with a last comma", "m: {a: 1,}\n", ("m", "c"), 3, "m: {a: 1, c: 3,}\n"),
    ("in padded braces", "m: { a: 1 }\n", ("m", "c"), {"d": 1}, "m: { a: 1, c: { d: 1 } }\n"),
    ("in braces like JSON", 'm: {"a":1}\n', ("m", "c"), "x", 'm: {"a":1, "c":x}\n'),
    ("in empty braces in braces", "m: {a: {}}\n", ("m", "a", "b"), 1, "m: {a: {b: 1}}\n"),
    ("in braces on lines", "m: {\n  a: 1, # one\n  b: 2  # two\n}\n", ("m", "c"), 3,
     "m: {\n  a: 1, # one\n  b: 2,  # two\n  c: 3\n}\n"),
    ("in braces on lines with a last comma", "m: {\n  a: 1, # one\n}\n", ("m", "c"), 3,
     "m: {\n  a: 1, # one\n  c: 3,\n}\n"),
    ("in an item of a list", "l:\n- a: 1\n- b: 1\n", ("l", 0, "c"), 2,
     "l:\n- a: 1\n  c: 2\n- b: 1\n"),
    ("in the item named", "l:\n  - name: x\n    n: 1\n  # c\n  - w\n",
     ("l", Where("name", "x"), "m"), 2, "l:\n  - name: x\n    n: 1\n    m: 2\n  # c\n  - w\n"),
    ("after a text block", "m:\n  a: |\n    x\n\nz: 1\n", ("m", "b"), 1,
     "m:\n  a: |\n    x\n  b: 1\n\nz: 1\n"),
    ("after a block that keeps its blank lines", "m:\n  a: |+\n    x\n\nz: 1\n", ("m", "b"), 1,
     "m:\n  a: |+\n    x\n\n  b: 1\nz: 1\n"),
    ("after a stripped block at the end", "m:\n  a: |-\n    x", ("m", "b"), 1,
     "m:\n  a: |-\n    x\n  b: 1"),
    ("after several lines", "m:\n  a: one\n    two\nz: 1\n", ("m", "b"), 1,
     "m:\n  a: one\n    two\n  b: 1\nz: 1\n"),
    ("in an indented root", "  a: 1\n", ("b",), 2, "  a: 1\n  b: 2\n"),
    ("an alias that YAML would retype", "m:\n  a: 1\n", ("m", "1.5"), {"no": "yes"},
     'm:\n  a: 1\n  "1.5":\n    "no": "yes"\n'),
    ("empty collections", "m:\n  a: 1\n", ("m", "b"), {"c": {}, "d": []},
     "m:\n  a: 1\n  b:\n    c: {}\n    d: []\n"),
    ("in the place of a mapping", "m: # c\n  a: 1\nz: 1\n", ("m",), {"b": {"c": 1}},
     "m: # c\n  b:\n    c: 1\nz: 1\n"),
    ("in the place of a list under its key", "m:\n- a\n- b\nz: 1\n", ("m",), {"b": 1},
     "m:\n  b: 1\nz: 1\n"),
    ("in the place of a text block", "m: | # c\n  x\n\nz: 1\n", ("m",), {"b": 1},
     "m: # c\n  b: 1\n\nz: 1\n"),
    ("in the place of an item", "l:\n- x # c\n- w\n", ("l", 0), {"a": 1, "b": 2},
     "l:\n- a: 1 # c\n  b: 2\n- w\n"),
]


@pytest.mark.parametrize(
    ("before", "path", "value", "after"), [case[1:] for case in INSERTS],
    ids=[case[0] for case in INSERTS],
)
def test_an_entry_is_inserted_in_its_neighbours_style(
    before: str, path: Path, value: Value, after: str
) -> None:
    assert edited(before, Set(path, value)) == after


APPENDS: list[tuple[str, str, Path, Value, str]] = [
    ("under the key", "l:\n- x # c\nz: 1\n", ("l",), "w", "l:\n- x # c\n- w\nz: 1\n"),
    ("indented", "l:\n  - x\n  # c\nz: 1\n", ("l",), "w", "l:\n  - x\n  - w\n  # c\nz: 1\n"),
    ("before a comment at the margin", "l:\n- x\n# c\n", ("l",), "w", "l:\n- x\n- w\n# c\n"),
    ("quoted like the others", 'l:\n- "x"\n', ("l",), "w", 'l:\n- "x"\n- "w"\n'),
    ("a mapping", "l:\n- name: x\n  n: 1\n", ("l",), {"name": "w", "m": {"a": [1]}},
     "l:\n- name: x\n  n: 1\n- name: w\n  m:\n    a:\n    - 1\n"),
    ("a mapping with a wide dash", "l:\n-   a: 1\n", ("l",), {"a": 2, "b": 3},
     "l:\n-   a: 1\n-   a: 2\n    b: 3\n"),
    ("a mapping in braces", "l:\n- {a: 1}\n", ("l",), {"a": 2}, "l:\n- {a: 1}\n- {a: 2}\n"),
    ("in brackets", "l: [x, w] # c\n", ("l",), "z", "l: [x, w, z] # c\n"),
    ("what brackets would split", "l: [x]\n", ("l",), "a, b", 'l: [x, "a, b"]\n'),
    ("in brackets on lines", "l: [\n  x, # one\n  w  # two\n]\n", ("l",), "z",
     "l: [\n  x, # one\n  w,  # two\n  z\n]\n"),
    ("in brackets on lines that close at once", "l: [x,\n    w]\n", ("l",), "z",
     "l: [x,\n    w,\n    z]\n"),
    ("to empty brackets", "l: []\n", ("l",), "x", "l:\n  - x\n"),
    ("to empty brackets in brackets", "l: [[]]\n", ("l", 0), "x", "l: [[x]]\n"),
    ("to a null", "l:\nz: 1\n", ("l",), "x", "l:\n  - x\nz: 1\n"),
    ("to a list that is missing", "z: 1\n", ("m", "l"), "x", "z: 1\nm:\n  l:\n    - x\n"),
    ("to a list in a list", "l:\n- - x\n- - w\n", ("l", 0), "z", "l:\n- - x\n  - z\n- - w\n"),
    ("without a final newline", "l:\n- x", ("l",), "w", "l:\n- x\n- w"),
]


@pytest.mark.parametrize(
    ("before", "path", "value", "after"), [case[1:] for case in APPENDS],
    ids=[case[0] for case in APPENDS],
)
def test_an_item_is_appended_in_its_neighbours_style(
    before: str, path: Path, value: Value, after: str
) -> None:
    assert edited(before, Append(path, value)) == after


REMOVALS: list[tuple[str, str, Path, str]] = [
    ("an entry with its comment", "m:\n  a: 1\n  # of b\n  b: 2 # c\nz: 1\n", ("m", "b"),
     "m:\n  a: 1\n  # of b\nz: 1\n"),
    ("the first entry", "m:\n  a: 1\n# c\n  b: 2\n", ("m", "a"), "m:\n# c\n  b: 2\n"),
    ("an entry with all below it", "m:\n  a:\n    x: 1\n    # in\n    w: 2\n  b: 2\n", ("m", "a"),
     "m:\n  b: 2\n"),
    ("the only entry", "m: # c\n  # d\n  a: 1 # e\nz: 1\n", ("m", "a"), "m: {} # c\n  # d\nz: 1\n"),
    ("the only item", "m: # c\n- a\nz: 1\n", ("m", 0), "m: [] # c\nz: 1\n"),
    ("the only entry of an item", "l:\n- a: 1\n- b\n", ("l", 0, "a"), "l:\n- {}\n- b\n"),
    ("the only entry of the file", "# c\na: 1\n", ("a",), "# c\n{}\n"),
    ("the last entry without a newline", "a: 1\nb: 2", ("b",), "a: 1"),
    ("the last entry after a text block", "a: |\n  x\nb: 2", ("b",), "a: |\n  x\n"),
    ("the last entry after a stripped block", "a: |-\n  x\nb: 2", ("b",), "a: |-\n  x"),
    ("a text block with its lines", "a: |+\n  x\n\nb: 2\n", ("a",), "b: 2\n"),
    ("a key of a compact item", "l:\n- a: 1 # c\n  b: 2\n", ("l", 0, "a"), "l:\n- b: 2\n"),
    ("an item named", "l:\n- name: x\n  n: 1\n# of w\n- name: w\n", ("l", Where("name", "x")),
     "l:\n# of w\n- name: w\n"),
    ("a string", "l:\n- x\n- w # c\n- z\n", ("l", Item("w")), "l:\n- x\n- z\n"),
    ("a string in brackets", "l: [x, w, z]\n", ("l", Item("w")), "l: [x, z]\n"),
    ("the last string in brackets", "l: [x, w,]\n", ("l", Item("w")), "l: [x,]\n"),
    ("the only string in brackets", "l: [ x ] # c\n", ("l", Item("x")), "l: [] # c\n"),
    ("a line of brackets", "l: [\n  x, # one\n  w, # two\n]\n", ("l", Item("x")),
     "l: [\n  w, # two\n]\n"),
    ("the last line of brackets", "l: [\n  x, # one\n  w # two\n]\n", ("l", Item("w")),
     "l: [\n  x # one\n]\n"),
    ("an entry of braces", "m: {a: 1, b: 2}\n", ("m", "a"), "m: {b: 2}\n"),
    ("an item of a compact list", "l:\n- - x\n  - w\n", ("l", 0, 0), "l:\n- - w\n"),
    ("a dash alone", "l:\n-\n  a: 1\n  b: 2\n- c\n", ("l", 0), "l:\n- c\n"),
    ("an empty item", "l:\n-\n- x\n", ("l", 0), "l:\n- x\n"),
    ("what is absent", "m:\n  a: 1\n", ("m", "b", "c"), "m:\n  a: 1\n"),
]


@pytest.mark.parametrize(
    ("before", "path", "after"), [case[1:] for case in REMOVALS], ids=[c[0] for c in REMOVALS]
)
def test_a_removal_takes_the_node_and_the_comment_on_its_line(
    before: str, path: Path, after: str
) -> None:
    assert edited(before, Remove(path)) == after


REFUSALS: list[tuple[str, str, Edit, str, int, int]] = [
    ("a root list", "- a\n", Set(("a",), 1), "", 1, 1),
    ("a root scalar", "word\n", Set(("a",), 1), "", 1, 1),
    ("a spelled null", "~\n", Set(("a",), 1), "a null that is spelled out", 1, 1),
    ("a scalar in the way", "a: 1\n", Set(("a", "b"), 1), "", 1, 4),
    ("a duplicate key", "a: 1\na: 2\n", Set(("a",), 1), "stands twice", 2, 1),
    ("a duplicate name", "l:\n- name: x\n- name: x\n", Set(("l", Where("name", "x"), "n"), 1),
     "two items of this list", 3, 3),
    ("an alias", "a: &x 1\nb: *x\n", Set(("b",), 2), "the alias *x", 2, 4),
    ("a path through an alias", "a: &x {n: 1}\nb: *x\n", Set(("b", "n"), 2), "an alias", 2, 4),
    ("an anchor in use", "a: &x 1\nb: *x\n", Set(("a",), 2), "&x is used in line 2", 1, 4),
    ("an ancestor in use", "a: &x\n  n: 1\nb: *x\n", Set(("a", "n"), 2), "&x is used", 1, 4),
    ("an insertion into what is used", "a: &x\n  n: 1\nb: *x\n", Set(("a", "m"), 2), "&x", 1, 4),
    ("a removed anchor in use", "a:\n  n: &x 1\nb: *x\nc: 1\n", Remove(("a",)), "&x is used", 2, 6),
    ("a key beside a merge", "d: &d {x: 1}\na:\n  <<: *d\n", Set(("a", "w"), 1), "<<", 3, 3),
    ("a removed key that is merged in", "d: &d {x: 1}\na:\n  <<: *d\n", Remove(("a", "x")), "<<",
     3, 3),
    ("a removed key beside a merge", "d: &d {x: 1}\na:\n  <<: *d\n  x: 2\n", Remove(("a", "x")),
     "uncover", 3, 3),
    ("a tagged scalar", "a: !!str 1\n", Set(("a",), 2), "explicit tag", 1, 4),
    ("a tagged mapping", "a: !!map\n  b: 1\n", Set(("a", "b"), 2), "explicit tag", 1, 4),
    ("an explicit key", "? a\n: 1\n", Set(("a",), 2), "`? key`", 1, 3),
    ("a neighbour with an explicit key", "a: 1\n? b\n", Set(("c",), 2), "`? key`", 2, 3),
    ("an alias for a key", "a: &x k\n*x : 1\n", Set(("a",), 2), "", 2, 1),
    ("an insertion after an open block", "a: |\n  x", Set(("b",), 1), "without a line break", 1, 4),
    ("an append after an open block", "l:\n- >\n  x", Append(("l",), 1), "line break", 2, 3),
    ("a comment between brackets", "l: [x, # c\n w]\n", Remove(("l", Item("x"))), "comment", 1, 4),
    ("a comment in empty brackets", "l: [ # c\n ]\n", Append(("l",), 1), "comment", 1, 4),
    ("a comment after a compact key", "l:\n- a: 1\n  # c\n  b: 2\n", Remove(("l", 0, "a")),
     "comment", 2, 6),
    ("a comment after a dash", "l:\n- a\n- # c\n  b: 1\n", Remove(("l", 1)), "the dash", 4, 3),
    ("a comment within a value", "a:\n  b: 1 # c\n  d: 2\n", Set(("a",), 2), "comment", 2, 3),
    ("a pair without braces", "l: [a: 1]\n", Set(("l", 0, "b"), 1), "without braces", 1, 5),
    ("half of a surrogate pair", "a: x\n", Set(("a",), "\ud800"), "surrogate", 0, 0),
    ("a number that is none", "a: 1\n", Set(("a",), float("nan")), "not finite", 0, 0),
]


@pytest.mark.parametrize(
    ("before", "edit", "reason", "line", "column"), [case[1:] for case in REFUSALS],
    ids=[case[0] for case in REFUSALS],
)
def test_an_edit_that_could_change_more_is_refused_with_its_place(
    before: str, edit: Edit, reason: str, line: int, column: int
) -> None:
    with pytest.raises(EditRefused) as caught:
        edited(before, edit)
    assert (reason in caught.value.reason, caught.value.line, caught.value.column) == (
        True, line, column
    ), caught.value.reason


def test_what_a_refusal_names_elsewhere_does_not_bar_other_edits() -> None:
    before = dedent("""\
        shared: &x {n: 1}
        user: *x
        tagged: !!str 1
        ? explicit
        : [a: 1]
        twice: 1
        twice: 2
        managed:
          limit: 1
        """).replace("? explicit\n: [a: 1]\n", "")
    assert edited(before, Set(("managed", "limit"), 2)) == before.replace("limit: 1", "limit: 2")


@pytest.mark.parametrize("quote", ["'", '"'])
@pytest.mark.parametrize("text", TRICKY)
def test_a_tricky_string_is_that_string_for_every_reader(text: str, quote: str) -> None:
    from ruamel.yaml import YAML

    second = YAML(typ="safe", pure=True)
    block, flow = (spell(text, quote, flow=flow) for flow in (False, True))
    lines = f"{block}: {block}\nf: [{flow}, {{{flow}: {flow}}}]\n"
    wanted = {text: text, "f": [text, {text: text}]}
    assert (load(lines), second.load(lines)) == (wanted, wanted)


@pytest.mark.parametrize(
    "text", ["yes", "No", "ON", "y", "N", "1.5", "012", "0o14", "1:30", "1_000", "1e3", "0x1F", "~",
             "null", "2024-01-01", ".inf", "-.NaN", "+1", "=", "<<", "", "#x", "x:", "- x", "5"]
)
def test_a_string_that_a_reader_could_retype_is_quoted(text: str) -> None:
    assert spell(text, "'", flow=False) == f"'{text}'"


@pytest.mark.parametrize(
    "text", ["llm.primary", "http://h:1/v1", "${URL}/v1", "two words", "glm53-flash-393k-c1", "é",
             "auto/coding:free", "4o-mini", "/srv/data", "a#b", "it's"]
)
def test_an_ordinary_string_stays_plain(text: str) -> None:
    assert spell(text, "'", flow=False) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(1e20, "1.0e+20"), (1e-7, "1.0e-07"), (0.5, "0.5"), (-3, "-3"), (True, "true"),
     (None, "null")],
)
def test_a_number_is_written_so_that_pyyaml_reads_the_same_number(
    value: float | None, text: str
) -> None:
    assert (spell(value, "'", flow=False), load(text)) == (text, value)


@pytest.mark.parametrize("end", ["\r\n", "\r"])
def test_new_lines_end_like_the_files_own(end: str) -> None:
    before = f"m:{end}  a: 1{end}"
    assert edited(before, Set(("m", "b"), NEW)) == end.join(
        ["m:", "  a: 1", "  b:", "    context_length: 131072", "    supports_vision: true", ""]
    )


def test_the_byte_order_mark_stays() -> None:
    out = read(b"\xef\xbb\xbfa: 1\n").edit([Set(("a",), 2)])
    assert out.data == b"\xef\xbb\xbfa: 2\n"


def test_several_edits_give_one_set_of_splices() -> None:
    before = "m:\n  a: 1\n  b: 2\nl:\n- x\n"
    changes: list[Edit] = [
        Set(("m", "a"), 5), Set(("m", "c", "d"), 6), Remove(("m", "b")), Append(("l",), "w"),
    ]
    assert edited(before, *changes) == "m:\n  a: 5\n  c:\n    d: 6\nl:\n- x\n- w\n"
