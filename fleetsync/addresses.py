"""Addresses of a router as clients' files spell them. Pure."""

from __future__ import annotations

from urllib.parse import urlsplit

_LONGEST = 20
"""Characters of one part of a path beyond which it could be a key."""
_PORTS = {"http": 80, "https": 443}


def same_url(one: str, other: str) -> bool:
    """Whether two addresses are one router's: the case of scheme and host, a default
    port and a final slash do not matter."""
    return _key(one) == _key(other)


def _key(url: str) -> tuple[str, ...]:
    try:
        parts = urlsplit(url)
        port = parts.port or _PORTS.get(parts.scheme.lower(), 0)
    except ValueError:
        return (url,)
    host = (parts.hostname or "").lower()
    return parts.scheme.lower(), host, str(port), parts.path.rstrip("/"), parts.query


def public_url(url: str) -> str:
    """The part of an address that may be shown, letter by letter: no user, password, query
    or fragment, and no part of its path that is long enough to be a key."""
    try:
        parts = urlsplit(url)
        is_address = bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        return "(not a URL)"
    if not is_address:
        return "(not a URL)"
    path = "/".join("…" if len(part) > _LONGEST else part for part in parts.path.split("/"))
    query = "?…" if parts.query or parts.fragment else ""
    return f"{url.partition(':')[0]}://{parts.netloc.rpartition('@')[2]}{path}{query}"
