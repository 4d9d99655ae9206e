"""How the neighbours are written, so that what is put in looks like them."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Final

from fleetsync.documents.grammar import Parsed
from fleetsync.documents.json_parse import line_starts
from fleetsync.documents.tree import Kind, Node

_INDENT: Final = re.compile(r"[ \t]*")
_SPACE: Final = re.compile(r"[^\S\r\n]*")
_GAP: Final = re.compile(r"\s*")
_COLON: Final = re.compile(r"[ \t]*:[ \t]*")


@dataclass(frozen=True, slots=True)
class Layout:
    """How a container is written.

    `lines`: each entry begins a line of its own. `pad` stands inside the brackets of a
    one-line container, `comma` between its entries there, `colon` between key and value (also
    its spaces). `trailing`: a comma after the last entry. `opens_line`: the container's own
    bracket begins a line (Allman's braces).
    """

    lines: bool = True
    pad: str = ""
    comma: str = ","
    colon: str = ": "
    trailing: bool = False
    opens_line: bool = False


class Style:
    """Questions about the layout of one parsed text; the answers are found when asked."""

    def __init__(self, parsed: Parsed) -> None:
        self.parsed, self.text = parsed, parsed.text
        self._comments = [comment.start for comment in parsed.comments]

    @property
    def eol(self) -> str:
        """The line end that most lines have."""
        return self.parsed.eol

    @cached_property
    def ascii_only(self) -> bool:
        """Whether the file spells other characters as escapes."""
        escaped = re.search(r"\\u(?!00[0-7])[0-9a-fA-F]{4}", self.text)
        return bool(escaped) and self.text.isascii()

    @cached_property
    def unit(self) -> str:
        """One level of indentation: the most common one in the file, else two spaces."""
        found: Counter[str] = Counter()
        for node in self.containers:
            first = first_child(node)
            if self.begins_line(first):
                inner, outer = self.indent(first), self.indent(node.start)
                if inner.startswith(outer) and inner != outer:
                    found[inner[len(outer) :]] += 1
        return found.most_common(1)[0][0] if found else "  "

    @cached_property
    def quote(self) -> str:
        """The quote of most strings that are values."""
        found = Counter(value.style for _, value in self._values if value.tag == "str")
        return found.most_common(1)[0][0] if found else '"'

    @cached_property
    def key_quote(self) -> str:
        """The quote of most keys, empty where most have none."""
        found = Counter(key.style for node in self.containers for key, _ in node.entries)
        return found.most_common(1)[0][0] if found else '"'

    @cached_property
    def containers(self) -> list[Node]:
        """All containers that hold something."""
        return [node for _, node in self._values if node.entries or node.items]

    @cached_property
    def _values(self) -> list[tuple[Node | None, Node]]:
        """Every value with its key, in no order that matters."""
        found: list[tuple[Node | None, Node]] = []
        found += [(None, self.parsed.root)] if self.parsed.root else []
        for _, node in found:
            found += node.entries
            found += [(None, item) for item in node.items]
        return found

    def indent(self, at: int) -> str:
        """The white space that the line of offset `at` begins with."""
        start = self.line_start(at)
        return self.text[start : _end(_INDENT, self.text, start)]

    def line_start(self, at: int) -> int:
        """Where the line of offset `at` begins."""
        return self._line_starts[bisect_right(self._line_starts, at) - 1]

    @cached_property
    def _line_starts(self) -> list[int]:
        return line_starts(self.text)

    def begins_line(self, at: int) -> bool:
        """Whether only white space, and perhaps a comma, stands before `at` on its line."""
        first = _end(_INDENT, self.text, self.line_start(at))
        if first < at and self.text.startswith(",", first):
            first = _end(_INDENT, self.text, first + 1)
        return first >= at

    def before(self, at: int) -> str:
        """What stands before `at` on its line."""
        return self.text[self.line_start(at) : at]

    def skip_comments(self, at: int, *, line: bool) -> int:
        """The end of the last comment that follows `at` with nothing but space between.

        `line`: only comments that begin and end on the line of `at`.
        """
        space, end = (_SPACE if line else _GAP), at
        while True:
            start = _end(space, self.text, at)
            index = bisect_left(self._comments, start)
            if index == len(self._comments) or self._comments[index] != start:
                return end
            comment = self.parsed.comments[index]
            if line and re.search(r"[\r\n]", self.text[start : comment.end]):
                return end
            at = end = comment.end

    def next_token(self, at: int) -> int:
        """The offset of the next character after `at` that is no space and no comment."""
        at = self.skip_comments(at, line=False)
        return _end(_GAP, self.text, at)

    def comma_after(self, at: int) -> int:
        """The offset of the comma that follows the value which ends at `at`, or -1."""
        token = self.next_token(at)
        return token if self.text.startswith(",", token) else -1

    def line_ends(self, at: int) -> bool:
        """Whether only white space follows `at` on its line."""
        end = self.line_end(at)
        return end == len(self.text) or self.text[end] in "\r\n"

    def layout(self, node: Node) -> Layout:
        """How the container `node`, which holds something, is written."""
        spans = children(node)
        last = spans[-1]
        lines = self.begins_line(last[0])
        return Layout(
            lines=lines,
            pad=self._pad(node, spans[0][0]),
            comma="," if lines else self._between(node.kind, spans),
            colon=self.colon(node),
            trailing=self.comma_after(last[1]) >= 0,
            opens_line=self.begins_line(node.start) if self._is_value(node) else self.opens_line,
        )

    def layout_of_file(self) -> Layout:
        """The layout of a container that has nothing to imitate."""
        lasts = [children(node)[-1] for node in self.containers]
        lines = [end for start, end in lasts if self.begins_line(start)]
        trailing = sum(self.comma_after(end) >= 0 for end in lines) > len(lines) / 2
        return Layout(
            colon=self.colon_of_file, trailing=trailing, opens_line=self.opens_line
        )

    def pad(self, kind: Kind) -> str:
        """What stands inside the brackets of most one-line containers of `kind`."""
        same = [(node, children(node)) for node in self.containers if node.kind is kind]
        found = Counter(
            self._pad(node, spans[0][0])
            for node, spans in same
            if not self.begins_line(spans[-1][0])
        )
        default = " " if kind is Kind.MAPPING and not self.minified else ""
        return found.most_common(1)[0][0] if found else default

    def comma(self, kind: Kind) -> str:
        """What most often parts two entries on one line in containers of `kind`."""
        found = self._commas[kind]
        default = "," if self.minified else ", "
        return found.most_common(1)[0][0] if found else default

    @cached_property
    def _commas(self) -> dict[Kind, Counter[str]]:
        """How often which text parts two entries on one line, in containers of each kind."""
        found: dict[Kind, Counter[str]] = {Kind.MAPPING: Counter(), Kind.SEQUENCE: Counter()}
        for node in self.containers:
            gaps = (self.text[a[1] : b[0]] for a, b in pairwise(children(node)))
            found[node.kind].update(gap for gap in gaps if gap.strip(" \t") == ",")
        return found

    @cached_property
    def opens_line(self) -> bool:
        """Whether most containers of several lines open on a line after their key's."""
        values = [value for node in self.containers for _, value in node.entries]
        held = [one for one in values if one.entries or one.items]
        lines = [one for one in held if self.begins_line(first_child(one))]
        return sum(self.begins_line(one.start) for one in lines) > len(lines) / 2

    def comment_start(self, end: int) -> int:
        """The start of the comment that ends at `end`."""
        return max(comment.start for comment in self.parsed.comments if comment.end == end)

    def ends_comment(self, at: int) -> bool:
        """Whether a // comment ends at `at`."""
        found = [comment for comment in self.parsed.comments if comment.end == at]
        return bool(found) and self.text.startswith("//", found[0].start)

    def line_end(self, at: int) -> int:
        """The end of the white space that follows `at` on its line."""
        return _end(_SPACE, self.text, at)

    def _is_value(self, node: Node) -> bool:
        """Whether a colon stands before `node`: it is no item, and not the root."""
        at = node.start
        while at > 0 and self.text[at - 1].isspace():
            at -= 1
        return self.text.endswith(":", 0, at)

    def _pad(self, node: Node, first: int) -> str:
        space = self.text[node.start + 1 : first]
        return space if not space.strip(" \t") else ""

    def _between(self, kind: Kind, spans: list[tuple[int, int]]) -> str:
        """What parts entries on one line: a comma and, mostly, a space."""
        if len(spans) > 1:
            found = self.text[spans[-2][1] : spans[-1][0]]
            if found.strip(" \t") == ",":
                return found
        return self.comma(kind)

    @cached_property
    def minified(self) -> bool:
        """Whether the file puts no space after its commas and colons."""
        spaced = ", " in self.text or ": " in self.text or "\n" in self.text.strip()
        return bool(self.containers) and not spaced

    def colon(self, node: Node) -> str:
        """What most entries of `node` have between key and value; the file's where none."""
        return self._colon_of(node.entries) or self.colon_of_file

    @cached_property
    def colon_of_file(self) -> str:
        """What most entries of the file have between key and value."""
        entries = (entry for node in self.containers for entry in node.entries)
        return self._colon_of(entries) or (":" if self.minified else ": ")

    def _colon_of(self, entries: Iterable[tuple[Node, Node]]) -> str:
        """What most `entries` have between key and value on one line; empty where none has."""
        gaps = Counter(self.text[key.end : value.start] for key, value in entries)
        return next((gap for gap, _ in gaps.most_common() if _COLON.fullmatch(gap)), "")

    def like(self, kind: Kind, key: str, near: int, *, deep: bool) -> Node | None:
        """The container to imitate for a new one: of the same kind, under the same key if
        there is one, the nearest to `near`. `deep`: it will hold containers itself."""
        nodes = [(k, node) for k, node in self._values if node.kind is kind]
        nodes = [(k, node) for k, node in nodes if node.entries or node.items]
        named = [node for k, node in nodes if k is not None and k.text == key]
        found = named or [node for _, node in nodes if is_deep(node) is deep]
        return min(found, key=lambda node: abs(node.start - near), default=None)


def is_deep(node: Node) -> bool:
    """Whether a container holds containers."""
    held = [*node.items, *(value for _, value in node.entries)]
    return any(child.kind is not Kind.SCALAR for child in held)


def children(node: Node) -> list[tuple[int, int]]:
    """The spans of a container's entries (key to value) or items."""
    if node.kind is Kind.MAPPING:
        return [(key.start, value.end) for key, value in node.entries]
    return [(item.start, item.end) for item in node.items]


def first_child(node: Node) -> int:
    """Where the first entry or item of a container begins, which holds something."""
    return node.entries[0][0].start if node.entries else node.items[0].start


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    """Where `pattern` ends that begins at `at`; `at` itself where it does not."""
    found = pattern.match(text, at)
    return found.end() if found else at
