"""What is read of JSON in three dialects, and what is refused with its place."""

from __future__ import annotations

import json
import math
from pathlib import Path as File
from typing import Any

import pytest

from fleetsync.documents import MISSING, Dialect, Item, Kind, Limits, Set, Where, parse
from fleetsync.errors import EditRefused, Unreadable
from tests.unit.documents_json import SHARED

JSON, COMMENTS, JSON5 = Dialect.JSON, Dialect.JSON_COMMENTS, Dialect.JSON5

LONG = "1" * 5000

VALUES: list[tuple[str, Dialect, Any]] = [
    ('{"a": 1 /* c */ , "b": 2}', JSON5, {"a": 1, "b": 2}),
    ('{"a": 1, // c\n}', COMMENTS, {"a": 1}),
    ('{"a": 1 // c\n}', COMMENTS, {"a": 1}),
    ('{"a": 1\n  ,\n"b": 2}', JSON, {"a": 1, "b": 2}),
    ('["a",\n"b"]', JSON, ["a", "b"]),
    ("{}", JSON, {}),
    ("{ }", JSON, {}),
    ("{/*c*/}", JSON5, {}),
    ("{\n // c\n}", COMMENTS, {}),
    ('{"a":{"b":[1,2,{"c":null}]}}', JSON, {"a": {"b": [1, 2, {"c": None}]}}),
    ('{\n  "a": {"x": 1},\n  "b": 2\n}', JSON, {"a": {"x": 1}, "b": 2}),
    ('{\n\t"a":\t1\n}', JSON, {"a": 1}),
    ('{\r"a": 1,\r"b": 2\r}', JSON, {"a": 1, "b": 2}),
    ('{\r"a": 1,\r"b": 2\r}', COMMENTS, {"a": 1, "b": 2}),
    ("{ // c\ra: 1}", JSON5, {"a": 1}),
    ('{"a": "x\u2028y"}', JSON, {"a": "x\u2028y"}),
    ('{ // x\u2028 "b": 2,\n"a": 1}', COMMENTS, {"a": 1}),
    ('{ // x\u2028 "b": 2,\n"a": 1}', JSON5, {"b": 2, "a": 1}),
    ('{"a": "// x", "b": "/* y */"}', JSON, {"a": "// x", "b": "/* y */"}),
    ('{"a": "x,]", "b": "\\",}"}', COMMENTS, {"a": "x,]", "b": '",}'}),
    ('{"__proto__": {"a": 1}}', JSON, {"__proto__": {"a": 1}}),
    ('["\\ud800", "\\ud83d\\ude00"]', JSON, ["\ud800", "\U0001f600"]),
    ('{"\\u00e9": "\\u00e9"}', JSON, {"é": "é"}),
    ("[1E+2, 0.10, -0.0, 1e-2]", JSON, [100.0, 0.1, -0.0, 0.01]),
    ("[.5, +1, 5., 0x1F, -0xa]", JSON5, [0.5, 1, 5.0, 31, -10]),
    ("[Infinity, -Infinity]", JSON5, [math.inf, -math.inf]),
    ("[12345678901234567890]", JSON, [12345678901234567890]),
    (f"[{LONG}, -{LONG}]", JSON, [math.inf, -math.inf]),
    ("[1e999]", JSON, [math.inf]),
    ("'it\\'s \\x41\\\n.'", JSON5, "it's A."),
    ("{$a_1: 1, \\u0062: 2, ключ: 3}", JSON5, {"$a_1": 1, "b": 2, "ключ": 3}),
    ("\ufeff\v[\xa01]", JSON5, [1]),
    ('"\x7f"', JSON, "\x7f"),
]

ESC = "a character or escape in a string that only JSON5 knows"

