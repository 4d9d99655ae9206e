"""What one change did is taken back; what others did since stays."""

from __future__ import annotations

import json

import pytest

from fleetsync.documents import MISSING, Dialect, Document, Item, Path, Value, Where, parse
from fleetsync.documents.three_way import Difference, TakenBack, differences, equal, take_back
from fleetsync.errors import EditRefused

OLD = """{ // mine
  "models": [
    {"id": "a", "window": 500, "max": 8}, // first
    {"id": "b", "window": 500, "max": 8}
  ],
  "enabled": ["x/a", "x/b"],
  "theme": "dark"
}
"""
NEW = OLD.replace('"a", "window": 500', '"a", "window": 300')


def document(text: str, dialect: Dialect = Dialect.JSON_COMMENTS) -> Document:
    return parse(text.encode(), dialect)


def merged(old: str, new: str, live: str, *, force: bool = False) -> TakenBack:
    return take_back(
        differences(document(old), document(new)), document(live), force=force
    )


def result(old: str, new: str, live: str, *, force: bool = False) -> str:
    edited = document(live).edit(merged(old, new, live, force=force).edits)
    return edited.data.decode()


WINDOW: Path = ("models", Where("id", "a"), "window")


def test_a_changed_value_is_found_by_the_id_of_its_entry() -> None:
    found = differences(document(OLD), document(NEW))
    assert found == (Difference(WINDOW, 500, 300),)


@pytest.mark.parametrize(
    ("live", "expected"),
    [
        pytest.param(NEW, OLD, id="untouched"),
        pytest.param(
            NEW.replace("dark", "light"), OLD.replace("dark", "light"), id="another key edited"
        ),
        pytest.param(
            NEW.replace("// first", "// edited"), OLD.replace("// first", "// edited"),
            id="a comment edited",
        ),
        pytest.param(
            NEW.replace('"window": 300, "max": 8', '"window": 300, "max": 9'),
            OLD.replace('"max": 8}, //', '"max": 9}, //'), id="a key beside ours edited",
        ),
        pytest.param(OLD, OLD, id="our value taken back already"),
        pytest.param(
            json.dumps(json.loads(NEW.replace("// mine", "").replace("// first", ""))),
            json.dumps(json.loads(OLD.replace("// mine", "").replace("// first", ""))),
            id="rewritten in another style",
        ),
    ],
)
def test_our_value_goes_back_and_later_edits_stay(live: str, expected: str) -> None:
    assert merged(OLD, NEW, live).conflicts == ()
    assert result(OLD, NEW, live) == expected


@pytest.mark.parametrize(
    "live",
    [
        pytest.param(NEW.replace("300", "301"), id="our key edited"),
        pytest.param(NEW.replace('"window": 300, ', ""), id="our key removed"),
        pytest.param(
            NEW.replace('{"id": "a", "window": 300, "max": 8}, // first\n', ""),
            id="our entry removed",
        ),
    ],
)
def test_a_key_changed_by_both_is_a_conflict(live: str) -> None:
    found = merged(OLD, NEW, live)
    assert (found.edits, [one.path for one in found.conflicts]) == ((), [WINDOW])


def test_force_puts_the_original_over_an_edit() -> None:
    assert result(OLD, NEW, NEW.replace("300", "301"), force=True) == OLD


def test_force_leaves_a_key_whose_entry_is_gone() -> None:
    live = NEW.replace('{"id": "a", "window": 300, "max": 8}, // first\n', "")
    found = merged(OLD, NEW, live, force=True)
    assert (found.edits, [one.path for one in found.left]) == ((), [WINDOW])


def test_an_entry_that_was_added_is_removed() -> None:
    new = OLD.replace('"max": 8}\n', '"max": 8},\n    {"id": "c", "window": 1}\n')
    assert result(OLD, new, new.replace("dark", "light")) == OLD.replace("dark", "light")


