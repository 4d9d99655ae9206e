"""What holds for every edit of every YAML text, judged by PyYAML's own loader."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
import yaml
from hypothesis import assume, given
from hypothesis import strategies as st

from fleetsync.documents import (
    Append,
    Document,
    Edit,
    Edited,
    Item,
    Kind,
    Remove,
    Set,
    Value,
    Where,
    apply_splices,
)
from fleetsync.documents.tree import Step
from fleetsync.errors import EditRefused, Unreadable
from tests.unit.documents_yaml import (
    SCALARS,
    VALUES,
    Draw,
    applied,
    edits_of,
    exact,
    load,
    many,
    paths,
    read,
    texts,
)


@st.composite
def documents(draw: Draw) -> Document:
    """A document that parses."""
    text = draw(texts())
    try:
        return read(text)
    except Unreadable:
        assume(False)
        raise


@st.composite
def edited(draw: Draw) -> tuple[Document, Edit, Edited]:
    """A document, an edit of it that is not refused, and the outcome."""
    document = draw(documents())
    edit = draw(edits_of(document))
    try:
        return document, edit, document.edit([edit])
    except EditRefused:
        assume(False)
        raise


def comments(document: Document) -> Counter[str]:
    return Counter(document.text[one.start : one.end] for one in document.comments)


@given(edited())
@many(300)
def test_pyyaml_reads_the_edit_and_nothing_else(case: tuple[Document, Edit, Edited]) -> None:
    document, edit, outcome = case
    assert exact(load(outcome.data)) == exact(applied(load(document.data), edit))


@given(documents())
@many(50)
def test_no_edit_gives_the_same_bytes(document: Document) -> None:
    assert document.edit([]).data == document.data


@given(documents(), st.data())
@many(80)
def test_setting_what_stands_there_is_no_edit(document: Document, data: st.DataObject) -> None:
    known = [path for path, node in paths(document.root) if path and node.kind is Kind.SCALAR
             and node.tag in {"str", "int", "float", "bool", "null"}]
    assume(known)
    path = data.draw(st.sampled_from(known))
    value: Any = document.value(path)
    assert document.edit([Set(path, value)]).splices == ()


@given(edited())
@many(80)
def test_the_splices_give_the_outcome(case: tuple[Document, Edit, Edited]) -> None:
    document, _, outcome = case
    assert apply_splices(document.data, outcome.splices) == outcome.data


@given(edited())
@many(120)
def test_an_edit_that_is_made_twice_is_made_once(case: tuple[Document, Edit, Edited]) -> None:
    _, edit, outcome = case
    assume(isinstance(edit, Set))
    assert read(outcome.data).edit([edit]).splices == ()


@given(edited())
@many(150)
def test_a_set_or_an_append_keeps_every_comment(case: tuple[Document, Edit, Edited]) -> None:
    document, edit, outcome = case
    assume(not isinstance(edit, Remove))
    assert comments(document) <= comments(read(outcome.data))


@given(edited())
@many(80)
def test_line_ends_stay_of_one_kind(case: tuple[Document, Edit, Edited]) -> None:
    document, _, outcome = case
    kinds = document.features & {"crlf", "cr"}
    assume("\n" in document.text or "\r" in document.text)
    assert read(outcome.data).features & {"crlf", "cr"} <= kinds


@given(documents(), st.data())
@many(120)
def test_a_set_scalar_changes_its_own_characters_alone(
    document: Document, data: st.DataObject
) -> None:
    known = [(path, node) for path, node in paths(document.root)
             if path and node.kind is Kind.SCALAR and node.start < node.end]
    assume(known)
    path, node = data.draw(st.sampled_from(known))
    try:
        outcome = document.edit([Set(path, data.draw(SCALARS))]).data.decode()
    except EditRefused:
        assume(False)
    before, after = document.text[: node.start], document.text[node.end :]
    assert outcome.startswith(before) and outcome.endswith(after)


@given(documents(), st.data())
@many(150)
def test_a_removed_insertion_gives_back_the_bytes(
    document: Document, data: st.DataObject
) -> None:
    known = [path for path, node in paths(document.root) if node.kind is Kind.MAPPING
             and node.entries]
    path = (*data.draw(st.sampled_from(known)), "inserted")
    try:
        outcome = document.edit([Set(path, data.draw(VALUES))])
    except EditRefused:
        assume(False)
    assert read(outcome.data).edit([Remove(path)]).data == document.data


@given(documents(), st.data())
@many(100)
def test_a_removed_item_gives_back_the_bytes(document: Document, data: st.DataObject) -> None:
    known = [(path, node) for path, node in paths(document.root)
             if path and node.kind is Kind.SEQUENCE and node.items]
    assume(known)
    path, node = data.draw(st.sampled_from(known))
    new: list[tuple[Value, Step]] = [
        ("appended item", Item("appended item")),
        ({"id": "appended"}, Where("id", "appended")), ({"a": [1]}, len(node.items)),
    ]
    value, step = data.draw(st.sampled_from(new))
    try:
        outcome = document.edit([Append(path, value)])
    except EditRefused:
        assume(False)
    assert read(outcome.data).edit([Remove((*path, step))]).data == document.data


@given(documents(), st.data())
@many(80)
def test_edits_of_different_scalars_commute(document: Document, data: st.DataObject) -> None:
    known = [path for path, node in paths(document.root) if path and node.kind is Kind.SCALAR]
    assume(len(known) > 1)
    one, two = data.draw(st.lists(st.sampled_from(known), min_size=2, max_size=2, unique=True))
    first, second = Set(one, data.draw(SCALARS)), Set(two, data.draw(SCALARS))
    try:
        there, back = document.edit([first, second]), document.edit([second, first])
    except EditRefused:
        assume(False)
    assert there.data == back.data


@given(documents(), st.data())
@many(70)
def test_several_edits_are_as_one_after_another(document: Document, data: st.DataObject) -> None:
    first = data.draw(edits_of(document))
    try:
        once = document.edit([first])
        second = data.draw(edits_of(read(once.data)))
        twice = read(once.data).edit([second])
        together = document.edit([first, second])
    except EditRefused:
        assume(False)
    assert together.data == twice.data


@given(texts(), st.integers(0, 300), st.sampled_from("\t:-#&*!|>'\"[]{},%@ \n\r\x85"), st.data())
@many(150)
def test_a_damaged_text_is_refused_or_edited_as_pyyaml_reads_it(
    text: str, at: int, damage: str, data: st.DataObject
) -> None:
    try:
        document = read(text[:at] + damage + text[at:])
        edit = data.draw(edits_of(document))
        outcome = document.edit([edit])
    except (Unreadable, EditRefused) as error:
        assert error.reason
        return
    assert exact(load(outcome.data)) == exact(applied(load(document.data), edit))


@given(st.text(alphabet="ab:-?#&*!|>'\"[]{},~ \n\r0.1\\", max_size=30), st.data())
@many(300)
def test_a_text_of_punctuation_is_refused_or_edited_as_pyyaml_reads_it(
    text: str, data: st.DataObject
) -> None:
    try:
        document = read(text)
        edit = data.draw(edits_of(document))
        outcome = document.edit([edit])
    except (Unreadable, EditRefused) as error:
        assert error.reason
        return
    assert exact(load(outcome.data)) == exact(applied(load(document.data), edit))


@given(documents(), st.data())
@many(200)
def test_no_edit_is_left_to_the_proof_to_refuse(document: Document, data: st.DataObject) -> None:
    assume("+" not in document.text)    # below `|+` a removal can leave lines that would join it
    try:
        document.edit([data.draw(edits_of(document))])
    except EditRefused as error:
        assert "this edit was not made" not in error.reason


@pytest.mark.parametrize(
    ("line", "edit"),
    [("k: {a: 1}", Set(("k", "new"), 1)), ("k: [1]", Append(("k",), 1)),
     ("k: {a: 1, b: 2}", Remove(("k", "a")))],
)
def test_an_edit_beside_aliases_that_unfold_to_billions_leaves_them(line: str, edit: Edit) -> None:
    aliases = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    aliases += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 12)]
    outcome = read("\n".join([line, *aliases])).edit([edit]).data.decode()
    assert outcome.splitlines()[1:] == aliases


def test_the_judge_would_notice_a_wrong_value() -> None:
    assert exact(yaml.safe_load("a: 1")) != exact({"a": True})
