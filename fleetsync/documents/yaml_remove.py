"""Splices that take an entry or an item out of a YAML text."""

from __future__ import annotations

from fleetsync.documents.grammar import Parsed, TextSplice
from fleetsync.documents.paths import Trail
from fleetsync.documents.tree import Kind, Node
from fleetsync.documents.yaml_flow import take_from_flow
from fleetsync.documents.yaml_guard import (
    check_leaving,
    check_removed_key,
    check_trail,
    keeps_break,
    last_leaf,
    refuse,
)
from fleetsync.documents.yaml_layout import Page
from fleetsync.documents.yaml_splice import head_end


def remove(parsed: Parsed, trail: Trail) -> list[TextSplice]:
    """Take `trail.node` (its whole entry or item) out of `trail.parent`."""
    page, container = Page(parsed), trail.parent
    check_trail(page, trail)
    if container is None:
        raise refuse(trail.node, "the whole document cannot be removed")
    check_leaving(page, trail.node)
    check_removed_key(container)
    if container.flow:
        return take_from_flow(page, container, trail.place)
    spans = _spans(page, container)
    start, end = spans[trail.place]
    if not trail.key and page.has_comment(start, trail.node.start):
        raise refuse(trail.node, "a comment stands between the dash and its item")
    if len(spans) == 1:
        return _empty(page, Trail(trail.nodes[:-1], trail.places[:-1], ()), spans[0])
    if not page.leads_line(start):
        return [_cut_first(page, trail.node, start, end, spans[1][0])]
    before = _child(container, trail.place - 1) if trail.place else None
    return [_cut_lines(page, start, end, before)]


def _child(container: Node, place: int) -> Node:
    mapping = container.kind is Kind.MAPPING
    return container.entries[place][1] if mapping else container.items[place]


def _spans(page: Page, container: Node) -> list[tuple[int, int]]:
    """The characters of each entry, or of each item with its dash."""
    if container.entries:
        return [(key.start, max(key.end, value.end)) for key, value in container.entries]
    at, spans = page.content(container), []
    for item in container.items:
        dash = _dash(page, at, item)
        spans.append((dash, max(item.end, dash + 1)))
        at = spans[-1][1]
    return spans


def _dash(page: Page, at: int, item: Node) -> int:
    """The dash of `item`, the first one after `at` that is in no comment."""
    for begin, end in (*page.comments_in(at, item.start), (item.start, item.start)):
        found = page.text.find("-", at, begin)
        if found >= 0:
            return found
        at = end
    raise refuse(item, "the dash of this item was not found")


def _empty(page: Page, trail: Trail, span: tuple[int, int]) -> list[TextSplice]:
    """Take the only child out: `{}` or `[]` stands for the container then."""
    container, (start, end) = trail.node, span
    text = "{}" if container.kind is Kind.MAPPING else "[]"
    if trail.key is None or not page.leads_line(start):
        return [TextSplice(start, end, text)]
    head = head_end(page, trail)
    return [TextSplice(head, head, f" {text}"), _cut_lines(page, start, end, None)]


def _cut_first(page: Page, node: Node, start: int, end: int, following: int) -> TextSplice:
    """Cut a first child that shares its line with a dash; the next one takes its place."""
    line_end = page.line_end(end)
    if any(begin >= line_end for begin, _ in page.comments_in(end, following)):
        raise refuse(node, "a comment stands between this entry and the next")
    return TextSplice(start, following, "")


def _cut_lines(page: Page, start: int, end: int, before: Node | None) -> TextSplice:
    """Cut whole lines; without a line break at the end of the file, the one before goes."""
    begin, line_end = page.line_start(start), page.line_end(end)
    if line_end < len(page.text) or begin == 0:
        return TextSplice(begin, page.next_line(end), "")
    previous = page.line_end(begin - 1)
    if before is not None and keeps_break(page, last_leaf(before)):
        return TextSplice(begin, line_end, "")
    return TextSplice(previous, line_end, "")
