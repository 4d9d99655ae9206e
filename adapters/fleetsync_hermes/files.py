"""A profile's files, and how each is read."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from fleetsync.documents import Dialect, Document, parse
from fleetsync.facts import FileFact
from fleetsync.sealed import Sealed

CONFIG, CACHE = "config", "cache"

_PARSED: WeakKeyDictionary[Sealed, Document] = WeakKeyDictionary()
"""A file is asked about several times, and reading it costs most. A document stays here no
longer than the bytes that it was read from."""


def document(fact: FileFact) -> Document | None:
    """The parsed file, None where it is absent. Raises Unreadable."""
    if fact.content is None:
        return None
    known = _PARSED.get(fact.content)
    if known is None:
        known = _PARSED[fact.content] = parse(fact.content.reveal(), Dialect.YAML)
    return known
