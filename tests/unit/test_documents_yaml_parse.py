"""YAML text to tree: places, types, comments, and what is refused before any edit."""

from __future__ import annotations

import gc
from pathlib import Path as File

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from fleetsync.documents import Dialect, Kind, Limits, Node, parse, yaml_parse
from fleetsync.errors import EditRefused, Unreadable
from tests.unit.documents_yaml import load, many, paths, read, texts

FIXTURES = sorted((File(__file__).parent / "fixtures" / "yaml").glob("*.yaml"))


def tree(data: str | bytes) -> Node:
    root = read(data).root
    assert root is not None
    return root


def child(data: str | bytes, *keys: str | int) -> Node:
    node = read(data).node(keys)
    assert node is not None
    return node


def shown(text: str, node: Node) -> str:
    return text[node.start : node.end]


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("k: word", "str", "word"),
        ("k: 'it''s'", "str", "it's"),
        ('k: "a\\tb"', "str", "a\tb"),
        ("k: yes", "bool", True),
        ("k: off", "bool", False),
        ("k: y", "str", "y"),
        ("k: 1_000", "int", 1000),
        ("k: 017", "int", 15),
        ("k: 0o17", "str", "0o17"),
        ("k: 0x1f", "int", 31),
        ("k: 12:30", "int", 750),
        ("k: 1.50", "float", 1.5),
        ("k: 1e3", "str", "1e3"),
        ("k: ~", "null", None),
        ("k:", "null", None),
        ("k: NULL", "null", None),
        ("k: 2024-01-01", "timestamp", "2024-01-01"),
        ("k: |\n  a\n  b\n", "str", "a\nb\n"),
        ("k: >-\n  a\n  b\n", "str", "a b"),
        ("k: |2\n   a\n", "str", " a\n"),
        ("k: one\n  two", "str", "one two"),
        ("k: !!str 5", "str", "5"),
        ("k: ! 5", "int", 5),
        ("k: !!float 1", "float", 1.0),
    ],
)
def test_a_scalar_has_the_type_and_value_that_pyyaml_gives(
    text: str, kind: str, value: object
) -> None:
    assert (child(text, "k").tag, read(text).value(("k",))) == (kind, value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("k: word # c\n", "word"),
        ("k: 'it''s' # c\n", "'it''s'"),
        ("k: one\n   two # c\n", "one\n   two"),
        ("k: |  # c\n  a\n  # b\n\n# d\n", "|  # c\n  a\n  # b"),
        ("k: |\n  a  \n\nz: 1\n", "|\n  a  "),
        ("k: |+\n  a\n\n\nz: 1\n", "|+\n  a\n\n"),
        ("k: [1, # c\n 2] # d\n", "[1, # c\n 2]"),
        ("k:\n- 1\n- 2 # c\n# d\n", "- 1\n- 2"),
        ("k:\n  a: 1\n  b:\n# d\n", "a: 1\n  b:"),
        ("k: &x word\n", "&x word"),
        ("k: # c\nz: 1\n", ""),
        ("k: é😀 # c\n", "é😀"),
    ],
)
def test_a_node_spans_exactly_its_own_characters(text: str, expected: str) -> None:
    assert shown(text, child(text, "k")) == expected


def test_a_byte_order_mark_counts_as_no_character() -> None:
    text = child(b"\xef\xbb\xbfk: v\n", "k")
    assert (text.start, text.line, text.column) == (3, 1, 4)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_are_counted_as_an_editor_counts_them(end: str) -> None:
    node = child(f"a: 1{end}b:{end}  c: x", "b", "c")
    assert (node.line, node.column) == (3, 6)


@pytest.mark.parametrize("separator", ["\x85", "\u2028", "\u2029"])
def test_a_line_end_of_yaml_alone_is_no_line_for_an_editor(separator: str) -> None:
    node = child(f"a: 1 # c{separator}b: 2\nc: 3\n", "c")
    assert (node.line, node.column) == (2, 4)


@pytest.mark.parametrize("separator", ["\x85", "\u2028", "\u2029"])
def test_a_unicode_line_end_ends_a_comment(separator: str) -> None:
    assert read(f"a: 1 # c{separator}b: 2\n").value(("b",)) == 2


