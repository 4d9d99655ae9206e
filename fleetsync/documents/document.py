"""One parsed document: what it holds, where, and what an edit would make of it."""

from __future__ import annotations

import enum
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Final

from fleetsync.documents import editing, secrets
from fleetsync.documents.grammar import Grammar, Parsed, without_collector
from fleetsync.documents.paths import resolve
from fleetsync.documents.tree import (
    Comment,
    Dialect,
    Edit,
    Edited,
    Kind,
    Limits,
    Node,
    Path,
    Span,
    Value,
)
from fleetsync.errors import EditRefused, Unreadable

BOM: Final = b"\xef\xbb\xbf"


class Missing(enum.Enum):
    """The type of `MISSING`: a path that leads nowhere (a null is a value)."""

    MISSING = "missing"


MISSING: Final = Missing.MISSING


@dataclass(frozen=True, eq=False)
class Document:
    """A document that parsed: its tree, and every way it departs from strict JSON.

    `features` are among: bom, crlf, cr, line_comment, block_comment, trailing_comma,
    unquoted_key, single_quote, json5_number, json5_string, json5_space, duplicate_key,
    anchor, alias, merge, tag, directive, several_documents. Its repr shows no content.
    """

    data: bytes = field(repr=False)
    parsed: Parsed
    grammar: Grammar = field(repr=False)

    @property
    def dialect(self) -> Dialect:
        """The dialect it was read in."""
        return self.parsed.dialect

    @property
    def text(self) -> str:
        """The decoded bytes without a BOM."""
        return self.parsed.text

    @property
    def root(self) -> Node | None:
        """The root node; None where the file holds none (YAML only)."""
        return self.parsed.root

    @property
    def comments(self) -> tuple[Comment, ...]:
        """All comments, in file order."""
        return self.parsed.comments

    @property
    def features(self) -> frozenset[str]:
        """How the file departs from strict JSON, and `bom`, `crlf`, `cr`."""
        bom = {"bom"} if self.data.startswith(BOM) else set()
        return self.parsed.features | bom

    @property
    def limits(self) -> Limits:
        """The limits it was read within."""
        return self.parsed.limits

    def node(self, path: Path) -> Node | None:
        """The node at `path`, or None. Raises EditRefused where it is ambiguous."""
        trail = resolve(self.root, path)
        return None if trail.rest or not trail.nodes else trail.node

    def value(self, path: Path) -> Value | Missing:
        """The plain value at `path`, or MISSING. Raises EditRefused where it is ambiguous,
        and where an alias stands in it."""
        node = self.node(path)
        return MISSING if node is None else self._plain(node)

    def place(self, path: Path) -> tuple[int, int]:
        """Line and column (from 1) of the node at `path`, of its nearest parent where absent."""
        trail = resolve(self.root, path)
        return (trail.node.line, trail.node.column) if trail.nodes else (1, 1)

    def differing(self, path: Path) -> str:
        """How readers differ on the scalar at `path` or on its key, in words; empty where they
        agree, or where there is none. YAML only: Hermes has read with two libraries."""
        trail = resolve(self.root, path)
        if self.dialect is not Dialect.YAML or trail.rest or not trail.nodes:
            return ""
        from fleetsync.documents.yaml_grammar import differing

        found = [differing(node) for node in (trail.key, trail.node) if node is not None]
        return "; ".join(words for words in found if words)

    def edit(self, edits: Iterable[Edit]) -> Edited:
        """Make `edits` in order and prove the outcome. Raises EditRefused; never writes."""
        bom = BOM if self.data.startswith(BOM) else b""
        return editing.edit(self.parsed, self.grammar, bom, tuple(edits))

    def secret_spans(self, managed: Collection[Path], known: Collection[str]) -> tuple[Span, ...]:
        """Spans to mask before text leaves (the rule stands in `documents.secrets`).

        `managed` are the paths whose values may be shown; `known` are words that may be
        shown anywhere: the catalog's aliases.
        """
        return secrets.spans(self.parsed, managed, known)

    def _plain(self, node: Node) -> Value:
        if node.kind is Kind.SCALAR:
            return self.grammar.scalar(node)
        if node.kind is Kind.SEQUENCE:
            return [self._plain(item) for item in node.items]
        if node.kind is Kind.MAPPING:
            return {key.text: self._plain(value) for key, value in node.entries}
        raise EditRefused("an alias stands where a value was expected", node.line, node.column)


@without_collector()
def parse(data: bytes, dialect: Dialect, limits: Limits | None = None) -> Document:
    """Parse `data`. Raises Unreadable with line and column."""
    bounds = limits or Limits()
    if len(data) > bounds.size:
        raise Unreadable(f"the file has {len(data)} bytes; the limit is {bounds.size}")
    grammar = _grammar(dialect)
    return Document(data, grammar.parse(_decode(data), dialect, bounds), grammar)


def _grammar(dialect: Dialect) -> Grammar:
    """The module that reads `dialect` (imported when first needed: PyYAML is not free)."""
    if dialect is Dialect.YAML:
        from fleetsync.documents import yaml_grammar

        return yaml_grammar
    from fleetsync.documents import json_grammar

    return json_grammar


def _decode(data: bytes) -> str:
    """The text of `data` without its BOM. Raises Unreadable unless it is UTF-8."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")) or (b"\0" in data[:2] and data != b"\0"):
        raise Unreadable("the file is UTF-16 or UTF-32, not UTF-8", 1, 1, "Save it as UTF-8.")
    body = data.removeprefix(BOM)
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError as error:
        lines = re.split(r"\r\n|\n|\r", body[: error.start].decode("utf-8"))
        offset = error.start + len(data) - len(body)
        reason = f"not UTF-8: byte 0x{body[error.start]:02x} at offset {offset}"
        hint = "Save the file as UTF-8."
        raise Unreadable(reason, len(lines), len(lines[-1]) + 1, hint) from None
