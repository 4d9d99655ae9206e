"""Version numbers of client programs. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TypeAlias

Number: TypeAlias = tuple[int, int, int]
"""Major, minor, patch; a suffix behind them does not count."""


def number(text: str) -> Number | None:
    """The number that `text` begins with, None where it begins with none."""
    found = re.match(r"v?(\d{1,9})\.(\d{1,9})\.(\d{1,9})(?!\d)", text, re.ASCII)
    return None if found is None else (int(found[1]), int(found[2]), int(found[3]))


def untested(program: str, text: str, tested: Sequence[str]) -> str:
    """What the operator must know of a version that is not among `tested`; else ""."""
    if text in tested:
        return ""
    mine, newest = number(text), max(filter(None, map(number, tested)))
    age = "newer than any" if mine is not None and mine > newest else "not one"
    return (
        f"{program} {text} is {age} tested ({', '.join(tested)}): it is taken to follow their "
        "rules, and apply writes only if its own loader agrees"
    )
