"""What an edit makes of a JSON text: the neighbours' style, and nothing else."""

from __future__ import annotations

import pytest

from fleetsync.documents import (
    Append,
    Dialect,
    Edit,
    Item,
    Remove,
    Set,
    Where,
    apply_splices,
    parse,
)
from fleetsync.errors import EditRefused

JSON, COMMENTS, JSON5 = Dialect.JSON, Dialect.JSON_COMMENTS, Dialect.JSON5

A, B, NEW = ("a",), ("b",), ("new",)


def outcome(before: str, dialect: Dialect, *edits: Edit) -> str:
    """The text that `edits` make of `before`."""
    return parse(before.encode(), dialect).edit(edits).data.decode()


SETS: list[tuple[str, Dialect, Edit, str]] = [
    ('{"a": 1}', JSON, Set(A, 393216), '{"a": 393216}'),
    ('{"a": 1}', JSON, Set(A, 4096.0), '{"a": 4096}'),
    ('{"a": 1}', JSON, Set(A, 0.25), '{"a": 0.25}'),
    ('{"a": 1}', JSON, Set(A, True), '{"a": true}'),
    ('{"a": 1}', JSON, Set(A, None), '{"a": null}'),
    ('{"a": 0}', JSON, Set(A, False), '{"a": false}'),
    ('{"a": 1}', JSON, Set(A, "x"), '{"a": "x"}'),
    ('{"a": "x", "b": 0.10}', JSON, Set(A, 'é"\n'), '{"a": "é\\"\\n", "b": 0.10}'),
    ('{"a": "\\u00e9"}', JSON, Set(A, "è"), '{"a": "\\u00e8"}'),
    ('{"a": "x"}', JSON, Set(A, "\ud800"), '{"a": "\\ud800"}'),
    ("{a: 'x'}", JSON5, Set(A, "it's \"so\""), "{a: 'it\\'s \"so\"'}"),
    ("{a: 1, b: 'x'}", JSON5, Set(A, "y"), "{a: 'y', b: 'x'}"),
    ("{a: 0x10 /* c */, }", JSON5, Set(A, 17), "{a: 17 /* c */, }"),
    ('["x", "y"]', JSON, Set((Item("y"),), "z"), '["x", "z"]'),
    ('[{"id": "x"}, {"id": "y"}]', JSON, Set((1, "id"), "z"), '[{"id": "x"}, {"id": "z"}]'),
    ('{"a": ["x"]}', JSON, Set(A, ["x", "y"]), '{"a": ["x", "y"]}'),
    ('{"a": [ "x" ]}', JSON, Set(A, ["x", "y"]), '{"a": [ "x", "y" ]}'),
    ('{\n "a": [\n  "x"\n ]\n}', JSON, Set(A, ["y", "z"]), '{\n "a": [\n  "y",\n  "z"\n ]\n}'),
    ('{\n "a": [],\n "b": ["x"]\n}', JSON, Set(A, ["y", "z"]),
     '{\n "a": ["y", "z"],\n "b": ["x"]\n}'),
    ('{"a":[],"b":1}', JSON, Set(A, ["y", "z"]), '{"a":["y","z"],"b":1}'),
    ('{"a": {"x": 1}}', JSON, Set(A, {}), '{"a": {}}'),
]

