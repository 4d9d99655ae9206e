"""Splices inside `[…]` and `{…}`: add after the last child, take a child out."""

from __future__ import annotations

from fleetsync.documents.grammar import TextSplice
from fleetsync.documents.tree import Node
from fleetsync.documents.yaml_guard import refuse
from fleetsync.documents.yaml_layout import Page


def spans_of(container: Node) -> list[tuple[int, int]]:
    """The characters of each entry or item, in order."""
    entries = [(key.start, max(key.end, value.end)) for key, value in container.entries]
    return entries or [(item.start, item.end) for item in container.items]


def add_to_flow(page: Page, container: Node, text: str) -> list[TextSplice]:
    """Add `text` after the last child: on that child's line, or on one of its own like it."""
    start, end = spans_of(container)[-1]
    _check_brackets(page, container)
    comma = _comma(page, end, container.end - 1)
    last = comma + 1 if comma >= 0 else end
    own_line = page.leads_line(start) and page.line_end(last) < container.end - 1
    if not own_line:
        break_ = page.newline + " " * page.column(start) if page.leads_line(start) else " "
        return [TextSplice(end, end, f",{break_}{text}")]
    at = page.line_end(last)
    line = page.newline + page.text[page.line_start(start) : start] + text
    if comma >= 0:
        return [TextSplice(at, at, line + ",")]
    if at == end:
        return [TextSplice(end, end, "," + line)]
    return [TextSplice(end, end, ","), TextSplice(at, at, line)]


def take_from_flow(page: Page, container: Node, place: int) -> list[TextSplice]:
    """Take the child at `place` out, with the comma that belongs to it."""
    spans = spans_of(container)
    _check_brackets(page, container)
    if len(spans) == 1:
        return [_cut(page, container, page.content(container) + 1, container.end - 1)]
    lines = _take_lines(page, container, place)
    if lines:
        return lines
    start, end = spans[place]
    if place + 1 < len(spans):
        return [_cut(page, container, start, spans[place + 1][0])]
    return [_cut(page, container, spans[place - 1][1], end)]


def _take_lines(page: Page, container: Node, place: int) -> list[TextSplice]:
    """The same for a child that has its lines to itself; nothing where it has not."""
    spans = spans_of(container)
    start, end = spans[place]
    comma = _comma(page, end, container.end - 1 if place + 1 == len(spans) else spans[place + 1][0])
    end = comma + 1 if comma >= 0 else end
    line_end = page.line_end(end)
    after = page.text[end:line_end].lstrip(" \t")
    begin = page.line_start(start)
    if not page.leads_line(start) or begin == 0 or (after and after[0] != "#"):
        return []
    before = page.line_end(begin - 1)
    lines = [TextSplice(before, line_end, "")]
    if place + 1 < len(spans) or comma >= 0:
        return lines
    orphan = _comma(page, spans[place - 1][1], start)
    return [TextSplice(orphan, orphan + 1, ""), *lines] if 0 <= orphan < before else []


def _cut(page: Page, container: Node, start: int, end: int) -> TextSplice:
    if page.has_comment(start, end):
        raise refuse(container, "a comment stands between the items of this flow collection")
    return TextSplice(start, end, "")


def _check_brackets(page: Page, container: Node) -> None:
    if page.text[page.content(container)] not in "[{":
        raise refuse(container, "a pair without braces stands in this list")


def _comma(page: Page, start: int, end: int) -> int:
    """The first comma in [start, end) that is in no comment; -1 where there is none."""
    for begin, stop in (*page.comments_in(start, end), (end, end)):
        found = page.text.find(",", start, begin)
        if found >= 0:
            return found
        start = stop
    return -1
