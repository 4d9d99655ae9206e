"""Laws that hold for every JSON document and edit, and the proof that guards them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fleetsync.documents import (
    MISSING,
    Append,
    Dialect,
    Document,
    Edit,
    Edited,
    Kind,
    Path,
    Remove,
    Set,
    apply_splices,
    json_grammar,
    parse,
)
from fleetsync.documents.grammar import TextSplice
from fleetsync.documents.paths import Trail
from fleetsync.errors import DocumentError, EditRefused
from tests.matrix import FULL
from tests.unit.documents_json import DIALECTS, at, edited, make, make_edit, paths, value_of

EXAMPLES = settings(max_examples=3000 if FULL else 120)

LOST = "this edit was not made: a comment would be lost"


@st.composite
def documents(draw: st.DrawFn) -> tuple[bytes, Dialect]:
    dialect = draw(st.sampled_from(DIALECTS))
    return make(lambda some: some[draw(st.integers(0, len(some) - 1))], dialect), dialect


@st.composite
def cases(draw: st.DrawFn) -> tuple[Document, Edit]:
    data, dialect = draw(documents())
    edit = make_edit(
        lambda some: some[draw(st.integers(0, len(some) - 1))], value_of(data, dialect)
    )
    return parse(data, dialect), edit


def same(one: Any, other: Any) -> bool:
    """Equal in type, order of keys and value; not-a-number is itself."""
    if isinstance(one, dict) and isinstance(other, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    both = (one, other)
    if all(isinstance(x, float) and math.isnan(x) for x in both):
        return True
    return bool(one == other)


def outcome(document: Document, *edits: Edit) -> Edited | None:
    """What the edits give; None where a comment stands in what would be replaced."""
    try:
        return document.edit(edits)
    except EditRefused as refused:
        assert refused.reason == LOST, refused
        return None


def comments(document: Document) -> Counter[str]:
    return Counter(document.text[one.start : one.end] for one in document.comments)


def scalars(document: Document, value: Any) -> list[Path]:
    """Paths of the scalars that are reached through keys of mappings only, then one key."""
    return [
        path for path in paths(value)
        if path and isinstance(path[-1], str) and not isinstance(at(value, path), dict | list)
    ]


@EXAMPLES
@given(documents())
def test_a_document_is_read_as_an_independent_reader_reads_it(case: tuple[bytes, Dialect]) -> None:
    data, dialect = case

    assert same(parse(data, dialect).value(()), value_of(data, dialect))


@EXAMPLES
@given(documents())
def test_setting_every_value_to_itself_changes_nothing(case: tuple[bytes, Dialect]) -> None:
    data, dialect = case
    document = parse(data, dialect)
    held = [(path, document.value(path)) for path in paths(value_of(data, dialect)) if path]
    same = [
        Set(path, value)
        for path, value in held
        if value is not MISSING and not has_odd_number(value)
    ]

    assert document.edit(same) == Edited(data, ())


def has_odd_number(value: Any) -> bool:
    return "inf" in repr(value) or "nan" in repr(value)


@EXAMPLES
@given(cases())
def test_an_edit_does_what_it_says_to_an_independent_reader(case: tuple[Document, Edit]) -> None:
    document, edit = case
    result = outcome(document, edit)

    if result is not None:
        expected = edited(value_of(document.data, document.dialect), edit)
        assert same(value_of(result.data, document.dialect), expected)


@EXAMPLES
@given(cases())
def test_every_byte_outside_the_splices_stays(case: tuple[Document, Edit]) -> None:
    document, edit = case
    result = outcome(document, edit)

    if result is not None:
        assert apply_splices(document.data, result.splices) == result.data


@EXAMPLES
@given(cases())
def test_a_file_keeps_its_dialect_its_line_ends_and_its_bom(case: tuple[Document, Edit]) -> None:
    document, edit = case
    result = outcome(document, edit)

    if result is not None:
        assert parse(result.data, document.dialect).features <= document.features
        assert result.data.startswith(b"\xef\xbb\xbf") == document.data.startswith(b"\xef\xbb\xbf")
        assert result.data.endswith(b"\n") == document.data.endswith(b"\n")


@EXAMPLES
@given(cases())
def test_setting_and_appending_lose_no_comment(case: tuple[Document, Edit]) -> None:
    document, edit = case
    result = None if isinstance(edit, Remove) else outcome(document, edit)

    if result is not None:
        assert comments(parse(result.data, document.dialect)) == comments(document)


@EXAMPLES
@given(cases())
def test_an_edit_made_twice_is_the_edit_made_once(case: tuple[Document, Edit]) -> None:
    document, edit = case
    moves = isinstance(edit, Append) or isinstance(edit.path[-1], int)
    result = None if moves else outcome(document, edit)

    if result is not None:
        assert parse(result.data, document.dialect).edit([edit]) == Edited(result.data, ())


@EXAMPLES
@given(cases())
def test_removing_what_was_put_in_restores_the_bytes(case: tuple[Document, Edit]) -> None:
    """The law holds for an entry or item that is added to a container which holds something,
    or nothing at all between its brackets (white space in an empty one is given up)."""
    document, edit = case
    inverse = inverse_of(document, edit)
    result = None if inverse is None else outcome(document, edit)

    if result is not None and inverse is not None:
        assert parse(result.data, document.dialect).edit([inverse]).data == document.data


def inverse_of(document: Document, edit: Edit) -> Remove | None:
    """What undoes `edit`, where it adds something to a container for which the law holds."""
    if isinstance(edit, Append):
        container = document.node(edit.path)
        step: str | int = len(container.items) if container else 0
        back = Remove((*edit.path, step))
    else:
        container = document.node(edit.path[:-1])
        back = Remove(edit.path)
    adds = isinstance(edit, Append) or (isinstance(edit, Set) and document.node(edit.path) is None)
    if container is None or container.kind is Kind.SCALAR or not adds:
        return None
    empty = document.text[container.start : container.end] in ("{}", "[]")
    return back if container.entries or container.items or empty else None


@EXAMPLES
@given(documents(), st.data())
def test_setting_two_scalars_gives_one_outcome_in_either_order(
    case: tuple[bytes, Dialect], data: st.DataObject
) -> None:
    document = parse(*case)
    found = scalars(document, value_of(*case))
    if len(found) > 1:
        two = data.draw(st.lists(st.sampled_from(found), min_size=2, max_size=2, unique=True))
        one, other = (Set(path, f"new {index}") for index, path in enumerate(two))
        assert document.edit([one, other]) == document.edit([other, one])


@EXAMPLES
@given(documents(), st.data())
def test_one_call_with_many_edits_is_many_calls_with_one(
    case: tuple[bytes, Dialect], data: st.DataObject
) -> None:
    document = parse(*case)
    value = value_of(*case)
    edits = []
    for _ in range(3):
        edit = make_edit(lambda some: data.draw(st.sampled_from(list(some))), value)
        if not isinstance(edit, Remove) and outcome(document, edit) is not None:
            edits.append(edit)
            document = parse(document.edit([edit]).data, document.dialect)
            value = value_of(document.data, document.dialect)

    assert parse(*case).edit(edits).data == document.data


@EXAMPLES
@given(st.binary(max_size=60), st.sampled_from(DIALECTS))
def test_arbitrary_bytes_are_read_or_refused(data: bytes, dialect: Dialect) -> None:
    assert answered(data, dialect)


@EXAMPLES
@given(documents(), st.data())
def test_a_damaged_document_is_read_or_refused(
    case: tuple[bytes, Dialect], draw: st.DataObject
) -> None:
    data, dialect = case
    start = draw.draw(st.integers(0, len(data)))
    end = draw.draw(st.integers(start, min(len(data), start + 3)))
    put = draw.draw(st.sampled_from([b"", b"}", b"]", b",", b'"', b"'", b"/*", b"//", b"\\", b"1"]))

    assert answered(data[:start] + put + data[end:], dialect)


def answered(data: bytes, dialect: Dialect) -> bool:
    """Whether reading and editing end in an outcome or in a refusal with words."""
    try:
        document = parse(data, dialect)
        return bool(document.edit([Set(("new",), 1), Append(("list",), "x")]).data)
    except DocumentError as refused:
        return bool(refused.reason)


Splicer = Callable[..., list[TextSplice]]


def after(make: Callable[[str, TextSplice], list[TextSplice]]) -> Callable[[Splicer], Splicer]:
    """A saboteur that changes the last splice of every edit."""

    def sabotage(honest: Splicer) -> Splicer:
        def spliced(parsed: Any, trail: Trail, *rest: Any) -> list[TextSplice]:
            *others, last = honest(parsed, trail, *rest)
            return sorted([*others, *make(parsed.text, last)], key=lambda one: one.start)

        return spliced

    return sabotage


def _beside(text: str, spelled: str, new: str) -> TextSplice:
    start = text.index(spelled)
    return TextSplice(start, start + len(spelled), new)


HONEST = '{\n  // note\n  "a": 1,\n  "n": 1.50,\n  "b": {"x": 2},\n  "l": ["y"] // end\n}\n'

SABOTAGE: dict[str, Callable[[str, TextSplice], list[TextSplice]]] = {
    "drop the comma": lambda text, one: [
        TextSplice(one.start, one.end, one.text.replace(",", "")), _beside(text, "1,", "1")
    ],
    "touch a neighbour": lambda text, one: [one, _beside(text, '"n"', '"m"')],
    "change a neighbour's value": lambda text, one: [one, _beside(text, "1.50", "1.51")],
    "respell a number elsewhere": lambda text, one: [one, _beside(text, "1.50", "1.5")],
    "duplicate a key": lambda text, one: [one, _beside(text, '"n"', '"n": 1.50, "n"')],
    "swallow a comment": lambda text, one: [one, _beside(text, "// note", "")],
    "change a comment": lambda text, one: [one, _beside(text, "// note", "// nota")],
    "add white space far off": lambda text, one: [one, _beside(text, "}\n", "}\n\n")],
    "write another value": lambda text, one: [TextSplice(one.start, one.end, one.text + "0")],
    "do nothing": lambda text, one: [TextSplice(one.start, one.end, text[one.start : one.end])],
    "change the order": lambda text, one: [
        one, _beside(text, '"a": 1,\n  "n": 1.50', '"n": 1.50,\n  "a": 1')
    ],
    "overlap": lambda text, one: [one, TextSplice(max(one.start - 1, 0), one.end + 1, "")],
    "use a richer dialect": lambda text, one: [TextSplice(one.start, one.end, one.text + "/**/")],
}

EDITS: dict[str, Edit] = {
    "replace": Set(("l", 0), "z"),
    "insert": Set(("b", "y"), 3),
    "append": Append(("l",), "z"),
    "remove": Remove(("b", "x")),
}


@pytest.mark.parametrize("operation", EDITS)
@pytest.mark.parametrize("fault", SABOTAGE)
def test_the_proof_refuses_what_a_faulty_splicer_makes(
    fault: str, operation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = parse(HONEST.encode(), Dialect.JSON5)
    assert document.edit([EDITS[operation]]).data != HONEST.encode()
    honest = getattr(json_grammar, operation)
    monkeypatch.setattr(json_grammar, operation, after(SABOTAGE[fault])(honest))

    with pytest.raises(EditRefused):
        document.edit([EDITS[operation]])
