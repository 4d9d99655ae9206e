"""Prove that an edit did what was asked and nothing else.

The old tree, with the edits made on it, must be the new tree: kinds, tags, scalar texts,
order of entries, anchors. It is compared node by node, never as constructed values (a few
aliases can stand for more values than there is memory). Each splice must lie within the
place it edits, and every comment that no edit may take must still be one.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from fleetsync.documents.grammar import Grammar, Parsed, TextSplice
from fleetsync.documents.paths import Trail
from fleetsync.documents.tree import Edit, Kind, Node, Remove, Set, Value
from fleetsync.errors import EditRefused

Scalar = Callable[[Node], Value]
Step = tuple[Edit, Trail, Sequence[TextSplice]]

_HUGE = 10**300
_LINE_END = re.compile(r"[\r\n]")
_PLAIN = frozenset({"null", "bool", "int", "float", "str"})
"""The types a wish can have; a date's text is no string."""


@dataclass(slots=True)
class Wished(Node):
    """A scalar that an edit puts in: compared by its value, for its spelling is free."""

    value: str | int | float | bool | None = None


def prove(old: Parsed, new: Parsed, steps: Sequence[Step], grammar: Grammar) -> None:
    """Raise EditRefused unless `new` is `old` plus exactly `steps`.

    `steps` were all resolved in `old`; `new` is what a fresh parse made of the outcome.
    """
    expected = old.root
    for edit, trail, splices in steps:
        expected = expect(expected, edit, trail)
        _prove_place(old, edit, trail, splices)
    first = steps[0][1]
    if not same(expected, new.root, grammar.scalar):
        raise doubt(first, "the outcome would differ from what was asked")
    if not new.features <= old.features:
        raise doubt(first, "the outcome would need a richer dialect than the file has")
    _prove_comments(old, new, steps)


def doubt(trail: Trail, reason: str) -> EditRefused:
    """The refusal of an outcome that did not pass; it names the edited place."""
    line, column = (trail.node.line, trail.node.column) if trail.nodes else (1, 1)
    return EditRefused(
        f"this edit was not made: {reason}", line, column,
        "Nothing was changed. Make this edit by hand, then run again.",
    )


def expect(root: Node | None, edit: Edit, trail: Trail) -> Node:
    """A copy of the tree `root` with `edit` made on it; what is untouched is shared.

    It goes by `trail.places`, so it holds for a tree that scalar edits already went into.
    """
    value = None if isinstance(edit, Remove) else wished(edit.value)
    if value is not None and not isinstance(edit, Set) and trail.rest:
        value = _sequence([value])
    for step in reversed(trail.rest[1:] if trail.nodes else trail.rest):
        value = _mapping([(wished(str(step)), value)]) if value is not None else None
    if root is None:
        return value if value is not None else wished(None)
    return _rebuild(root, edit, trail, value)


def _rebuild(root: Node, edit: Edit, trail: Trail, value: Node | None) -> Node:
    nodes = [root]
    for place in trail.places:
        node = nodes[-1]
        nodes.append(node.entries[place][1] if node.kind is Kind.MAPPING else node.items[place])
    if value is None:
        nodes.pop()
        made = _without(nodes[-1], trail.place)
    elif trail.rest:
        made = _with_entry(nodes[-1], str(trail.rest[0]), value)
    elif isinstance(edit, Set):
        made = replace(value, anchor=nodes[-1].anchor)
    else:
        items = [] if is_null(nodes[-1]) else nodes[-1].items
        made = replace(nodes[-1], kind=Kind.SEQUENCE, tag="", text="", items=[*items, value])
    parents = zip(nodes[:-1], trail.places, strict=value is not None)
    for node, place in reversed(list(parents)):
        made = _with_child(node, place, made)
    return made


def _without(node: Node, place: int) -> Node:
    entries = [pair for i, pair in enumerate(node.entries) if i != place]
    return replace(node, entries=entries, items=[x for i, x in enumerate(node.items) if i != place])


def _with_entry(node: Node, key: str, value: Node) -> Node:
    entries = [*node.entries, (wished(key), value)]
    return replace(node, kind=Kind.MAPPING, tag="", text="", entries=entries)


def _with_child(node: Node, place: int, child: Node) -> Node:
    if node.kind is Kind.MAPPING:
        entries = list(node.entries)
        entries[place] = (entries[place][0], child)
        return replace(node, entries=entries)
    items = list(node.items)
    items[place] = child
    return replace(node, items=items)


def wished(value: Value) -> Node:
    """The tree of `value`, as an edit wishes it."""
    if isinstance(value, dict):
        return _mapping([(wished(key), wished(held)) for key, held in value.items()])
    if isinstance(value, list):
        return _sequence([wished(held) for held in value])
    return Wished(Kind.SCALAR, -1, -1, 0, 0, value=value)


def _mapping(entries: list[tuple[Node, Node]]) -> Node:
    return Node(Kind.MAPPING, -1, -1, 0, 0, entries=entries)


def _sequence(items: list[Node]) -> Node:
    return Node(Kind.SEQUENCE, -1, -1, 0, 0, items=items)


def same(expected: Node | None, found: Node | None, scalar: Scalar) -> bool:
    """Whether two trees are equal; where `expected` is Wished, by the value alone."""
    if expected is None or found is None:
        return expected is found
    wanted, had = [expected], [found]
    while wanted:
        a, b = wanted.pop(), had.pop()
        if isinstance(a, Wished):
            if not _grants(b, a, scalar):
                return False
            continue
        if a.text != b.text or a.tag != b.tag or a.kind is not b.kind or a.anchor != b.anchor:
            return False
        if len(a.entries) != len(b.entries) or len(a.items) != len(b.items):
            return False
        if a.entries:
            wanted += chain.from_iterable(a.entries)
            had += chain.from_iterable(b.entries)
        elif a.items:
            wanted += a.items
            had += b.items
    return True


