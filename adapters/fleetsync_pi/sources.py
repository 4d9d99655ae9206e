"""What one host told of the places where its Pi takes a key from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from fleetsync.adapter import Look, Wish
from fleetsync.facts import Facts, Place, PlaceFact, PlaceKind, Resolve, Verdict

from .keys import Stored, Written, is_constant

USABLE = (Verdict.RESOLVES, Verdict.LOOSE)
_SILENT = (Verdict.ABSENT, Verdict.UNKNOWN)


def environment(wish: Wish, names: Iterable[str]) -> tuple[Place, ...]:
    """The places where the client's environment could hold `names`."""
    kinds = [PlaceKind.SESSION, PlaceKind.LOGIN]
    if wish.policy.credential_scope == "interactive":
        kinds.append(PlaceKind.INTERACTIVE)
    return tuple(Place(kind, "", name) for name in names for kind in kinds)


def gives(fact: PlaceFact) -> bool:
    """Whether a key stands there."""
    return fact.verdict in USABLE


@dataclass(frozen=True, slots=True)
class Sources:
    """Where one host's Pi takes its key from: auth.json's place, and apiKey's string."""

    wish: Wish
    facts: Facts
    stored: Stored
    models: str
    api_key: Written | None
    """None where models.json gives none (or could not be read)"""
    readable: bool = True
    """whether models.json could be read"""
    headers: frozenset[str] = frozenset()
    """the variables that the provider's headers name"""

    @property
    def where(self) -> str:
        """The apiKey of models.json, in the operator's words."""
        return f"{self.models} apiKey"

    def fact(self, place: Place) -> PlaceFact:
        """The host's verdict on `place`."""
        return self.facts.place(place)

    def printed(self, command: Resolve) -> PlaceFact | None:
        """The host's verdict on what a command prints; None while it was not run."""
        return self.facts.place(command) if command in self.facts.answers else None

    def origin(self, name: str) -> Place | None:
        """Where Pi has a variable from: the login shell's say counts before that of a plain
        ssh command; then an interactive shell's, where the policy takes it."""
        session, login, *interactive = environment(self.wish, (name,))
        first = session if self.fact(login).verdict in _SILENT else login
        return next((p for p in (first, *interactive) if gives(self.fact(p))), None)

    def looks(self, names: Iterable[str]) -> tuple[Look, ...]:
        """What was found of each variable at each place; its origin opens."""
        return tuple(self._look(place) for place in environment(self.wish, names))

    def _look(self, place: Place) -> Look:
        fact = self.fact(place)
        login = self.fact(replace(place, kind=PlaceKind.LOGIN)).verdict
        overridden = login not in (*_SILENT, *USABLE)
        if place.kind is PlaceKind.SESSION and gives(fact) and overridden:
            fact = PlaceFact(Verdict.SHADOWED, detail=f"the login shell's, which is {login.value}")
        told = replace(place, name=self.named(place.name)).told
        return Look(told, fact, opens=place == self.origin(place.name))

    def disagreeing(self, names: Iterable[str]) -> tuple[str, ...]:
        """A warning for each variable that has two values on the host."""
        return tuple(
            f"{self.named(name)} has one value in the login shell and another elsewhere: Pi "
            "sends that of the shell which starts it"
            for name in names
            if len(self._prints(name)) > 1
        )

    def _prints(self, name: str) -> set[str]:
        found = (self.fact(place) for place in environment(self.wish, (name,)))
        return {fact.fingerprint for fact in found if gives(fact) and fact.fingerprint}

    def named(self, name: str) -> str:
        """A variable's name may be a key, or a piece of one, behind a `$`: it is shown if it
        looks like a variable's name, or if the whole template is one that has a value."""
        text, auth = self.api_key, self.fact(self.stored.key)
        by_name = auth.verdict is Verdict.REFERENCE and auth.detail == name
        whole = by_name or (text is not None and text.is_just(name))
        read = whole and self.origin(name) is not None
        return name if read or self.shown(name) else "a variable"

    def shown(self, text: str) -> str:
        """A bare word is shown only if it looks like a variable's name: it may be the key."""
        return text if is_constant(text) or text == self.wish.credential else ""
