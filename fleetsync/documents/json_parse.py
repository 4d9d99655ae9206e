"""Parse JSON5 and everything below it, with spans, and say how far a file goes.

One iterative parser reads the JSON5 superset and notes the first place of each feature;
then the dialect decides. So a file that its client cannot read is refused at the place,
and in the words, of the feature that the client does not know.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import Final

from fleetsync.documents.grammar import Parsed
from fleetsync.documents.json_string import bad_escape, beyond_json, is_identifier, unescape
from fleetsync.documents.tree import Comment, Dialect, Kind, Limits, Node, Value
from fleetsync.errors import Unreadable

_WORDS: Final = {
    "line_comment": "a // comment",
    "block_comment": "a /* */ comment",
    "trailing_comma": "a comma after the last entry",
    "unquoted_key": "a key without quotes",
    "single_quote": "a string in single quotes",
    "json5_number": "a number that only JSON5 knows",
    "json5_string": "a character or escape in a string that only JSON5 knows",
    "json5_space": "white space that only JSON5 knows",
    "cr_comment": "a // comment with a lone CR in it, which does not end its line",
}
_COMMENTS: Final = frozenset({"line_comment", "trailing_comma"})
_READ: Final = {
    Dialect.JSON: frozenset[str](),
    Dialect.JSON_COMMENTS: _COMMENTS,
    Dialect.JSON5: frozenset(_WORDS),
}

_SPACE: Final = re.compile(r"[ \t\r\n]*")
_EXOTIC: Final = "\v\f\xa0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff" + "".join(
    map(chr, range(0x2000, 0x200B))
)
_MORE: Final = frozenset(("", "/", *_EXOTIC))
_SPACE5: Final = re.compile(f"[ \t\r\n{_EXOTIC}]*")
_LINE5: Final = re.compile("//[^\n\r\u2028\u2029]*")
_LINE: Final = re.compile(r"//[^\n]*")
_NAME: Final = re.compile(r"(?:[\w$\u200c\u200d]|\\u[0-9a-fA-F]{4})+")
_PLAIN_KEY: Final = r'"(?P<key>[^"\\\x00-\x1f]*)"[ \t\r\n]*:[ \t\r\n]*'
_PLAIN_VALUE: Final = (
    r'(?P<value>"(?P<str>[^"\\\x00-\x1f]*)"'
    r"|(?P<int>-?(?:0|[1-9][0-9]*))(?![\w.$\\])"
    r"|(?P<float>-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)(?![\w.$\\])"
    r"|(?P<bool>true|false)(?![\w$\\])|(?P<null>null)(?![\w$\\]))"
)
_PLAIN_END: Final = r"[ \t\r\n]*(?:(?P<comma>,)[ \t\r\n]*|(?=[}\]]))"
_KEY: Final = re.compile(_PLAIN_KEY)
_VALUE: Final = re.compile(_PLAIN_VALUE)
_ENTRY: Final = re.compile(_PLAIN_KEY + _PLAIN_VALUE + _PLAIN_END)
_ITEM: Final = re.compile(_PLAIN_VALUE + _PLAIN_END)
_NUMBER5: Final = re.compile(
    r"[+-]?(?:0[xX][0-9a-fA-F]+|Infinity|NaN"
    r"|(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)(?![\w.$\\])"
)
_STRING: Final = {
    quote: re.compile(rf"{quote}[^{quote}\\\r\n]*(?:\\(?:\r\n|[\s\S])[^{quote}\\\r\n]*)*{quote}")
    for quote in "\"'"
}
_CONTROL: Final = re.compile(r"[\x00-\x1f]")
_TAGS: Final = ("int", "float", "bool", "null")
_BREAK: Final = re.compile(r"\r\n?|\n")
_SCALAR: Final = Kind.SCALAR
"""Read once: an enumeration's members are slow to look up, and there are thousands."""


def parse(text: str, dialect: Dialect, limits: Limits) -> Parsed:
    """Parse `text`. Raises Unreadable, at the first thing that `dialect` does not read."""
    reader = _Reader(text, dialect, limits)
    try:
        root = reader.document()
    except Unreadable:
        _check_dialect(reader, dialect)
        raise
    _check_dialect(reader, dialect)
    features = set(reader.features) - {"cr_comment"}
    features |= {"crlf"} if "\r\n" in text else set()
    features |= {"cr"} if re.search(r"\r(?!\n)", text) else set()
    return Parsed(text, dialect, limits, root, tuple(reader.comments), frozenset(features))


def line_starts(text: str) -> list[int]:
    """Where each line of `text` begins."""
    return [0, *(found.end() for found in _BREAK.finditer(text))]


