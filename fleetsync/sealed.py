"""Bytes that must show nowhere. Pure."""

from __future__ import annotations

import hashlib
from typing import NoReturn


class Sealed:
    """Bytes of a client's file while they pass through the operator's memory.

    They show in no repr and travel in no pickle; `reveal` is for parsing and hashing.
    """

    __slots__ = ("__weakref__", "_data", "sha256")

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.sha256 = hashlib.sha256(data).hexdigest()

    @classmethod
    def of(cls, text: str) -> Sealed:
        """The bytes of `text`, even where it holds half of a surrogate pair, which JSON can
        spell and UTF-8 cannot."""
        return cls(text.encode("utf-8", "surrogatepass"))

    def reveal(self) -> bytes:
        """The bytes themselves. What is shown of them goes through `redact`."""
        return self._data

    def __len__(self) -> int:
        return len(self._data)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sealed) and self._data == other._data

    def __hash__(self) -> int:
        return hash(self.sha256)

    def __repr__(self) -> str:
        return "Sealed(…)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("sealed bytes do not travel")