def test_an_added_entry_that_was_edited_since_is_a_conflict() -> None:
    new = OLD.replace('"max": 8}\n', '"max": 8},\n    {"id": "c", "window": 1}\n')
    found = merged(OLD, new, new.replace('"window": 1}', '"window": 1, "cost": 2}'))
    assert [one.path for one in found.conflicts] == [("models", Where("id", "c"))]


def test_an_entry_that_was_removed_comes_back_at_the_end() -> None:
    new = OLD.replace('{"id": "a", "window": 500, "max": 8}, // first\n    ', "")
    back = document(result(OLD, new, new)).value(("models",))
    assert isinstance(back, list)
    assert sorted(str(one) for one in back) == sorted(
        str(one) for one in [{"id": "b", "window": 500, "max": 8},
                             {"id": "a", "window": 500, "max": 8}]
    )


def test_a_string_that_left_a_list_comes_back_beside_later_ones() -> None:
    new = OLD.replace('"x/a", ', "")
    live = new.replace('"x/b"', '"x/b", "x/mine"')
    assert document(result(OLD, new, live)).value(("enabled",)) == ["x/b", "x/mine", "x/a"]


def test_a_string_that_came_into_a_list_goes() -> None:
    new = OLD.replace('"x/b"', '"x/b", "x/c"')
    assert result(OLD, new, new) == OLD
    assert differences(document(OLD), document(new)) == (
        Difference(("enabled", Item("x/c")), MISSING, "x/c"),
    )


def test_a_mapping_that_was_added_goes_key_by_key_where_somebody_added_to_it() -> None:
    old, new = '{"a": {"k": 1}}', '{"a": {"k": 1, "compat": {"x": true}}}'
    live = '{"a": {"k": 1, "compat": {"x": true, "mine": 2}}}'
    assert json.loads(result(old, new, live)) == {"a": {"k": 1, "compat": {"mine": 2}}}
    assert json.loads(result(old, new, new)) == json.loads(old)


def test_a_list_of_numbers_is_one_value() -> None:
    found = differences(document('{"a": [1, 2]}'), document('{"a": [1, 3]}'))
    assert found == (Difference(("a",), [1, 2], [1, 3]),)


def test_the_order_of_items_counts_for_nothing() -> None:
    assert differences(document('{"a": ["x", "y"]}'), document('{"a": ["y", "x"]}')) == ()


def test_a_boolean_is_no_number() -> None:
    assert [(one.before, one.after) for one in differences(
        document('{"a": 1}'), document('{"a": true}')
    )] == [(1, True)]


def test_a_key_twice_where_it_matters_is_refused() -> None:
    with pytest.raises(EditRefused):
        differences(document('{"a": {"k": 1, "k": 2}}'), document('{"a": {"k": 1, "k": 3}}'))


def test_a_key_twice_elsewhere_is_no_obstacle() -> None:
    old = '{"z": {"k": 1, "k": 2}, "a": 1}'
    assert result(old, old.replace('"a": 1', '"a": 2'), old.replace('"a": 1', '"a": 2')) == old


def test_yaml_goes_back_as_json_does() -> None:
    old = "providers:\n  a:\n    models:\n      llm.x: {context_length: 500}  # mine\n"
    new, live = old.replace("500", "300"), old.replace("500", "300").replace("mine", "yours")
    found = differences(document(old, Dialect.YAML), document(new, Dialect.YAML))
    assert [one.path for one in found] == [
        ("providers", "a", "models", "llm.x", "context_length")
    ]
    after = document(live, Dialect.YAML)
    assert after.edit(take_back(found, after).edits).data.decode() == old.replace("mine", "yours")


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (MISSING, MISSING, True), (MISSING, None, False), (1, 1.0, True), (1, True, False),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True), ({"a": 1}, {"a": 2}, False),
        ([1, 2], [2, 1], False), ([1], [1, 2], False), ([], {}, False), ("1", 1, False),
    ],
)
def test_values_are_equal_by_meaning(a: Value, b: Value, expected: bool) -> None:
    assert equal(a, b) is expected
