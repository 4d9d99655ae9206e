"""Is the provider entry on the host the router's, and can it take our entries?"""

from __future__ import annotations

from collections.abc import Iterator

from fleetsync.adapter import Refusal, Wish
from fleetsync.addresses import public_url, same_url
from fleetsync.documents import MISSING, Document, Path, Where

from .versions import Version


def provider_path(wish: Wish) -> Path:
    """Where the router's provider stands in models.json."""
    return ("providers", wish.provider)


def models_path(wish: Wish) -> Path:
    """Where its entries stand."""
    return (*provider_path(wish), "models")


def entry_path(wish: Wish, alias: str) -> Path:
    """Where one alias's entry stands."""
    return (*models_path(wish), Where("id", alias))


def unfit(wish: Wish, found: Document, versions: tuple[Version, ...]) -> Iterator[Refusal]:
    """Why the provider's entry cannot take our models as it is."""
    if not isinstance(found.value(provider_path(wish)), dict):
        yield Refusal(
            f"there is no provider {wish.provider}",
            "add this to its `providers` on the host, then run again:\n" + stanza(wish, versions),
        )
        return
    yield from _elsewhere(wish, found)
    yield from _incomplete(wish, found)


def _elsewhere(wish: Wish, found: Document) -> Iterator[Refusal]:
    spots = {f"provider {wish.provider}": provider_path(wish)}
    spots |= {f"alias {alias.name}": entry_path(wish, alias.name) for alias in wish.aliases}
    for spot, path in spots.items():
        url = found.value((*path, "baseUrl"))
        if isinstance(url, str) and not same_url(url, wish.base_url):
            yield Refusal(
                f"{spot} has baseUrl {public_url(url)}, the inventory says {wish.base_url}",
                "correct the one that is wrong; a host that spells the address differently "
                "has its own [hosts.NAME.router] in the inventory",
            )


def _incomplete(wish: Wish, found: Document) -> Iterator[Refusal]:
    """Pi needs both keys at the provider or at each entry (1.6.0: else it drops the
    provider; 0.73.1: the whole file)."""
    missing = [k for k in ("baseUrl", "api") if found.value((*provider_path(wish), k)) is MISSING]
    new = [a.name for a in wish.aliases if found.value(entry_path(wish, a.name)) is MISSING]
    if missing and new:
        yield Refusal(
            f"provider {wish.provider} has no {' and no '.join(missing)} of its own, so Pi "
            f"would reject the new entries {', '.join(new)}",
            "write what is missing into the provider on the host",
        )


def stanza(wish: Wish, versions: tuple[Version, ...]) -> str:
    """The provider entry that these versions of Pi read, without any key in it."""
    dollar = all(version.dollar_is_variable for version in versions)
    key = f"${wish.credential}" if dollar else wish.credential
    return (
        f'"{wish.provider}": {{\n'
        f'  "baseUrl": "{wish.base_url}",\n'
        '  "api": "openai-completions",\n'
        f'  "apiKey": "{key}",\n'
        '  "models": []\n'
        "}"
    )
