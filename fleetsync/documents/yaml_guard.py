"""Where an edit of YAML is refused, because it could change more than was asked for."""

from __future__ import annotations

import re

from fleetsync.documents.paths import Trail
from fleetsync.documents.tree import Kind, Node
from fleetsync.documents.yaml_layout import Page, nodes
from fleetsync.documents.yaml_parse import BREAKS
from fleetsync.errors import EditRefused

_BY_HAND = "Make this edit by hand, then run again."


def refuse(node: Node, reason: str) -> EditRefused:
    """The refusal at the place of `node`."""
    return EditRefused(reason, node.line, node.column, _BY_HAND)


def check_trail(page: Page, trail: Trail) -> None:
    """Raise EditRefused where a node on the way is shared, tagged or not plainly keyed."""
    if not trail.nodes:
        return
    root = trail.nodes[0]
    if root.kind is not Kind.MAPPING and not (root.tag == "null" and root.kind is Kind.SCALAR):
        raise refuse(root, f"the document is a {_word(root)}, not a mapping")
    if trail.node.kind is Kind.ALIAS:
        reason = f"the value stands elsewhere: this is the alias *{trail.node.text}"
        raise refuse(trail.node, reason)
    used = _uses(page)
    for node in trail.nodes:
        if node.anchor in used:
            other = used[node.anchor]
            raise refuse(node, f"the anchor &{node.anchor} is used in line {other.line} too")
        if _is_tagged(page, node):
            raise refuse(node, "the node has an explicit tag")
        _check_keys(page, node)


def _word(node: Node) -> str:
    return "list" if node.kind is Kind.SEQUENCE else node.kind.value


def _uses(page: Page) -> dict[str, Node]:
    """The first alias of each anchor that is used."""
    if "alias" not in page.parsed.features or page.parsed.root is None:
        return {}
    used: dict[str, Node] = {}
    for node in nodes(page.parsed.root):
        if node.kind is Kind.ALIAS:
            used.setdefault(node.text, node)
    return used


def _is_tagged(page: Page, node: Node) -> bool:
    if "tag" not in page.parsed.features:
        return False
    properties = page.text[node.start : page.content(node)]
    return re.search(r"(?:^|\s)!", properties) is not None


def _check_keys(page: Page, mapping: Node) -> None:
    """Raise EditRefused where a key of `mapping` is an alias, or is spelled `? key`."""
    for key, _ in mapping.entries:
        if key.kind is Kind.ALIAS:
            raise refuse(key, "a key of this mapping is an alias")
        if _is_explicit(page.text, key.start):
            raise refuse(key, "a key of this mapping is written `? key`")


def _is_explicit(text: str, start: int) -> bool:
    """Whether the key that begins at `start` stands behind a `?` on its line."""
    at = start
    while at > 0 and text[at - 1] in " \t":
        at -= 1
    mark = text[at - 1 : at] == "?" and at < start
    return mark and (at == 1 or text[at - 2] in f" \t,[{{{BREAKS}")


def check_removed_key(mapping: Node) -> None:
    """Raise EditRefused where removing a key would uncover one that `<<` merges in."""
    for key, _ in mapping.entries:
        if key.tag == "merge":
            raise refuse(key, "removing this key would uncover what << merges in")


def check_leaving(page: Page, gone: Node) -> None:
    """Raise EditRefused where an anchor within `gone` is used outside of it."""
    used = _uses(page)
    for node in nodes(gone) if used else ():
        other = used.get(node.anchor)
        if other is not None and not gone.start <= other.start < gone.end:
            raise refuse(node, f"the anchor &{node.anchor} is used in line {other.line} too")


def check_open_end(page: Page, last: Node, end: int) -> None:
    """Raise EditRefused where a text block ends with the file and without a line break.

    A line added below would put a line break into the block's value.
    """
    scalar = last_leaf(last)
    if keeps_break(page, scalar) and page.line_end(end) == len(page.text):
        raise refuse(scalar, "the file ends within this text block, without a line break")


def keeps_break(page: Page, node: Node) -> bool:
    """Whether `node` is a text block (`|`, `>`) whose value holds its last line break."""
    if node.kind is not Kind.SCALAR or node.style not in ("|", ">"):
        return False
    start = page.content(node)
    return "-" not in page.text[start : page.line_end(start)].split("#", 1)[0]


def last_leaf(node: Node) -> Node:
    """The deepest last node: the one whose text ends `node`."""
    while node.entries or node.items:
        node = node.entries[-1][1] if node.entries else node.items[-1]
    return node
