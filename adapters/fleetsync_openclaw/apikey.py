"""What a provider's apiKey says: a key, the names of variables, or a SecretRef."""

from __future__ import annotations

import re
from collections.abc import Iterator

from fleetsync.facts import Place, PlaceKind

from .config import at

_TEMPLATE = re.compile(r"\$?\$\{([A-Z_][A-Z0-9_]*)\}", re.ASCII)
_WHOLE = re.compile(r"\$([A-Z_][A-Z0-9_]*)", re.ASCII)
_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*", re.ASCII)
_CONSTANT = re.compile(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)+", re.ASCII)


def variables(key: object) -> tuple[str, ...]:
    """The variables that it names, in order, each once."""
    if isinstance(key, str):
        return tuple(dict.fromkeys(_names(key)))
    name = at(key, "id") if at(key, "source") == "env" else None
    return (name,) if isinstance(name, str) and _VARIABLE.fullmatch(name) else ()


def _names(text: str) -> Iterator[str]:
    if whole := _WHOLE.fullmatch(text):
        yield whole[1]
    for found in _TEMPLATE.finditer(text):
        if not found[0].startswith("$$"):
            yield found[1]


def is_just(key: object, name: str) -> bool:
    """Whether it is the value of that variable and nothing more."""
    return not isinstance(key, str) or key in (f"${name}", f"${{{name}}}")


def is_constant(text: str) -> bool:
    """Whether it is spelled as people spell variables, and hardly as a key."""
    return bool(_CONSTANT.fullmatch(text))


def has_escapes(text: str) -> bool:
    """Whether `$${NAME}` stands in it, which OpenClaw sends as `${NAME}`."""
    return "$${" in text


def file(config: object, key: object) -> Place | None:
    """The file, or the string in a JSON file, that a SecretRef names."""
    provider, name = at(key, "provider"), at(key, "id")
    table = at(config, "secrets", "providers", str(provider))
    path = at(table, "path")
    if at(key, "source") != "file" or not isinstance(path, str) or not isinstance(name, str):
        return None
    if at(table, "mode") == "singleValue":
        return Place(PlaceKind.FILE, path, "")
    steps = (part.replace("~1", "/").replace("~0", "~") for part in name.split("/")[1:])
    return Place(PlaceKind.JSON, path, "\x1f".join(steps))
