"""How OpenClaw is started for us: which interpreter, in which environment.

Measured on 2026.6.11 and 2026.9.6: with OPENCLAW_STATE_DIR and XDG_CACHE_HOME elsewhere
nothing is written into the home. A state directory of our own has no `.env` and no
database, so `APART` links the one, the user's plugins too, and copies the other where
it is needed.
"""

from __future__ import annotations

from pathlib import PurePosixPath

from fleetsync.facts import Installation

APART = (
    'umask 077; real=$1 stored=$2; shift 2; '
    'export OPENCLAW_STATE_DIR="$PWD/state" TMPDIR="$PWD/tmp" XDG_CACHE_HOME="$PWD/cache"; '
    'mkdir -p "$OPENCLAW_STATE_DIR/state" "$TMPDIR" || exit; '
    "for name in .env extensions npm; do "
    '[ ! -e "$real/$name" ] || ln -s "$real/$name" "$OPENCLAW_STATE_DIR/$name" || exit; done; '
    '[ -z "$stored" ] || cp "$real"/state/openclaw.sqlite* "$OPENCLAW_STATE_DIR/state/" || exit; '
    'exec "$@"'
)
"""Runs what follows STATE STORED in a state directory of its own below the current one."""


def apart(state: str, *words: str, stored: bool = False) -> tuple[str, ...]:
    """`words` as they run beside the real `state` directory, which nothing is written to;
    `stored` where what its database holds is needed."""
    return ("/bin/sh", "-c", APART, "sh", state, "yes" if stored else "", *words)


def start(one: Installation) -> tuple[str, ...]:
    """The interpreter named outright where it is known: a scratch PATH has no shims."""
    if one.interpreter and len(one.argv) == 1:
        return one.interpreter, one.real
    return one.argv


def path(one: Installation) -> str:
    """A PATH with the interpreter's own directory first."""
    own = PurePosixPath(one.interpreter or one.path).parent
    return ":".join((str(own), "/usr/local/bin", "/usr/bin", "/bin"))


def environment(one: Installation, home: str, config: str) -> dict[str, str]:
    """What it is given beside the variables of `APART`: the account's own home, because a
    SecretRef may lead there, and the file that it reads."""
    return {
        "HOME": home,
        "PATH": path(one),
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "NODE_DISABLE_COMPILE_CACHE": "1",
        "OPENCLAW_CONFIG_PATH": config,
    }