INSERTS: list[tuple[str, Dialect, Edit, str]] = [
    ('{"a": 1}', JSON, Set(NEW, 2), '{"a": 1, "new": 2}'),
    ('{ "a": 1 }', JSON, Set(NEW, 2), '{ "a": 1, "new": 2 }'),
    ('{"a":1,"b":2}', JSON, Set(NEW, [1, 2]), '{"a":1,"b":2,"new":[1,2]}'),
    ('{\n  "a": 1\n}\n', JSON, Set(NEW, 2), '{\n  "a": 1,\n  "new": 2\n}\n'),
    ('{\n\t"a": 1\n}', JSON, Set(NEW, {"x": 2}), '{\n\t"a": 1,\n\t"new": {\n\t\t"x": 2\n\t}\n}'),
    ('{\r\n    "a": 1\r\n}', JSON, Set(NEW, 2), '{\r\n    "a": 1,\r\n    "new": 2\r\n}'),
    ('\ufeff{\n  "a": 1\n}', JSON, Set(NEW, 2), '\ufeff{\n  "a": 1,\n  "new": 2\n}'),
    ('{\n  "a" : 1\n}', JSON, Set(NEW, 2), '{\n  "a" : 1,\n  "new" : 2\n}'),
    ('{\n  "a": 1, // c\n}', COMMENTS, Set(NEW, 2), '{\n  "a": 1, // c\n  "new": 2,\n}'),
    ('{\n  "a": 1 // c\n}', COMMENTS, Set(NEW, 2), '{\n  "a": 1, // c\n  "new": 2\n}'),
    (
        '{\n  "a": 1 // c\n  // about b\n  // "b": 2\n}', COMMENTS, Set(NEW, 2),
        '{\n  "a": 1, // c\n  "new": 2\n  // about b\n  // "b": 2\n}',
    ),
    ('{ "a": 1 // c\n}', COMMENTS, Set(NEW, 2), '{ "a": 1, "new": 2 // c\n}'),
    ('{\n  "a": 1\n  ,\n}', COMMENTS, Set(NEW, 2), '{\n  "a": 1\n  ,\n  "new": 2,\n}'),
    ('{\n  "a": 1\n, "b": 2\n}', JSON, Set(NEW, 3), '{\n  "a": 1\n, "b": 2\n, "new": 3\n}'),
    ('{\n  "a": 1 }', JSON, Set(NEW, 2), '{\n  "a": 1,\n  "new": 2 }'),
    ("{}", JSON, Set(NEW, 2), '{\n  "new": 2\n}'),
    ("{ }", JSON, Set(NEW, 2), '{\n  "new": 2\n}'),
    ("{\n\n}", JSON, Set(NEW, 2), '{\n  "new": 2\n}'),
    ("{/*c*/}", JSON5, Set(NEW, 2), '{/*c*/ "new": 2}'),
    ("{\n  // c\n}", COMMENTS, Set(NEW, 2), '{\n  // c\n  "new": 2\n}'),
    ("{ // c\n}", COMMENTS, Set(NEW, 2), '{ // c\n  "new": 2\n}'),
    ('{"a": null}', JSON, Set((*A, "x"), 2), '{"a": {"x": 2}}'),
    ('{"a": {}}', JSON, Set((*A, "x"), 2), '{"a": {"x": 2}}'),
    ('{\n  "a": {}\n}', JSON, Set((*A, "x"), 2), '{\n  "a": {\n    "x": 2\n  }\n}'),
    ('{\n  "a": {},\n  "b": { "y": 1 }\n}', JSON, Set((*A, "x"), 2),
     '{\n  "a": { "x": 2 },\n  "b": { "y": 1 }\n}'),
    ('{"providers":{}}', JSON, Set(("providers", "anvil"), {"models": []}),
     '{"providers":{"anvil":{"models":[]}}}'),
    ('{\n  "a": 1\n}', JSON, Set(("x", "y", "z"), 2),
     '{\n  "a": 1,\n  "x": {\n    "y": {\n      "z": 2\n    }\n  }\n}'),
    ("{a: 1, b: 'x'}", JSON5, Set(NEW, "y"), "{a: 1, b: 'x', new: 'y'}"),
    ("{a: 1}", JSON5, Set(("llm.primary",), 2), '{a: 1, "llm.primary": 2}'),
    ("{\n  a: 1,\n}", JSON5, Set(NEW, {"x": [1]}),
     "{\n  a: 1,\n  new: {\n    x: [\n      1,\n    ],\n  },\n}"),
    ('{\n  "a":\n  {\n    "x": 1\n  }\n}', JSON, Set(NEW, {"y": 2}),
     '{\n  "a":\n  {\n    "x": 1\n  },\n  "new":\n  {\n    "y": 2\n  }\n}'),
    ('{"__proto__": 1}', JSON, Set(("constructor",), 2), '{"__proto__": 1, "constructor": 2}'),
]

