"""What the YAML tests share: generated texts, edits on plain data, the judging loader."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any, TypeAlias

import yaml
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from fleetsync.documents import (
    Append,
    Dialect,
    Document,
    Edit,
    Item,
    Kind,
    Node,
    Path,
    Remove,
    Set,
    Where,
    parse,
)
from tests.matrix import FULL

Plain: TypeAlias = Any
"""What PyYAML makes of a file: dates and bytes too, so no narrower type holds."""

Draw: TypeAlias = Callable[[st.SearchStrategy[Any]], Any]

_SCALE = 20 if FULL else 1

TRICKY = (
    "yes", "on", "y", "12:30", "1_000", "017", "=", "<<", "~", "", " leading", "trailing ",
    "k: v", "#x", "@x", "%x", "a #b", "- x", "? x", "x:", "1.5", "1e3", "0o14", "0x1f",
    "2024-01-01", "null", "NO", ".inf", "llm.primary", "it's", 'say "hi"', "tab\there",
    "two\nlines", "nel\x85", "sep\u2028", "bom\ufeff", "é 😀", "{{ jinja }}", "${VAR}", "[a]",
    "{a}", "a, b", "&a", "*a", "!t", "|", ">", "`x", "---", "...", "\\", "\x7f", "-", "http://h:1/v1",
)


def many(examples: int) -> settings:
    """Settings for a property: `examples` of them, more where FLEETSYNC_MATRIX is full."""
    return settings(
        max_examples=examples * _SCALE, deadline=None, derandomize=_SCALE == 1, database=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much,
                               HealthCheck.data_too_large],
    )


def load(data: bytes | str) -> Plain:
    """The value that Hermes' own loader gives."""
    text = data.decode() if isinstance(data, bytes) else data
    return yaml.load(text, Loader=yaml.CSafeLoader)


def read(data: bytes | str) -> Document:
    """Parse YAML."""
    return parse(data.encode() if isinstance(data, str) else data, Dialect.YAML)


def exact(value: Plain) -> Plain:
    """`value` with its types and the order of its keys, for comparing."""
    if isinstance(value, dict):
        return [(exact(key), exact(held)) for key, held in value.items()]
    if isinstance(value, list):
        return [exact(held) for held in value]
    return (type(value).__name__, value)


# --- edits on plain data ------------------------------------------------------------


def applied(value: Plain, edit: Edit) -> Plain:
    """`value` with `edit` made on it, the plain way."""
    root = deepcopy(value) if value is not None else {}
    holder = root
    for step in edit.path[:-1]:
        place = _place(holder, step)
        if isinstance(edit, Remove) and not _has(holder, place):
            return value
        _fill(holder, place, {})
        holder = holder[place]
    last = _place(holder, edit.path[-1])
    if isinstance(edit, Set):
        holder[last] = edit.value
    elif isinstance(edit, Append):
        _fill(holder, last, [])
        holder[last].append(edit.value)
    elif _has(holder, last):
        del holder[last]
    return root


def _fill(holder: Plain, place: Plain, empty: Plain) -> None:
    """Put `empty` where nothing or a null stands."""
    if not _has(holder, place) or holder[place] is None:
        holder[place] = empty


def _has(holder: Plain, place: Plain) -> bool:
    if isinstance(holder, dict):
        return place in holder
    return isinstance(holder, list) and place is not None and 0 <= place < len(holder)


def _place(holder: Plain, step: Any) -> Plain:
    if isinstance(step, Where):
        found = [i for i, item in enumerate(holder)
                 if isinstance(item, dict) and item.get(step.key) == step.value]
        return found[0] if found else None
    if isinstance(step, Item):
        return holder.index(step.value) if step.value in holder else None
    return step


def paths(root: Node | None) -> list[tuple[Path, Node]]:
    """Every node that a path of strings and numbers leads to, parents first."""
    found: list[tuple[Path, Node]] = []
    waiting: list[tuple[Path, Node]] = [((), root)] if root else []
    while waiting:
        path, node = waiting.pop(0)
        found.append((path, node))
        for key, value in node.entries:
            if key.kind is Kind.SCALAR and key.tag == "str":
                waiting.append(((*path, key.text), value))
        waiting += [((*path, i), item) for i, item in enumerate(node.items)]
    return found


SCALARS = st.one_of(
    st.sampled_from(TRICKY), st.integers(-3, 400_000), st.booleans(), st.none(),
    st.sampled_from([0.5, -2.25, 1e20, 1e-7]), st.text(max_size=8).filter(lambda t: not _lone(t)),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=2),
        st.dictionaries(st.sampled_from(("id", "name", "llm.x", "yes", "1.5", "q r")), inner,
                        max_size=3),
    ),
    max_leaves=5,
)


