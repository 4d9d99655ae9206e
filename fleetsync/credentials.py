"""Where a router credential could stand on a host, beside where the client reads it.

These host-wide places only explain a refusal: an operator who set the key somewhere
sees that it was found there, and why this client does not see it. They open no gate.
"""

from __future__ import annotations

from collections.abc import Mapping

from fleetsync.adapter import Credential
from fleetsync.facts import Answer, Place, PlaceFact, PlaceKind, Question, Verdict
from fleetsync.outcome import TraceRow

_DOTENV = (
    "~/.config/environment.d/*.conf",
    "/etc/environment",
    "~/.ssh/environment",
    "~/.pam_environment",
    "~/.env",
    "~/.openclaw/.env",
    "~/.hermes/.env",
)
_START_UP = (
    "~/.profile",
    "~/.bash_profile",
    "~/.bashrc",
    "~/.zshenv",
    "~/.zprofile",
    "~/.zshrc",
    "~/.config/fish/config.fish",
    "~/.tcshrc",
    "~/.cshrc",
)


_EXPLAINED = {Verdict.RESOLVES: "present", Verdict.INDETERMINATE: "mentioned"}
"""Words for places that only explain: what stands there opens nothing."""


def places(name: str) -> tuple[Place, ...]:
    """The host-wide places for the variable `name`, in the order they are shown."""
    return (
        Place(PlaceKind.SESSION, "", name),
        Place(PlaceKind.LOGIN, "", name),
        *(Place(PlaceKind.DOTENV, path, name) for path in _DOTENV),
        Place(PlaceKind.USER_MANAGER, "", name),
        Place(PlaceKind.FILE, f"/run/secrets/{name}", ""),
        *(Place(PlaceKind.MENTION, path, name) for path in _START_UP),
    )


def trace(
    credential: Credential, name: str, answers: Mapping[Question, Answer]
) -> tuple[TraceRow, ...]:
    """The client's own places first, then the host-wide ones that were asked about."""
    own = tuple(_row(look.place, look.fact, opens=look.opens) for look in credential.trace)
    seen = {look.place for look in credential.trace}
    found = ((place.told, answers.get(place)) for place in places(name))
    explaining = tuple(
        _row(place, fact, explains=True)
        for place, fact in found
        if isinstance(fact, PlaceFact) and place not in seen
    )
    return own + explaining


def _row(place: str, fact: PlaceFact, *, opens: bool = False, explains: bool = False) -> TraceRow:
    verdict = fact.verdict
    word = _EXPLAINED.get(verdict, verdict.value) if explains else verdict.value
    return TraceRow(place, word, fact.detail, opens=opens, explains=explains)


