"""A home as it stands on the disk: copied with all that recovery can see, and compared."""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path


def copy(source: Path, target: Path) -> None:
    """Replace `target` by a copy of `source`: bytes, modes, times, links of both kinds."""
    if target.exists():
        shutil.rmtree(target)
    seen: dict[int, str] = {}

    def copy_file(old: str, new: str) -> None:
        first = seen.setdefault(os.lstat(old).st_ino, new)
        if first == new:
            shutil.copy2(old, new, follow_symlinks=False)
        else:
            os.link(first, new, follow_symlinks=False)

    shutil.copytree(source, target, symlinks=True, copy_function=copy_file)


def fingerprint(home: Path) -> str:
    """The same for homes that the next contact cannot tell apart. Times, process numbers
    and inodes differ between two runs that came equally far, and are left out."""
    digest = hashlib.sha256()
    seen: dict[int, int] = {}
    for path in sorted(home.rglob("*")):
        status = path.lstat()
        parts = [str(path.relative_to(home)), f"{status.st_mode:o}", _content(path, home)]
        if path.is_file() and not path.is_symlink():
            parts.append(str(seen.setdefault(status.st_ino, len(seen))))
        digest.update("\0".join((*parts, "")).encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def _content(path: Path, home: Path) -> str:
    if path.is_symlink():
        target = str(path.readlink()).replace(str(home), "~")
        return "somebody" if path.name.startswith("lock.") and ":" in target else target
    if not path.is_file():
        return ""
    data = path.read_bytes().replace(os.fsencode(home), b"~")
    if path.name.startswith("held.") and b":" in data:
        return "noted" if data.endswith(b"\n") else "half noted"
    return hashlib.sha256(data).hexdigest()


class Settled:
    """The states from which a contact was seen to settle everything, shared by all the
    drivers of one run through a file, so that no state is recovered from twice."""

    def __init__(self, file: Path) -> None:
        self.file, self.known = file, set[str]()

    def __contains__(self, state: str) -> bool:
        if state not in self.known and self.file.exists():
            self.known = set(self.file.read_text("ascii").split())
        return state in self.known

    def add(self, state: str) -> None:
        """Take it in. One short write at the end of a file is whole or not there."""
        self.known.add(state)
        with self.file.open("a", encoding="ascii") as file:
            file.write(f"{state}\n")
