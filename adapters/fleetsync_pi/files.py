"""Pi's two catalog files, and how each is read."""

from __future__ import annotations

from pathlib import PurePosixPath

from fleetsync.adapter import Target
from fleetsync.documents import Dialect, Document, parse
from fleetsync.facts import FileFact

MODELS, SETTINGS = "models", "settings"
DIALECTS = {MODELS: Dialect.JSON_COMMENTS, SETTINGS: Dialect.JSON}
"""models.json may hold `//` comments and trailing commas, settings.json may not (1.6.0)."""


def document(fact: FileFact, role: str) -> Document | None:
    """The parsed file, None where it is absent. Raises Unreadable.

    A settings.json of no byte at all is none to Pi (0.73.1, 1.6.0); a blank one is broken.
    """
    if fact.content is None or (role == SETTINGS and not fact.content.reveal()):
        return None
    return parse(fact.content.reveal(), DIALECTS[role])


def auth_path(target: Target) -> str:
    """Where Pi keeps keys of its own: beside its models."""
    return str(PurePosixPath(target.files[MODELS].path).parent / "auth.json")