REFUSED: list[tuple[bytes, Dialect, int, int, str]] = [
    (b"", COMMENTS, 1, 1, "the file holds no value"),
    (b"", JSON5, 1, 1, "the file holds no value"),
    (b" \n", JSON, 2, 1, "the file holds no value"),
    (b"// only\n", COMMENTS, 2, 1, "the file holds no value"),
    (b"/* only */", JSON5, 1, 11, "the file holds no value"),
    (b'{"a": 1}\n\xef\xbb\xbf', JSON, 2, 1, "white space that only JSON5 knows"),
    (b'{"a": \xef\xbb\xbf1}', COMMENTS, 1, 7, "white space that only JSON5 knows"),
    (b'{\n  "a": 1 // c\n}', JSON, 2, 10, "a // comment"),
    (b'{\n  "a": 1,\n}', JSON, 2, 9, "a comma after the last entry"),
    (b'{"a": 1} /* c */', COMMENTS, 1, 10, "a /* */ comment"),
    (b"{'a': 1}", COMMENTS, 1, 2, "a string in single quotes"),
    (b"{a: 1}", COMMENTS, 1, 2, "a key without quotes"),
    (b'{"a": .5}', COMMENTS, 1, 7, "a number that only JSON5 knows"),
    (b'{"a": 0x1F}', JSON, 1, 7, "a number that only JSON5 knows"),
    (b'{"a": "\\x41"}', COMMENTS, 1, 8, ESC),
    (b'{"a": "x\ty"}', JSON, 1, 9, ESC),
    (b'["\0"]', COMMENTS, 1, 3, ESC),
    (b'{ // c\r"a": 1,\r"b": 2\r}', COMMENTS, 1, 7, "a // comment with a lone CR in it"),
    (b'["a\nb"]', JSON5, 1, 2, "a string that does not end on its line"),
    (b'["abc', JSON5, 1, 2, "a string that does not end on its line"),
    (b"[1 /* c", JSON5, 1, 4, "a comment that does not end"),
    (b"[1 / 2]", JSON5, 1, 4, "expected // or /*"),
    (b'{"a": 1', JSON, 1, 8, "expected , or }"),
    (b'{"a" 1}', JSON, 1, 6, "expected : after the key"),
    (b'{"a": }', JSON, 1, 7, "expected a value"),
    (b"[1 2]", JSON, 1, 4, "expected , or ]"),
    (b"[1}", JSON, 1, 3, "expected , or ]"),
    (b"[,]", COMMENTS, 1, 2, "expected a value"),
    (b"{,}", JSON5, 1, 2, "expected a key or }"),
    (b"{1: 2}", JSON5, 1, 2, "expected a key or }"),
    (b"[01]", JSON5, 1, 2, "expected a value"),
    (b"[trueish]", JSON5, 1, 2, "expected a value"),
    (b'["\\u12"]', JSON5, 1, 3, "an escape that does not exist"),
    (b'["\\1"]', JSON5, 1, 3, "an escape that does not exist"),
    (b"{} {}", JSON, 1, 4, "more text after the end of the value"),
    (b"\0", JSON, 1, 1, "expected a value"),
    (b'{"a": "\xe9"}', JSON, 1, 8, "not UTF-8: byte 0xe9 at offset 7"),
    (b'{\n"\xc3\xa9": "\xff"}', JSON, 2, 7, "not UTF-8: byte 0xff at offset 9"),
    ('{"a": 1}'.encode("utf-16"), JSON, 1, 1, "the file is UTF-16 or UTF-32, not UTF-8"),
    ('{"a": 1}'.encode("utf-16-be"), JSON5, 1, 1, "the file is UTF-16 or UTF-32, not UTF-8"),
    ('{"a": 1}'.encode("utf-16-le"), COMMENTS, 1, 1, "the file is UTF-16 or UTF-32, not UTF-8"),
    (b"[" * 100_000, JSON5, 1, 201, "nested deeper than 200 levels"),
    (b'{"a":' * 100_000, JSON, 1, 1001, "nested deeper than 200 levels"),
]


@pytest.mark.parametrize(
    ("text", "dialect", "expected"), VALUES, ids=[f"{case[0][:24]!r}" for case in VALUES]
)
def test_a_nasty_document_has_its_right_value(text: str, dialect: Dialect, expected: Any) -> None:
    assert parse(text.encode(), dialect).value(()) == expected


