"""Runs on a host, under Hermes' own interpreter: one turn in a scratch home, and its record.

fleetsync sends this file and never imports it; it starts in the scratch directory. The
first argument is JSON: {"copies": {path on this host: name here}, "seconds": n, "record":
[word]}; the others are the words that start the turn. Hermes' own output goes to standard
output and error, what `record` prints of the session to session.jsonl. The exit status is
the turn's, LATE past its limit.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

LATE = 124
RECORD = 20
"""Seconds for the export of the session (1 s seen)."""


def copy(copies: dict[str, str]) -> None:
    """Lay what Hermes would find at home into the scratch home; what is absent stays so."""
    for source, name in copies.items():
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            Path(name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, name)


def take(words: list[str], seconds: float) -> int:
    """Hermes' exit status; a signal that ended it counts as 128 and its number. Past its
    limit it is killed: interrupted in the midst of a request, it goes on waiting (0.19.0)."""
    try:
        done = subprocess.run(words, stdin=subprocess.DEVNULL, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        return LATE
    return done.returncode if done.returncode >= 0 else 128 - done.returncode


def record(words: list[str]) -> None:
    """Have Hermes export the session; nothing where it gives none."""
    with Path("session.jsonl").open("wb") as out, contextlib.suppress(subprocess.TimeoutExpired):
        subprocess.run(words, stdin=subprocess.DEVNULL, stdout=out, timeout=RECORD, check=False)


def main() -> int:
    """Take the turn, then export it."""
    os.umask(0o077)
    asked = json.loads(sys.argv[1])
    copy(asked["copies"])
    status = take(sys.argv[2:], asked["seconds"])
    record(asked["record"])
    return status


if __name__ == "__main__":
    sys.exit(main())