def _lone(text: str) -> bool:
    return any("\ud800" <= letter <= "\udfff" for letter in text)


@st.composite
def edits_of(draw: Draw, document: Document) -> Edit:
    """Any edit of `document`: at a node that exists, or of a new key or item."""
    known = paths(document.root)
    if not known:
        return Set(("new", "key"), draw(VALUES))
    kind = draw(st.sampled_from(("value", "scalar", "insert", "insert", "append", "remove")))
    if draw(st.integers(0, 7)):    # mostly where it makes sense
        fits = [(path, node) for path, node in known if _fits(kind, path, node)]
        known = fits or known
    path, _ = draw(st.sampled_from(known))
    if kind == "insert" or not path:
        return Set((*path, *draw(st.sampled_from(NEW_PATHS))), draw(VALUES))
    if kind == "append":
        return Append(path, draw(VALUES))
    if kind == "remove":
        return Remove(path)
    return Set(path, draw(VALUES if kind == "value" else SCALARS))


def _fits(kind: str, path: Path, node: Node) -> bool:
    if kind == "insert":
        return node.kind is Kind.MAPPING or (node.tag == "null" and bool(path))
    return bool(path) and (kind != "append" or node.kind is Kind.SEQUENCE or node.tag == "null")


NEW_PATHS: tuple[tuple[str, ...], ...] = (
    ("new",), ("new.key",), ("no", "7.5"), ("new", "deep", "deeper"),
)


# --- texts --------------------------------------------------------------------------

_KEYS = ("a", "llm.primary", "'q k'", '"d"', "model", "on", "1.5", "x y", "b-c", "id", "é",
         "'it''s'", "glm:5", "name", '"\\u0041"', "z#z")
_WORDS: tuple[str, ...] = ("x", "two words", "5", "true", "1.50", "'single'", "'it''s # not'",
          '"double"', '"es\\tc \\" # no"', "~", "null", "2024-01-01", "http://h:1/v1#frag", "{}",
          "[]", "{ }", "1_000", "yes", "-3", "a#b", "12:30", "${VAR}")
_TEXTS: tuple[str, ...] = ("x", "word", "# not a comment", "k: v", "- dash", "", "'quote", "tail  ")


@st.composite
def texts(draw: Draw) -> str:
    """A YAML text: one mapping in mixed styles, comments and blank lines in every gap."""
    maker = Maker(draw)
    lines = maker.edge() + maker.mapping(draw(st.sampled_from((0, 0, 0, 2))), 0) + maker.edge()
    if draw(st.integers(0, 5)) == 0:
        lines = ["---", *lines]
        if draw(st.booleans()):
            lines = [*lines, "...", "# after the end"]
    newline = draw(st.sampled_from(("\n", "\n", "\n", "\r\n", "\r")))
    final = draw(st.sampled_from((newline, newline, "")))
    return str(newline.join(lines) + final)