APPENDS: list[tuple[str, Dialect, Edit, str]] = [
    ('{"a": [1, 2]}', JSON, Append(A, 3), '{"a": [1, 2, 3]}'),
    ('{"a": [1, 2,]}', COMMENTS, Append(A, 3), '{"a": [1, 2, 3,]}'),
    ('{"a":[1]}', JSON, Append(A, 3), '{"a":[1,3]}'),
    ('{"a": []}', JSON, Append(A, "x"), '{"a": ["x"]}'),
    ('{"a": null}', JSON, Append(A, "x"), '{"a": ["x"]}'),
    ('{\n  "a": 1\n}', JSON, Append(B, "x"), '{\n  "a": 1,\n  "b": [\n    "x"\n  ]\n}'),
    ('{\n  "a": ["x"]\n}', JSON, Append(B, "y"), '{\n  "a": ["x"],\n  "b": ["y"]\n}'),
    (
        '{\n  "a": [\n    { "id": "x", "n": 1 }, // c\n    // next\n  ]\n}', COMMENTS,
        Append(A, {"id": "y", "n": 2, "input": ["text"]}),
        '{\n  "a": [\n    { "id": "x", "n": 1 }, // c\n'
        '    { "id": "y", "n": 2, "input": ["text"] },\n    // next\n  ]\n}',
    ),
    (
        '{\n  "a": [\n    {\n      "id": "x",\n      "input": ["text"]\n    }\n  ]\n}', JSON,
        Append(A, {"id": "y", "input": ["text", "image"]}),
        '{\n  "a": [\n    {\n      "id": "x",\n      "input": ["text"]\n    },\n'
        '    {\n      "id": "y",\n      "input": ["text", "image"]\n    }\n  ]\n}',
    ),
    (
        '{\n  "a": [{\n    "id": "x"\n  }]\n}', JSON, Append(A, {"id": "y"}),
        '{\n  "a": [{\n    "id": "x"\n  }, { "id": "y" }]\n}',
    ),
]

REMOVES: list[tuple[str, Dialect, Edit, str]] = [
    ('{"a": 1, "b": 2}', JSON, Remove(A), '{"b": 2}'),
    ('{"a": 1, "b": 2}', JSON, Remove(B), '{"a": 1}'),
    ('{ "a": 1 }', JSON, Remove(A), "{}"),
    ('{\n  "a": 1\n}\n', JSON, Remove(A), "{}\n"),
    ('{\n  "a": 1,\n  "b": 2\n}', JSON, Remove(A), '{\n  "b": 2\n}'),
    ('{\n  "a": 1,\n  "b": 2\n}', JSON, Remove(B), '{\n  "a": 1\n}'),
    ('{\r\n  "a": 1,\r\n  "b": 2\r\n}', JSON, Remove(B), '{\r\n  "a": 1\r\n}'),
    ('{\n  "a": 1,\n  "b": 2,\n}', COMMENTS, Remove(B), '{\n  "a": 1,\n}'),
    ('[1, 2,]', COMMENTS, Remove((1,)), "[1,]"),
    ('[1, 2, 3]', JSON, Remove((1,)), "[1, 3]"),
    ('[ "x", "y" ]', JSON, Remove((Item("x"),)), '[ "y" ]'),
    ('{\n  "a": 1,\n  // above\n  "b": 2 // mine\n  // below\n}', COMMENTS, Remove(B),
     '{\n  "a": 1\n  // above\n  // below\n}'),
    ('{\n  // above\n  "a": 1, // mine\n  "b": 2\n}', COMMENTS, Remove(A),
     '{\n  // above\n  "b": 2\n}'),
    ('{\n  // above\n  "a": 1 // mine\n}', COMMENTS, Remove(A), "{\n  // above\n}"),
    ('{ "a": 1, "b": 2 // c\n}', COMMENTS, Remove(B), '{ "a": 1 // c\n}'),
    ('{\n  "a": 1, // c\n  "b": 2}', COMMENTS, Remove(B), '{\n  "a": 1 // c\n  }'),
    ('{\n  "a": 1\n, "b": 2\n, "c": 3\n}', JSON, Remove(B), '{\n  "a": 1\n, "c": 3\n}'),
    ('{\n  "a": 1\n, "b": 2\n}', JSON, Remove(B), '{\n  "a": 1\n}'),
    ('{\n  "a": 1 // c\n  ,\n  "b": 2\n}', COMMENTS, Remove(A), '{\n  \n  "b": 2\n}'),
    ('[\n  { "id": "x" },\n  { "id": "y" }\n]', JSON, Remove((Where("id", "x"),)),
     '[\n  { "id": "y" }\n]'),
    ('{"a": {"x": 1, "y": 2}, "b": 1}', JSON, Remove((*A, "x")), '{"a": {"y": 2}, "b": 1}'),
]


