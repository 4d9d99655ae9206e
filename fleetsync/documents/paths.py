"""Follow a path into a tree: how far it leads, and where it is ambiguous."""

from __future__ import annotations

from dataclasses import dataclass

from fleetsync.documents.tree import Item, Kind, Node, Path, Step, Where
from fleetsync.errors import EditRefused


@dataclass(frozen=True, slots=True)
class Trail:
    """The nodes a path leads through, from the root to the deepest that exists.

    `places[i]` is the index of `nodes[i + 1]` in `nodes[i].entries` or `.items`;
    `rest` are the steps that lead nowhere (empty: the whole path exists).
    """

    nodes: tuple[Node, ...]
    places: tuple[int, ...]
    rest: Path

    @property
    def node(self) -> Node:
        """The deepest node that exists."""
        return self.nodes[-1]

    @property
    def parent(self) -> Node | None:
        """The container of `node`, None at the root."""
        return self.nodes[-2] if len(self.nodes) > 1 else None

    @property
    def place(self) -> int:
        """Index of `node` in its parent's entries or items."""
        return self.places[-1]

    @property
    def key(self) -> Node | None:
        """The key node of `node`, None for an item and for the root."""
        parent = self.parent
        return parent.entries[self.place][0] if parent and parent.kind is Kind.MAPPING else None


def resolve(root: Node | None, path: Path) -> Trail:
    """Follow `path` from `root`.

    Raises EditRefused, with the place, for a duplicate key on the path, for two items that
    one step could mean, and for a path that leads through an alias or may lead through `<<`.
    """
    if root is None:
        return Trail((), (), path)
    nodes = [root]
    places: list[int] = []
    for depth, step in enumerate(path):
        found = _find(nodes[-1], step)
        if not found:
            return Trail(tuple(nodes), tuple(places), path[depth:])
        if len(found) > 1:
            raise _ambiguous(nodes[-1], step, found[1])
        places.append(found[0])
        nodes.append(_child(nodes[-1], found[0]))
    return Trail(tuple(nodes), tuple(places), ())


def _find(node: Node, step: Step) -> list[int]:
    """Indexes of all children that `step` could mean (two are enough to refuse)."""
    if node.kind is Kind.ALIAS:
        raise EditRefused(
            "the value stands elsewhere: the path leads through an alias", node.line, node.column
        )
    if isinstance(step, str):
        found = [i for i, (key, _) in enumerate(node.entries) if _is_string(key, step)]
        if not found:
            _check_merges(node)
        return found
    if isinstance(step, int):
        return [step] if 0 <= step < len(node.items) else []
    matches = _has if isinstance(step, Where) else _is
    found = [i for i, item in enumerate(node.items) if matches(item, step)]
    aliases = [item for item in node.items if item.kind is Kind.ALIAS]
    if aliases and not found:
        raise EditRefused(
            "an item of this list is an alias, so it cannot be searched",
            aliases[0].line,
            aliases[0].column,
        )
    return found


def _check_merges(mapping: Node) -> None:
    """Raise EditRefused where a key that is not in `mapping` itself may be merged into it."""
    for key, _ in mapping.entries:
        if key.tag == "merge":
            raise EditRefused("<< may merge this key in from elsewhere", key.line, key.column)


def _has(item: Node, step: Step) -> bool:
    """Whether one of the item's entries says what `step` asks for. Raises EditRefused where
    the item holds that key twice: readers differ on which one counts."""
    if not isinstance(step, Where):
        return False
    named = [pair for pair in item.entries if pair[0].text == step.key and pair[0].tag == "str"]
    has = any(_is_string(value, step.value) for _, value in named)
    if has and len(named) > 1:
        raise _ambiguous(item, step.key, item.entries.index(named[1]))
    return has


def _is(item: Node, step: Step) -> bool:
    return isinstance(step, Item) and _is_string(item, step.value)


def _is_string(node: Node, text: str) -> bool:
    return node.text == text and node.kind is Kind.SCALAR and node.tag == "str"


def _child(node: Node, place: int) -> Node:
    return node.entries[place][1] if node.kind is Kind.MAPPING else node.items[place]


def _ambiguous(node: Node, step: Step, second: int) -> EditRefused:
    """The refusal for a step with two meanings; it names the second one's place."""
    if isinstance(step, str):
        at, what = node.entries[second][0], f"the key {step!r} stands twice in this mapping"
    elif isinstance(step, Where):
        at, what = node.items[second], f"two items of this list have {step.key} = {step.value!r}"
    else:
        at, what = node.items[second], "the same string stands twice in this list"
    return EditRefused(what, at.line, at.column, "Remove one of them, then run again.")
