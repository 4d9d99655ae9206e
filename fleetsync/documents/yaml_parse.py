"""YAML text to tree: PyYAML's events give nodes and their places; comments are found between.

A text that PyYAML's safe loader would not load is unreadable here too, with line and
column. Values are never built, so a document of aliases that unfold to billions of
nodes costs what its text costs. Where PyYAML was built without libyaml its own parser
gives the same events, some seven times slower.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field
from typing import Final

import yaml
from yaml.events import (
    AliasEvent,
    CollectionEndEvent,
    CollectionStartEvent,
    DocumentStartEvent,
    Event,
    MappingStartEvent,
    NodeEvent,
    ScalarEvent,
    StreamEndEvent,
)

from fleetsync.documents.grammar import Parsed
from fleetsync.documents.tree import Comment, Dialect, Kind, Limits, Node
from fleetsync.documents.yaml_scalar import resolve, short, why_not_loadable
from fleetsync.errors import Unreadable

BREAKS: Final = "\n\r\x85\u2028\u2029"
"""What ends a line for YAML 1.1; an editor counts only the first two."""

_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_LINE_END = re.compile(rf"[{BREAKS}]|\Z")
_EDITOR_LINE_END = re.compile(r"\r\n|\n|\r")
_UNPRINTABLE = re.compile(
    "[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"
)
_PROPERTIES = re.compile(rf"(?:&[\w-]+|![^ \t{BREAKS}]*|#[^{BREAKS}]*|[ \t{BREAKS}]+)*", re.ASCII)
_COLLECTIONS: Final = {
    Kind.MAPPING: frozenset({"", "map", "set"}),
    Kind.SEQUENCE: frozenset({"", "seq", "omap", "pairs"}),
}


def parse(text: str, dialect: Dialect, limits: Limits) -> Parsed:
    """Parse `text` (no BOM). Raises Unreadable with line and column."""
    builder = _Builder(text, limits)
    root = _read(text, builder)
    comments = _comments(text, builder.leaves)
    features = _features(text, builder.features | ({"line_comment"} if comments else set()))
    return Parsed(text, dialect, limits, root, comments, features)


def content_start(text: str, node: Node) -> int:
    """Where the node itself begins, after its anchor, its tag and comments between."""
    if node.start < node.end and text[node.start] in "&!":
        found = _PROPERTIES.match(text, node.start, node.end)
        return found.end() if found else node.start
    return node.start


def place_of(text: str, index: int) -> tuple[int, int]:
    """Line and column (from 1) of a character, as an editor counts them."""
    ends = [found.end() for found in _EDITOR_LINE_END.finditer(text, 0, index)]
    return len(ends) + 1, index - (ends[-1] if ends else 0) + 1


def _read(text: str, builder: _Builder) -> Node | None:
    try:
        loader = _Loader(text)
        event = loader.get_event()
        while not isinstance(event, StreamEndEvent):
            builder.take(event)
            event = loader.get_event()
    except yaml.YAMLError as error:
        raise _unreadable(text, error) from None
    return builder.root


def _unreadable(text: str, error: yaml.YAMLError) -> Unreadable:
    if isinstance(error, yaml.MarkedYAMLError):
        mark = error.problem_mark or error.context_mark
        reason = ", ".join(part for part in (error.context, error.problem) if part)
        return Unreadable(reason, *place_of(text, mark.index if mark else len(text)))
    found = _UNPRINTABLE.search(text)
    place = place_of(text, found.start()) if found else (0, 0)
    return Unreadable("a control character that YAML does not allow", *place)


@dataclass(slots=True)
class _Builder:
    """Builds the tree from events, and refuses what the safe loader would not load."""

    text: str
    limits: Limits
    root: Node | None = None
    features: set[str] = field(default_factory=set)
    leaves: list[tuple[int, int]] = field(default_factory=list)
    open: list[tuple[Node, list[Node]]] = field(default_factory=list)
    anchors: dict[str, Node] = field(default_factory=dict)
    documents: int = 0
    nodes: int = 0
    lines: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        ends = (found.end() for found in _EDITOR_LINE_END.finditer(self.text))
        self.lines = [0, *ends]

    def take(self, event: Event) -> None:
        """Put one event into the tree."""
        if isinstance(event, ScalarEvent):
            self._add(self._scalar(event))
        elif isinstance(event, CollectionStartEvent):
            self._start(event)
        elif isinstance(event, CollectionEndEvent):
            self._finish(event)
        elif isinstance(event, AliasEvent):
            self._add(self._alias(event))
        elif isinstance(event, DocumentStartEvent):
            self._document(event)

    def _document(self, event: DocumentStartEvent) -> None:
        self.documents += 1
        if self.documents > 1:
            raise self._refuse("a second document begins: one is expected", _start(event))
        if event.version or event.tags:
            self.features.add("directive")

    def _node(self, event: NodeEvent, kind: Kind) -> Node:
        start = _start(event)
        self.nodes += 1
        if self.nodes > self.limits.nodes:
            raise self._refuse(f"more than {self.limits.nodes} nodes", start)
        line = bisect_right(self.lines, start)
        return Node(kind, start, _end(event), line, start - self.lines[line - 1] + 1)

    def _scalar(self, event: ScalarEvent) -> Node:
        node = self._node(event, Kind.SCALAR)
        node.text, node.style, node.flow = event.value, event.style or "", False
        if event.tag is None or event.tag == "!":
            node.tag = resolve(event.value) if event.implicit[0] else "str"
        else:
            node.tag = short(event.tag)
        self._properties(node, event)
        if node.start < node.end:
            self._leaf(node)
        return node

    def _leaf(self, node: Node) -> None:
        start = content_start(self.text, node)
        if node.style in ("|", ">"):
            begin, start = start, _line_end(self.text, start)
            node.end = _block_end(self.text, node, begin, start)
        self.leaves.append((start, node.end))

    def _properties(self, node: Node, event: ScalarEvent | CollectionStartEvent) -> None:
        if event.tag is not None:
            self.features.add("tag")
        if event.anchor is None:
            return
        self.features.add("anchor")
        if event.anchor in self.anchors:
            raise self._refuse(f"the anchor {event.anchor} is defined twice", node.start)
        node.anchor = event.anchor
        self.anchors[event.anchor] = node

    def _alias(self, event: AliasEvent) -> Node:
        node = self._node(event, Kind.ALIAS)
        node.text = event.anchor or ""
        self.features.add("alias")
        if node.text not in self.anchors:
            raise self._refuse(f"the alias {node.text} has no anchor", node.start)
        return node

    def _start(self, event: CollectionStartEvent) -> None:
        kind = Kind.MAPPING if isinstance(event, MappingStartEvent) else Kind.SEQUENCE
        node = self._node(event, kind)
        if len(self.open) >= self.limits.depth:
            raise self._refuse(f"nested deeper than {self.limits.depth} levels", node.start)
        node.flow = bool(event.flow_style)
        node.tag = short(event.tag) if event.tag and event.tag != "!" else ""
        self._properties(node, event)
        if node.tag not in _COLLECTIONS[kind]:
            reason = f"the safe loader has no {kind.value} of type {node.tag}"
            raise self._refuse(reason, node.start)
        self.open.append((node, []))

    def _finish(self, event: CollectionEndEvent) -> None:
        node, children = self.open.pop()
        if node.kind is Kind.MAPPING:
            node.entries = list(zip(children[::2], children[1::2], strict=True))
            self._look_at_keys(node)
        else:
            node.items = children
            for item in children:
                self._look_at_scalar(item)
        if node.flow:
            node.end = _end(event)
        elif children:
            node.end = max(children[-1].end, node.start)
        self._add(node)

    def _add(self, node: Node) -> None:
        if self.open:
            self.open[-1][1].append(node)
        else:
            self.root = node
            self._look_at_scalar(node)

    def _look_at_scalar(self, node: Node, *, key: bool = False) -> None:
        if node.kind is Kind.SCALAR:
            reason = why_not_loadable(node.tag, node.text, key=key)
            if reason:
                raise self._refuse(reason, node.start)

    def _look_at_keys(self, mapping: Node) -> None:
        seen: set[tuple[str, str]] = set()
        for key, value in mapping.entries:
            meant = self._meant(key)
            if meant.kind is not Kind.SCALAR:
                raise self._refuse("a collection stands where a key is expected", key.start)
            self._look_at_scalar(meant, key=True)
            self._look_at_scalar(value)
            if meant.tag == "merge":
                self._look_at_merge(value)
            if (meant.tag, meant.text) in seen:
                self.features.add("duplicate_key")
            seen.add((meant.tag, meant.text))

    def _look_at_merge(self, value: Node) -> None:
        self.features.add("merge")
        meant = self._meant(value)
        merged = [self._meant(item) for item in meant.items] or [meant]
        for source in merged:
            if source.kind is not Kind.MAPPING or any(source is node for node, _ in self.open):
                raise self._refuse("what << merges is not a mapping", value.start)

    def _meant(self, node: Node) -> Node:
        return self.anchors[node.text] if node.kind is Kind.ALIAS else node

    def _refuse(self, reason: str, index: int) -> Unreadable:
        return Unreadable(reason, *place_of(self.text, index))


def _start(event: Event) -> int:
    return event.start_mark.index if event.start_mark else 0


def _end(event: Event) -> int:
    return event.end_mark.index if event.end_mark else 0


def _block_end(text: str, node: Node, begin: int, header_end: int) -> int:
    """Where a block scalar's last line ends. Its event reaches over the blank lines that
    follow; they belong to it only where its header keeps them (`|+`)."""
    body = text[header_end : node.end]
    if "+" not in text[begin:header_end].split("#", 1)[0]:
        return header_end + len(body.rstrip(f" \t{BREAKS}"))
    last = 2 if body.endswith("\r\n") else 1
    return node.end - (last if body[-1:] and body[-1] in BREAKS else 0)


def _line_end(text: str, index: int) -> int:
    found = _LINE_END.search(text, index)
    return found.start() if found else len(text)


def _comments(text: str, leaves: list[tuple[int, int]]) -> tuple[Comment, ...]:
    """Every `#` that stands in no scalar begins a comment, up to the end of its line."""
    comments: list[Comment] = []
    leaf, at = 0, text.find("#")
    while at >= 0:
        while leaf < len(leaves) and leaves[leaf][1] <= at:
            leaf += 1
        if leaf < len(leaves) and leaves[leaf][0] <= at:
            end = leaves[leaf][1]
        else:
            end = _line_end(text, at)
            comments.append(Comment(at, end))
        at = text.find("#", end)
    return tuple(comments)


def _features(text: str, found: set[str]) -> frozenset[str]:
    more = {"crlf"} if "\r\n" in text else set()
    if "\r" in text.replace("\r\n", ""):
        more.add("cr")
    return frozenset(found | more)
