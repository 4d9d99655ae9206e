"""How a grammar plugs in: what it must read, and the four splices it must be able to make.

Everything else (paths, the loop over edits, the proof, what to mask) is written once and
knows no grammar. A grammar is a module with the functions of `Grammar`.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

from fleetsync.documents.paths import Trail
from fleetsync.documents.tree import Comment, Dialect, Limits, Node, Value


@dataclass(frozen=True, slots=True)
class TextSplice:
    """Replace the characters [start, end) of the text by `text`."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, eq=False)
class Parsed:
    """A text that parsed: no BOM in it, all offsets in characters. Never shown by repr.

    `root` is None where there is no node at all (an empty YAML file).
    """

    text: str = field(repr=False)
    dialect: Dialect
    limits: Limits
    root: Node | None = field(repr=False)
    comments: tuple[Comment, ...] = field(repr=False)
    features: frozenset[str]

    @cached_property
    def eol(self) -> str:
        """The line end that most lines have; `\n` where there is none."""
        both = self.text.count("\r\n")
        counts = {
            "\n": self.text.count("\n") - both, "\r\n": both, "\r": self.text.count("\r") - both
        }
        return max(counts, key=lambda end: counts[end])


@contextmanager
def without_collector() -> Iterator[None]:
    """Let Python look for no garbage in cycles meanwhile.

    A tree has none, and to walk one that grows, again and again, doubles what a megabyte
    takes. Threads may do this side by side: who switched it off switches it on again.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


class Grammar(Protocol):
    """One grammar. The splicers are told nodes, not paths: `trail` has been resolved.

    Each returns ascending, disjoint splices of `parsed.text`; it raises EditRefused where
    the edit could change something else. What they return is proved before it is used.
    """

    def parse(self, text: str, dialect: Dialect, limits: Limits) -> Parsed:
        """Parse `text`. Raises Unreadable with line and column."""

    def scalar(self, node: Node) -> Value:
        """The plain value of a scalar node, as the client's own parser resolves it."""

    def replace(self, parsed: Parsed, trail: Trail, value: Value) -> list[TextSplice]:
        """Put `value` in the place of `trail.node`, which exists (and is not equal to it)."""

    def insert(self, parsed: Parsed, trail: Trail, key: str, value: Value) -> list[TextSplice]:
        """Add the entry `key`: `value` after the last one of the mapping `trail.node`.

        The mapping may be empty. `trail.nodes` is empty where the document has no root.
        """

    def append(self, parsed: Parsed, trail: Trail, value: Value) -> list[TextSplice]:
        """Add `value` after the last item of the sequence `trail.node` (perhaps empty)."""

    def remove(self, parsed: Parsed, trail: Trail) -> list[TextSplice]:
        """Take `trail.node` (its whole entry or item) out of `trail.parent`."""
