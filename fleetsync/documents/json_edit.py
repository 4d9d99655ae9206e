"""Splices for JSON in all its dialects: replace, insert, append, remove."""

from __future__ import annotations

from fleetsync.documents.grammar import Parsed, TextSplice
from fleetsync.documents.json_style import Style, children
from fleetsync.documents.json_write import Place, write, write_entry
from fleetsync.documents.paths import Trail
from fleetsync.documents.tree import Node, Value


def replace(parsed: Parsed, trail: Trail, value: Value) -> list[TextSplice]:
    """Put `value` in the place of the node; a string keeps the quotes it has."""
    style, node = Style(parsed), trail.node
    inline = isinstance(value, dict | list) and _is_inline(style, trail.parent)
    place = Place(_key(trail), node.start, style.indent(node.start), inline)
    return [TextSplice(node.start, node.end, write(style, value, place, node))]


def insert(parsed: Parsed, trail: Trail, key: str, value: Value) -> list[TextSplice]:
    """Add an entry after the last one, where its line ends."""
    style, node = Style(parsed), trail.node
    if not node.entries:
        return _fill(style, trail, {key: value})
    layout, last = style.layout(node), node.entries[-1][0]
    place = Place(key, last.start, style.indent(last.start), not layout.lines)
    return _after_last(style, node, write_entry(style, key, value, place, layout, node))


def append(parsed: Parsed, trail: Trail, value: Value) -> list[TextSplice]:
    """Add an item after the last one, where its line ends."""
    style, node = Style(parsed), trail.node
    if not node.items:
        return _fill(style, trail, [value])
    layout, last = style.layout(node), node.items[-1]
    place = Place("", last.start, style.indent(last.start), not layout.lines)
    return _after_last(style, node, write(style, value, place, last))


def remove(parsed: Parsed, trail: Trail) -> list[TextSplice]:
    """Take an entry or item out, with its comma, and with its line where it has its own.

    A comment goes only if it stands on that line. A container that is left with nothing
    but white space is closed up.
    """
    style, container = Style(parsed), trail.parent
    if container is None:
        return []
    cuts = _cuts(style, container, trail.place)
    start, end = container.start + 1, container.end - 1
    left, at = "", start
    for first, last in cuts:
        left += parsed.text[at:first]
        at = last
    if not (left + parsed.text[at:end]).strip():
        cuts = [(start, end)]
    return [TextSplice(first, last, "") for first, last in cuts]


def _key(trail: Trail) -> str:
    return trail.key.text if trail.key else ""


def _is_inline(style: Style, parent: Node | None) -> bool:
    """Whether what stands in `parent` shares its line with other entries or brackets."""
    return parent is not None and not style.layout(parent).lines


def _fill(style: Style, trail: Trail, value: Value) -> list[TextSplice]:
    """Put the only entry or item of `value` into an empty container, after its comments."""
    node = trail.node
    inline = _is_inline(style, trail.parent)
    indent = style.indent(node.start)
    written = write(style, value, Place(_key(trail), node.start, indent, inline))
    at = style.skip_comments(node.start + 1, line=False)
    if at == node.start + 1:
        return [TextSplice(at, node.end - 1, written[1:-1])]
    if not style.line_ends(at):
        inside = write(style, value, Place(_key(trail), node.start, indent, one_line=True))
        return [TextSplice(at, at, " " + inside[1:-1].strip())]
    begins = style.begins_line(style.comment_start(at))
    inner = style.indent(style.comment_start(at)) if begins else indent + style.unit
    held = _only(style, value, Place(_key(trail), node.start, inner, inline))
    return [TextSplice(at, at, style.eol + inner + held)]


def _only(style: Style, value: Value, place: Place) -> str:
    """The one entry or item of `value`, without the brackets around it."""
    if isinstance(value, dict):
        ((key, held),) = value.items()
        return write_entry(style, key, held, place, style.layout_of_file(), None)
    return write(style, value[0], place) if isinstance(value, list) else ""


def _after_last(style: Style, node: Node, new: str) -> list[TextSplice]:
    """Put the text `new` behind the last entry or item of `node`."""
    start, end = children(node)[-1]
    comma, layout = style.comma_after(end), style.layout(node)
    if not layout.lines:
        if comma < 0:
            return [TextSplice(end, end, layout.comma + new)]
        space = layout.comma.partition(",")[2]
        return [TextSplice(comma + 1, comma + 1, f"{space}{new},")]
    before = style.before(start)
    point = style.skip_comments(max(end, comma + 1), line=True)
    line = style.eol + before + new
    if comma >= 0:
        return [TextSplice(point, point, line.replace(",", "", before.count(",")) + ",")]
    if "," in before:
        return [TextSplice(point, point, line)]
    if point == end:
        return [TextSplice(end, end, "," + line)]
    return [TextSplice(end, end, ","), TextSplice(point, point, line)]


def _cuts(style: Style, container: Node, place: int) -> list[tuple[int, int]]:
    """The ranges to take out, ascending and disjoint."""
    spans = children(container)
    start, end = spans[place]
    own = style.comma_after(end)
    on_line = own >= 0 and not set(style.text[end:own]) & set("\r\n")
    leads = "," in style.before(start)
    tail = style.skip_comments(own + 1 if on_line else end, line=True)
    closes = style.next_token(tail) == container.end - 1
    alone = style.begins_line(start) and not (leads and on_line)
    if alone and (style.line_ends(tail) or closes):
        cuts = [_line_cut(style, start, tail)]
        commas = [] if leads else _commas(style, spans, place, own)
    else:
        cuts, commas = _shared_cuts(style, spans, place, own)
    cuts += [(at, at + 1) for at in commas if not any(a <= at < b for a, b in cuts)]
    return sorted(cuts)


def _line_cut(style: Style, start: int, tail: int) -> tuple[int, int]:
    """The line of an entry, with the line end before it; the one after it stays.

    Where the bracket closes on that line and a // comment ends the line before, the line
    end must stay, or the bracket would become part of the comment.
    """
    begin = style.line_start(start)
    before = begin - (2 if style.text[:begin].endswith("\r\n") else 1)
    if style.line_ends(tail):
        return before, style.line_end(tail)
    return (begin + len(style.indent(start)) if style.ends_comment(before) else before), tail


def _commas(style: Style, spans: list[tuple[int, int]], place: int, own: int) -> list[int]:
    """The comma that goes with an entry: its own, else the one before it."""
    if own >= 0:
        return [own]
    return [style.comma_after(spans[place - 1][1])] if place else []


def _shared_cuts(
    style: Style, spans: list[tuple[int, int]], place: int, own: int
) -> tuple[list[tuple[int, int]], list[int]]:
    """The cut, and the comma, for an entry that shares its line."""
    (start, end), text = spans[place], style.text
    if place + 1 < len(spans) and text[end : spans[place + 1][0]].strip(" \t") == ",":
        return [(start, spans[place + 1][0])], []
    before = style.comma_after(spans[place - 1][1]) if place else start
    if place and not text[before + 1 : start].strip(" \t"):
        if own >= 0 and not text[end:own].strip(" \t"):
            return [(before + 1, own + 1)], []
        if own < 0 and not text[spans[place - 1][1] : before].strip(" \t"):
            return [(spans[place - 1][1], end)], []
    return [(start, end)], _commas(style, spans, place, own)