@pytest.mark.parametrize(("before", "dialect", "edit", "after"), SETS)
def test_a_value_is_replaced_as_it_was_written(
    before: str, dialect: Dialect, edit: Edit, after: str
) -> None:
    assert outcome(before, dialect, edit) == after


@pytest.mark.parametrize(("before", "dialect", "edit", "after"), INSERTS)
def test_an_entry_is_inserted_as_its_neighbours_are_written(
    before: str, dialect: Dialect, edit: Edit, after: str
) -> None:
    assert outcome(before, dialect, edit) == after


@pytest.mark.parametrize(("before", "dialect", "edit", "after"), APPENDS)
def test_an_item_is_appended_as_its_neighbours_are_written(
    before: str, dialect: Dialect, edit: Edit, after: str
) -> None:
    assert outcome(before, dialect, edit) == after


@pytest.mark.parametrize(("before", "dialect", "edit", "after"), REMOVES)
def test_an_entry_goes_with_its_line_and_its_comma(
    before: str, dialect: Dialect, edit: Edit, after: str
) -> None:
    assert outcome(before, dialect, edit) == after


@pytest.mark.parametrize(
    ("before", "edit"),
    [
        ('{"a": 393216}', Set(A, 393216.0)),
        ('{"a": 393216.0}', Set(A, 393216)),
        ('{"a": 3.93216e5}', Set(A, 393216)),
        ('{"a": "\\u0078"}', Set(A, "x")),
        ('{"a": {"x": 1, "y": [null]}}', Set(A, {"x": 1, "y": [None]})),
        ('{"a": null}', Set(A, None)),
        ('{"a": 1}', Remove(B)),
        ('{"a": null}', Remove((*A, "x"))),
        ('{"a": [1]}', Remove((*A, 1))),
    ],
)
def test_an_edit_that_is_already_so_changes_nothing(before: str, edit: Edit) -> None:
    edited = parse(before.encode(), JSON).edit([edit])

    assert (edited.data, edited.splices) == (before.encode(), ())


@pytest.mark.parametrize(
    ("before", "edit", "after"),
    [
        ('{"a": 1}', Set(A, True), '{"a": true}'),
        ('{"a": true}', Set(A, 1), '{"a": 1}'),
        ('{"a": "1"}', Set(A, 1), '{"a": 1}'),
        ('{"a": {"y": 2, "x": 1}}', Set(A, {"x": 1, "y": 2}), '{"a": {"x": 1, "y": 2}}'),
    ],
)
def test_values_of_another_type_or_order_are_not_equal(before: str, edit: Edit, after: str) -> None:
    assert outcome(before, JSON, edit) == after


