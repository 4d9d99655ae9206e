"""What one scalar means to PyYAML's safe loader: its type, its value, whether it loads.

Source: PyYAML 6.0.3 (`resolver.py`, `constructor.py`), which Hermes 0.19 reads with.
Single scalars are looked at; a collection is never built.
"""

from __future__ import annotations

import re
from typing import Final

from yaml.constructor import ConstructorError, SafeConstructor
from yaml.nodes import ScalarNode
from yaml.resolver import Resolver

from fleetsync.documents.tree import Value

CORE: Final = "tag:yaml.org,2002:"
"""What the short tags of a tree (`int`, `str`, …) leave out."""

_RESOLVERS: Final = {
    first: [(str(tag).removeprefix(CORE), pattern.match) for tag, pattern in found]
    for first, found in Resolver.yaml_implicit_resolvers.items()
}
TYPED_FIRSTS: Final = frozenset(_RESOLVERS)
"""The first characters of plain scalars that may be something else than a string."""
_COMMON: Final = re.compile(r"(?:0|[1-9][0-9]{0,7})\Z")
_SCALARS: Final = frozenset({"bool", "int", "float", "timestamp", "binary", "null", "str"})
_REFUSALS = (ValueError, KeyError, AttributeError, TypeError, OverflowError, ConstructorError)


def resolve(text: str) -> str:
    """The short tag that YAML 1.1 gives to `text` as a plain scalar."""
    if is_common(text):
        return "int"
    for tag, match in _RESOLVERS.get(text[:1], ()):
        if match(text):
            return tag
    return "str"


def short(tag: str) -> str:
    """`tag` without YAML's own prefix; a tag of another origin stays whole."""
    return tag.removeprefix(CORE)


def why_not_loadable(tag: str, text: str, *, key: bool) -> str:
    """Why the safe loader fails on this scalar; empty where it loads.

    `key` tells that it is a mapping's key, where `<<` and `=` have a meaning.
    """
    if (tag == "int" and is_common(text)) or (key and tag in {"merge", "value"}):
        return ""
    if tag not in _SCALARS:
        return f"the safe loader has no scalar of type {tag}"
    try:
        _construct(tag, text)
    except _REFUSALS:
        return f"this is no valid {tag}"
    return ""


def value_of(tag: str, text: str) -> Value:
    """The plain value of a scalar; dates, bytes, `<<` and `=` have none: their text."""
    value = _construct(tag, text) if tag in {"null", "bool", "int", "float"} else text
    return value if value is None or isinstance(value, bool | int | float) else text


def is_common(text: str) -> bool:
    """Whether this is a whole number as it is mostly written: its value needs no rules."""
    return _COMMON.match(text) is not None


def _construct(tag: str, text: str) -> object:
    if tag == "int" and is_common(text):
        return int(text)
    return SafeConstructor().construct_object(ScalarNode(CORE + tag, text))
