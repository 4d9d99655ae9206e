"""Splices that put values into a YAML text: replace, insert, append."""

from __future__ import annotations

import re

from fleetsync.documents.grammar import Parsed, TextSplice
from fleetsync.documents.paths import Trail
from fleetsync.documents.tree import Kind, Node, Value
from fleetsync.documents.yaml_flow import add_to_flow
from fleetsync.documents.yaml_guard import (
    check_leaving,
    check_open_end,
    check_trail,
    refuse,
)
from fleetsync.documents.yaml_layout import Page, style_of
from fleetsync.documents.yaml_spell import is_plain, spell
from fleetsync.documents.yaml_write import Scalar, Writer

_HEADER = re.compile(r"[|>][0-9+-]*")
_COLON = re.compile(r"[ \t]*:")


def replace(parsed: Parsed, trail: Trail, value: Value) -> list[TextSplice]:
    """Put `value` in the place of `trail.node`."""
    page = Page(parsed)
    check_trail(page, trail)
    check_leaving(page, trail.node)
    _check_comments(page, trail.node)
    in_flow = bool(trail.parent and trail.parent.flow)
    if not isinstance(value, list | dict):
        return _put_inline(page, trail, _matching(page, trail, value, in_flow))
    above = Trail(trail.nodes[:-1], trail.places[:-1], ()) if trail.places else trail
    style = style_of(page, above)
    writer = Writer(style, in_flow) if trail.parent is None else Writer(style.below(), in_flow)
    flow = writer.flow or _stays_inline(trail)
    if value and not flow:
        return _put_block(page, trail, value, writer)
    return _put_inline(page, trail, Writer(style, in_flow).inline(value))


def _check_comments(page: Page, node: Node) -> None:
    """Raise EditRefused where a comment stands within what would be replaced. (Behind the
    `|` of a text block it stands on the key's line, and stays.)"""
    literal = node.kind is Kind.SCALAR and node.style in ("|", ">")
    if not literal and page.has_comment(page.content(node), node.end):
        raise refuse(node, "a comment stands within the value that would be replaced")


def _stays_inline(trail: Trail) -> bool:
    """Whether a collection in the place of `trail.node` goes on that node's line: it is in
    flow style, or it stands behind an anchor, where a block cannot begin."""
    node = trail.node
    return bool(node.flow and (node.entries or node.items)) or (node.anchor != "" and not trail.key)


def insert(parsed: Parsed, trail: Trail, key: str, value: Value) -> list[TextSplice]:
    """Add the entry `key`: `value` after the last one of the mapping `trail.node`."""
    page = Page(parsed)
    check_trail(page, trail)
    writer = Writer(style_of(page, trail))
    if not trail.nodes:
        return _put_at(page, len(page.text), writer.entry(key, value))
    mapping = trail.node
    if not mapping.entries:
        return _fill(page, trail, {key: value}, writer)
    if mapping.flow:
        return add_to_flow(page, mapping, Writer(writer.style, flow=True).flow_entry(key, value))
    begin = mapping.entries[0][0].start
    return _add_lines(page, begin, mapping.entries[-1], writer.entry(key, value))


def append(parsed: Parsed, trail: Trail, value: Value) -> list[TextSplice]:
    """Add `value` after the last item of the sequence `trail.node`."""
    page = Page(parsed)
    check_trail(page, trail)
    writer = Writer(style_of(page, trail))
    sequence = trail.node
    if not sequence.items:
        return _fill(page, trail, [value], writer)
    if sequence.flow:
        return add_to_flow(page, sequence, Writer(writer.style, flow=True).inline(value))
    flow = sequence.items[-1].flow and isinstance(value, dict | list)
    gap = writer.style.gap
    lines = [f"-{gap}{writer.inline(value)}"] if flow else writer.item(value)
    begin = page.content(sequence)
    return _add_lines(page, begin, (sequence.items[-1],), lines)


def _matching(page: Page, trail: Trail, value: Scalar, flow: bool) -> str:
    """The text of a scalar in the place of `trail.node`, whose quotes a string keeps."""
    node = trail.node
    quoted = node.kind is Kind.SCALAR and node.style in ("'", '"')
    if quoted or not isinstance(value, str) or is_plain(value, flow=flow):
        return spell(value, node.style, flow=flow, quoted=quoted)
    return spell(value, style_of(page, trail).quote, flow=flow)


def _put_inline(page: Page, trail: Trail, text: str) -> list[TextSplice]:
    """Put `text` (one line) in the place of `trail.node`, whatever stands there."""
    node, start = trail.node, page.content(trail.node)
    if start == node.end:
        return [TextSplice(node.end, node.end, _lead(page, trail) + text)]
    if node.style in ("|", ">") and node.kind is Kind.SCALAR:
        end, line_end = _header_end(page, start), page.line_end(start)
        return [TextSplice(start, end, text), TextSplice(line_end, node.end, "")]
    if node.flow or node.kind is Kind.SCALAR or not trail.key or not page.leads_line(start):
        return [TextSplice(start, node.end, text)]
    after = head_end(page, trail)
    cut = page.line_end(page.line_start(start) - 1)
    end = page.line_end(node.end)
    if _has_comment(page, end):
        cut, end = start if _has_comment(page, cut) else cut, node.end
    return [TextSplice(after, after, f" {text}"), TextSplice(cut, end, "")]


