"""Where lines begin and end in a YAML text, and how its user lays values out."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from fleetsync.documents.grammar import Parsed
from fleetsync.documents.paths import Trail
from fleetsync.documents.tree import Kind, Node
from fleetsync.documents.yaml_parse import BREAKS, content_start

_BREAK = re.compile(rf"\r\n|[{BREAKS}]")
_GAP = re.compile(r"([ \t]*):([ \t]*)")


class Page:
    """A parsed text with its lines, as YAML counts them; all places are character offsets."""

    def __init__(self, parsed: Parsed) -> None:
        self.parsed = parsed
        self.text = parsed.text

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *(found.end() for found in _BREAK.finditer(self.text))]

    def line_start(self, at: int) -> int:
        """Where the line that holds `at` begins."""
        return self._starts[bisect_right(self._starts, at) - 1]

    def line_end(self, at: int) -> int:
        """Where the line that holds `at` ends: before its line break."""
        line = bisect_right(self._starts, at)
        if line == len(self._starts):
            return len(self.text)
        end = self._starts[line]
        return end - (2 if self.text.startswith("\r\n", end - 2) else 1)

    def next_line(self, at: int) -> int:
        """Where the line after the one that holds `at` begins, or the text ends."""
        line = bisect_right(self._starts, at)
        return self._starts[line] if line < len(self._starts) else len(self.text)

    def column(self, at: int) -> int:
        """Characters between the line's beginning and `at`."""
        return at - self.line_start(at)

    def leads_line(self, at: int) -> bool:
        """Whether only blanks stand before `at` on its line."""
        return not self.text[self.line_start(at) : at].strip(" \t")

    def content(self, node: Node) -> int:
        """Where `node` begins after its anchor and tag."""
        return content_start(self.text, node)

    def comments_in(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """The spans of comments that begin in [start, end)."""
        for one in self.parsed.comments:
            if start <= one.start < end:
                yield one.start, one.end

    def has_comment(self, start: int, end: int) -> bool:
        """Whether a comment begins in [start, end)."""
        return any(start <= one.start < end for one in self.parsed.comments)

    @property
    def newline(self) -> str:
        """The line break that most lines end with; `\\n` where there is none."""
        return self.parsed.eol


@dataclass(frozen=True, slots=True)
class Style:
    """How new values are written: steps of indentation in characters, spelling of strings.

    `dash` is how far a list's dashes stand right of its key; `gap` follows a dash.
    `quote` is the mark of new quoted strings; `keys_quoted` and `values_quoted` tell
    whether every neighbour is, `below_quoted` the same of what is nested in a neighbour.
    `before` and `after` surround a colon; `pad` stands inside braces.
    """

    step: int = 2
    dash: int = 2
    gap: str = " "
    quote: str = '"'
    keys_quoted: bool = False
    values_quoted: bool = False
    below_quoted: tuple[bool, bool] = (False, False)
    before: str = ""
    after: str = " "
    pad: str = ""

    def below(self) -> Style:
        """The style one level deeper."""
        keys, values = self.below_quoted
        return replace(self, keys_quoted=keys, values_quoted=values)


def style_of(page: Page, trail: Trail) -> Style:
    """The style of `trail`'s last container: its neighbours', else its parents', else the
    whole file's, else two spaces and double quotes."""
    containers = [node for node in trail.nodes if node.kind in (Kind.MAPPING, Kind.SEQUENCE)]
    container = containers[-1] if containers else _NOTHING
    child = _last_collection(container)
    (keys, values), (below_keys, below_values) = _held(container), _held(child)
    steps, dashes = _indents(page, containers[::-1])
    before, after = _colon(page, container if container.entries else child)
    return Style(
        step=steps, dash=dashes, gap=_dash_gap(page, container),
        quote=_main_quote(page, [*keys, *values, *below_keys, *below_values]),
        before=before, after=after, keys_quoted=_all_quoted(keys),
        values_quoted=_all_quoted(values),
        below_quoted=(_all_quoted(below_keys or keys), _all_quoted(below_values or values)),
        pad=_pad(page, (container, child)),
    )


_NOTHING = Node(Kind.MAPPING, 0, 0, 0, 0)


def _last_collection(container: Node) -> Node:
    """The last child that holds something: what a new child would look like."""
    children = [*(value for _, value in container.entries), *container.items]
    return next((node for node in reversed(children) if node.entries or node.items), _NOTHING)


def _held(container: Node) -> tuple[list[Node], list[Node]]:
    """The keys of a collection, and its strings."""
    values = [*(value for _, value in container.entries), *container.items]
    strings = [value for value in values if value.kind is Kind.SCALAR and value.tag == "str"]
    return [key for key, _ in container.entries], strings


def _indents(page: Page, containers: list[Node]) -> tuple[int, int]:
    """Step of nested mappings and offset of dashes, from the nearest evidence."""
    step = dash = None
    for group in _circles(page, containers):
        steps, dashes = Counter[int](), Counter[int]()
        for node in group:
            _count_indents(page, node, steps, dashes)
        step = step if step is not None else _most(steps)
        dash = dash if dash is not None else _most(dashes)
        if step is not None and dash is not None:
            break
    return step or 2, 2 if dash is None else dash


def _circles(page: Page, containers: list[Node]) -> Iterator[Iterable[Node]]:
    """The containers one by one, then all nodes."""
    for node in containers:
        yield (node,)
    if page.parsed.root:
        yield nodes(page.parsed.root)


def _count_indents(page: Page, node: Node, steps: Counter[int], dashes: Counter[int]) -> None:
    if node.flow:
        return
    for key, value in node.entries:
        if value.flow or not (value.entries or value.items):
            continue
        offset = page.column(page.content(value)) - page.column(key.start)
        (steps if value.kind is Kind.MAPPING else dashes)[offset] += 1


def _most(found: Counter[int]) -> int | None:
    return found.most_common(1)[0][0] if found else None


def nodes(root: Node) -> Iterator[Node]:
    """All nodes of a tree, keys too, parents first."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        if node.entries:
            for key, value in reversed(node.entries):
                waiting += (value, key)
        elif node.items:
            waiting += reversed(node.items)


def _all_quoted(found: list[Node]) -> bool:
    return bool(found) and all(node.style in ("'", '"') for node in found)


def _main_quote(page: Page, near: list[Node]) -> str:
    """The quote of the neighbours, else of the whole file."""
    for group in (near, nodes(page.parsed.root) if page.parsed.root else ()):
        found = Counter(node.style for node in group if node.style in ("'", '"'))
        if found:
            return max(found, key=lambda mark: (found[mark], mark == '"'))
    return '"'


def _colon(page: Page, mapping: Node) -> tuple[str, str]:
    """What stands around the colons of `mapping`, where they agree; else `key: value`."""
    befores, afters = set[str](), list[str]()
    for key, value in mapping.entries:
        found = _GAP.match(page.text, key.end, max(key.end, value.start))
        if found:
            befores.add(found[1])
            afters += [found[2]] if found.end() == value.start < value.end else []
    before = befores.pop() if len(befores) == 1 else ""
    agreed = len(set(afters)) == 1 and (mapping.flow or len(afters) > 1)
    after = afters[0] if agreed else " "
    quoted = mapping.flow and _all_quoted([key for key, _ in mapping.entries])
    return before, after or ("" if quoted else " ")


def _dash_gap(page: Page, container: Node) -> str:
    """What stands between the dash and the last item of the list that is edited."""
    if container.flow:
        return " "
    for item in reversed(container.items):
        begin = page.text.rfind("-", 0, item.start) + 1
        gap = page.text[begin : item.start]
        if item.end > item.start and gap and not gap.strip(" "):
            return gap
    return " "


def _pad(page: Page, near: tuple[Node, ...]) -> str:
    """What stands inside the braces of flow mappings nearby: nothing or a blank."""
    for node in near:
        if node.kind is Kind.MAPPING and node.flow and node.entries:
            return " " if page.text[page.content(node) + 1] == " " else ""
    return ""
