"""The inside of JSON and JSON5 strings: reading escapes, writing them."""

from __future__ import annotations

import json
import re
import unicodedata
from typing import Final

_PLAIN: Final = {
    quote: re.compile(rf"(?:[^\\\x00-\x1f]|\\[{quote}\"\\/bfnrtu])*") for quote in "\"'"
}
_ESCAPE: Final = re.compile(r"\\(u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|\r\n|0(?![0-9])|[^ux0-9])")
_BACKSLASH: Final = re.compile(r"\\(?:\r\n|[\s\S])")
_PAIR: Final = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_JOINED: Final = dict.fromkeys(("\n", "\r", "\r\n", "\u2028", "\u2029"), "")
_NAMED: Final = _JOINED | {
    "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "0": "\0"
}
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_SWAP: Final = str.maketrans("\"'", "'\"")
_LETTERS: Final = frozenset(("Lu", "Ll", "Lt", "Lm", "Lo", "Nl"))
_MARKS: Final = _LETTERS | {"Mn", "Mc", "Nd", "Pc"}


def beyond_json(raw: str, quote: str) -> int:
    """Offset of the first thing in a string's inside that strict JSON forbids, or -1.

    In single quotes an escaped single quote does not count: those quotes do already.
    """
    end = _end(_PLAIN[quote].match(raw))
    return end if end < len(raw) else -1


def bad_escape(raw: str) -> int:
    """Offset of the first escape that JSON5 does not know either, or -1."""
    for found in _BACKSLASH.finditer(raw):
        if not _ESCAPE.match(raw, found.start()):
            return found.start()
    return -1


def unescape(raw: str) -> str:
    """What the inside of a string stands for; a lone surrogate stays one."""
    if "\\" not in raw:
        return raw
    return _PAIR.sub(_joined, _ESCAPE.sub(_meant, raw))


def quoted(text: str, quote: str, *, ascii_only: bool) -> str:
    """`text` as a string in `quote`s, with escapes that strict JSON knows (and `\\'`)."""
    swapped = text if quote == '"' else text.translate(_SWAP)
    inside = json.dumps(swapped, ensure_ascii=ascii_only)[1:-1]
    inside = inside if quote == '"' else inside.translate(_SWAP)
    return quote + _SURROGATE.sub(_hex, inside) + quote


def is_identifier(name: str) -> bool:
    """Whether JSON5 reads `name` as a key without quotes (ECMAScript 5.1)."""
    return bool(name) and all(
        char in "$_"
        or unicodedata.category(char) in (_MARKS if at else _LETTERS)
        or (at > 0 and char in "\u200c\u200d")
        for at, char in enumerate(name)
    )


def _hex(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"


def _end(found: re.Match[str] | None) -> int:
    return found.end() if found else 0


def _meant(found: re.Match[str]) -> str:
    escape = found[1]
    if escape[0] in "ux" and len(escape) > 1:
        return chr(int(escape[1:], 16))
    return _NAMED.get(escape, escape)


def _joined(found: re.Match[str]) -> str:
    return found[0].encode("utf-16-le", "surrogatepass").decode("utf-16-le")
