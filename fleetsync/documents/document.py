"""One parsed document: what it holds, where, and what an edit would make of it."""

from __future__ import annotations

import enum
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Final

from fleetsync.documents.tree import Comment, Dialect, Edit, Edited, Limits, Node, Path, Span, Value


class Missing(enum.Enum):
    """The type of `MISSING`: a path that leads nowhere (a null is a value)."""

    MISSING = "missing"


MISSING: Final = Missing.MISSING


@dataclass(frozen=True)
class Document:
    """A document that parsed: its tree, and every way it departs from strict JSON.

    `features` are among: bom, crlf, cr, line_comment, block_comment, trailing_comma,
    unquoted_key, single_quote, json5_number, json5_string, duplicate_key, anchor, alias,
    merge, tag, directive, several_documents.
    """

    data: bytes
    dialect: Dialect
    text: str
    root: Node | None
    comments: tuple[Comment, ...]
    features: frozenset[str]
    limits: Limits

    def node(self, path: Path) -> Node | None:
        """The node at `path`, or None. Raises EditRefused where it is ambiguous."""
        raise NotImplementedError

    def value(self, path: Path) -> Value | Missing:
        """The plain value at `path`, or MISSING. Raises EditRefused where it is ambiguous."""
        raise NotImplementedError

    def place(self, path: Path) -> tuple[int, int]:
        """Line and column (from 1) of the node at `path`, of its nearest parent where absent."""
        raise NotImplementedError

    def edit(self, edits: Iterable[Edit]) -> Edited:
        """Make `edits` in order and prove the outcome. Raises EditRefused; never writes."""
        raise NotImplementedError

    def secret_spans(self, managed: Collection[Path], known: Collection[str]) -> tuple[Span, ...]:
        """Spans to mask before text leaves: all scalars outside `managed` that are not a
        number, boolean, null, or a word of `known`, and token shapes in comments and keys."""
        raise NotImplementedError


def parse(data: bytes, dialect: Dialect, limits: Limits | None = None) -> Document:
    """Parse `data`. Raises Unreadable with line and column."""
    raise NotImplementedError