def _grants(node: Node, wish: Wished, scalar: Scalar) -> bool:
    """Whether `node` is a scalar with the value that was wished."""
    plain = node.kind is Kind.SCALAR and node.tag in _PLAIN and node.anchor == wish.anchor
    return plain and equal(wish.value, scalar(node))


def equal(a: Value, b: Value) -> bool:
    """Whether two scalars are one value: numbers by quantity, never a boolean a number."""
    if isinstance(a, bool) or isinstance(b, bool) or a is None or b is None:
        return a is b
    return a == b


def holds(node: Node, value: Value, scalar: Scalar) -> bool:
    """Whether `node` already holds `value` (entries in the same order)."""
    return same(replace(wished(value), anchor=node.anchor), node, scalar)


def is_null(node: Node) -> bool:
    """Whether `node` is a null."""
    return node.kind is Kind.SCALAR and node.tag == "null"


def check_value(value: Value) -> None:
    """Raise EditRefused for a number that a client could not read back."""
    if isinstance(value, float) and not math.isfinite(value):
        raise EditRefused("a number that is not finite cannot be written")
    if isinstance(value, int) and abs(value) >= _HUGE:
        raise EditRefused("a number of more than 300 digits cannot be written")
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for held in value:
            check_value(held)


def _prove_place(old: Parsed, edit: Edit, trail: Trail, splices: Sequence[TextSplice]) -> None:
    """Raise EditRefused unless each splice lies where this edit may write."""
    start, end = room(old, edit, trail)
    if any(one.start < start or one.end > end for one in splices):
        raise doubt(trail, "a splice would lie outside the edited place")
    kept = list(_kept(edit, trail))
    for one in splices:
        if any(one.start < node.end and one.end > node.start for node in kept):
            raise doubt(trail, "a splice would touch a neighbour")


def _kept(edit: Edit, trail: Trail) -> list[Node]:
    """The neighbours' nodes that no splice may touch."""
    if not trail.nodes:
        return []
    container = trail.node if trail.rest or not isinstance(edit, Set | Remove) else trail.parent
    if container is None:
        return []
    spared = -1 if container is trail.node else trail.place
    pairs = [pair for i, pair in enumerate(container.entries) if i != spared]
    items = [item for i, item in enumerate(container.items) if i != spared]
    return [node for pair in pairs for node in pair] + items


def room(old: Parsed, edit: Edit, trail: Trail) -> tuple[int, int]:
    """The characters between which `edit` may write.

    A value that is replaced on its line: itself. Else: the edited container, in block style
    from its key, or from the blanks before it, to where the next thing begins.
    """
    if not trail.nodes:
        return 0, len(old.text)
    node, depth = trail.node, len(trail.nodes)
    if isinstance(edit, Set) and not trail.rest:
        one_line = node.flow or node.kind is Kind.SCALAR
        here = one_line and not isinstance(edit.value, list | dict)
        if node.end > node.start and (here or trail.parent is None or trail.parent.flow):
            return node.start, node.end
    elif isinstance(edit, Remove) and trail.parent is not None:
        node, depth = trail.parent, depth - 1
    nodes, places = trail.nodes[:depth], trail.places[: depth - 1]
    above = nodes[-2] if depth > 1 else None
    block = above is not None and not above.flow
    if node.flow and node.end > node.start and not (block and not node.entries and not node.items):
        return node.start, node.end
    if block and above is not None and above.kind is Kind.MAPPING:
        return above.entries[places[-1]][0].end, _limit(old, nodes, places)
    start = node.start
    while start > 0 and old.text[start - 1] in " \t":
        start -= 1
    return start, _limit(old, nodes, places)


def _limit(old: Parsed, nodes: tuple[Node, ...], places: tuple[int, ...]) -> int:
    """Where what follows the last of `nodes` begins: a sibling, a parent's close, the end."""
    for node, place in zip(reversed(nodes[:-1]), reversed(places), strict=True):
        after = [key.start for key, _ in node.entries[place + 1 : place + 2]]
        after += [item.start for item in node.items[place + 1 : place + 2]]
        if after:
            return after[0]
        if node.flow:
            return node.end
    return len(old.text)


def _prove_comments(old: Parsed, new: Parsed, steps: Sequence[Step]) -> None:
    """Raise EditRefused where a comment was lost that no removed entry takes along: one in
    the entry, or behind it on its last line."""
    if not old.comments:
        return
    taken = [_entry(old, trail) for edit, trail, _ in steps if isinstance(edit, Remove)]
    kept = Counter(
        old.text[comment.start : comment.end]
        for comment in old.comments
        if not any(start <= comment.start < end for start, end in taken)
    )
    found = Counter(new.text[comment.start : comment.end] for comment in new.comments)
    if kept - found:
        raise doubt(steps[0][1], "a comment would be lost")


def _entry(old: Parsed, trail: Trail) -> tuple[int, int]:
    """The characters of the entry or item `trail.node`, to the end of its last line."""
    start = (trail.key or trail.node).start
    end = max(trail.node.end, trail.key.end if trail.key else 0)
    line = _LINE_END.search(old.text, end)
    return start, line.start() if line else len(old.text)
