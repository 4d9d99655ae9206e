"""What a directory holds, so exactly that any change shows."""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path


def listing(*roots: Path) -> dict[str, tuple[object, ...]]:
    """Every path below `roots`: inode, mode, owner, size, mtime, and digest or link."""
    paths = (path for root in roots for path in (root, *root.rglob("*")))
    return {str(path): _row(path) for path in paths}


def _row(path: Path) -> tuple[object, ...]:
    found = path.lstat()
    content = ""
    if stat.S_ISREG(found.st_mode):
        content = hashlib.sha256(path.read_bytes()).hexdigest()
    elif stat.S_ISLNK(found.st_mode):
        content = os.readlink(path)  # noqa: PTH115 - the text of the link, not a path
    return (found.st_ino, found.st_mode, found.st_uid, found.st_size, found.st_mtime_ns, content)
