"""Where Pi keeps a key of its own, for an operator who sets a new one.

auth.json comes before whatever models.json names (0.73.1, 0.84.4 and 1.6.0), so the
mechanism in models.json stays as it is. Before 0.80.0 a provider needs its apiKey there
all the same, and so a variable is what such a host is set up with.
"""

from __future__ import annotations

from fleetsync.adapter import Keep, Target
from fleetsync.facts import Place, PlaceKind, Verdict

from .files import auth_path
from .versions import Version

_BY_NAME = (Verdict.REFERENCE.value, Verdict.COMMAND.value)


def keep(target: Target, versions: tuple[Version, ...]) -> Keep:
    """The provider's entry in auth.json, or the lines to write by hand."""
    if any(version.needs_api_key for version in versions):
        return Keep(lines=_variable(target, versions))
    if target.context.get("stored") in _BY_NAME:
        return Keep(lines=_by_name(target))
    path = auth_path(target)
    place = Place(PlaceKind.JSON, path, target.wish.provider)
    # Pi itself locks the file so, where its links lead, to write it (0.84.4).
    return Keep(place, '{"type": "api_key", "key": ', "}", companion=f"{path}.lock")


def _variable(target: Target, versions: tuple[Version, ...]) -> str:
    """What the host's start-up file needs, and models.json where it names no key."""
    wish = target.wish
    dollar = all(version.dollar_is_variable for version in versions)
    spelled = f"${wish.credential}" if dollar else wish.credential
    return (
        f"in ~/.profile, which login shells read:\n  export {wish.credential}='…'\n"
        f'in the provider {wish.provider} of models.json, unless it names a key already:\n'
        f'  "apiKey": "{spelled}"'
    )


def _by_name(target: Target) -> str:
    provider, kind = target.wish.provider, target.context["stored"]
    return (
        f"the entry {provider} in {auth_path(target)} is a {kind}: give what it names the new "
        f'key, or replace the entry by\n  "{provider}": {{"type": "api_key", "key": "…"}}'
    )
