"""Where else a config.yaml names an alias: choices of the user, which are never edited."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from fleetsync.documents import Document, Kind, Node

from .entry import Entry, same_name
from .router import Seen

_SECTIONS = ("auxiliary", "model_aliases")
"""Mappings of mappings with a `provider` and a `model` each."""
_INHERITS = frozenset({"", "auto", "main"})
"""What a reference says that goes where the profile's own model is."""


def dangling(seen: Seen, entry: Entry, leaving: Collection[str]) -> Iterator[str]:
    """What names an alias of `leaving`, one line each, for example `delegation.model`."""
    uses = seen.profile.uses(entry)
    if uses and seen.profile.alias in leaving:
        yield f"model.default names {seen.profile.alias}"
    for where, node in _references(seen.found):
        model, provider = _text(node, "model"), same_name(_text(node, "provider"))
        mine = provider.removeprefix("custom:") in entry.names
        if model in leaving and (mine or (provider in _INHERITS and uses)):
            yield f"{where} names {model}"


def _references(found: Document) -> Iterator[tuple[str, Node]]:
    for section in _SECTIONS:
        for key, value in _entries(found, section):
            yield f"{section}.{key}.model", value
    node = found.node(("delegation",))
    if node is not None:
        yield "delegation.model", node
    for chain in ("fallback_providers", "fallback_model"):
        node = found.node((chain,))
        for item in () if node is None else (node.items or (node,)):
            yield chain, item


def _entries(found: Document, section: str) -> Iterator[tuple[str, Node]]:
    node = found.node((section,))
    return ((key.text, value) for key, value in node.entries) if node else iter(())


def _text(node: Node, key: str) -> str:
    texts = (
        value.text for name, value in node.entries
        if name.text == key and value.kind is Kind.SCALAR and value.tag == "str"
    )
    return next(texts, "")