def test_not_a_number_is_read_as_such() -> None:
    value = parse(b"[NaN]", JSON5).value((0,))

    assert isinstance(value, float)
    assert math.isnan(value)


@pytest.mark.parametrize(
    ("data", "dialect", "line", "column", "reason"),
    REFUSED,
    ids=[f"{case[4]} ({case[1].name}, {case[0][:12]!r})" for case in REFUSED],
)
def test_what_cannot_be_read_is_refused_with_its_place(
    data: bytes, dialect: Dialect, line: int, column: int, reason: str
) -> None:
    with pytest.raises(Unreadable) as refused:
        parse(data, dialect)

    error = refused.value
    assert (error.line, error.column) == (line, column)
    assert error.reason.startswith(reason)


def test_a_refused_feature_names_the_dialect_that_forbids_it() -> None:
    with pytest.raises(Unreadable) as refused:
        parse(b"{ /* c */ }", COMMENTS)

    assert "this file is read as JSON with // comments and trailing commas" in str(refused.value)


def test_a_refused_feature_is_named_before_a_later_fault() -> None:
    with pytest.raises(Unreadable, match="line 1, column 2: a key without quotes"):
        parse(b"{a: 1\n oops", JSON)


def test_an_error_shows_nothing_of_the_file() -> None:
    with pytest.raises(Unreadable) as refused:
        parse(b'{"apiKey": hunter2}', JSON)

    assert "hunter2" not in str(refused.value)


def test_a_document_does_not_show_its_content() -> None:
    document = parse(b'{"apiKey": "hunter2"}', JSON)

    assert "hunter2" not in repr(document) + repr(document.root)


def test_a_file_over_the_size_limit_is_refused() -> None:
    with pytest.raises(Unreadable, match="the file has 8 bytes; the limit is 7"):
        parse(b'{"a": 1}', JSON, Limits(size=7))


def test_a_file_over_the_node_limit_is_refused() -> None:
    with pytest.raises(Unreadable, match="line 1, column 6: more than 3 values and keys"):
        parse(b"[1,2,3]", JSON, Limits(nodes=3))


@pytest.mark.parametrize(
    ("data", "dialect", "features"),
    [
        (b"{}", JSON, set()),
        (b"\xef\xbb\xbf{}", JSON, {"bom"}),
        (b"{\r\n}", JSON, {"crlf"}),
        (b"{\r}", JSON, {"cr"}),
        (b"{ // c\n}", COMMENTS, {"line_comment"}),
        (b"[1,]", COMMENTS, {"trailing_comma"}),
        (b"[/**/]", JSON5, {"block_comment"}),
        (b"{a: 1}", JSON5, {"unquoted_key"}),
        (b"['a']", JSON5, {"single_quote"}),
        (b"[+1]", JSON5, {"json5_number"}),
        (b'["\\v"]', JSON5, {"json5_string"}),
        (b"[\v]", JSON5, {"json5_space"}),
        (b'{"a": 1, "a": 2}', JSON, {"duplicate_key"}),
    ],
)
def test_each_departure_from_strict_json_is_a_feature(
    data: bytes, dialect: Dialect, features: set[str]
) -> None:
    assert parse(data, dialect).features == features


def test_nodes_know_their_span_and_place() -> None:
    document = parse('{\r\n  "é": [1,\r "x"]}'.encode(), JSON)
    node = document.node(("é", 1))

    assert node is not None
    assert document.text[node.start : node.end] == '"x"'
    assert (node.kind, node.tag, node.line, node.column) == (Kind.SCALAR, "str", 3, 2)


def test_comments_are_found_with_their_markers() -> None:
    document = parse(b"{ // a\r\n/* b\n */ }", JSON5)

    found = [document.text[one.start : one.end] for one in document.comments]
    assert found == ["// a", "/* b\n */"]


