"""Write new JSON values the way their neighbours are written."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from fleetsync.documents.json_string import quoted
from fleetsync.documents.json_style import Layout, Style
from fleetsync.documents.tree import Kind, Node, Value

_BARE: Final = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")
_BRACKETS: Final = {Kind.MAPPING: ("{", "}"), Kind.SEQUENCE: ("[", "]")}


@dataclass(frozen=True, slots=True)
class Place:
    """Where a value will stand: under which key ("" for an item), near which offset, at
    which indentation, and whether everything in it must stay on one line."""

    key: str
    near: int
    indent: str
    one_line: bool


def write(style: Style, value: Value, place: Place, like: Node | None = None) -> str:
    """`value` as text; `like` is the node to imitate where it is of the same kind."""
    if isinstance(value, dict | list):
        return _container(style, value, place, like)
    if isinstance(value, str):
        is_string = like is not None and like.tag == "str"
        quote = like.style if like is not None and is_string else style.quote
        return quoted(value, quote, ascii_only=style.ascii_only)
    return _plain(value)


def write_entry(
    style: Style, key: str, value: Value, place: Place, layout: Layout, keys: Node | None
) -> str:
    """`key`: `value` as text; `keys` is the mapping whose keys are imitated."""
    found = [(k, v) for k, v in keys.entries if k.text == key] if keys else []
    like = found[0][1] if found else None
    text = write(style, value, place, like)
    colon = layout.colon
    if isinstance(value, dict | list) and not place.one_line and value:
        model = _model(style, value, place, like)
        opens_line = style.layout(model).opens_line if model else style.opens_line
        if opens_line and style.eol in text:
            colon = f"{colon.rstrip()}{style.eol}{place.indent}"
    return write_key(style, key, keys) + colon + text


def write_key(style: Style, key: str, keys: Node | None) -> str:
    """`key` in the quotes that its neighbours have, or without."""
    quote = keys.entries[-1][0].style if keys and keys.entries else style.key_quote
    if not quote and _BARE.fullmatch(key):
        return key
    return quoted(key, quote or style.quote, ascii_only=style.ascii_only)


def _model(
    style: Style, value: dict[str, Value] | list[Value], place: Place, like: Node | None
) -> Node | None:
    """The container to imitate: `like` where it will do, else one found in the file."""
    kind = Kind.MAPPING if isinstance(value, dict) else Kind.SEQUENCE
    if like is not None and like.kind is kind and (like.entries or like.items):
        return like
    held = value.values() if isinstance(value, dict) else value
    deep = any(isinstance(one, dict | list) and one for one in held)
    return style.like(kind, place.key, place.near, deep=deep)


def _container(
    style: Style, value: dict[str, Value] | list[Value], place: Place, like: Node | None
) -> str:
    kind = Kind.MAPPING if isinstance(value, dict) else Kind.SEQUENCE
    opening, closing = _BRACKETS[kind]
    if not value:
        return opening + closing
    model = _model(style, value, place, like)
    layout = style.layout(model) if model else style.layout_of_file()
    lines = layout.lines and not place.one_line
    indent = place.indent + style.unit if lines else place.indent
    inner = Place("", place.near, indent, not lines)
    held = value.items() if isinstance(value, dict) else [(None, one) for one in value]
    parts = [_held(style, key, one, inner, layout, model) for key, one in held]
    trailing = "," if layout.trailing and layout.lines == lines else ""
    if lines:
        body = f",{style.eol}{indent}".join(parts)
        return f"{opening}{style.eol}{indent}{body}{trailing}{style.eol}{place.indent}{closing}"
    pad = style.pad(kind) if layout.lines else layout.pad
    comma = layout.comma if not layout.lines else style.comma(kind)
    return f"{opening}{pad}{comma.join(parts)}{trailing}{pad}{closing}"


def _held(
    style: Style, key: str | None, value: Value, place: Place, layout: Layout, model: Node | None
) -> str:
    """One entry of a new container, or one item where `key` is None."""
    if key is not None:
        place = Place(key, place.near, place.indent, place.one_line)
        return write_entry(style, key, value, place, layout, model)
    return write(style, value, place, model.items[-1] if model else None)


def _plain(value: float | bool | None) -> str:
    """A number, boolean or null; a whole number never gets a fraction."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    return repr(value)