@pytest.mark.parametrize(
    ("text", "comments"),
    [
        ("# a\nk: v # b\n  # c\n", ["# a", "# b", "# c"]),
        ("k: a#b\nl: 'x # y'\nm: \"p # q\"\n", []),
        ("k: | # head\n  # text\n # less\n", ["# head", "# less"]),
        ("k: &a # between\n  v\n", ["# between"]),
        ("k: !!str # between\n  v\n", ["# between"]),
        ("k: [a, # one\n  b#c, # two\n]\n", ["# one", "# two"]),
        ('k: "v"#tight\n', ["#tight"]),
        ("k: one\n  # breaks\n", ["# breaks"]),
        ("%YAML 1.1 # d\n--- # e\nk: v\n... # f\n# g", ["# d", "# e", "# f", "# g"]),
        ("- # item\n  a: http://h/#frag\n", ["# item"]),
        ("#", ["#"]),
    ],
)
def test_a_comment_is_a_hash_outside_of_all_scalars(text: str, comments: list[str]) -> None:
    document = read(text)
    assert [document.text[c.start : c.end] for c in document.comments] == comments


@pytest.mark.parametrize(
    ("text", "features"),
    [
        ("k: v\n", set()),
        ("k: v # c\r\n", {"crlf", "line_comment"}),
        ("k: v\rl: w\n", {"cr"}),
        ("k: &a v\nl: *a\n", {"anchor", "alias"}),
        ("k: &a {x: 1}\nl: {<<: *a}\n", {"anchor", "alias", "merge"}),
        ("k: !!str v\n", {"tag"}),
        ("%YAML 1.1\n---\nk: v\n", {"directive"}),
        ("k: v\nk: w\n", {"duplicate_key"}),
        ("k: v\n'k': w\n", {"duplicate_key"}),
        ("1: v\n'1': w\n", set()),
    ],
)
def test_features_name_what_a_file_uses(text: str, features: set[str]) -> None:
    assert read(text).features == features


def test_an_alias_is_a_node_of_its_own() -> None:
    node = child("k: &a {x: 1}\nl: *a\n", "l")
    assert (node.kind, node.text) == (Kind.ALIAS, "a")


@pytest.mark.parametrize("on", [True, False])
def test_the_garbage_collector_is_left_as_it_was(on: bool) -> None:
    before = gc.isenabled()
    try:
        (gc.enable if on else gc.disable)()
        with pytest.raises(Unreadable):
            parse(b"a: [", Dialect.YAML)
        assert gc.isenabled() is on
    finally:
        (gc.enable if before else gc.disable)()


def test_an_empty_file_has_no_root() -> None:
    assert [read(text).root for text in ("", "# c\n", "\n\n")] == [None] * 3


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("a: 1\n b: 2\n", 2, 3),
        ("a: 1\n\tb: 2\n", 2, 1),
        ("a:\n\tb: 2\n", 2, 1),
        ("a:\n- \tb: 2\n", 2, 3),
        ("a: [1, 2\nb: 3\n", 2, 2),
        ("a: 'open\n", 2, 1),
        ("a: @x\n", 1, 4),
        ("a: `x\n", 1, 4),
        ("é: 1\na: %x\n", 2, 4),
        ("a: \x00\n", 1, 4),
        ("a: 1\nb: \x07\n", 2, 4),
        ("a: b: c\n", 1, 5),
        ("a: 1\n---\nb: 2\n", 2, 1),
        ("---\n---\n", 2, 1),
        ("a: *none\n", 1, 4),
        ("a: &x 1\nb: &x 2\n", 2, 4),
        ("a: !custom 1\n", 1, 4),
        ("a: !!python/object:os.system {}\n", 1, 4),
        ("a: !!python/object/apply:os.system [x]\n", 1, 4),
        ("a: 2024-99-99\n", 1, 4),
        ("a: =\n", 1, 4),
        ("a: <<\n", 1, 4),
        ("a: 0x_\n", 1, 4),
        ("a: !!int x\n", 1, 4),
        ("a: !!map x\n", 1, 4),
        ("a: !!seq {}\n", 1, 4),
        ("? [a]\n: 1\n", 1, 3),
        ("a: {{ jinja }}\n", 1, 5),
        ("a: &x {b: 1}\n*x : 2\n", 2, 1),
        ("<<: 5\n", 1, 5),
        ("a: &x 5\n<<: *x\n", 2, 5),
        ("a: &x {<<: *x}\n", 1, 12),
        ("a: " + "9" * 5000 + "\n", 1, 4),
    ],
)
def test_what_the_clients_loader_fails_on_is_unreadable_with_its_place(
    text: str, line: int, column: int
) -> None:
    with pytest.raises(Unreadable) as caught:
        read(text)
    assert (caught.value.line, caught.value.column) == (line, column)


def test_a_key_of_more_than_1024_characters_is_unreadable() -> None:
    with pytest.raises(Unreadable):
        read("k" * 1030 + ": v\n")


@pytest.mark.parametrize("bracket", ["[", "{a: ", "- "])
def test_deep_nesting_is_unreadable(bracket: str) -> None:
    with pytest.raises(Unreadable, match=r"nested deeper than 200 levels|maximum nesting depth"):
        read("k:\n  " + bracket * 100_000)