class Maker:
    """Draws the lines of a text."""

    def __init__(self, draw: Draw) -> None:
        self.draw = draw
        self.anchors: list[str] = []
        self.words = _WORDS
        self.texts = _TEXTS

    def pick(self, *choices: Any) -> Any:
        """One of `choices`."""
        return self.draw(st.sampled_from(choices))

    def one_in(self, n: int) -> bool:
        """True once in `n` times."""
        return bool(self.draw(st.integers(1, n)) == n)

    def edge(self) -> list[str]:
        """Lines before the first or after the last entry of the document."""
        return self.gap(0) if self.one_in(3) else []

    def gap(self, indent: int) -> list[str]:
        """Lines between two things: nothing, blank lines, comments at any column."""
        if not self.one_in(4):
            return []
        lines = ("", " " * indent + "# note", "# at the margin", " " * (indent + 4) + "#- x", "  ")
        return [self.pick(*lines) for _ in range(self.pick(1, 1, 2))]

    def tail(self) -> str:
        """What may follow a value on its line."""
        return str(self.pick("", "", "", "", " # c", "  #c, d", " "))

    def mapping(self, indent: int, depth: int) -> list[str]:
        """The lines of a block mapping in column `indent`."""
        keys = self.draw(st.lists(st.sampled_from(_KEYS), min_size=1, max_size=4, unique=True))
        lines: list[str] = []
        for i, key in enumerate(keys):
            lines += (self.gap(indent) if i else []) + self.entry(key, indent, depth)
        return lines

    def entry(self, key: str, indent: int, depth: int) -> list[str]:
        """The lines of one entry."""
        head = " " * indent + key + self.pick("", "", "", " ") + ":"
        return self.value(head, indent, depth, in_key=True)

    def value(self, head: str, indent: int, depth: int, in_key: bool) -> list[str]:
        """The lines of a value after `head`, deeper than column `indent`."""
        kind = self.pick("word", "word", "word", "empty", "mapping", "mapping", "list", "list",
                         "text", "folded", "flow", "flow lines", "anchor", "alias", "below")
        if depth > 3 and kind in {"mapping", "list", "below", "flow lines"}:
            kind = "word"
        if kind == "mapping":
            return self.nested(head, indent, depth, in_key)
        if kind == "list":
            return self.items(head, indent, depth, in_key)
        if kind == "text":
            return self.literal(head, indent)
        if kind == "flow lines":
            return self.flow_lines(head, indent)
        return self.one(head, indent, kind)

    def one(self, head: str, indent: int, kind: str) -> list[str]:
        """A value that begins on the line of `head`, or alone below it."""
        gap = self.pick(" ", " ", " ", "  ", "\t" if head.endswith(":") else "   ")
        if kind == "empty":
            return [head + self.tail()]
        if kind == "folded":
            quote = self.pick("", "'", '"')
            return [f"{head}{gap}{quote}one", " " * (indent + 2) + f"two{quote}{self.tail()}"]
        if kind == "flow":
            return [f"{head}{gap}{self.flow(2)}{self.tail()}"]
        if kind == "anchor":
            self.anchors.append(f"a{len(self.anchors)}")
            return [f"{head} &{self.anchors[-1]} {self.pick(*self.words)}{self.tail()}"]
        if kind == "alias" and self.anchors:
            return [f"{head} *{self.pick(*self.anchors)}{self.tail()}"]
        word = self.pick(*self.words)
        if kind == "below":
            return [head + self.tail(), " " * (indent + 2) + word + self.tail()]
        return [f"{head}{gap}{word}{self.tail()}"]

    def nested(self, head: str, indent: int, depth: int, in_key: bool) -> list[str]:
        """A mapping below a key, or compact after a dash."""
        if not in_key and self.one_in(2):
            first, *rest = self.mapping(indent + 2, depth + 1)
            return [head + first[indent + 1 :], *rest]
        inner = indent + self.pick(2, 2, 2, 1, 4)
        return [head + self.tail(), *self.gap(inner), *self.mapping(inner, depth + 1)]

    def items(self, head: str, indent: int, depth: int, in_key: bool) -> list[str]:
        """A list below a key (its dashes may stand under the key), or compact after a dash."""
        compact = not in_key and self.one_in(2)
        column = indent + (2 if compact else self.pick(*((0, 0, 2, 2, 4) if in_key else (2, 4))))
        lines: list[str] = []
        for i in range(self.pick(1, 2, 3)):
            lines += self.gap(column) if i else []
            lines += self.value(" " * column + "-", column, depth + 1, in_key=False)
        if compact:
            return [head + lines[0][indent + 1 :], *lines[1:]]
        return [head + self.tail(), *self.gap(column), *lines]

    def literal(self, head: str, indent: int) -> list[str]:
        """A literal or folded text block."""
        header = self.pick("|", "|", ">", "|-", ">-", "|+", ">+") + self.pick("", "", " # c")
        body = [" " * (indent + 2) + "first"]
        for _ in range(self.pick(0, 1, 2)):
            text = self.pick(*self.texts)
            body.append(" " * (indent + 2) + text if text else "")
        return [f"{head} {header}", *body]

    def flow(self, depth: int) -> str:
        """A flow collection on one line."""
        words = [word for word in self.words if word not in {"12:30", "${VAR}", "{ }"}]
        if depth == 0 or self.one_in(3):
            return str(self.pick(*words))
        pad = self.pick("", "", " ")
        held = [self.flow(depth - 1) for _ in range(self.pick(1, 2, 3))]
        comma = self.pick("", "", "", ",")
        if self.one_in(2):
            return f"[{pad}{', '.join(held)}{comma}{pad}]"
        keys = self.draw(st.permutations(("k", "id", "'q'", '"d"')))
        pairs = [f"{key}: {word}" for key, word in zip(keys, held, strict=False)]
        return f"{{{pad}{', '.join(pairs)}{comma}{pad}}}"

    def flow_lines(self, head: str, indent: int) -> list[str]:
        """A flow collection over several lines, perhaps with comments."""
        inner, n = " " * (indent + 2), self.pick(1, 2, 3)
        mapping = self.one_in(2)
        lines = [f"{head} {'{' if mapping else '['}{self.tail()}"]
        for i in range(n):
            word = f"k{i}: {self.flow(1)}" if mapping else self.flow(1)
            comma = "," if i + 1 < n else self.pick("", ",")
            lines.append(f"{inner}{word}{comma}{self.tail()}")
        return [*lines, f"{' ' * (indent + 1)}{'}' if mapping else ']'}{self.tail()}"]
