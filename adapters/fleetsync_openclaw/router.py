"""Is the provider entry on the host the router's own?"""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

from fleetsync.adapter import Refusal, Wish
from fleetsync.addresses import public_url, same_url

from .config import at


def provider_keys(wish: Wish) -> tuple[str, ...]:
    """Where the router's provider stands in the configuration."""
    return ("models", "providers", wish.provider)


def rows(wish: Wish, effective: object) -> tuple[dict[str, object], ...]:
    """The provider's models as the configuration lists them."""
    found = at(effective, *provider_keys(wish), "models")
    return tuple(row for row in found if isinstance(row, dict)) if isinstance(found, list) else ()


def unfit(wish: Wish, effective: object) -> Iterator[Refusal]:
    """Why the provider's entry cannot take our models as it is."""
    provider = at(effective, *provider_keys(wish))
    if not isinstance(provider, dict):
        yield Refusal(
            f"openclaw.json has no provider {wish.provider}",
            "add this to its models.providers on the host, then run again:\n" + stanza(wish),
        )
        return
    ours = [alias.name for alias in wish.aliases]    # an id can be anything, even unhashable
    spots = [(f"provider {wish.provider}", provider)]
    spots += [(f"alias {row['id']}", row) for row in rows(wish, effective) if row.get("id") in ours]
    for spot, table in spots:
        url = table.get("baseUrl")
        if isinstance(url, str) and not same_url(url, wish.base_url):
            yield Refusal(
                f"{spot} has baseUrl {public_url(url)}, the inventory says {wish.base_url}",
                "correct the one that is wrong; a host that spells the address differently "
                "has its own [hosts.NAME.router] in the inventory",
            )


def stanza(wish: Wish) -> str:
    """The provider entry that OpenClaw reads, without any key in it."""
    return (
        f'"{wish.provider}": {{\n'
        f'  "baseUrl": "{wish.base_url}",\n'
        f'  "apiKey": "${{{wish.credential}}}",\n'
        '  "api": "openai-completions",\n'
        '  "models": []\n'
        "}"
    )


def is_loopback(url: object) -> bool:
    """Whether `url` leads to the host itself: OpenClaw then sends no key where it has none."""
    try:
        host = urlsplit(url).hostname if isinstance(url, str) else None
    except ValueError:
        return False
    return host is not None and (host in ("localhost", "::1") or host.startswith("127."))
