"""The provider entries of a config.yaml, in both forms that Hermes reads.

`providers` is a mapping from name to entry, `custom_providers` the older list of entries
with a `name`. Both are live in 0.18.2 and 0.19.0, and the list is searched first for the
limits (hermes_cli.config.get_compatible_custom_providers).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from fleetsync.documents import MISSING, Document, Kind, Node, Path, Where

URL_KEYS = ("base_url", "url", "api")
"""The keys under which an entry may hold its address; readers differ on the order."""
LIST = "custom_providers"
MAP = "providers"


@dataclass(frozen=True, slots=True)
class Entry:
    """One provider: where it stands, what it is called, and its own plain texts.

    `fields` may hold a key: they show in no repr.
    """

    path: Path
    key: str
    fields: Mapping[str, str] = field(repr=False)

    @property
    def is_listed(self) -> bool:
        """Whether it is an item of `custom_providers`."""
        return self.path[0] == LIST

    @property
    def models(self) -> Path:
        """Where its aliases stand."""
        return (*self.path, "models")

    @property
    def names(self) -> frozenset[str]:
        """The names a `provider:` can call it by, as Hermes compares them."""
        return frozenset({same_name(self.key), same_name(self.label)})

    @property
    def label(self) -> str:
        """The name its credential pool goes by (agent.credential_pool)."""
        return self.fields.get("name") or self.key

    @property
    def urls(self) -> tuple[str, ...]:
        """Its different addresses; one is right."""
        found = (self.fields[key].strip() for key in URL_KEYS if self.fields.get(key))
        return tuple(dict.fromkeys(found))

    @property
    def told(self) -> str:
        """It in words: `providers.anvil`, or `custom_providers "anvil"`."""
        return f'{LIST} "{self.key}"' if self.is_listed else f"{MAP}.{self.key}"


def entries(found: Document) -> tuple[Entry, ...]:
    """Every entry. Raises EditRefused where one of the two keys stands twice."""
    return (*_listed(found), *_mapped(found))


def called(every: tuple[Entry, ...], provider: str) -> tuple[Entry, ...]:
    """The entries that go by the name `provider`."""
    return tuple(entry for entry in every if same_name(provider) in entry.names)


def same_name(name: str) -> str:
    """`name` as Hermes compares provider names: `My Router` is `my-router`."""
    return name.strip().lower().replace(" ", "-")


def same_url(url: str) -> str:
    """`url` as Hermes compares addresses: as text, but for slashes at its end."""
    return url.strip().rstrip("/")


def enabled(found: Document, entry: Entry) -> bool:
    """Whether the resolver sees it: not with `enabled: false` in the mapping form."""
    value = MISSING if entry.is_listed else found.value((*entry.path, "enabled"))
    return str(value).strip().lower() not in {"false", "0", "no", "off"}


def _listed(found: Document) -> Iterator[Entry]:
    node = found.node((LIST,))
    for item in node.items if node else ():
        fields = _texts(item)
        if name := fields.get("name"):
            yield Entry((LIST, Where("name", name)), name, fields)


def _mapped(found: Document) -> Iterator[Entry]:
    node = found.node((MAP,))
    for key, value in node.entries if node else ():
        if value.kind is Kind.MAPPING:
            yield Entry((MAP, key.text), key.text, _texts(value))


def _texts(node: Node) -> dict[str, str]:
    """The scalars of a mapping that hold something, by their keys."""
    return {
        key.text: value.text
        for key, value in node.entries
        if value.kind is Kind.SCALAR and value.tag != "null" and value.text.strip()
    }
