"""How Pi spells a key: the provider's entry in auth.json, and apiKey in models.json.

A string there is a variable's name, a template, a command (`!…`), or the key itself.
Which of them depends on the version (0.73.1, 0.84.4 and 1.6.0 were measured).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from fleetsync.documents import MISSING, Document, Path
from fleetsync.facts import FileFact, Place, PlaceKind

_TEMPLATE = re.compile(r"\$(?:[$!]|\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))", re.ASCII)
_ESCAPE = re.compile(r"\$[$!]")
_VARIABLE = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_CONSTANT = re.compile(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)+")
_PLACEHOLDER = re.compile(
    r"(?i)<.*>|x{3,}|\*{3,}|\.{3}|change[-_ ]?me|replace.*|your[-_ ].*"
    r"|none|null|todo|dummy|placeholder"
)
_STRICT = frozenset({"crlf", "cr"})
"""Features of a file that a strict JSON reader on a host takes as well."""


@dataclass(frozen=True, slots=True)
class Stored:
    """The provider's entry in auth.json of one agent directory: `{"type": …, "key": …}`."""

    directory: str
    provider: str

    def _place(self, *keys: str) -> Place:
        names = "\x1f".join((self.provider, *keys))
        return Place(PlaceKind.JSON, f"{self.directory}/auth.json", names)

    @property
    def entry(self) -> Place:
        """The entry as a whole."""
        return self._place()

    @property
    def kind(self) -> Place:
        """What the entry says it is."""
        return self._place("type")

    @property
    def key(self) -> Place:
        """The key in it."""
        return self._place("key")

    @property
    def places(self) -> frozenset[Place]:
        """All that the host is asked about it."""
        return frozenset({self.entry, self.kind, self.key})


@dataclass(frozen=True, slots=True)
class Written:
    """An apiKey as models.json spells it.

    `place` is where the host itself finds it; None where only a parser of this file does.
    """

    text: str = field(repr=False)
    place: Place | None = None

    @property
    def is_command(self) -> bool:
        """Whether Pi runs it for the key (0.73.1, 1.6.0)."""
        return self.text.startswith("!")

    @property
    def is_word(self) -> bool:
        """Whether it could be the bare name of a variable."""
        return bool(_VARIABLE.fullmatch(self.text))

    @property
    def is_constant(self) -> bool:
        """Whether it is spelled as people spell variables, and hardly as a key."""
        return bool(_CONSTANT.fullmatch(self.text))

    @property
    def is_placeholder(self) -> bool:
        """Whether it only stands for a key."""
        return bool(_PLACEHOLDER.fullmatch(self.text.strip()))

    @property
    def names(self) -> tuple[str, ...]:
        """The variables that it names behind a `$`, in order."""
        return () if self.is_command else tuple(name for name in _names(self.text) if name)

    @property
    def variables(self) -> frozenset[str]:
        """Every variable that it can name in any version of Pi."""
        bare = {self.text} if self.is_word else set()
        return frozenset({*self.names, *bare})

    @property
    def may_be_key(self) -> bool:
        """Whether it may be the key itself, or a command, in any version of Pi."""
        return bool(self.text.strip()) and not self.names

    @property
    def has_escapes(self) -> bool:
        """Whether `$$` or `$!` stand in it, each for one character (since 0.77.0)."""
        return bool(_ESCAPE.search(self.text))

    def is_just(self, name: str) -> bool:
        """Whether it is `$NAME` or `${NAME}` and nothing more."""
        return self.text in (f"${name}", f"${{{name}}}")


def _names(text: str) -> Iterator[str]:
    return (found[1] or found[2] or "" for found in _TEMPLATE.finditer(text))


def is_constant(name: str) -> bool:
    """Whether `name` is spelled as people spell variables."""
    return bool(_CONSTANT.fullmatch(name))


def written(file: FileFact, document: Document | None, provider: str) -> Written | None:
    """The apiKey of `provider` in models.json, None where it has none."""
    path = ("providers", provider, "apiKey")
    value = MISSING if document is None else document.value(path)
    if document is None or not isinstance(value, str):
        return None
    return Written(value, _place(file, document, path, value))


def headers(document: Document | None, provider: str) -> frozenset[str]:
    """The variables that the headers of `provider` and of its models name behind a `$`."""
    value = MISSING if document is None else document.value(("providers", provider))
    entry = value if isinstance(value, dict) else {}
    models = entry.get("models")
    rows = (entry, *(models if isinstance(models, list) else ()))
    held = [row.get("headers") for row in rows if isinstance(row, dict)]
    texts = [text for each in held if isinstance(each, dict) for text in each.values()]
    return frozenset(n for text in texts if isinstance(text, str) for n in Written(text).names)


def _place(file: FileFact, document: Document, path: Path, value: str) -> Place | None:
    """Its bytes, where they spell it as it is; else its keys, where any JSON reader does."""
    node = document.node(path)
    if node is None or file.content is None:
        return None
    if document.text[node.start + 1 : node.end - 1] == value:
        before = document.text[: node.start + 1].encode()
        offset = len(before) + len(document.data) - len(document.text.encode())
        span = f"{offset},{len(value.encode())},{file.content.sha256}"
        return Place(PlaceKind.SPAN, file.path, span)
    if document.features <= _STRICT:
        return Place(PlaceKind.JSON, file.path, "\x1f".join(map(str, path)))
    return None
