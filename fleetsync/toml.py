"""Read the operator's TOML, and know on which line each key stands."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

Keys: TypeAlias = tuple[str, ...]


@dataclass(frozen=True)
class Source:
    """One TOML file: its text and tables, or the one problem that keeps it from being read."""

    path: Path
    text: str = ""
    tables: dict[str, Any] = field(default_factory=dict)
    problem: str = ""

    def line(self, keys: Keys) -> int:
        """The line (from 1) of `keys`, or of the nearest table around them in the file."""
        around = (keys[:length] for length in range(len(keys), 0, -1))
        return next((self._lines[part] for part in around if part in self._lines), 1)

    @cached_property
    def _lines(self) -> dict[Keys, int]:
        lines: dict[Keys, int] = {}
        for keys, offset in _statements(self.text):
            line = self.text.count("\n", 0, offset) + 1
            for length in range(1, len(keys) + 1):
                lines.setdefault(keys[:length], line)
        return lines


def read(path: Path) -> Source:
    """The file's tables and places. Raises nothing: what cannot be read is its problem."""
    try:
        text = path.read_bytes().decode()
    except OSError as error:
        return Source(path, problem=f"{path}: cannot be read: {error.strerror}")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        return Source(path, problem=f"{path}:{line}: found a byte that is not UTF-8")
    return parse(path, text)


def parse(path: Path, text: str) -> Source:
    """What `read` gives for a file at `path` that holds `text`."""
    text = text.replace("\r\n", "\n")
    try:
        return Source(path, text, tomllib.loads(text))
    except RecursionError:
        return Source(path, problem=f"{path}: lists or tables are nested too deeply")
    except ValueError as error:
        return Source(path, problem=f"{path}:{_syntax(text, str(error))}")


_AT = re.compile(r" \(at line (\d+), column (\d+)\)$")
_END = " (at end of document)"


def _syntax(text: str, reason: str) -> str:
    """Place and reason in our words; tomllib's own name keys and single characters only."""
    lines = text.split("\n")
    at = _AT.search(reason)
    if at:
        words = _in_words(reason[: at.start()], lines[int(at[1]) - 1])
        return f"{at[1]}:{at[2]}: {words}"
    if reason.endswith(_END):
        return f"{len(lines)}:{len(lines[-1]) + 1}: {_in_words(reason.removesuffix(_END), '')}"
    return "1: not TOML: a number has too many digits"


def _in_words(reason: str, line: str) -> str:
    if reason.startswith("Cannot declare") and (header := _HEADER.match(line)):
        return f"found [{header[1].strip()}] a second time, expected one table for each name"
    if reason.startswith("Cannot overwrite"):
        return "found a key a second time, expected each key once in its table"
    return f"not TOML: {reason[:1].lower()}{reason[1:]}"


_NAME = r"""(?:[A-Za-z0-9_-]|"(?:\\.|[^"\\\n])*"|'[^'\n]*'|[ \t.])+"""
_HEADER = re.compile(rf"[ \t]*\[\[?({_NAME})\]\]?")
_PAIR = re.compile(rf"({_NAME})=")
_TOKEN = re.compile(
    r'''(?P<text>"""(?:\\.|[^\\])*?"{3,5}|'{3}.*?'{3,5}|"(?:\\.|[^"\\\n])*"|'[^'\n]*')'''
    r"|(?P<comment>\#[^\n]*)|(?P<open>[\[{])|(?P<close>[\]}])|(?P<end>\n)|[^\[\]{}\n#\"']+",
    re.DOTALL,
)


def _statements(text: str) -> Iterator[tuple[Keys, int]]:
    """The full keys of each table and value, with the offset of its statement.

    `text` is known to be TOML, so only the outline has to be followed.
    """
    table: Keys = ()
    at = 0
    while at < len(text):
        if header := _HEADER.match(text, at):
            table = _keys(header[1])
            yield table, at
            at = header.end()
        elif pair := _PAIR.match(text, at):
            yield (*table, *_keys(pair[1])), at
            at = pair.end()
        at = _statement_end(text, at)


def _keys(dotted: str) -> Keys:
    keys: list[str] = []
    inner: Any = tomllib.loads(f"{dotted}=0")
    while isinstance(inner, dict):
        [(key, inner)] = inner.items()
        keys.append(key)
    return tuple(keys)


def _statement_end(text: str, at: int) -> int:
    depth = 0
    for token in _TOKEN.finditer(text, at):
        depth += (token.lastgroup == "open") - (token.lastgroup == "close")
        if token.lastgroup == "end" and depth == 0:
            return token.end()
    return len(text)