def _has_comment(page: Page, at: int) -> bool:
    """Whether a comment ends the line that holds `at`."""
    return page.has_comment(page.line_start(at), page.line_end(at))


def _lead(page: Page, trail: Trail) -> str:
    """What an empty node's first text needs before it."""
    node, key = trail.node, trail.key
    if key and node.start == node.end and ":" not in page.text[key.end : node.start]:
        return ": "
    return " "


def _header_end(page: Page, start: int) -> int:
    found = _HEADER.match(page.text, start)
    return found.end() if found else start


def head_end(page: Page, trail: Trail) -> int:
    """Where the colon of `trail.node`'s entry ends, or the anchor after it."""
    node, key = trail.node, trail.key
    if node.anchor:
        return node.start + 1 + len(node.anchor)
    found = _COLON.match(page.text, key.end) if key else None
    if not found:
        raise refuse(node, "the value stands apart from its key")
    return found.end()


def _fill(page: Page, trail: Trail, value: Value, writer: Writer) -> list[TextSplice]:
    """Put the first child into the empty flow collection `trail.node`."""
    node = trail.node
    if page.has_comment(page.content(node), node.end):
        raise refuse(node, "a comment stands inside these brackets")
    if trail.parent and not trail.parent.flow and not _stays_inline(trail):
        return _put_block(page, trail, value, writer)
    return [TextSplice(page.content(node), node.end, Writer(writer.style, flow=True).inline(value))]


def _put_block(page: Page, trail: Trail, value: Value, writer: Writer) -> list[TextSplice]:
    """Put a block collection in the place of `trail.node`, whatever stands there."""
    node, start, lines = trail.node, page.content(trail.node), writer.lines(value)
    if trail.parent is None:
        return _put_root(page, node, lines)
    offset = writer.style.dash if isinstance(value, list) else writer.style.step
    if trail.key and not node.flow and (node.entries or node.items):
        column, begin = page.column(trail.key.start) + offset, page.line_start(start)
        return [TextSplice(begin, node.end, _indented(page, lines, column))]
    if trail.key and page.line_start(start) == page.line_start(trail.key.end):
        column = page.column(trail.key.start) + offset
        return _put_below(page, trail, _indented(page, lines, column))
    return _put_here(page, node, lines)


def _put_below(page: Page, trail: Trail, block: str) -> list[TextSplice]:
    """Put `block` below the line of the key, in place of a value on that line."""
    node, start = trail.node, page.content(trail.node)
    literal = node.kind is Kind.SCALAR and node.style in ("|", ">")
    end = _header_end(page, start) if literal else node.end
    cut = len(page.text[:start].rstrip(" \t")) if start < end else end
    below = page.line_end(end)
    first = [TextSplice(cut, end, "")] if cut < end else []
    last = node.end if literal else below
    return [*first, TextSplice(below, last, page.newline + block)]


def _put_here(page: Page, node: Node, lines: list[str]) -> list[TextSplice]:
    """Put `lines` where `node` stands: the first on its line, the others below."""
    start = page.content(node)
    lead = " " if start == node.end else ""
    column = page.column(start) + len(lead)
    if node.kind is not Kind.SCALAR and not node.flow:
        rest = "".join(page.newline + " " * column + line for line in lines[1:])
        return [TextSplice(start, node.end, lines[0] + rest)]
    end, last = node.end, page.line_end(node.end)
    if node.style in ("|", ">") and node.kind is Kind.SCALAR:
        end, last = _header_end(page, start), node.end
    below = page.line_end(end)
    rest = "".join(page.newline + " " * column + line for line in lines[1:])
    return [TextSplice(start, end, lead + lines[0]), TextSplice(below, last, rest)]


def _put_root(page: Page, node: Node, lines: list[str]) -> list[TextSplice]:
    if node.start < node.end:
        raise refuse(node, "the document is a null that is spelled out")
    return _put_at(page, node.start, lines)


def _put_at(page: Page, at: int, lines: list[str]) -> list[TextSplice]:
    """Put root entries at `at`, on lines of their own; the end of the file keeps its form."""
    leads = page.leads_line(at)
    body = ("" if leads else page.newline) + _indented(page, lines, 0)
    if leads and at == page.line_start(at):
        body += page.newline
    return [TextSplice(at, at, body)]


def _add_lines(
    page: Page, begin: int, last: tuple[Node, ...], lines: list[str]
) -> list[TextSplice]:
    """Add `lines` after the entry or item `last`, in the column of the first child."""
    end = max(node.end for node in last)
    check_open_end(page, last[-1], end)
    at = page.line_end(end)
    block = _indented(page, lines, page.column(begin))
    return [TextSplice(at, at, page.newline + block)]


def _indented(page: Page, lines: list[str], column: int) -> str:
    return page.newline.join(" " * column + line for line in lines)
