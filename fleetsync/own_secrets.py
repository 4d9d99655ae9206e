"""The operator's own SSH secrets: from the system keyring, else by a hidden prompt.

No flag, variable or file of ours holds one, and none is stored: who wants one in the
keyring puts it there (`keyring set fleetsync NAME`). What was found stays in this process.
"""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace

SERVICE = "fleetsync"
"""The service under which the keyring has them."""
_KEYRING_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Found:
    """A secret, or none: then `wrong` tells that there was one which did not fit.
    `in_keyring` tells where it came from."""

    secret: str | None = field(default=None, repr=False)
    wrong: bool = False
    in_keyring: bool = False


class OwnSecrets:
    """The secrets of one run of the program, each looked for once. Thread-safe.

    `prompt` asks a question on the terminal and answers what was typed without being
    shown, None for no answer. It is None itself where nobody could be asked; then the
    keyring alone is.
    """

    def __init__(
        self, prompt: Callable[[str], str | None] | None = None,
        keyring: Callable[[str], str | None] | None = None,
    ) -> None:
        """`keyring` tells what it holds under a name; the system's, unless given."""
        self.prompt = prompt
        self._keyring = keyring or from_keyring
        self._lock = threading.Lock()
        self._found: dict[str, Found] = {}

    def found(self, name: str) -> Found | None:
        """What came of looking for `name`, None where that was not done yet."""
        return self._found.get(name)

    def find(self, name: str, question: str, fits: Callable[[str], bool]) -> Found:
        """The secret of `name`: the keyring's, else what is answered to `question`.

        `fits` tells whether it is the right one. One prompt at a time, and one for a name.
        """
        with self._lock:
            if name not in self._found:
                self._found[name] = self._look(name, question, fits)
            return self._found[name]

    def refute(self, name: str) -> None:
        """The secret that was found for `name` turned out to be wrong."""
        with self._lock:
            self._found[name] = replace(self._found[name], secret=None, wrong=True)

    def _look(self, name: str, question: str, fits: Callable[[str], bool]) -> Found:
        kept = self._keyring(name)
        if kept is not None and fits(kept):
            return Found(kept, in_keyring=True)
        given = self.prompt(question) if self.prompt else None
        if given:
            return Found(given) if fits(given) else Found(wrong=True)
        return Found(wrong=kept is not None, in_keyring=kept is not None)


def from_keyring(name: str) -> str | None:
    """What the system's keyring holds for `name`, None for nothing.

    A keyring that is missing, locked or broken, or that does not answer in a minute, holds
    nothing. It is asked in a process of its own: a desktop's may wait for ever, and loads
    whatever it likes.
    """
    # -P: nothing in the current directory is taken for the package.
    argv = [sys.executable, "-P", "-m", "keyring", "get", SERVICE, name]
    try:
        done = subprocess.run(
            argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            start_new_session=True, timeout=_KEYRING_SECONDS, check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    if done.returncode:
        return None
    return done.stdout.decode("utf-8", "surrogateescape").removesuffix("\n")
