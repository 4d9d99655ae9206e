"""Byte-exact documents: read and edit a client's file and change nothing else.

`parse` gives a `Document`; `Document.edit` gives new bytes that differ from the old
ones in the edited ranges only, after proving it. Nothing here touches a disk.
"""

from __future__ import annotations

from fleetsync.documents.document import MISSING, Document, Missing, parse
from fleetsync.documents.tree import (
    Append,
    Comment,
    Dialect,
    Edit,
    Edited,
    Item,
    Kind,
    Limits,
    Node,
    Path,
    Remove,
    Set,
    Span,
    Splice,
    Value,
    Where,
    apply_splices,
)

__all__ = [
    "MISSING", "Append", "Comment", "Dialect", "Document", "Edit", "Edited", "Item", "Kind",
    "Limits", "Missing", "Node", "Path", "Remove", "Set", "Span", "Splice", "Value", "Where",
    "apply_splices", "parse",
]