MODELS = b"""{
  "llm.primary": {"n": null},
  "models": [
    {"id": "a", "n": 1},
    {"id": 7, "n": 2},
    {"id": "b", "n": 3}
  ],
  "names": ["x", "y"]
}"""


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (("llm.primary", "n"), None),
        (("models", Where("id", "b"), "n"), 3),
        (("models", 1, "n"), 2),
        (("models", Where("id", "7"), "n"), MISSING),
        (("models", -1), MISSING),
        (("models", 3), MISSING),
        (("names", Item("y")), "y"),
        (("names", "x"), MISSING),
        (("llm", "primary"), MISSING),
        (("llm.primary", "n", "deeper"), MISSING),
    ],
)
def test_a_path_leads_to_its_value(path: Any, expected: Any) -> None:
    assert parse(MODELS, JSON).value(path) == expected


def test_the_place_of_what_is_absent_is_its_nearest_parents() -> None:
    document = parse(MODELS, JSON)

    assert document.place(("models", Where("id", "b"), "n")) == (6, 22)
    assert document.place(("models", Where("id", "b"), "absent")) == (6, 5)


@pytest.mark.parametrize(
    ("data", "path", "line", "column"),
    [
        (b'{"a": 1,\n "b": {}, "a": 2}', ("a",), 2, 11),
        (b'{"m": [{"id": "x"},\n {"id": "x"}]}', ("m", Where("id", "x"), "n"), 2, 2),
        (b'{"m": [{"id": "x",\n "id": "y"}]}', ("m", Where("id", "x"), "n"), 2, 2),
        (b'["x",\n"x"]', (Item("x"),), 2, 1),
    ],
)
def test_an_ambiguous_path_is_refused_at_the_second_meaning(
    data: bytes, path: Any, line: int, column: int
) -> None:
    with pytest.raises(EditRefused) as refused:
        parse(data, JSON).value(path)

    assert (refused.value.line, refused.value.column) == (line, column)


def test_a_duplicate_key_off_the_path_is_no_matter() -> None:
    assert parse(b'{"a": 1, "a": 2, "b": 3}', JSON).value(("b",)) == 3


OWN = File(__file__).parent / "fixtures" / "suite"
"""Cases of our own: the public suites run beside them where they exist."""
JSON_SUITE = sorted((
    *OWN.glob("[yn]_*.json"),
    *(SHARED / "suites" / "JSONTestSuite" / "test_parsing").glob("[yn]_*.json"),
))
JSON5_SUITE = sorted((
    *OWN.glob("small.*"),
    *(
        file
        for suffix in ("json", "json5", "js", "txt")
        for file in (SHARED / "suites" / "json5-tests").glob(f"*/*.{suffix}")
    ),
))


@pytest.mark.parametrize("file", JSON_SUITE, ids=lambda file: file.name)
def test_a_decided_case_of_jsontestsuite_is_right(file: File) -> None:
    data = file.read_bytes()
    if file.name.startswith("n_"):
        with pytest.raises(Unreadable):
            parse(data, JSON)
    else:
        assert parse(data, JSON).value(()) == json.loads(data)


@pytest.mark.parametrize("file", JSON5_SUITE, ids=lambda file: file.name)
def test_a_case_of_json5_tests_is_right(file: File) -> None:
    data = file.read_bytes()
    if file.suffix in (".js", ".txt"):
        with pytest.raises(Unreadable):
            parse(data, JSON5)
    else:
        assert parse(data, JSON5).value(()) is not MISSING


@pytest.mark.parametrize("dialect", [JSON, JSON5, Dialect.YAML])
def test_one_endless_line_does_not_take_the_square_of_its_length(dialect: Dialect) -> None:
    """As programs write files, without a line break; a square would take hours."""
    text = '{"a": 1,' + " " * 1_000_000 + '"b": 2}'
    changed = parse(text.encode(), dialect).edit([Set(("a",), 3)])
    assert changed.data == text.replace("1,", "3,", 1).encode()
