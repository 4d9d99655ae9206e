"""How a new YAML scalar is spelled, so that every reader takes it for the same value.

The first reader is PyYAML (Hermes 0.19). The second is ruamel.yaml: newer Hermes reads
with it at YAML 1.1, the in-session writers of 0.19 at YAML 1.2. It is shown fragments of
one scalar, never a file, for a whole file costs it thirty times as much.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

import yaml

from fleetsync.documents.tree import Value
from fleetsync.errors import EditRefused

_ESCAPES: Final = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_PRINTABLE: Final = (
    "\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff"
)
_SPECIAL = re.compile(f"[^{_PRINTABLE}]")
_ESCAPED = re.compile(f'["\\\\]|[^{_PRINTABLE}]')
_TYPED_LOOK = re.compile(r"[-+.]?[0-9][-+.0-9_:a-fxotz ]*|[-+]?\.?(?:inf|nan)|[yn]|yes|no|on|off|"
                         r"true|false|null", re.IGNORECASE)
_FIRST = re.compile(r"\w|[/$]|\.(?!\.)")
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_ERRORS = (yaml.YAMLError, ValueError)


def spell(value: Value, quote: str, *, flow: bool, quoted: bool = False) -> str:
    """A scalar's new text on one line. `quote` is the file's own; `quoted` asks for it.

    A string is plain only where all readers take the plain text for that very string.
    Raises EditRefused for half of a surrogate pair, which no YAML file can hold.
    """
    if isinstance(value, str):
        return value if not quoted and is_plain(value, flow=flow) else _quote(value, quote)
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    text = repr(value)
    return text.replace("e", ".0e") if "e" in text and "." not in text else text


def _quote(text: str, quote: str) -> str:
    if any("\ud800" <= letter <= "\udfff" for letter in text):
        raise EditRefused("a string holds half of a surrogate pair: YAML cannot hold it")
    if quote == "'" and not _SPECIAL.search(text):
        return "'" + text.replace("'", "''") + "'"
    return '"' + _ESCAPED.sub(lambda found: _escape(found.group()), text) + '"'


def _escape(letter: str) -> str:
    code = ord(letter)
    return _ESCAPES.get(letter) or (f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}")


@lru_cache(maxsize=1024)
def is_plain(text: str, *, flow: bool) -> bool:
    """Whether each reader takes `text` unquoted, as a key and as a value, for that string.

    What merely looks like a number, a date or a switch is quoted too: a human may not know
    which of the rules his reader follows.
    """
    if not _FIRST.match(text) or _TYPED_LOOK.fullmatch(text) or _SPECIAL.search(text):
        return False
    inner = f"{text}: {text}"
    fragment = f"[{{{inner}}}, {text}]" if flow else inner
    wanted: object = [{text: text}, text] if flow else {text: text}
    return all(_same(read, wanted) for _, read in _readings(fragment))


def ambiguous(text: str) -> str:
    """How readers differ on the plain scalar `text`; empty where they agree."""
    if _SPECIAL.search(text) or not text:
        return ""
    read = [(name, _unwrap(value)) for name, value in _readings(f"k: {text}")]
    first = read[0][1]
    if all(_same(value, first) for _, value in read):
        return ""
    return ", ".join(f"{name} reads {_words(value)}" for name, value in read)


def _readings(fragment: str) -> Iterator[tuple[str, object]]:
    """What each reader makes of a fragment; its error where it fails."""
    yield "PyYAML", _read_pyyaml(fragment)
    for version in ("1.1", "1.2"):
        yield f"ruamel.yaml at YAML {version}", _read_ruamel(fragment, version)


def _read_pyyaml(fragment: str) -> object:
    try:
        return yaml.load(fragment, Loader=_Loader)  # noqa: S506 - a safe one
    except _ERRORS:
        return _ERRORS


def _read_ruamel(fragment: str, version: str) -> object:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    reader = YAML(typ="safe", pure=True)
    reader.version = version
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return reader.load(fragment)
        except (YAMLError, ValueError):
            return _ERRORS


def _unwrap(value: object) -> object:
    return value["k"] if isinstance(value, dict) and set(value) == {"k"} else value


def _same(one: object, other: object) -> bool:
    return type(one) is type(other) and one == other


def _words(value: object) -> str:
    return "nothing" if value is _ERRORS else f"{value!r} ({type(value).__name__})"
