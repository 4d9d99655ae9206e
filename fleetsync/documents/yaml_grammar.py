"""YAML 1.1 as PyYAML reads it, as a `Grammar`: Hermes' config.yaml."""

from __future__ import annotations

from fleetsync.documents.tree import Kind, Node, Value
from fleetsync.documents.yaml_parse import parse
from fleetsync.documents.yaml_remove import remove
from fleetsync.documents.yaml_scalar import value_of
from fleetsync.documents.yaml_spell import ambiguous
from fleetsync.documents.yaml_splice import append, insert, replace

__all__ = ["append", "differing", "insert", "parse", "remove", "replace", "scalar"]


def scalar(node: Node) -> Value:
    """The plain value of a scalar node, as PyYAML's safe loader resolves it.

    A date, a time, bytes, `<<` and `=` have no plain value: their text stands for them.
    """
    return value_of(node.tag, node.text)


def differing(node: Node) -> str:
    """How the readers that Hermes has had differ on this scalar, in words; empty where they
    agree. For the managed scalars and keys of a user's file: what we write never differs."""
    plain = node.kind is Kind.SCALAR and not node.style
    return ambiguous(node.text) if plain else ""
