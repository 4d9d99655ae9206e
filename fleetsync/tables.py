"""The operator's tables: a strict base, and one line for each fault in them.

What a field expects is its description, which the shipped JSON Schema shows too.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable, Mapping
from functools import cache
from typing import Annotated, Any, Final, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError

from fleetsync import redact
from fleetsync.toml import Source


class Table(BaseModel):
    """A frozen table without unknown keys and without conversions: `"4096"` is no number."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


_TableT = TypeVar("_TableT", bound=Table)

LARGEST: Final = 2**53 - 1
"""The largest whole number that every client's JSON reader keeps exact."""

LISTED: Final[Any] = Field(strict=False)
"""For a tuple: TOML gives lists."""

_CONTROL = "\\x00-\\x1f\\x7f-\\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff"

Name = Annotated[str, Field(
    pattern="^[A-Za-z0-9_][A-Za-z0-9._-]*$",
    description="a name of letters, digits, '_', '.' and '-' that begins with no '.' or '-'",
)]  # fmt: skip
Label = Annotated[str, Field(
    pattern=f"^[^-\\s{_CONTROL}][^\\s{_CONTROL}]*$",
    description="a name without spaces and control characters that begins with no '-'",
)]  # fmt: skip
Sentence = Annotated[str, Field(
    pattern=f"^[^{_CONTROL}]*[^\\s{_CONTROL}][^{_CONTROL}]*$",
    description="a few words on one line",
)]  # fmt: skip


def faulty(expected: str, *, of_names: bool = False) -> PydanticCustomError:
    """The error of a validator. `of_names`: the value is a name, so it is shown in full."""
    kind = "name" if of_names else "value"
    return PydanticCustomError(kind, "{expected}", {"expected": expected})


def near(name: str, known: Collection[str]) -> str:
    """` (did you mean …?)`, or all that is known when nothing is near."""
    close = difflib.get_close_matches(name, known, n=3)
    listed = ", ".join(map(quoted, close or sorted(known)[:12]))
    if close:
        return f"; did you mean {listed}?"
    return f"; known: {listed}" if listed else ""


def judge(
    model: type[_TableT], source: Source, context: Mapping[str, Any] | None = None
) -> tuple[_TableT | None, tuple[str, ...]]:
    """The file as `model`, or every problem of it: file, line, key, found, expected."""
    if source.problem:
        return None, (source.problem,)
    try:
        return model.model_validate(source.tables, context=context), ()
    except ValidationError as error:
        schema = _schema(model)
        details = [detail for detail in error.errors(include_url=False) if not _follows(detail)]
        details.sort(key=lambda detail: _line(source, detail["loc"]))
        return None, tuple(_problem(source, schema, detail) for detail in details)


@cache
def _schema(model: type[Table]) -> dict[str, Any]:
    return model.model_json_schema()


def _follows(detail: ErrorDetails) -> bool:
    """Whether a list or table only counts as too short because some of its items are wrong."""
    return detail["type"] == "too_short" and len(detail["input"]) >= detail["ctx"]["min_length"]


def problem(source: Source, keys: tuple[str | int, ...], found: str, expected: str) -> str:
    """One line for one fault."""
    where = f"{source.path}:{_line(source, keys)}: {dotted(keys)}"
    return f"{where}: found {found}, expected {expected}"


def _line(source: Source, keys: tuple[str | int, ...]) -> int:
    return source.line(tuple(key for key in keys if isinstance(key, str)))


def _problem(source: Source, schema: dict[str, Any], detail: ErrorDetails) -> str:
    keys = detail["loc"]
    if keys[-1:] == ("[key]",):
        names = _node(schema, keys[:-2]).get("propertyNames", {})
        return problem(source, keys[:-1], "this name", _expected(names, detail))
    if detail["type"] == "extra_forbidden":
        known = _table(schema, _node(schema, keys[:-1])).get("properties", {})
        return problem(source, keys, "an unknown key", f"a known one{near(str(keys[-1]), known)}")
    expected = _expected(_node(schema, keys), detail)
    return problem(source, keys, _found(keys, detail), expected)


def _expected(node: Mapping[str, Any], detail: ErrorDetails) -> str:
    if detail["type"] in ("name", "value"):
        return str(detail["ctx"]["expected"])
    return str(node.get("description", "a table"))


def _node(schema: dict[str, Any], keys: tuple[str | int, ...]) -> dict[str, Any]:
    """The part of a JSON Schema that tells about `keys`."""
    node = schema
    for key in keys:
        node = _table(schema, node)
        named = node.get("properties", {}).get(key) or node.get("additionalProperties")
        named = named or next(iter(node.get("patternProperties", {}).values()), None)
        node = (node.get("items") if isinstance(key, int) else named) or {}
    return node if "description" in node else _present(node)


def _present(node: dict[str, Any]) -> dict[str, Any]:
    return next((part for part in node.get("anyOf", ()) if part.get("type") != "null"), node)


def _table(schema: dict[str, Any], node: dict[str, Any]) -> dict[str, Any]:
    node = _present(node)
    name = str(node.get("$ref", "")).removeprefix("#/$defs/")
    return schema["$defs"][name] if name else node


_BARE = re.compile(r"[A-Za-z0-9_-]+")


def dotted(keys: Iterable[str | int]) -> str:
    """Keys as TOML would spell them, with list positions in brackets."""
    path = ""
    for key in keys:
        if isinstance(key, int):
            path += f"[{key}]"
        else:
            path += f".{key if _BARE.fullmatch(key) else quoted(key)}"
    return path.removeprefix(".")


def quoted(text: str) -> str:
    """`text` in quotes on one line, characters that do not show as escapes."""
    inner = text.replace("\\", "\\\\").replace('"', '\\"')
    shown = (char if char.isprintable() else ascii(char)[1:-1] for char in inner)
    return f'"{"".join(shown)}"'


def _found(keys: tuple[str | int, ...], detail: ErrorDetails) -> str:
    if detail["type"] == "missing":
        return "nothing"
    value = detail["input"]
    match value:
        case str() if detail["type"] == "name":
            return quoted(value)
        case str():
            return _shown(str(keys[-1]), value)
        case bool():
            return "true" if value else "false"
        case dict():
            return "a table"
        case list() | tuple():
            return f"a list of {len(value)}"
        case int() if abs(value) > LARGEST:
            return "a number beyond 2^53"
        case _:
            return redact.words(str(value), 60)


def _shown(key: str, value: str) -> str:
    """A wrong text, unless it could be a secret."""
    if key == "credential":
        return "a text that is not shown, in case it is a key"
    if "@" in value and "://" in value:
        value = f"{value.partition('://')[0]}://{redact.MASK}@{value.rpartition('@')[2]}"
    if key in ("base_url", "url"):
        value = re.sub(r"([?#]).+", rf"\1{redact.MASK}", value)
    return redact.words(quoted(value), 80)
