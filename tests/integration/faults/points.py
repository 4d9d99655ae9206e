"""What a point is, and what can become of it.

A point is one system call, made by any process of a tree, that creates, opens for writing,
fills, renames, links, removes, flushes or re-labels something below one directory. Points
are numbered in the order in which they are made.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass


class Act(enum.Enum):
    """What becomes of a call."""

    GO = "it is made"
    KILL = "its whole tree dies before it is made"
    SHORT = "half of the bytes are written, and the caller is told so"
    TORN = "half of the bytes are written, and the whole tree dies"


@dataclass(frozen=True)
class Call:
    """One point. `path` is what it names or writes to; `size` the bytes it would write."""

    number: int
    name: str
    family: str
    path: str
    size: int


Decide = Callable[[Call], Act | int]
"""What becomes of a point: an Act, or the errno that its caller gets."""
