"""Where Hermes looks for a profile's router key, in its own order, and what the host says.

Its order for a provider of one's own (measured on 0.19.0 and 0.18.2): the credential pool
in auth.json, which an `api_key` in config.yaml seeds; the variable that `key_env` names; a
variable named after the address. A profile's .env beats the process's environment, an
administrator's beats both.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from urllib.parse import urlsplit

from fleetsync.adapter import Look, Wish
from fleetsync.documents import Document, Kind, Node
from fleetsync.errors import DocumentError
from fleetsync.facts import Facts, FileFact, Place, PlaceFact, PlaceKind, Verdict

from .entry import LIST, MAP, Entry, same_name
from .files import document
from .homes import DEFAULT, Home, managed_directory, root
from .router import Seen

REFERENCE = re.compile(r"\$\{([^}]+)\}")
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_CONSTANT = re.compile(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)+", re.ASCII)
_USABLE = (Verdict.RESOLVES, Verdict.LOOSE)
_SKIPPED = ("OPENAI", "OPENROUTER", "OLLAMA")
"""Names that Hermes gives to their own hosts alone."""
_GIVEN = (PlaceKind.SESSION, PlaceKind.LOGIN, PlaceKind.INTERACTIVE)
"""Where a variable stands that a process of Hermes inherits; it reads files by itself."""


@dataclass(frozen=True, slots=True)
class Sources:
    """Where one profile takes its key from: the host's verdicts, and its provider entry."""

    wish: Wish
    facts: Facts
    home: Home
    entry: Entry
    pooled: bool
    """whether Hermes keeps a pool for this entry"""
    literal: Place | None = field(default=None)
    """the bytes of the entry's `api_key`, where they are the key itself"""

    def fact(self, place: Place) -> PlaceFact:
        """The host's verdict on `place`."""
        return self.facts.place(place)

    def look(self, place: Place) -> Look:
        """The verdict with its place in words."""
        fact = self.fact(place)
        return Look(place.told, fact, opens=fact.verdict in _USABLE)

    @property
    def api_key(self) -> str:
        """The key's text in config.yaml, "" where it has none."""
        return self.entry.fields.get("api_key", "").strip()

    @property
    def key_env(self) -> str:
        """The variable that it names, "" where it names none."""
        fields = self.entry.fields
        older = fields.get("api_key_env", "") if self.entry.is_listed else ""
        return (fields.get("key_env") or older).strip()


def sources(wish: Wish, facts: Facts, home: Home, config: FileFact) -> Sources:
    """Where the profile's key could be; without an entry, where ours would look for it."""
    ours = Entry((MAP, wish.provider), wish.provider, {"key_env": wish.credential})
    return written(wish, facts, home, config) or Sources(wish, facts, home, ours, pooled=True)


def written(wish: Wish, facts: Facts, home: Home, config: FileFact) -> Sources | None:
    """Where the router's entry looks for its key; None where there is no single entry."""
    try:
        found = document(config)
        seen = Seen.of(wish, found) if found is not None else None
        if seen is not None and seen.entry is not None:
            return of_entry(wish, facts, home, config, seen.found, seen.entry)
    except DocumentError:
        pass
    return None


def of_entry(
    wish: Wish, facts: Facts, home: Home, config: FileFact, found: Document, entry: Entry
) -> Sources:
    """The sources of an entry that stands in the profile's file."""
    plain = Sources(wish, facts, home, entry, is_pooled(found, entry))
    node = found.node((*entry.path, "api_key"))
    if node is None or REFERENCE.search(plain.api_key) or plain.api_key.startswith("$"):
        return plain
    return replace(plain, literal=_span(config, found, node))


def _span(config: FileFact, found: Document, node: Node) -> Place | None:
    """The bytes of a text that is written as it is read: plain, or quoted without escapes."""
    text = found.text[node.start : node.end]
    quoted = text[:1] in ("'", '"')
    written = text[1:-1] if quoted else text
    if node.tag != "str" or written != node.text or written != written.strip():
        return None
    before = found.text[: node.start + quoted].encode()
    offset = len(found.data) - len(found.text.encode()) + len(before)
    sha256 = config.content.sha256 if config.content else ""
    return Place(PlaceKind.SPAN, config.path, f"{offset},{len(written.encode())},{sha256}")


def is_pooled(found: Document, entry: Entry) -> bool:
    """Whether Hermes keeps a pool for `entry`: with a `custom_providers` list, even an
    empty one, it knows only that list's (agent.credential_pool._iter_custom_providers)."""
    node = found.node((LIST,))
    return entry.is_listed or node is None or node.kind is not Kind.SEQUENCE


