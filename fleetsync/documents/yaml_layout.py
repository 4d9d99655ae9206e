"""Where lines begin and end in a YAML text, and how its user lays values out."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
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
        self._breaks = [found.span() for found in _BREAK.finditer(parsed.text)]
        self._starts = [0, *(end for _, end in self._breaks)]

    def line_start(self, at: int) -> int:
        """Where the line that holds `at` begins."""
        return self._starts[bisect_right(self._starts, at) - 1]

    def line_end(self, at: int) -> int:
        """Where the line that holds `at` ends: before its line break."""
        line = bisect_right(self._starts, at) - 1
        return self._breaks[line][0] if line < len(self._breaks) else len(self.text)

    def next_line(self, at: int) -> int:
        """Where the line after the one that holds `at` begins, or the text ends."""
        line = bisect_right(self._starts, at) - 1
        return self._breaks[line][1] if line < len(self._breaks) else len(self.text)

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

    @cached_property
    def newline(self) -> str:
        """The line break that most lines end with; `\\n` where there is none."""
        found = Counter(self.text[start:end] for start, end in self._breaks)
        plain = {kind: n for kind, n in found.items() if kind in ("\n", "\r\n", "\r")}
        return max(plain, key=lambda kind: plain[kind]) if plain else "\n"


@dataclass(frozen=True, slots=True)
class Style:
    """How new values are written: steps of indentation in characters, spelling of strings.

    `dash` is how far a list's dashes stand right of its key; `gap` follows a dash.
    `quote` is the mark of new quoted strings; `keys_quoted` and `values_quoted` tell
    whether every neighbour is. `before` and `after` surround a colon.
    """

    step: int = 2
    dash: int = 2
    gap: str = " "
    quote: str = '"'
    keys_quoted: bool = False
    values_quoted: bool = False
    before: str = ""
    after: str = " "
    pad: str = ""


def style_of(page: Page, trail: Trail) -> Style:
    """The style of `trail`'s last container: its neighbours', else its parents', else the
    whole file's, else two spaces and double quotes."""
    containers = [node for node in trail.nodes if node.kind in (Kind.MAPPING, Kind.SEQUENCE)]
    steps, dashes = _indents(page, containers[::-1])
    keys, values = _neighbours(containers[-1]) if containers else ([], [])
    before, after = _colon(page, keys, containers[-1] if containers else None)
    near = keys + values
    return Style(
        step=steps, dash=dashes, gap=_dash_gap(page, containers),
        quote=_main_quote(page, near), before=before, after=after,
        keys_quoted=_all_quoted(keys), values_quoted=_all_quoted(values),
        pad=_pad(page, containers),
    )


def _indents(page: Page, containers: list[Node]) -> tuple[int, int]:
    """Step of nested mappings and offset of dashes, from the nearest evidence."""
    step = dash = None
    whole = list(nodes(page.parsed.root)) if page.parsed.root else []
    for group in (*([one] for one in containers), whole):
        steps, dashes = Counter[int](), Counter[int]()
        for node in group:
            _count_indents(page, node, steps, dashes)
        step = step if step is not None else _most(steps)
        dash = dash if dash is not None else _most(dashes)
        if step is not None and dash is not None:
            break
    return step or 2, 2 if dash is None else dash


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
        waiting += [one for pair in reversed(node.entries) for one in reversed(pair)]
        waiting += reversed(node.items)


def _neighbours(container: Node) -> tuple[list[Node], list[Node]]:
    """The keys and the string values that a new entry will stand among, and their children."""
    held = [container, *(value for _, value in container.entries[-1:]), *container.items[-1:]]
    keys = [key for node in held for key, _ in node.entries]
    values = [*(value for node in held for _, value in node.entries), *container.items]
    return keys, [value for value in values if value.kind is Kind.SCALAR and value.tag == "str"]


def _all_quoted(found: list[Node]) -> bool:
    return bool(found) and all(node.style in ("'", '"') for node in found)


def _main_quote(page: Page, near: list[Node]) -> str:
    """The quote of the neighbours, else of the whole file."""
    for group in (near, nodes(page.parsed.root) if page.parsed.root else ()):
        found = Counter(node.style for node in group if node.style in ("'", '"'))
        if found:
            return max(found, key=lambda mark: (found[mark], mark == '"'))
    return '"'


def _colon(page: Page, keys: list[Node], container: Node | None) -> tuple[str, str]:
    """What stands around the neighbours' colons, where they agree; else `key: value`."""
    if container is None:
        return "", " "
    gaps: set[tuple[str, str]] = set()
    for key, value in container.entries:
        found = _GAP.fullmatch(page.text, key.end, max(key.end, value.start))
        if found and value.end > value.start:
            gaps.add((found[1], found[2]))
    if len(gaps) != 1:
        return "", " "
    before, after = gaps.pop()
    return before, after or ("" if container.flow and _all_quoted(keys) else " ")


def _dash_gap(page: Page, containers: list[Node]) -> str:
    """What stands between the dash and the last item of the list that is edited."""
    if not containers or containers[-1].kind is not Kind.SEQUENCE or containers[-1].flow:
        return " "
    for item in reversed(containers[-1].items):
        begin = page.text.rfind("-", 0, item.start) + 1
        gap = page.text[begin : item.start]
        if item.end > item.start and gap and not gap.strip(" "):
            return gap
    return " "


def _pad(page: Page, containers: list[Node]) -> str:
    """What stands inside the braces of flow mappings nearby: nothing or a blank."""
    near = [container for container in containers[-1:] if container.flow]
    near += [item for container in containers[-1:] for item in container.items[-1:]]
    near += [value for container in containers[-1:] for _, value in container.entries[-1:]]
    for node in near:
        if node.kind is Kind.MAPPING and node.flow and node.entries:
            return " " if page.text[page.content(node) + 1] == " " else ""
    return ""
