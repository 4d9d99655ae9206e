"""Where a router credential could stand on a host, beside where the client reads it.

These host-wide places only explain a refusal: an operator who set the key somewhere
sees that it was found there, and why this client does not see it. They open no gate.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from fleetsync.adapter import Credential, Refusal, Target
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
_ONLY = {
    PlaceKind.INTERACTIVE: Verdict.INTERACTIVE_ONLY,
    PlaceKind.USER_MANAGER: Verdict.SERVICE_ONLY,
}
"""What a key is called that a closed gate's client would see in such a place alone."""
_USABLE = (Verdict.RESOLVES, Verdict.LOOSE)
_WORD = re.compile(r"\w+")
_CONSTANT = re.compile(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)+")


def places(name: str, *, deep: bool = False) -> tuple[Place, ...]:
    """The host-wide places for the variable `name`, in the order they are shown; `deep`
    adds an interactive shell, whose start-up files may do anything."""
    return (
        Place(PlaceKind.SESSION, "", name),
        Place(PlaceKind.LOGIN, "", name),
        *((Place(PlaceKind.INTERACTIVE, "", name),) if deep else ()),
        *(Place(PlaceKind.DOTENV, path, name) for path in _DOTENV),
        Place(PlaceKind.WINDOWS, "", name),
        Place(PlaceKind.USER_MANAGER, "", name),
        Place(PlaceKind.KEYRING, "", name),
        Place(PlaceKind.CREDENTIALS, "", name),
        Place(PlaceKind.FILE, f"/run/secrets/{name}", ""),
        *(Place(PlaceKind.MENTION, path, name) for path in _START_UP),
    )


def trace(
    credential: Credential, name: str, answers: Mapping[Question, Answer]
) -> tuple[TraceRow, ...]:
    """The client's own places first, then the host-wide ones that were asked about."""
    own = tuple(
        TraceRow(
            look.place, _own(look.fact.verdict, credential), _detail(look.fact, name), look.opens
        )
        for look in credential.trace
    )
    seen = {look.place for look in credential.trace}
    found = ((place, answers.get(place)) for place in places(name, deep=True))
    explaining = tuple(
        TraceRow(place.told, _word(place, fact, credential), _detail(fact, name), explains=True)
        for place, fact in found
        if isinstance(fact, PlaceFact) and place.told not in seen
    )
    return own + explaining


def _own(verdict: Verdict, credential: Credential) -> str:
    """A command that nobody ran yet is indeterminate, whatever it is written as."""
    runs = verdict is Verdict.COMMAND and credential.pends
    return (Verdict.INDETERMINATE if runs else verdict).value


def _detail(fact: PlaceFact, name: str) -> str:
    """What a reference names is told where it is spelled as variables are: what follows the
    `$` may be a key that begins so."""
    told = fact.detail
    if fact.verdict is not Verdict.REFERENCE or told == name or not _WORD.fullmatch(told):
        return told
    return told if _CONSTANT.fullmatch(told) else ""


def _word(place: Place, fact: PlaceFact, credential: Credential) -> str:
    closed = not (credential.opens or credential.pends)
    if closed and place.kind in _ONLY and fact.verdict in _USABLE:
        return _ONLY[place.kind].value
    return _EXPLAINED.get(fact.verdict, fact.verdict.value)


def elsewhere(
    host: str, target: Target, answers: Mapping[Question, Answer]
) -> Refusal | None:
    """What a closed gate is told as where a key stands for other programs of the account
    alone: interactive shells, or services. None where none does, or where this client
    would not take that variable at all."""
    name, closed = target.wish.credential, target.credential
    looked = {look.place for look in closed.trace}
    if Place(PlaceKind.LOGIN, "", name).told not in looked:
        return None
    for kind, (seen, step) in _STEPS.items():
        place = Place(kind, "", name)
        fact = answers.get(place)
        if isinstance(fact, PlaceFact) and fact.verdict in _USABLE and place.told not in looked:
            told = step.format(host=host, client=target.client)
            return Refusal(f"{closed.cause}; it is set for {seen} only", told)
    return None


_TOO = (
    "set it on the host where login shells read it too (~/.profile), or store it where {client} "
    "keeps a key of its own"
)
_STEPS = {
    PlaceKind.INTERACTIVE: (
        "interactive shells",
        "move the assignment on the host to a file that login shells read too (~/.profile, "
        "~/.zprofile); or, where {client} is started from a terminal alone, accept it: "
        'credential_scope = "interactive" in [hosts.{host}.{client}.policy]',
    ),
    PlaceKind.USER_MANAGER: ("services of the user manager", _TOO),
    PlaceKind.WINDOWS: ("the Windows above", _TOO),
}


def hint(target: Target, answers: Mapping[Question, Answer]) -> str:
    """That a start-up file names the variable of a closed gate, where no interactive shell
    was asked; "" where there is nothing to tell."""
    name = target.wish.credential
    if Place(PlaceKind.INTERACTIVE, "", name) in answers:
        return ""
    files = [place.where for place in places(name)
             if place.kind is PlaceKind.MENTION and _mentions(answers.get(place))]
    if not files:
        return ""
    return (
        f"{name} is mentioned in {', '.join(files)}: `fleetsync doctor --deep` asks whether "
        "interactive shells alone see it"
    )


def _mentions(fact: Answer | None) -> bool:
    return isinstance(fact, PlaceFact) and fact.verdict is Verdict.INDETERMINATE