def places(sources: Sources) -> frozenset[Place]:
    """Every place that can decide, for one profile."""
    names = {sources.wish.credential, *_names(sources)}
    asked = (place for name in names for place in environment(sources, name))
    own, base = sources.home.directory, root(sources.facts)
    stored = (place for home in (own, base) for place in _entries(sources, home))
    literal = () if sources.literal is None else (sources.literal,)
    return frozenset({*stored, _first(sources, own), *asked, *literal})


def _names(sources: Sources) -> Iterator[str]:
    """The variables that this profile's entry leads to."""
    found = {sources.key_env, vendor(sources.wish.base_url), *REFERENCE.findall(sources.api_key)}
    return (name for name in found if _NAME.fullmatch(name))


def pools(sources: Sources) -> Iterator[tuple[Place, bool]]:
    """The first two entries of the pool, and whether the profile inherits them: without
    entries of its own it reads the default profile's (0.19.0, hermes_cli.auth)."""
    own, base = sources.home.directory, root(sources.facts)
    yield from ((place, False) for place in _entries(sources, own))
    filled = sources.fact(_first(sources, own)).verdict is not Verdict.ABSENT
    if sources.home.name != DEFAULT and not filled:
        yield from ((place, True) for place in _entries(sources, base))


def _entries(sources: Sources, directory: str) -> Iterator[Place]:
    return (_stored(sources, directory, index, "access_token") for index in ("0", "1"))


def _first(sources: Sources, directory: str) -> Place:
    """What tells that a pool has an entry at all, be there a key in it or not."""
    return _stored(sources, directory, "0", "id")


def _stored(sources: Sources, directory: str, index: str, field_name: str) -> Place:
    keys = ("credential_pool", f"custom:{same_name(sources.entry.label)}", index, field_name)
    return Place(PlaceKind.JSON, f"{directory}/auth.json", "\x1f".join(keys))


def environment(sources: Sources, name: str) -> tuple[Place, ...]:
    """Where `name` can be set for this profile, what counts first first."""
    home, managed = sources.home.directory, managed_directory(sources.facts)
    shells = [PlaceKind.SESSION, PlaceKind.LOGIN]
    if sources.wish.policy.credential_scope == "interactive":
        shells.append(PlaceKind.INTERACTIVE)
    return (
        Place(PlaceKind.DOTENV, f"{managed}/.env", name),
        Place(PlaceKind.DOTENV, f"{home}/.env", name),
        *(Place(kind, "", name) for kind in shells),
        Place(PlaceKind.DOTENV, f"{home}/.op.env", name),
    )


def resolved(sources: Sources, name: str, looks: list[Look]) -> Place | None:
    """Where `name` has a usable value for this profile. The places go to `looks`, but for
    those of a name that nothing shows to be one: it may be the key itself."""
    seen = list(_looked(sources, name))
    place = next((place for place, look in seen if look.opens), None)
    if place is not None or is_plain(sources, name):
        looks += (look for _, look in seen)
    return place


def _looked(sources: Sources, name: str) -> Iterator[tuple[Place, Look]]:
    for place in environment(sources, name) if _NAME.fullmatch(name) else ():
        look = sources.look(place)
        yield place, look
        # An assignment in a .env counts, and hides the environment, even if it is empty.
        hides = place.kind is PlaceKind.DOTENV and look.fact.verdict is not Verdict.ABSENT
        if look.opens or hides:
            return


def is_inherited(place: Place) -> bool:
    """Whether a process of Hermes has it from whoever starts it."""
    return place.kind in _GIVEN


def is_plain(sources: Sources, name: str) -> bool:
    """Whether `name` can be no key that somebody wrote where a variable's name belongs."""
    return name == sources.wish.credential or _CONSTANT.fullmatch(name) is not None


def vendor(url: str) -> str:
    """The variable that Hermes derives from an address: EXAMPLE_API_KEY for
    router.example.net; "" for one that gives none (0.19.0, _host_derived_api_key)."""
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        return ""
    labels = [label for label in host.split(".") if label]
    if not labels or ":" in host or any(letter.isdigit() for letter in labels[-1]):
        return ""
    while labels and labels[0] in ("api", "www"):
        labels.pop(0)
    word = re.sub(r"\W", "_", labels[-2], flags=re.ASCII).upper() if len(labels) > 1 else ""
    return f"{word}_API_KEY" if word[:1].isalpha() and word not in _SKIPPED else ""
