"""Where a key that is written out in a file lies in its bytes.

The host cuts it there itself, so the key is proved and compared without leaving the host
a second time. Only where its text needs no unescaping.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from fleetsync.errors import DocumentError
from fleetsync.facts import Facts, FileFact, Place, PlaceKind

from . import units as unit_files
from .config import Config
from .units import Unit


def of_value(config: Config, *keys: str) -> Place | None:
    """The text at `keys` in whichever file of the configuration owns it."""
    try:
        owner = config.owner(keys)
        node, value = owner.document.node(owner.path), owner.document.value(owner.path)
    except DocumentError:
        return None
    text, data = owner.document.text, owner.document.data
    if node is None or not isinstance(value, str) or text[node.start + 1 : node.end - 1] != value:
        return None
    before = len(data) - len(text.encode()) + len(text[: node.start + 1].encode())
    return _span(owner.fact, before, len(value.encode()))


def of_line(facts: Facts, unit: Unit, name: str) -> Place | None:
    """What a unit gives `name`, where the files of that unit assign it once."""
    value = unit.environment.get(name, "")
    if not value:
        return None
    found = [place for fact in _files(facts, unit) for place in _assigned(fact, name, value)]
    return found[0] if len(found) == 1 else None


def _files(facts: Facts, unit: Unit) -> Iterator[FileFact]:
    """The unit's own file and its drop-ins."""
    for question in unit_files.QUESTIONS:
        for fact in facts.files(question):
            if fact.path.startswith((unit.path, f"{unit.path}.d/")):
                yield fact


def _assigned(fact: FileFact, name: str, value: str) -> Iterator[Place]:
    """Each assignment of that very value: of systemd, or in a property list."""
    content = b"" if fact.content is None else fact.content.reveal()
    held = re.escape(value.encode())
    pattern = (
        rb"(?m)^[ \t]*Environment[ \t]*=[ \t]*(?:[^\n]*\s)?[\"']?%(name)s="
        rb"(?P<systemd>%(held)s)(?=[\"'\s]|\Z)"
        rb"|<key>%(name)s</key>\s*<string>(?P<launchd>%(held)s)</string>"
    ) % {b"name": re.escape(name.encode()), b"held": held}
    for found in re.finditer(pattern, content):
        yield _span(fact, found.start(found.lastgroup or 0), len(value.encode()))


def _span(fact: FileFact, offset: int, length: int) -> Place:
    return Place(PlaceKind.SPAN, fact.path, f"{offset},{length},{fact.sha256}")
