"""What a document is: nodes with positions, paths into them, edits to them.

Both grammars (JSON and YAML) produce this one tree, so paths, the proof after an
edit and the spans to mask are written once. Positions are character offsets into
`Document.text` (the decoded bytes without a BOM); `Splice` alone speaks of bytes.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias


class Dialect(enum.Enum):
    """Which grammar a file is read and written in."""

    JSON = "JSON"
    """Strict JSON (RFC 8259); a BOM is tolerated and reported as feature `bom`."""
    JSON_COMMENTS = "JSON with // comments and trailing commas"
    """Pi's models.json: no block comments, no other JSON5 form."""
    JSON5 = "JSON5"
    """OpenClaw's openclaw.json."""
    YAML = "YAML"
    """YAML 1.1 as PyYAML reads it: Hermes' config.yaml."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds within which a document is looked at: bytes, nesting levels, nodes."""

    size: int = 4 * 1024 * 1024
    depth: int = 200
    nodes: int = 200_000


@dataclass(frozen=True, slots=True)
class Where:
    """In a list of mappings, the one whose `key` holds the string `value`."""

    key: str
    value: str


@dataclass(frozen=True, slots=True)
class Item:
    """In a list of scalars, the string `value`."""

    value: str


Step: TypeAlias = str | int | Where | Item
Path: TypeAlias = tuple[Step, ...]
Value: TypeAlias = "str | int | float | bool | list[Value] | dict[str, Value] | None"


class Kind(enum.Enum):
    """What a node is."""

    MAPPING = "mapping"
    SEQUENCE = "sequence"
    SCALAR = "scalar"
    ALIAS = "alias"


@dataclass(slots=True, eq=False)
class Node:
    """One node of the tree. Two nodes are never equal; `proof.same` compares trees.

    `tag` names a scalar's resolved type: null, bool, int, float, str, or another
    YAML tag as PyYAML resolves it. `text` is a scalar's content after unquoting and
    unescaping (a number's own spelling); for an alias, the anchor's name.
    `entries` are a mapping's (key node, value node) pairs in file order,
    duplicates included; `items` are a sequence's nodes.
    """

    kind: Kind
    start: int
    end: int
    line: int
    column: int
    tag: str = ""
    text: str = field(default="", repr=False)
    anchor: str = ""
    flow: bool = True
    style: str = ""
    entries: Sequence[tuple[Node, Node]] = field(default=(), repr=False)
    items: Sequence[Node] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class Comment:
    """One comment: its span in characters, markers included."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Splice:
    """Replace the bytes [start, end) of the original file by `text`."""

    start: int
    end: int
    text: bytes


@dataclass(frozen=True, slots=True)
class Set:
    """Make the node at `path` hold `value`; an equal value is no edit.

    Missing parents are made as mappings. Setting a mapping on a mapping replaces
    it whole: set its members one by one to keep the others.
    """

    path: Path
    value: Value


@dataclass(frozen=True, slots=True)
class Append:
    """Add `value` after the last item of the list at `path` (made when missing)."""

    path: Path
    value: Value


@dataclass(frozen=True, slots=True)
class Remove:
    """Take the entry or item at `path` out; where it is absent this is no edit."""

    path: Path


Edit: TypeAlias = Set | Append | Remove


@dataclass(frozen=True, slots=True)
class Edited:
    """The outcome of an edit that has passed its proof.

    `splices` are relative to the original bytes, ascending, never overlapping;
    applying them to the original gives exactly `data`.
    """

    data: bytes
    splices: tuple[Splice, ...]


@dataclass(frozen=True, slots=True)
class Span:
    """Characters [start, end) of `Document.text` that must not be shown."""

    start: int
    end: int


def apply_splices(data: bytes, splices: tuple[Splice, ...]) -> bytes:
    """Return `data` with `splices` (ascending, disjoint) put in."""
    pieces: list[bytes] = []
    at = 0
    for splice in splices:
        pieces += (data[at : splice.start], splice.text)
        at = splice.end
    return b"".join((*pieces, data[at:]))
