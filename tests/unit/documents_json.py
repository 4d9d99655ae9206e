"""Made-up JSON documents of every dialect and style, and edits for them."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path as File
from typing import Any, TypeAlias

import pyjson5

from fleetsync.documents import Append, Dialect, Edit, Path, Remove, Set

SHARED = File(__file__).resolve().parents[3] / "shared"
"""Real users' shapes and public suites, where the machine has them beside the checkout."""


DIALECTS = (Dialect.JSON, Dialect.JSON_COMMENTS, Dialect.JSON5)

SPACES = ("", " ", "\n", "\n  ", "\t", "\r\n", "\n\n\t", "  ")
LINE_COMMENTS = (" // c\n", "\n  // }], \"x\": 1\n  ", "// a\r\n", " //\n")
BLOCK_COMMENTS = ("/* c */", " /* a\n b */ ", "/**/\n", "\n /* // */\n", "\v", "\u2028")

KEYS = ("a", "b", "id", "llm.primary", "x-y", "$k", "__proto__", "ключ")
NUMBERS = ("0", "-0", "1", "393216", "0.10", "1E+2", "-1.5e-3", "12345678901234567890")
NUMBERS5 = (".5", "5.", "+1", "0x1F", "Infinity", "-NaN")
STRINGS = ("", "x", "a, b]}", "// no comment", "\\n\\u00e9", "\\ud83d\\ude00", "é", "\u2028", "/*")
STRINGS5 = ("\\x41", "\\\n", "it\\'s", "tab\there", "\\v")

PLAIN_VALUES: tuple[Any, ...] = (
    None, True, False, 0, 7, 393216, 4096.0, 0.25, "", "x", "it's", 'a "quote"', "é\n\\", "// x",
    [], {}, ["text", "image"], {"id": "n", "input": ["text"], "cost": {"in": 1}}, [[1], {"a": 2}],
)


Choose: TypeAlias = Callable[[Sequence[Any]], Any]
"""Picks one of several: hypothesis does, or a seeded random number generator."""


class Maker:
    """Writes one document, with comments and line ends in every gap."""

    def __init__(self, choose: Choose, dialect: Dialect) -> None:
        self.choose, self.dialect = choose, dialect
        self.json5 = dialect is Dialect.JSON5
        kinds = [("",), SPACES]
        kinds += [] if dialect is Dialect.JSON else [SPACES + LINE_COMMENTS]
        kinds += [SPACES + LINE_COMMENTS + BLOCK_COMMENTS] if self.json5 else []
        self.gaps = ("", *choose(kinds))
        self.trailing = (False,) if dialect is Dialect.JSON else choose(((False,), (False, True)))

    def document(self) -> str:
        """A document whose root is a mapping."""
        return self.gap() + self.container(0, mapping=True) + self.gap()

    def gap(self) -> str:
        return str(self.choose(self.gaps))

    def value(self, depth: int) -> str:
        if depth > 2 or self.choose((True, False, False)):
            return self.scalar()
        return self.container(depth, mapping=self.choose((True, False)))

    def container(self, depth: int, *, mapping: bool) -> str:
        held = [self.value(depth + 1) for _ in range(self.choose((0, 1, 1, 2, 2, 3)))]
        if mapping:
            names = list(KEYS)
            keys = [names.pop(self.choose(range(len(names)))) for _ in held]
            held = [
                f"{self.key(name)}{self.gap()}:{self.gap()}{one}"
                for name, one in zip(keys, held, strict=True)
            ]
        body = ",".join(f"{self.gap()}{one}{self.gap()}" for one in held) or self.gap()
        comma = f",{self.gap()}" if held and self.choose(self.trailing) else ""
        return f"{{{body}{comma}}}" if mapping else f"[{body}{comma}]"

    def key(self, name: str) -> str:
        bare = self.json5 and "." not in name and "-" not in name
        return name if bare and self.choose((True, False)) else f'"{name}"'

    def scalar(self) -> str:
        if self.choose((True, False)):
            return self.string()
        words = NUMBERS + NUMBERS5 if self.json5 else NUMBERS
        return str(self.choose((*words, "null", "true", "false")))

    def string(self) -> str:
        if self.json5 and self.choose((True, False)):
            return f"'{self.choose(STRINGS + STRINGS5)}'"
        return f'"{self.choose(STRINGS)}"'


def make(choose: Choose, dialect: Dialect) -> bytes:
    """The bytes of a document in `dialect`, some with a BOM."""
    text = Maker(choose, dialect).document()
    bom: bytes = choose((b"", b"", b"\xef\xbb\xbf"))
    return bom + text.encode()


def make_edit(choose: Choose, value: Any) -> Edit:
    """An edit of the plain value `value` that can be made."""
    found = [path for path in paths(value) if path]
    path = choose(found or [("new",)])
    held = at(value, path) if found else None
    kind = choose(("set", "insert", "append", "remove"))
    new = choose(PLAIN_VALUES)
    if kind == "remove":
        return Remove(path)
    if kind == "append" and isinstance(held, list | None):
        return Append(path, new)
    if kind == "insert" and isinstance(held, dict | None):
        return Set((*path, *choose((("new",), ("new", "deep"), ("id",)))), new)
    return Set(path, new)


def edited(value: Any, edit: Edit) -> Any:
    """What `edit` makes of a plain value: the model that documents are compared with."""
    root = copy.deepcopy(value)
    *above, last = edit.path
    held = root
    for step in above:
        if (held.get(step) if isinstance(held, dict) else held[step]) is None:
            held[step] = {}
        held = held[step]
    if isinstance(edit, Remove):
        if isinstance(held, list) or last in (held or ()):
            del held[last]
    elif isinstance(edit, Set):
        held[last] = copy.deepcopy(edit.value)
    else:
        before = held.get(last) if isinstance(held, dict) else held[last]
        held[last] = [*(before or []), copy.deepcopy(edit.value)]
    return root


def value_of(data: bytes, dialect: Dialect) -> Any:
    """What an independent reader of the dialect makes of `data`."""
    text = data.decode("utf-8-sig")
    if dialect is Dialect.JSON5:
        return pyjson5.decode(text, 64)
    if dialect is Dialect.JSON_COMMENTS:
        text = re.sub(r'("(?:\\.|[^"\\])*")|//[^\n]*', lambda m: m[1] or "", text)
        text = re.sub(r'("(?:\\.|[^"\\])*")|,(?=\s*[}\]])', lambda m: m[1] or "", text)
    return json.loads(text)


def paths(value: Any, above: Path = ()) -> Iterator[Path]:
    """All paths into a plain value."""
    yield above
    if isinstance(value, dict):
        for key, held in value.items():
            yield from paths(held, (*above, key))
    if isinstance(value, list):
        for index, held in enumerate(value):
            yield from paths(held, (*above, index))


def at(value: Any, path: Path) -> Any:
    """The plain value at `path`."""
    for step in path:
        value = value[step]
    return value
