"""What an edit makes of a file, for the contract to compare."""

from __future__ import annotations

from fleetsync.adapter import FileEdit
from fleetsync.documents import Document, Kind, Node, parse
from fleetsync.errors import Unreadable
from fleetsync.testing.sample import ContractError


def content_of(edit: FileEdit) -> bytes:
    """The file before the edit."""
    return edit.file.content.reveal() if edit.file.content else b""


def document_of(edit: FileEdit, data: bytes) -> Document:
    """`data` in the edit's dialect. Raises ContractError where it does not parse."""
    try:
        return parse(data, edit.dialect)
    except Unreadable as error:
        raise ContractError(f"{edit.file.path} would not parse: {error.message}") from None


def leaves(node: Node | None, path: tuple[str, ...] = ()) -> set[tuple[tuple[str, ...], str]]:
    """Every scalar with its path."""
    if node is None:
        return set()
    if node.kind is Kind.MAPPING:
        inner = [(key.text, value) for key, value in node.entries]
    else:
        inner = [(str(number), item) for number, item in enumerate(node.items)]
    found = {(path, f"{node.kind.value} {node.tag} {node.text}")}
    return found.union(*(leaves(one, (*path, name)) for name, one in inner))
