"""A made-up client that keeps its key where a test says, and reads it from there."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from fleetsync.adapter import (
    Command,
    Credential,
    Done,
    Keep,
    Loaded,
    Look,
    Planned,
    Target,
    Wish,
)
from fleetsync.facts import Facts, Place, PlaceFact, PlaceKind, Question, Verdict
from tests import standin

LOGIN = Place(PlaceKind.LOGIN, "", standin.NAME)


@dataclass
class Keeper:
    """It looks at `first` where that is given, then at the place of `kept`."""

    kept: Keep
    first: Place | None = None
    reads: Place | None = None
    """where it reads, if that is not where the key is put"""
    names: tuple[str, ...] = ("keeper",)
    name: str = "keeper"

    @property
    def places(self) -> tuple[Place, ...]:
        return tuple(p for p in (self.first, self.reads or self.kept.place) if p)

    def questions(self, wish: Wish, facts: Facts) -> frozenset[Question]:
        return frozenset(self.places)

    def targets(self, wish: Wish, facts: Facts) -> tuple[Target, ...]:
        looks, opened = [], None
        for place in self.places:
            fact = facts.answers[place]
            assert isinstance(fact, PlaceFact)
            opens = opened is None and fact.verdict is Verdict.RESOLVES
            looks.append(Look(place.told, fact, opens))
            opened = place if opens else opened
        cause = "" if opened else "keeper finds no key"
        gate = Credential(tuple(looks), cause, "give it one" if cause else "", source=opened)
        return tuple(Target(self.name, name, wish, {}, (), gate) for name in self.names)

    def plan(self, target: Target) -> Planned:
        return Planned()

    def loaders(self, target: Target, planned: Planned) -> tuple[Command, ...]:
        return ()

    def loaded(self, target: Target, planned: Planned, done: tuple[Done, ...]) -> Loaded:
        return Loaded(True)

    def keep(self, target: Target) -> Keep:
        return self.kept


@dataclass
class Mute:
    """The same without a word on where it keeps a key."""

    inner: Keeper
    name: str = "keeper"

    def questions(self, wish: Wish, facts: Facts) -> frozenset[Question]:
        return self.inner.questions(wish, facts)

    def targets(self, wish: Wish, facts: Facts) -> tuple[Target, ...]:
        return self.inner.targets(wish, facts)

    def plan(self, target: Target) -> Planned:
        return Planned()

    def loaders(self, target: Target, planned: Planned) -> tuple[Command, ...]:
        return ()

    def loaded(self, target: Target, planned: Planned, done: tuple[Done, ...]) -> Loaded:
        return Loaded(True)


def in_json(home: Path, *keys: str, before: str = "", after: str = "") -> Keep:
    """A value in `~/.keeper/auth.json`."""
    name = "\x1f".join(keys or ("anvil", "key"))
    return Keep(Place(PlaceKind.JSON, f"{home}/.keeper/auth.json", name), before, after)


def in_dotenv(home: Path) -> Keep:
    """An assignment in `~/.keeper/.env`."""
    return Keep(Place(PlaceKind.DOTENV, f"{home}/.keeper/.env", standin.NAME))


def in_file(home: Path) -> Keep:
    """The whole of `~/.keeper/key`."""
    return Keep(Place(PlaceKind.FILE, f"{home}/.keeper/key", ""))
