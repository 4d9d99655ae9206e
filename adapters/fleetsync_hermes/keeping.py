"""Where a profile keeps a key of its own, so that a new one can be put there.

What the provider's entry says of its key stays as it is: a new key goes into the profile's
.env under the variable that the entry names. Where that would have no effect, the operator
is told what to change on the host.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath

from fleetsync.adapter import Keep, Target, Wish
from fleetsync.facts import FileFact, Place, PlaceKind, Verdict

from .entry import MAP, same_name
from .files import CONFIG
from .homes import managed_directory
from .router import stanza
from .sources import REFERENCE, Sources, is_plain, pools
from .versions import Version

_NAME, _LINES = "key name", "key lines"
"""In a target's context: the variable, or what to change by hand."""
_AGAIN = "then set the key again"


def keep(target: Target) -> Keep:
    """Where a new key goes."""
    if name := target.context.get(_NAME):
        directory = PurePosixPath(target.files[CONFIG].path).parent
        return Keep(Place(PlaceKind.DOTENV, f"{directory}/.env", name))
    return Keep(lines=target.context.get(_LINES, ""))


def noted(
    wish: Wish, entry: Sources | None, config: FileFact, versions: tuple[Version, ...]
) -> Mapping[str, str]:
    """What `keep` needs, as words of a target's context. `entry` is None where the file has
    no single entry of the router."""
    if entry is None:
        return {_LINES: f"under `{MAP}:` in {config.path}, {_AGAIN}:\n{stanza(wish)}"}
    if lines := _before(entry, versions):
        return {_LINES: lines}
    name = _variable(entry)
    if not name or not is_plain(entry, name):
        told = "the key itself, or a text made of several" if entry.api_key else "no variable"
        return {_LINES: (
            f"{entry.entry.told} in {config.path} holds {told}; in the place of its api_key, "
            f"{_AGAIN}:\n    key_env: {wish.credential}"
        )}
    return _unless_shadowed(entry, name)


def _unless_shadowed(entry: Sources, name: str) -> Mapping[str, str]:
    path = f"{managed_directory(entry.facts)}/.env"
    if entry.fact(Place(PlaceKind.DOTENV, path, name)).verdict is Verdict.ABSENT:
        return {_NAME: name}
    return {_LINES: (
        f"in the administrator's {path}, which beats every profile's .env (mode 0600, the "
        f"account must be able to read it):\n{name}=…"
    )}


def _before(entry: Sources, versions: tuple[Version, ...]) -> str:
    """What comes before the .env of this profile; "" for nothing."""
    if entry.entry.fields.get("key_cmd") and any(version.key_commands for version in versions):
        return (
            f"{entry.entry.told} runs a command for its key; in the place of its key_cmd, "
            f"{_AGAIN}:\n    key_env: {entry.wish.credential}"
        )
    for number, (place, inherited) in enumerate(pools(entry) if entry.pooled else (), 1):
        if entry.fact(place).verdict not in (Verdict.ABSENT, Verdict.EMPTY):
            return _pooled(entry, place, 0 if inherited else number)
    return ""


def _pooled(entry: Sources, place: Place, number: int) -> str:
    """How Hermes itself changes its pool: without the entry of this number, if it is the
    profile's own, and with a new one."""
    auth, pool = f"hermes -p {entry.home.name} auth", f"custom:{same_name(entry.entry.label)}"
    gone = f"{auth} remove {pool} {number}\n" if number else ""
    return (
        f"the pool in {place.where} comes before config.yaml; on the host, with the new key at "
        f"the prompt of the last:\n{gone}{auth} add {pool} --type api-key --label new"
    )


def _variable(entry: Sources) -> str:
    """The variable that decides, in Hermes' order: an `api_key` seeds the pool, where there
    is one; without a pool `key_env` comes first."""
    if entry.api_key and (entry.pooled or not entry.key_env):
        found = REFERENCE.fullmatch(entry.api_key)
        return found[1] if found else ""
    return entry.key_env
