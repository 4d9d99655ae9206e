"""How an installation of Pi is started by us: in a scratch agent directory, by itself."""

from __future__ import annotations

from pathlib import PurePosixPath

from fleetsync.adapter import SCRATCH
from fleetsync.facts import Installation

QUIET = (
    "--no-session", "--no-extensions", "--no-skills", "--no-prompt-templates", "--no-themes",
    "--no-context-files", "--offline",
)
"""Nothing of the user's is loaded, and no session is left (all since 0.67)."""


def start(installation: Installation) -> tuple[str, ...]:
    """The interpreter named outright where it is known: a scratch PATH has no shims."""
    if installation.interpreter and len(installation.argv) == 1:
        return installation.interpreter, installation.real
    return installation.argv


def environment(
    installation: Installation, home: str = SCRATCH, path: str = ""
) -> tuple[tuple[str, str], ...]:
    """All that Pi is given. Every ordinary start of Pi writes into its agent directory, so
    that is ours; `home` and `path` are the account's where a command needs them."""
    own = PurePosixPath(installation.interpreter or installation.path).parent
    places = (str(own), *([path] if path else []), "/usr/local/bin", "/usr/bin", "/bin")
    return (
        ("HOME", home),
        ("PATH", ":".join(places)),
        ("TMPDIR", SCRATCH),
        ("LANG", "C.UTF-8"),
        ("TERM", "dumb"),
        ("PI_CODING_AGENT_DIR", SCRATCH),
        ("PI_OFFLINE", "1"),
        ("PI_SKIP_VERSION_CHECK", "1"),
        ("PI_TELEMETRY", "0"),
    )