def test_more_nodes_than_the_limit_are_unreadable() -> None:
    with pytest.raises(Unreadable, match="more than 50 nodes"):
        parse(b"[" + b"a, " * 50 + b"]", Dialect.YAML, Limits(nodes=50))


def test_aliases_that_unfold_to_billions_of_nodes_are_read_as_they_stand() -> None:
    lines = ["a: &a [x, x, x, x, x, x, x, x, x]"]
    lines += [f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]"
              for a, b in zip("abcdefghij", "bcdefghijk", strict=True)]
    assert len(tree("\n".join(lines)).entries) == 11


def test_a_file_of_40_000_lines_is_read() -> None:
    text = "".join(f"key{i}: value {i}\n" for i in range(40_000))
    assert read(text).value(("key39999",)) == "value 39999"


def test_readers_that_differ_on_a_users_scalar_are_named() -> None:
    words = read("k: 012").differing(("k",))
    assert words == ("PyYAML reads 10 (int), ruamel.yaml at YAML 1.1 reads 10 (int), "
                     "ruamel.yaml at YAML 1.2 reads 12 (int)")


@pytest.mark.parametrize("text", ["k: yes", "k: 1e3", "k: y", "k: 12:30", "k: 0o17"])
def test_a_scalar_that_readers_retype_is_reported(text: str) -> None:
    assert read(text).differing(("k",))


@pytest.mark.parametrize(
    "text", ["k: word", "k: 'yes'", 'k: "012"', "k: 393216", "k: 1_000", "k: true", "k: |\n  012\n"]
)
def test_a_scalar_that_readers_agree_on_is_not_reported(text: str) -> None:
    assert read(text).differing(("k",)) == ""


def test_a_key_that_readers_retype_is_reported() -> None:
    assert read("1e3: x").differing(("1e3",))


def test_where_nothing_stands_nothing_differs() -> None:
    assert read("k: 012").differing(("absent", "key")) == ""


@pytest.mark.parametrize("text", ["d: &d {x: 1}\nk:\n  <<: *d\n", "d: &d {x: 1}\nk: {<<: [*d]}\n"])
def test_a_key_that_may_be_merged_in_is_never_called_missing(text: str) -> None:
    with pytest.raises(EditRefused, match="<< may merge"):
        read(text).value(("k", "x"))


@pytest.mark.parametrize("file", FIXTURES, ids=lambda file: file.stem)
def test_every_scalar_of_a_fixture_stands_where_its_node_says(file: File) -> None:
    text = file.read_text("utf-8")
    waiting = [tree(text)]
    wrong = []
    while waiting:
        node = waiting.pop()
        waiting += [one for pair in node.entries for one in pair] + list(node.items)
        plain = node.kind is Kind.SCALAR and not node.style and not node.anchor
        if plain and " ".join(shown(text, node).split()) != " ".join(node.text.split()):
            wrong.append(node)
    assert wrong == []


@pytest.mark.parametrize("file", FIXTURES, ids=lambda file: file.stem)
def test_pyyaml_without_libyaml_gives_the_same_tree(
    file: File, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = file.read_text("utf-8")
    fast = tree(text)
    monkeypatch.setattr(yaml_parse, "_Loader", yaml.SafeLoader)
    assert _places(tree(text)) == _places(fast)


def _places(root: Node) -> list[tuple[object, ...]]:
    return [(path, node.kind, node.tag, node.text, node.start, node.end, node.line, node.column)
            for path, node in paths(root)]


def _loads(text: str) -> bool:
    try:
        load(text)
    except (yaml.YAMLError, ValueError, KeyError, AttributeError, TypeError, RecursionError):
        return False
    return True


def _reads(data: bytes) -> bool:
    try:
        read(data)
    except Unreadable:
        return False
    return True


@given(texts())
@many(150)
def test_a_text_is_readable_exactly_if_pyyaml_loads_it(text: str) -> None:
    assert _reads(text.encode()) == _loads(text)


@given(st.text(alphabet="ab:-?#&*!|>'\"[]{},%@~ \t\n\r0.1<=\\\x85é", max_size=24))
@many(400)
def test_a_text_of_punctuation_is_readable_exactly_if_pyyaml_loads_it(text: str) -> None:
    assert _reads(text.encode()) == _loads(text)


@given(st.binary(max_size=40))
@many(200)
def test_arbitrary_bytes_are_read_or_refused(data: bytes) -> None:
    try:
        assert read(data).data == data
    except Unreadable as error:
        assert error.line >= 1 and error.column >= 1


@given(texts(), st.integers(0, 400))
@many(100)
def test_a_text_that_is_cut_off_is_read_or_refused(text: str, length: int) -> None:
    cut = text[:length]
    assert _reads(cut.encode()) == _loads(cut)