REFUSED: list[tuple[str, Edit, int, int, str]] = [
    ('{"a": 1}', Set((*A, "x"), 2), 1, 7, "the key 'x' does not exist here: this is a scalar"),
    ('{"a": [1]}', Set((*A, "x"), 2), 1, 7, "the key 'x' does not exist here: this is a list"),
    ('{"a": "x"}', Append(A, 2), 1, 7, "a list was expected here, found a scalar"),
    ('{"a": {}}', Append(A, 2), 1, 7, "a list was expected here, found a mapping"),
    ('{"a": "x"}', Remove((*A, "x")), 1, 7, "the key 'x' does not exist here: this is a scalar"),
    ('{"a": [1]}', Set((*A, 1), 2), 1, 7, "item 1 does not exist here: this is a list"),
    ('{"a": []}', Set((*A, Item("x")), "y"), 1, 7, "the item 'x' does not exist here"),
    ('{"a": []}', Set((*A, Where("id", "x"), "n"), 1), 1, 7, "the item with id = 'x' does not"),
    ('{"a": 1, "a": 2}', Set(A, 3), 1, 10, "the key 'a' stands twice in this mapping"),
    ('[{"id": "x"}, {"id": "x"}]', Remove((Where("id", "x"),)), 1, 15, "two items of this list"),
    ('["x", "x"]', Remove((Item("x"),)), 1, 7, "the same string stands twice in this list"),
    ('{"a": ["x" // c\n]}', Set(A, ["y"]), 1, 7, "this edit was not made: a comment would be lost"),
    ('{"a": 1}', Set(A, float("inf")), 0, 0, "a number that is not finite cannot be written"),
    ('{"a": 1}', Set(B, [{"x": float("nan")}]), 0, 0, "a number that is not finite cannot be"),
    ('{"a": 1}', Set(A, 10**5000), 0, 0, "a number of more than 300 digits cannot be written"),
    ('{"a": 1}', Set((), 1), 0, 0, "the whole document cannot be an edit's place"),
    ("[1]", Set(A, 1), 1, 1, "the key 'a' does not exist here: this is a list"),
    ("null", Set((0,), 1), 1, 1, "item 0 does not exist here: this is a scalar"),
]


@pytest.mark.parametrize(
    ("before", "edit", "line", "column", "reason"),
    REFUSED,
    ids=[f"{case[0]}: {case[4]}" for case in REFUSED],
)
def test_an_edit_that_could_change_something_else_is_refused_with_its_place(
    before: str, edit: Edit, line: int, column: int, reason: str
) -> None:
    with pytest.raises(EditRefused) as refused:
        parse(before.encode(), COMMENTS).edit([edit])

    assert refused.value.reason.startswith(reason)
    assert (refused.value.line, refused.value.column) == (line, column)


def test_duplicates_off_the_path_do_not_stop_an_edit() -> None:
    before = '{"a": 1, "a": 2, "b": 3, "m": [{"id": "x"}, {"id": "x"}]}'

    assert outcome(before, JSON, Set(B, 4)) == before.replace("3", "4")


def test_later_edits_see_what_earlier_ones_made() -> None:
    edits: list[Edit] = [
        Append(("m",), {"id": "x"}),
        Set(("m", Where("id", "x"), "n"), 1),
        Set(("m", Where("id", "x"), "id"), "y"),
        Set(("m", Where("id", "y"), "n"), 2),
        Append(("m",), {"id": "x"}),
        Remove(("m", Where("id", "y"), "n")),
    ]

    assert outcome('{"m":[]}', JSON, *edits) == '{"m":[{"id":"y"},{"id":"x"}]}'


def test_the_last_of_several_values_for_one_place_holds() -> None:
    assert outcome('{"a": 1}', JSON, Set(A, 2), Set(A, 3)) == '{"a": 3}'


def test_edits_that_cancel_out_leave_no_splice() -> None:
    edited = parse(b'{"a": 1}', JSON).edit([Set(A, 2), Set(B, 1), Remove(B), Set(A, 1)])

    assert edited.splices == ()


def test_splices_speak_of_the_original_bytes() -> None:
    before = '\ufeff{\n  "é": "ü", // ö\n  "b": 1\n}'.encode()

    edited = parse(before, COMMENTS).edit([Set(("é",), "ß"), Set(B, 22), Set(NEW, "€")])

    assert apply_splices(before, edited.splices) == edited.data
    assert [before[one.start : one.end].decode() for one in edited.splices] == ['"ü"', "1"]
    assert [one.text.decode() for one in edited.splices] == ['"ß"', '22,\n  "new": "€"']