def scalar(node: Node) -> Value:
    """The value of a scalar as JavaScript holds it: what overflows is infinite."""
    if node.tag == "str":
        return node.text
    if node.tag in ("null", "bool"):
        return {"null": None, "true": True, "false": False}[node.text]
    if node.tag == "float":
        return float(node.text)
    if "x" in node.text.lower():
        return int(node.text, 16)
    return int(node.text) if len(node.text) < 400 else float(node.text)


def _check_dialect(reader: _Reader, dialect: Dialect) -> None:
    beyond = [(at, name) for name, at in reader.features.items() if name in _WORDS]
    beyond = [pair for pair in beyond if pair[1] not in _READ[dialect]]
    if beyond:
        at, name = min(beyond)
        raise reader.error(f"{_WORDS[name]}: this file is read as {dialect.value}", at)


class _Open:
    """A container that has not closed yet; `held` are its items, or its keys and values."""

    __slots__ = ("close", "held", "is_mapping", "node", "plain")

    def __init__(self, node: Node, is_mapping: bool) -> None:
        self.node, self.is_mapping = node, is_mapping
        self.close = "}" if is_mapping else "]"
        self.plain = _ENTRY if is_mapping else _ITEM
        self.held: list[Node] = []


class _Reader:
    """Reads one text; `at` is where it stands, `features` where each was first seen."""

    def __init__(self, text: str, dialect: Dialect, limits: Limits) -> None:
        self.text, self.limits = text, limits
        self.at = 0
        self.comments: list[Comment] = []
        self.features: dict[str, int] = {}
        self._line_comment = _LINE if dialect is Dialect.JSON_COMMENTS else _LINE5
        self._open: list[_Open] = []
        self._comma = -1
        self._starts = [*line_starts(text), len(text) + 1]
        self._line = 1
        """The line that the last node begins in, from 1"""
        self._left = limits.nodes

    def document(self) -> Node:
        """The root. Raises Unreadable unless the text is one value."""
        self._gap(0)
        if self.at == len(self.text):
            raise self.error("the file holds no value", self.at)
        root = self._value()
        while self._open:
            self._entry(self._open[-1])
        self._gap(self.at)
        if self.at < len(self.text):
            raise self.error("more text after the end of the value", self.at)
        return root

    def error(self, reason: str, at: int) -> Unreadable:
        """The error that names the place of offset `at`."""
        line = bisect_right(self._starts, at)
        return Unreadable(reason, line, at - self._starts[line - 1] + 1)

    def _entry(self, container: _Open) -> None:
        """Read one entry of `container` and what follows it, or its close."""
        plain = container.plain.match(self.text, self.at)
        if plain:
            self._plain_entry(container, plain)
        elif self.text.startswith(container.close, self.at):
            if self._comma >= 0:
                self.features.setdefault("trailing_comma", self._comma)
            self._close(container)
            self._after()
        else:
            if container.is_mapping:
                container.held.append(self._key())
            value = self._value()
            container.held.append(value)
            if value.end >= 0:
                self._after()

    def _plain_entry(self, container: _Open, found: re.Match[str]) -> None:
        """Take in an entry of strict JSON, a scalar in it, and the comma after it."""
        if container.is_mapping:
            start, end = found.span("key")
            container.held.append(self._node(start - 1, end + 1, "str", found["key"], '"'))
        container.held.append(self._plain_value(found))
        self._gap(found.end())
        self._comma = found.start("comma")
        if self._comma < 0:
            self._after()

    def _after(self) -> None:
        """Read what follows a value: a comma, or the close of what it stands in."""
        while self._open:
            self._gap(self.at)
            if self.text.startswith(",", self.at):
                self._comma = self.at
                self._gap(self.at + 1)
                return
            container = self._open[-1]
            if not self.text.startswith(container.close, self.at):
                raise self.error(f"expected , or {container.close}", self.at)
            self._close(container)

    def _close(self, container: _Open) -> None:
        """Give the container's node its end and what it holds."""
        self._open.pop()
        self.at += 1
        node, held = container.node, container.held
        node.end = self.at
        if not container.is_mapping:
            node.items = held
            return
        node.entries = list(zip(held[::2], held[1::2], strict=True))
        if len({key.text for key in held[::2]}) < len(node.entries):
            self.features.setdefault("duplicate_key", node.start)

    def _key(self) -> Node:
        """Read a key and its colon; stop at the value."""
        at, quick = self.at, _KEY.match(self.text, self.at)
        if quick:
            node = self._node(at, quick.end(1) + 1, "str", quick[1], '"')
            self._gap(quick.end())
            return node
        node = self._name(at) if self.text[at : at + 1] not in ('"', "'") else self._string(at)
        self._gap(node.end)
        if not self.text.startswith(":", self.at):
            raise self.error("expected : after the key", self.at)
        self._gap(self.at + 1)
        return node

    def _name(self, at: int) -> Node:
        """Read a key without quotes."""
        found = _NAME.match(self.text, at)
        raw = found[0] if found else ""
        if not is_identifier(unescape(raw)):
            raise self.error("expected a key or }", at)
        self.features.setdefault("unquoted_key", at)
        return self._node(at, at + len(raw), "str", unescape(raw), "")

    def _value(self) -> Node:
        """Read a scalar, or the opening of a container (its `end` is then -1)."""
        at = self.at
        found = _VALUE.match(self.text, at)
        if not found:
            return self._other(at)
        self.at = found.end()
        return self._plain_value(found)

    def _plain_value(self, found: re.Match[str]) -> Node:
        """The scalar of strict JSON that was found."""
        start, end = found.span("value")
        string = found["str"]
        if string is not None:
            return self._node(start, end, "str", string, '"')
        tag = next(name for name in _TAGS if found[name] is not None)
        return self._node(start, end, tag, found[tag], "")

    def _other(self, at: int) -> Node:
        """Read a value that is not one of the plain forms."""
        first = self.text[at : at + 1]
        if first in ("{", "["):
            return self._opened(Kind.MAPPING if first == "{" else Kind.SEQUENCE)
        if first in ('"', "'"):
            return self._string(at)
        found = _NUMBER5.match(self.text, at)
        if not found:
            raise self.error("expected a value", at)
        self.features.setdefault("json5_number", at)
        self.at = found.end()
        return self._node(at, self.at, _number_tag(found[0]), found[0], "")

    def _opened(self, kind: Kind) -> Node:
        if len(self._open) >= self.limits.depth:
            raise self.error(f"nested deeper than {self.limits.depth} levels", self.at)
        node = self._node(self.at, -1, "", "", "")
        node.kind = kind
        self._open.append(_Open(node, kind is Kind.MAPPING))
        self._comma = -1
        self._gap(self.at + 1)
        return node

    def _string(self, at: int) -> Node:
        """Read a string of either quote, with escapes."""
        quote = self.text[at]
        found = _STRING[quote].match(self.text, at)
        if not found:
            raise self.error("a string that does not end on its line", at)
        raw = found[0][1:-1]
        if quote == "'":
            self.features.setdefault("single_quote", at)
        if (beyond := beyond_json(raw, quote)) >= 0:
            self.features.setdefault("json5_string", at + 1 + beyond)
        if (bad := bad_escape(raw)) >= 0:
            raise self.error("an escape that does not exist", at + 1 + bad)
        self.at = found.end()
        return self._node(at, self.at, "str", unescape(raw), quote)

    def _node(self, start: int, end: int, tag: str, text: str, style: str) -> Node:
        self._left -= 1
        if self._left < 0:
            raise self.error(f"more than {self.limits.nodes} values and keys", start)
        while self._starts[self._line] <= start:
            self._line += 1
        column = start - self._starts[self._line - 1] + 1
        return Node(_SCALAR, start, end, self._line, column, tag, text, "", True, style)

    def _gap(self, at: int) -> None:
        """Go on from `at` to the next character that is no white space and no comment."""
        self.at = _end(_SPACE, self.text, at)
        while self.text[self.at : self.at + 1] in _MORE:
            if self.at == len(self.text):
                return
            if self.text[self.at] == "/":
                self._comment(self.at)
            else:
                self.features.setdefault("json5_space", self.at)
            self.at = _end(_SPACE5, self.text, self.at)

    def _comment(self, at: int) -> None:
        """Read one comment and stand behind it."""
        if self.text.startswith("/*", at):
            end = self.text.find("*/", at + 2) + 2
            if end < 2:
                raise self.error("a comment that does not end", at)
            self.features.setdefault("block_comment", at)
        else:
            end = self._line_comment_end(at)
            self.features.setdefault("line_comment", at)
        self.comments.append(Comment(at, end))
        self.at = end

    def _line_comment_end(self, at: int) -> int:
        end = _end(self._line_comment, self.text, at)
        if end == at:
            raise self.error("expected // or /*", at)
        end -= self.text.endswith("\r", at, end)
        lone = self.text.find("\r", at, end)
        if lone >= 0:
            self.features.setdefault("cr_comment", lone)
        return end


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    """Where `pattern` ends that begins at `at`; `at` itself where it does not."""
    found = pattern.match(text, at)
    return found.end() if found else at


def _number_tag(text: str) -> str:
    """`int` or `float`, by the spelling."""
    whole = text.lstrip("+-").isdigit() or "x" in text or "X" in text
    return "int" if whole else "float"
