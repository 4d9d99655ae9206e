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
import signal
import subprocess
import sys
from pathlib import Path

LATE = 124
UNWIND = 4
"""Seconds in which Hermes writes what it used when it is interrupted (under 1 s seen)."""
RECORD = 20
"""Seconds for the export of the session (1 s seen)."""


def copy(copies: dict[str, str]) -> None:
    """Lay what Hermes would find at home into the scratch home; what is absent stays so."""
    for source, name in copies.items():
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            Path(name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, name)


def take(words: list[str], seconds: float) -> int:
    """Hermes' exit status; a signal that ended it counts as 128 and its number."""
    with subprocess.Popen(words, stdin=subprocess.DEVNULL) as program:
        try:
            status = program.wait(seconds)
        except subprocess.TimeoutExpired:
            end(program)
            return LATE
    return status if status >= 0 else 128 - status


def end(program: subprocess.Popen[bytes]) -> None:
    """Interrupt it, so that it tells what it did; kill it where that is in vain."""
    program.send_signal(signal.SIGINT)
    try:
        program.wait(UNWIND)
    except subprocess.TimeoutExpired:
        program.kill()


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
