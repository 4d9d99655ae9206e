"""Files as users write them: our own small ones, and real shapes where they are at hand."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path as File

import pytest

from fleetsync.documents import (
    Append,
    Dialect,
    Document,
    Edit,
    Kind,
    Node,
    Path,
    Remove,
    Set,
    Value,
    Where,
    parse,
)
from tests.matrix import FULL
from tests.unit.documents_json import SHARED

OURS = File(__file__).parent / "fixtures" / "json"
DIALECTS = {
    "pi-models": Dialect.JSON_COMMENTS,
    "pi-settings": Dialect.JSON,
    "openclaw": Dialect.JSON5,
}
MODELS = sorted((OURS / "pi-models").glob("*.json"))
FILES = sorted(
    file
    for root in (OURS, SHARED / "corpus")
    for client in DIALECTS
    for file in (root / client).glob("*.json")
)
SAMPLE = 1000 if FULL else 5


def variants(data: bytes) -> list[bytes]:
    """The file as it is, with CRLF, with a BOM, without its final newline."""
    lf = data.replace(b"\r\n", b"\n")
    return [data, lf.replace(b"\n", b"\r\n"), b"\xef\xbb\xbf" + data, data.rstrip(b"\n")]


def read(file: File, variant: int) -> Document:
    return parse(variants(file.read_bytes())[variant], DIALECTS[file.parent.name])


def walk(node: Node, above: Path = ()) -> Iterator[tuple[Path, Node]]:
    """All nodes with their paths, without what stands under a duplicate key."""
    yield above, node
    times = Counter(key.text for key, _ in node.entries)
    for key, value in node.entries:
        if times[key.text] == 1:
            yield from walk(value, (*above, key.text))
    for index, item in enumerate(node.items):
        yield from walk(item, (*above, index))


def nodes(document: Document) -> list[tuple[Path, Node]]:
    assert document.root is not None
    return list(walk(document.root))


VARIANTS = pytest.mark.parametrize("variant", range(4), ids=["as it is", "CRLF", "BOM", "no end"])
EVERY_FILE = pytest.mark.parametrize(
    "file", FILES, ids=[f"{file.parent.name}/{file.name}" for file in FILES]
)


@EVERY_FILE
@VARIANTS
def test_changed_scalars_change_their_own_lines_and_no_other_byte(file: File, variant: int) -> None:
    document = read(file, variant)
    scalars = [
        (path, node) for path, node in nodes(document)
        if node.kind is Kind.SCALAR and path and isinstance(path[-1], str) and node.tag != "null"
    ]

    edited = document.edit(Set(path, f"new {node.text}") for path, node in scalars)

    offset = 3 if variant == 2 else 0
    spans = [
        (offset + len(document.text[: node.start].encode()),
         offset + len(document.text[: node.end].encode()))
        for _, node in sorted(scalars, key=lambda pair: pair[1].start)
    ]
    assert [(one.start, one.end) for one in edited.splices] == spans
    assert changed_lines(document.data, edited.data) == {node.line for _, node in scalars}


def changed_lines(before: bytes, after: bytes) -> set[int]:
    """Numbers of the lines of `before` that differ; both have the same number of lines."""
    pairs = zip(before.split(b"\n"), after.split(b"\n"), strict=True)
    return {number for number, (one, other) in enumerate(pairs, 1) if one != other}


@EVERY_FILE
@pytest.mark.parametrize("variant", range(4) if FULL else (0, 1))
def test_what_is_put_into_a_container_can_be_taken_out_again(file: File, variant: int) -> None:
    document = read(file, variant)
    containers = [
        (path, node) for path, node in nodes(document)
        if node.entries or node.items
        or document.text[node.start : node.end] in ("{}", "[]")
    ]

    for path, node in containers[:: max(1, len(containers) // SAMPLE)]:
        put, take = put_and_take(path, node)
        edited = document.edit([put])
        assert parse(edited.data, document.dialect).edit([take]).data == document.data


def put_and_take(path: Path, node: Node) -> tuple[Edit, Edit]:
    value: Value = {"id": "new", "input": ["text"]}
    if node.kind is Kind.SEQUENCE:
        return Append(path, value), Remove((*path, len(node.items)))
    return Set((*path, "new.key"), value), Remove((*path, "new.key"))


@EVERY_FILE
def test_an_added_entry_adds_lines_and_changes_at_most_the_one_above(file: File) -> None:
    document = read(file, 0)
    put = Set(("new.key",), {"id": "new"})
    before = document.data.decode().splitlines()

    after = document.edit([put]).data.decode().splitlines()

    changes = [line for line in difflib.ndiff(before, after) if line.startswith("-")]
    assert len(changes) <= 1


@pytest.mark.parametrize("file", MODELS, ids=lambda file: file.name)
def test_a_catalog_edit_looks_as_its_user_would_have_written_it(file: File) -> None:
    document = parse(file.read_bytes(), Dialect.JSON_COMMENTS)
    providers = document.node(("providers",))
    keys = [key.text for key, _ in providers.entries] if providers else []
    models = ("providers", keys[0] if keys else "anvil", "models")

    edited = document.edit(catalog_edits(document, models))

    assert edited.data == file.with_name(file.stem + ".after").read_bytes()


def catalog_edits(document: Document, models: Path) -> list[Edit]:
    """The first model's limits, its compat, and one new alias."""
    node = document.node((*models, 0))
    first: list[Edit] = []
    if node is not None:
        first = [
            Set((*models, 0, "contextWindow"), 393216),
            Set((*models, 0, "maxTokens"), 4096),
            Set((*models, 0, "compat", "supportsUsageInStreaming"), True),
        ]
    alias: Value = {"id": "llm.secondary", "contextWindow": 131072, "input": ["text", "image"]}
    again = Set((*models, Where("id", "llm.secondary"), "maxTokens"), 2048)
    return [*first, Append(models, alias), again]
