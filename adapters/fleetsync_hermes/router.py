"""Is a profile's provider entry the router's, and would Hermes go by it?"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from fleetsync.adapter import Refusal, Wish
from fleetsync.addresses import public_url
from fleetsync.documents import Document, Kind

from .entry import LIST, MAP, URL_KEYS, Entry, called, entries, same_url
from .profile import Profile
from .versions import MINIMUM_WINDOW

_VARIABLE = re.compile(r"\{[^}]+\}")


@dataclass(frozen=True, slots=True)
class Seen:
    """One profile's file, with what it says of the router. `entry` is None where it has no
    single entry that bears the router's name."""

    wish: Wish
    found: Document
    every: tuple[Entry, ...]
    entry: Entry | None
    profile: Profile

    @classmethod
    def of(cls, wish: Wish, found: Document) -> Seen:
        """Read it. Raises EditRefused where a key on the way stands twice."""
        every = entries(found)
        mine = called(every, wish.provider)
        return cls(wish, found, every, mine[0] if len(mine) == 1 else None, Profile.of(found))

    @property
    def takes_models(self) -> bool:
        """Whether our aliases can be written below the entry."""
        return self.entry is not None and not _is_other(self.found, self.entry)


def unfit(seen: Seen) -> Iterator[Refusal]:
    """Why this profile cannot take our limits as it is."""
    yield from _provider(seen)
    node = seen.found.node((LIST,))
    if node is not None and node.kind is Kind.MAPPING and node.entries:
        yield Refusal(
            f"{LIST} is a mapping, which makes Hermes know no provider of it",
            f"on the host, write it as a list, or name it {MAP}",
        )
    if seen.entry is None:
        yield _no_entry(seen)
        return
    yield from _address(seen.wish, seen.entry)
    yield from _twins(seen, seen.entry)
    if not seen.takes_models:
        yield _models(seen, seen.entry)
    yield from _small(seen, seen.entry)


def _provider(seen: Seen) -> Iterator[Refusal]:
    provider = seen.profile.provider
    if provider in ("", "auto", "custom"):
        what = f"is {provider}" if provider else "is not set"
        yield Refusal(
            f"model.provider {what}: Hermes may then send a turn to another provider",
            f"on the host, set model.provider to custom:{seen.wish.provider}, or to the "
            "provider that is meant",
        )


def _no_entry(seen: Seen) -> Refusal:
    mine = called(seen.every, seen.wish.provider)
    if mine:
        told = " and ".join(entry.told for entry in mine)
        return Refusal(
            f"{told} go by the name {seen.wish.provider}", "on the host, keep the one that is meant"
        )
    return Refusal(
        f"config.yaml has no provider {seen.wish.provider}",
        f"add this to its `{MAP}` on the host, then run again:\n" + stanza(seen.wish),
    )


def stanza(wish: Wish) -> str:
    """The provider entry that Hermes reads, without any key in it."""
    return (
        f"{wish.provider}:\n"
        f"  base_url: {wish.base_url}\n"
        f"  key_env: {wish.credential}\n"
        "  models: {}"
    )


def _address(wish: Wish, entry: Entry) -> Iterator[Refusal]:
    """Hermes finds a window by the address as text: one spelling, in one place (0.19.0)."""
    if len(entry.urls) > 1:
        keys = " and ".join(key for key in URL_KEYS if entry.fields.get(key))
        yield Refusal(
            f"{entry.told} has different addresses in {keys}: Hermes goes to one of them and "
            "takes the limits of the other",
            "on the host, keep one of them",
        )
    elif not entry.urls:
        yield Refusal(f"{entry.told} has no base_url", f"on the host, write {wish.base_url}")
    elif _VARIABLE.search(entry.urls[0]):
        yield Refusal(
            f"the address of {entry.told} depends on a variable, so it cannot be compared "
            "with the inventory's",
            "on the host, write the address itself",
        )
    elif same_url(entry.urls[0]) != same_url(wish.base_url):
        yield Refusal(
            f"{entry.told} has the address {public_url(entry.urls[0])}, the inventory says "
            f"{wish.base_url}",
            "correct the one that is wrong; Hermes compares addresses letter by letter, so a "
            "host that spells it differently has its own [hosts.NAME.router] in the inventory",
        )


def _twins(seen: Seen, mine: Entry) -> Iterator[Refusal]:
    """Of two entries with one address Hermes takes the first one's window (0.19.0)."""
    urls = {same_url(url).lower() for url in (*mine.urls, seen.wish.base_url)}
    for entry in seen.every:
        if entry is not mine and urls & {same_url(url).lower() for url in entry.urls}:
            yield Refusal(
                f"{mine.told} and {entry.told} have one address: Hermes takes the limits of "
                "whichever comes first",
                "on the host, keep one of them",
            )


def _is_other(found: Document, entry: Entry) -> bool:
    node = found.node(entry.models)
    return node is not None and node.kind is not Kind.MAPPING and node.tag != "null"


def _models(seen: Seen, entry: Entry) -> Refusal:
    names = seen.wish.aliases[0].name if seen.wish.aliases else "llm.primary"
    node = seen.found.node(entry.models)
    if node is not None and node.kind is not Kind.SEQUENCE:
        return Refusal(
            f"line {node.line}, column {node.column}: the models of {entry.told} are no "
            f"mapping of their own but one {node.kind.value}",
            f"on the host, write them out as a mapping, each like `{names}: {{}}`",
        )
    return Refusal(
        f"the models of {entry.told} are a list, where Hermes reads no supports_vision and "
        "which its model picker rewrites",
        f"on the host, write them as a mapping, each like `{names}: {{}}`",
    )


def _small(seen: Seen, entry: Entry) -> Iterator[Refusal]:
    if not seen.profile.uses(entry):
        return
    for alias in seen.wish.aliases:
        if alias.name == seen.profile.alias and alias.context_window < MINIMUM_WINDOW:
            yield Refusal(
                f"{alias.name} is this profile's model.default, and Hermes starts with no "
                f"window under {MINIMUM_WINDOW} tokens (the catalog says {alias.context_window})",
                "on the host, choose another model.default, or exclude the alias for Hermes",
            )
