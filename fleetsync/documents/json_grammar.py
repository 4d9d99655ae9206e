"""JSON, JSON with comments and JSON5 as a grammar of documents."""

from __future__ import annotations

from fleetsync.documents.json_edit import append, insert, remove, replace
from fleetsync.documents.json_parse import parse, scalar

__all__ = ["append", "insert", "parse", "remove", "replace", "scalar"]
