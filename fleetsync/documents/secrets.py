"""What must be masked before a client file's text is shown.

The rule, from the text's own parser and never from lines:

* A scalar outside the managed paths is masked whole (inside its quotes), unless it is a
  number, boolean, null or empty, one of the known words (aliases), or a plain word under one
  of `SAFE_KEYS`. A number of 16 or more digits, or whose key speaks of a password, is masked.
* A managed scalar, a known-safe value, a key, an anchor: shown unless token-shaped
  (`shapes.is_token`).
* A comment: token shapes, long mixed words, everything in quotes, and what stands behind a
  key or a word such as `password` is masked (`shapes.in_comment`): it is often an old setting.
* Last, over the whole text: what begins as well-known tokens do, and credentials in a URL.

What is masked by mistake costs a glance at the file; what is shown by mistake costs a key.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

from fleetsync.documents import shapes
from fleetsync.documents.grammar import Parsed
from fleetsync.documents.paths import resolve
from fleetsync.documents.tree import Kind, Node, Path, Span
from fleetsync.errors import EditRefused

SAFE_KEYS: Final = frozenset({"api", "api_mode", "input", "maxTokensField", "type"})
"""Keys whose values are words of the clients' own vocabulary: the protocol spoken, text or
image, the name of a request field."""
LONG_NUMBER: Final = 16
"""Digits from which on a number may be a token that was written without quotes."""


def spans(parsed: Parsed, managed: Collection[Path], known: Collection[str]) -> tuple[Span, ...]:
    """Characters to mask, ascending and disjoint. Paths that lead nowhere manage nothing."""
    named = (step for path in managed for step in path if isinstance(step, str))
    words = frozenset((*known, *named))    # a managed key may look like a token
    shown = {id(node) for path in managed for node in _managed(parsed, path)}
    found = list(_scalars(parsed, shown, words))
    found += _comments(parsed, words)
    found += (
        Span(start, end)
        for start, end in shapes.anywhere(parsed.text)
        if parsed.text[start:end] not in words
    )
    return tuple(_merged(found))


def tokens(text: str) -> tuple[Span, ...]:
    """What has the shape of a token in a text without a grammar, ascending and disjoint."""
    return tuple(_merged([Span(start, end) for start, end in shapes.anywhere(text)]))


def _managed(parsed: Parsed, path: Path) -> list[Node]:
    """The node that a managed path leads to, and a list's own items: what stands below a
    mapping has names of its own, and is shown only where a path names it."""
    try:
        trail = resolve(parsed.root, path)
    except EditRefused:
        return []
    if trail.rest or not trail.nodes:
        return []
    return [trail.node, *trail.node.items]


def _scalars(parsed: Parsed, shown: set[int], words: frozenset[str]) -> Iterator[Span]:
    """The spans of the scalars to mask; `shown` are the ids of the managed nodes."""
    waiting: list[tuple[str, Node]] = [("", parsed.root)] if parsed.root else []
    while waiting:
        key, node = waiting.pop()
        if node.kind in (Kind.SCALAR, Kind.ALIAS):
            if not _may_show(key, node, id(node) in shown, words):
                yield _inside(node)
            continue
        waiting += [(key, item) for item in node.items]
        for name, value in node.entries:
            waiting.append((name.text, value))
            if name.kind in (Kind.MAPPING, Kind.SEQUENCE):
                waiting.append(("", name))
            elif shapes.is_token(name.text) and name.text not in words:
                yield _inside(name)


def _may_show(key: str, node: Node, managed: bool, words: frozenset[str]) -> bool:
    """Whether the scalar `node` under `key` may be seen."""
    if node.text in words or node.end == node.start:
        return True
    if node.tag == "null":
        return node.text.lower() in ("", "~", "null")    # `!!null word` is a null too
    if node.tag in ("int", "float", "bool"):
        return not shapes.is_password_name(key) and len(node.text) < LONG_NUMBER
    plain = managed or node.kind is Kind.ALIAS or (key in SAFE_KEYS and shapes.is_word(node.text))
    return (plain and not shapes.is_token(node.text)) or (node.tag == "str" and not node.text)


def _inside(node: Node) -> Span:
    """The span of a scalar without its quotes."""
    quoted = node.style in ("'", '"') and node.end - node.start > 2
    return Span(node.start + 1, node.end - 1) if quoted else Span(node.start, node.end)


def _comments(parsed: Parsed, words: frozenset[str]) -> Iterator[Span]:
    """The spans to mask in comments; one that ends with `password:` takes the next along."""
    whole = False
    for comment in parsed.comments:
        text = parsed.text[comment.start : comment.end]
        if whole:
            body = shapes.comment_body(text)
            yield Span(comment.start + body[0], comment.start + body[1])
        else:
            for start, end in shapes.in_comment(text, words):
                yield Span(comment.start + start, comment.start + end)
        whole = shapes.continues(text)


def _merged(found: list[Span]) -> Iterator[Span]:
    """`found` in ascending order, what overlaps joined, empty ones dropped."""
    last: Span | None = None
    for span in sorted(found, key=lambda one: (one.start, one.end)):
        if span.start == span.end:
            continue
        if last is None or span.start >= last.end:
            if last is not None:
                yield last
            last = span
        elif span.end > last.end:
            last = Span(last.start, span.end)
    if last is not None:
        yield last
