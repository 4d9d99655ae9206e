"""How bytes travel to a host: as payload, or as ranges of a file that it already has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from fleetsync.documents import Splice
from fleetsync.remote import Call, chunks


def building(splices: Iterable[Splice], size: int) -> Iterator[Call]:
    """The calls that build a new file from an old one of `size` bytes and `splices`."""
    at = 0
    for splice in sorted(splices, key=lambda splice: (splice.start, splice.end)):
        if splice.start > at:
            yield Call("fs_keep", (str(at), str(splice.start)))
        yield from payload(splice.text)
        at = splice.end
    if at < size:
        yield Call("fs_keep", (str(at), "-"))


def payload(data: bytes) -> Iterator[Call]:
    """The calls that append `data` to the file being built."""
    return (Call("fs_chunk", (chunk,)) for chunk in chunks(data))
