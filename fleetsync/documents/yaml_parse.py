"""YAML text to tree: PyYAML's events give nodes and their places; comments are found between.

A text that PyYAML's safe loader would not load is unreadable here too, with line and
column. Values are never built, so a document of aliases that unfold to billions of
nodes costs what its text costs. Where PyYAML was built without libyaml its own parser
gives the same events, some seven times slower.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable
from typing import Any, Final

import yaml
from yaml.events import (
    AliasEvent,
    CollectionEndEvent,
    CollectionStartEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from fleetsync.documents.grammar import Parsed
from fleetsync.documents.tree import Comment, Dialect, Kind, Limits, Node
from fleetsync.documents.yaml_scalar import (
    TYPED_FIRSTS,
    is_common,
    resolve,
    short,
    why_not_loadable,
)
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
_EXOTIC = re.compile("[\x85\u2028\u2029]")
_BLOCKS: Final = frozenset("|>")
_ALWAYS_LOADS: Final = frozenset({"str", "null", "bool", "float"})
_SCALAR, _MAPPING, _SEQUENCE, _ALIAS = Kind.SCALAR, Kind.MAPPING, Kind.SEQUENCE, Kind.ALIAS
_COLLECTIONS: Final = {
    _MAPPING: frozenset({"", "map", "set"}),
    _SEQUENCE: frozenset({"", "seq", "omap", "pairs"}),
}


def parse(text: str, dialect: Dialect, limits: Limits) -> Parsed:
    """Parse `text` (no BOM). Raises Unreadable with line and column."""
    builder = _Builder(text, limits)
    root = _read(text, builder)
    comments = _comments(text, builder.scalars)
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
    lines = _editor_lines(text[:index])
    return len(lines), index - lines[-1] + 1


def _read(text: str, builder: _Builder) -> Node | None:
    take: dict[type[Event], Callable[[Any], None]] = {
        ScalarEvent: builder.scalar, AliasEvent: builder.alias,
        MappingStartEvent: builder.start, SequenceStartEvent: builder.start,
        MappingEndEvent: builder.finish, SequenceEndEvent: builder.finish,
        DocumentStartEvent: builder.document,
    }
    try:
        loader = _Loader(text)
        next_event = loader.get_event
        while (kind := type(event := next_event())) is not StreamEndEvent:
            if kind in take:
                take[kind](event)
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


class _Builder:
    """Builds the tree from events, and refuses what the safe loader would not load."""

    def __init__(self, text: str, limits: Limits) -> None:
        self.text = text
        self.limits = limits
        self.features: set[str] = set()
        self.scalars: list[Node] = []
        """All scalars, in file order"""
        self._open: list[tuple[Node, list[Node]]] = []
        self._children: list[Node] = []
        """The children of the innermost open collection; outside of all, the root"""
        self._anchors: dict[str, Node] = {}
        self._documents = 0
        self._left = limits.nodes
        self._lines = _editor_lines(text) if _EXOTIC.search(text) else []
        """Where lines begin, if an editor does not count them as YAML does"""

    @property
    def root(self) -> Node | None:
        """The root node, once all events were taken."""
        return self._children[0] if self._children else None

    def document(self, event: DocumentStartEvent) -> None:
        """A document begins."""
        self._documents += 1
        if self._documents > 1:
            raise self._refuse("a second document begins: one is expected", _start(event))
        if event.version or event.tags:
            self.features.add("directive")

    def scalar(self, event: Any) -> None:
        """A scalar."""
        text, given = event.value, event.tag
        if given is not None and given != "!":
            tag = short(given)
        elif text[:1] in TYPED_FIRSTS and event.implicit[0]:
            tag = resolve(text)
        else:
            tag = "str"
        node = self._node(event, _SCALAR, tag, text, event.style or "")
        if given is not None or event.anchor is not None:
            self._properties(node, event)
        if given is not None or not (tag in _ALWAYS_LOADS or is_common(text)):
            self._check_loads(node)
        if node.style in _BLOCKS:
            node.end = _block_end(self.text, node)
        if node.start == node.end:
            self._draw_near(node)
        self.scalars.append(node)
        self._children.append(node)

    def alias(self, event: AliasEvent) -> None:
        """An alias."""
        node = self._node(event, _ALIAS, text=event.anchor or "")
        self.features.add("alias")
        if node.text not in self._anchors:
            raise self._refuse(f"the alias {node.text} has no anchor", node.start)
        self._children.append(node)

    def start(self, event: CollectionStartEvent) -> None:
        """A mapping or a sequence begins."""
        kind = _MAPPING if type(event) is MappingStartEvent else _SEQUENCE
        node = self._node(event, kind)
        if len(self._open) >= self.limits.depth:
            raise self._refuse(f"nested deeper than {self.limits.depth} levels", node.start)
        node.flow = bool(event.flow_style)
        if event.tag or event.anchor:
            node.tag = short(event.tag) if event.tag and event.tag != "!" else ""
            self._properties(node, event)
            if node.tag not in _COLLECTIONS[kind]:
                reason = f"the safe loader has no {kind.value} of type {node.tag}"
                raise self._refuse(reason, node.start)
        self._open.append((node, self._children))
        self._children = []

    def finish(self, event: CollectionEndEvent) -> None:
        """A mapping or a sequence ends."""
        children = self._children
        node = self._open[-1][0]
        if node.kind is _MAPPING:
            keys = children[::2]
            node.entries = list(zip(keys, children[1::2], strict=True))
            self._check_keys(node, keys)
        else:
            node.items = children
        if node.flow:
            node.end = _end(event)
        elif children:
            node.end = max(children[-1].end, node.start)
        self._children = self._open.pop()[1]
        self._children.append(node)

    def _node(self, event: Any, kind: Kind, tag: str = "", text: str = "", style: str = "") -> Node:
        """The node of `event` (Any: for the stubs its marks are optional, and asking
        thousands of them costs more than this does)."""
        mark = event.start_mark
        node = Node(
            kind, mark.index, event.end_mark.index, mark.line + 1, mark.column + 1,
            tag, text, "", False, style,
        )
        self._left -= 1
        if self._left < 0:
            raise self._refuse(f"more than {self.limits.nodes} nodes", node.start)
        if self._lines:
            node.line = bisect_right(self._lines, node.start)
            node.column = node.start - self._lines[node.line - 1] + 1
        return node

    def _properties(self, node: Node, event: ScalarEvent | CollectionStartEvent) -> None:
        """Note the anchor and the tag of `node`."""
        if event.tag is not None:
            self.features.add("tag")
        if event.anchor is not None:
            self.features.add("anchor")
            if event.anchor in self._anchors:
                raise self._refuse(f"the anchor {event.anchor} is defined twice", node.start)
            node.anchor = event.anchor
            self._anchors[event.anchor] = node

    def _draw_near(self, node: Node) -> None:
        """Place a value that no colon begins (`? key` alone) at its key: its event stands
        where the next thing begins, perhaps many lines below."""
        if self._in_mapping() and len(self._children) % 2 and self.text[node.start - 1] != ":":
            key = self._children[-1]
            node.start, node.end, node.line, node.column = key.end, key.end, key.line, key.column

    def _in_mapping(self) -> bool:
        return bool(self._open) and self._open[-1][0].kind is _MAPPING

    def _check_loads(self, node: Node) -> None:
        key = self._in_mapping() and len(self._children) % 2 == 0
        reason = why_not_loadable(node.tag, node.text, key=key)
        if reason:
            raise self._refuse(reason, node.start)

    def _check_keys(self, mapping: Node, keys: list[Node]) -> None:
        if len({key.text for key in keys if key.tag == "str"}) == len(keys):
            return
        seen: set[tuple[str, str]] = set()
        for key, value in mapping.entries:
            meant = self._meant(key)
            if meant.kind is not _SCALAR:
                raise self._refuse("a collection stands where a key is expected", key.start)
            if meant.tag == "merge":
                self._check_merge(value)
            if (meant.tag, meant.text) in seen:
                self.features.add("duplicate_key")
            seen.add((meant.tag, meant.text))

    def _check_merge(self, value: Node) -> None:
        self.features.add("merge")
        meant = self._meant(value)
        merged = [self._meant(item) for item in meant.items] or [meant]
        for source in merged:
            if source.kind is not _MAPPING or any(source is node for node, _ in self._open):
                raise self._refuse("what << merges is not a mapping", value.start)

    def _meant(self, node: Node) -> Node:
        return self._anchors[node.text] if node.kind is _ALIAS else node

    def _refuse(self, reason: str, index: int) -> Unreadable:
        return Unreadable(reason, *place_of(self.text, index))


def _editor_lines(text: str) -> list[int]:
    """Where each line begins, as an editor counts lines."""
    return [0, *(found.end() for found in _EDITOR_LINE_END.finditer(text))]


def _start(event: Event) -> int:
    return event.start_mark.index if event.start_mark else 0


def _end(event: Event) -> int:
    return event.end_mark.index if event.end_mark else 0


def _block_end(text: str, node: Node) -> int:
    """Where a block scalar's last line ends. Its event reaches over the blank lines that
    follow; they belong to it only where its header keeps them (`|+`)."""
    begin, header_end = content_start(text, node), _body(text, node)
    body = text[header_end : node.end]
    if "+" not in text[begin:header_end].split("#", 1)[0]:
        return _line_end(text, header_end + len(body.rstrip(f" \t{BREAKS}")))
    last = 2 if body.endswith("\r\n") else 1
    return node.end - (last if body[-1:] and body[-1] in BREAKS else 0)


def _line_end(text: str, index: int) -> int:
    found = _LINE_END.search(text, index)
    return found.start() if found else len(text)


def _body(text: str, scalar: Node) -> int:
    """Where a scalar's own characters begin, after its anchor, tag and block header."""
    start = content_start(text, scalar)
    return _line_end(text, start) if scalar.style in _BLOCKS else start


def _comments(text: str, scalars: list[Node]) -> tuple[Comment, ...]:
    """Every `#` that stands in no scalar begins a comment, up to the end of its line."""
    comments: list[Comment] = []
    after = iter(scalars)
    scalar, at = next(after, None), text.find("#")
    while at >= 0:
        while scalar is not None and scalar.end <= at:
            scalar = next(after, None)
        if scalar is not None and _body(text, scalar) <= at:
            end = scalar.end
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
