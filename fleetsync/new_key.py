"""A key that an operator typed, and how it is written at the place where a client reads it.

Pure. The text of the key is in no repr and in no pickle.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from fleetsync.adapter import Keep
from fleetsync.facts import PlaceKind
from fleetsync.remote import Call
from fleetsync.sealed import Sealed

CAP = 8 * 1024
"""Bytes beyond which a text is taken for no key."""
_KINDS = (PlaceKind.JSON, PlaceKind.DOTENV, PlaceKind.FILE)
_PLACEHOLDER = re.compile(
    r"<.*>|\{\{.*\}\}|x+|change-?me|replace.*|your-.*(key|token).*|yourkey|none|null|undefined"
    r"|placeholder|todo|api-?key|sk-xxx.*|\*{3}.*|\.{3}"
)
_BARE = re.compile(r"[A-Za-z0-9_./+=:@%,~^-]+")
_SEPARATOR = "\x1f"


def fault(text: str, kind: PlaceKind | None = None) -> str:
    """Why `text` can be no key (at a place of that kind), "" where it can. It never tells
    anything of the text."""
    if not text:
        return "it is empty"
    if len(text.encode("utf-8", "surrogateescape")) > CAP:
        return "it is longer than 8 KiB"
    if any(character in text for character in "\r\n"):
        return "it holds a line end"
    if not all(" " <= character <= "~" for character in text):
        return "it holds a control or a non-ASCII character"
    if " " in text:
        return "it holds a space"
    if text[0] in "$!":
        return "it is a reference or a command, and no key: it begins with $ or !"
    if '"' in text or "'" in text:
        return "it holds a quote"
    if _PLACEHOLDER.fullmatch(text.lower().replace("_", "-")):
        return "it is a placeholder"
    return _unfit(text, kind)


def _unfit(text: str, kind: PlaceKind | None) -> str:
    """What readers of a kind of place take for something else than itself."""
    if "$" in text and kind in (PlaceKind.JSON, PlaceKind.DOTENV):
        return "it holds a $, which the client reads as the beginning of a variable's name"
    if text == "oauth" and kind is PlaceKind.JSON:
        return "it is a word for a kind of entry"
    if "\\" in text and kind is PlaceKind.DOTENV:
        return "it holds a backslash, which readers of such a file take differently"
    return ""


@dataclass(frozen=True, slots=True)
class NewKey:
    """A key and where it goes. Raises ValueError where `keep` has no place of a kind that
    can be written, or the text around the key is not plain JSON."""

    text: Sealed
    keep: Keep

    def __post_init__(self) -> None:
        place = self.keep.place
        if place is None or place.kind not in _KINDS or "*" in place.where:
            raise ValueError("a new key has no such place")
        around = self.keep.before + self.keep.after
        if not all(" " <= character <= "~" for character in around):
            raise ValueError("the text around a new key is not plain")
        if place.kind is PlaceKind.JSON:
            json.loads(self._json(""))

    def call(self, *, exists: bool) -> Call:
        """The one call that builds the new store: whole, or from the one that is there."""
        place, key = self.keep.place, self.text.reveal().decode("ascii")
        assert place is not None
        match place.kind, exists:
            case PlaceKind.JSON, True:
                return Call("fs_put_json", (self._json(key), place.name, *self._members()))
            case PlaceKind.JSON, False:
                return Call("fs_lines", tuple(self._document(key)))
            case PlaceKind.DOTENV, True:
                return Call("fs_put_dotenv", (_value(key), place.name))
            case PlaceKind.DOTENV, False:
                return Call("fs_lines", (f"{place.name}={_value(key)}",))
            case _, True:
                return Call("fs_put_whole", (key,))
        return Call("fs_text", (key,))

    def _json(self, key: str) -> str:
        return f"{self.keep.before}{json.dumps(key)}{self.keep.after}"

    def _keys(self) -> list[str]:
        return self.keep.place.name.split(_SEPARATOR) if self.keep.place else []

    def _members(self) -> Iterator[str]:
        """For each key from the first: what leads to the value where this key and those
        after it are missing, and what closes it."""
        keys = self._keys()
        for at in range(len(keys)):
            missing = [f"{json.dumps(key)}: " for key in keys[at:]]
            yield "{".join(missing)
            yield "}" * (len(missing) - 1)

    def _document(self, key: str) -> list[str]:
        value = json.loads(self._json(key))
        for name in reversed(self._keys()):
            value = {name: value}
        return json.dumps(value, indent=2).split("\n")


def _value(key: str) -> str:
    """The key as readers of dotenv files take it literally."""
    return key if _BARE.fullmatch(key) else f"'{key}'"
