"""What an adapter must bear: broken files, odd files, and programs that answer with rubbish."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

from fleetsync.adapter import Done
from fleetsync.facts import FileFact, FileKind
from fleetsync.sealed import Sealed
from fleetsync.testing.sample import fact

BROKEN: Final = (b"\xff\xfe\x00\x01\x80", b"{\n  \"a\": [", b"\xf0\x28\x8c\x28", b"a: [\n'b")
"""Contents that no dialect of ours reads."""
ODD: Final = (
    b"", b"\n", b"\xef\xbb\xbf", b"null", b"[]", b"{}", b"\"text\"", b"0", b"\0" * 64,
    b"[" * 5000, b"{\"models\": 1, \"providers\": 1}", b"models: 1\nproviders: [1]\n",
)
"""Contents that are read, or not, and hold nothing that was expected."""
GARBAGE: Final = (
    b"", b"\n", b"null", b"[]", b"{}", b"0", b"true", b"\"text\"", b"\xff\xfe\0\x80", b"{" * 3000,
    b"[" * 100_000, b"[null]\n[1]\n[[]]", b"{\"id\": 1, \"data\": null}", b"x" * 1_000_000,
)
"""What no loader prints that was understood."""
CANARY = "sk-contract-4c0ffee5eed0badc0de"
"""What a loader may print and nobody may repeat."""


def odd_files(path: str) -> Iterator[FileFact]:
    """`path` as everything but a file that was read."""
    kinds = (kind for kind in FileKind if kind not in (FileKind.FILE, FileKind.ABSENT))
    yield from (FileFact(path, kind) for kind in kinds)
    yield replace(fact(path, b""), size=10**9, over_cap=True, content=None)


def endings(nearly: Iterable[bytes]) -> Iterator[Done]:
    """How a loader command can end without an answer that means anything."""
    yield Done(started=False, problem="no such program")
    for output in (*GARBAGE, *nearly, CANARY.encode(), b'{"error": "%s"}' % CANARY.encode()):
        yield Done(True, stdout=Sealed(output), stderr=Sealed(output))
        yield Done(True, status=1, stdout=Sealed(output), stderr=Sealed(output))
    yield Done(True, signal=9)
    yield Done(True, timed_out=True, signal=15)
    yield Done(True, truncated=True, stdout=Sealed(b"{"))
