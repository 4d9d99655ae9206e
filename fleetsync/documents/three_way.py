"""Take back what one change did to a document, and keep what others did since.

`differences` tells, place by place, how two trees differ: keys of mappings, items of lists
by their `id` or `name`, strings of lists by themselves; the order of items counts for
nothing. `take_back` makes of that the edits of a third document. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from fleetsync.documents import proof
from fleetsync.documents.document import MISSING, Document, Missing
from fleetsync.documents.tree import (
    Append,
    Edit,
    Item,
    Kind,
    Node,
    Path,
    Remove,
    Set,
    Step,
    Value,
    Where,
)
from fleetsync.errors import EditRefused

IDENTITIES = ("id", "name")
"""Keys that tell the items of a list apart: Pi's and OpenClaw's models have an `id`,
Hermes' custom providers a `name`."""
Found: TypeAlias = "Value | Missing"
_Pair: TypeAlias = tuple[Step, Node | None, Node | None]


@dataclass(frozen=True, slots=True)
class Difference:
    """One place where two documents differ; MISSING where it is absent."""

    path: Path
    before: Found
    after: Found


@dataclass(frozen=True, slots=True)
class TakenBack:
    """The edits that take differences back in a document that went on since.

    `conflicts` are places that hold neither the one nor the other value; `left` are those
    that cannot be put back, because what held them is gone.
    """

    edits: tuple[Edit, ...]
    made: tuple[Difference, ...]
    conflicts: tuple[Difference, ...]
    left: tuple[Difference, ...]


def differences(old: Document, new: Document) -> tuple[Difference, ...]:
    """How `new` differs from `old`. Raises EditRefused where a place has no one name."""
    return tuple(_differences(old, new, old.root, new.root, ()))


def _differences(
    old: Document, new: Document, a: Node | None, b: Node | None, path: Path
) -> Iterator[Difference]:
    if proof.same(a, b, old.grammar.scalar):
        return
    pairs = _pairs(a, b)
    if pairs is not None:
        for step, one, other in pairs:
            yield from _differences(old, new, one, other, (*path, step))
        return
    if not path:
        raise EditRefused("the two documents have nothing in common")
    before, after = old.value(path), new.value(path)
    if not equal(before, after):
        yield Difference(path, before, after)


def _pairs(a: Node | None, b: Node | None) -> list[_Pair] | None:
    """The children of both, each with its counterpart; None where they cannot be paired."""
    if a is None or b is None or a.kind is not b.kind:
        return None
    if a.kind is Kind.MAPPING:
        return _joined(_by_key(a), _by_key(b))
    if a.kind is not Kind.SEQUENCE:
        return None
    for name in IDENTITIES:
        joined = _joined(_by_identity(a.items, name), _by_identity(b.items, name))
        if joined is not None:
            return joined
    return _joined(_by_text(a.items), _by_text(b.items))


def _joined(
    one: Mapping[Step, Node] | None, other: Mapping[Step, Node] | None
) -> list[_Pair] | None:
    if one is None or other is None:
        return None
    return [(step, one.get(step), other.get(step)) for step in dict.fromkeys((*one, *other))]


def _by_key(node: Node) -> dict[Step, Node] | None:
    if not all(_is_string(key) for key, _ in node.entries):
        return None
    found: dict[Step, Node] = {key.text: value for key, value in node.entries}
    if len(found) < len(node.entries):
        raise EditRefused("a key stands twice in this mapping", node.line, node.column)
    return found


def _by_identity(items: Sequence[Node], name: str) -> dict[Step, Node] | None:
    found: dict[Step, Node] = {}
    for item in items:
        named = [v for k, v in item.entries if _is_string(k) and k.text == name and _is_string(v)]
        if len(named) == 1:
            found[Where(name, named[0].text)] = item
    return found if len(found) == len(items) else None


def _by_text(items: Sequence[Node]) -> dict[Step, Node] | None:
    found: dict[Step, Node] = {Item(item.text): item for item in items if _is_string(item)}
    return found if len(found) == len(items) else None


def _is_string(node: Node) -> bool:
    return node.kind is Kind.SCALAR and node.tag == "str"


def equal(a: Found, b: Found) -> bool:
    """Whether two values are one: numbers by quantity, mappings in any order."""
    if isinstance(a, Missing) or isinstance(b, Missing):
        return a is b
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(equal(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(equal, a, b))
    return proof.equal(a, b)


def take_back(
    found: Iterable[Difference], live: Document, *, force: bool = False
) -> TakenBack:
    """The edits that put each `before` back where `live` still holds the `after`.

    A place that holds the `before` already is left. Any other is a conflict; with `force`
    it is put back as well. Raises EditRefused where a place has no one name.
    """
    edits: list[Edit] = []
    made: list[Difference] = []
    conflicts: list[Difference] = []
    left: list[Difference] = []
    for one in _spread(found, live):
        now = live.value(one.path)
        if equal(now, one.before):
            continue
        if not equal(now, one.after) and not force:
            conflicts.append(one)
        elif _is_orphan(one.path, live):
            left.append(one)
        else:
            edits.append(_edit(one, now))
            made.append(one)
    return TakenBack(tuple(edits), tuple(made), tuple(conflicts), tuple(left))


def _spread(found: Iterable[Difference], live: Document) -> Iterator[Difference]:
    """A mapping that was added and has more in it by now goes key by key."""
    for one in found:
        now = live.value(one.path)
        added = one.before is MISSING and isinstance(one.after, dict)
        named = isinstance(one.path[-1], str) and isinstance(now, dict)
        if added and named and isinstance(one.after, dict) and not equal(now, one.after):
            inner = (Difference((*one.path, key), MISSING, v) for key, v in one.after.items())
            yield from _spread(inner, live)
        else:
            yield one


def _is_orphan(path: Path, live: Document) -> bool:
    """Whether the list item is gone in which the place would be."""
    lists = [at for at, step in enumerate(path[:-1], 1) if not isinstance(step, str)]
    return any(live.node(path[:at]) is None for at in lists)


def _edit(one: Difference, now: Found) -> Edit:
    if isinstance(one.before, Missing):
        return Remove(one.path)
    if now is MISSING and not isinstance(one.path[-1], str):
        return Append(one.path[:-1], one.before)
    return Set(one.path, one.before)
