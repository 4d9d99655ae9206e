"""Where OpenClaw keeps a key of its own, so that a new one can be put there.

What apiKey says stays as it is: a new key goes into the file that its SecretRef names, or
into the state directory's `.env` under the variable that it names. Where that would have
no effect, the operator is told what to change on the host.
"""

from __future__ import annotations

from collections.abc import Mapping

from fleetsync.adapter import Keep, Target
from fleetsync.facts import Place, PlaceKind

from . import apikey, environment
from .config import Config, at, complete
from .environment import Sources
from .router import provider_keys

_STATE, _BEFORE = "state", "before"
"""In a target's context: the state directory, and what comes before its `.env`."""
_AGAIN = "then set the key again"


def noted(sources: Sources) -> Mapping[str, str]:
    """What `keep` needs, as words of a target's context."""
    names = apikey.variables(sources.api_key)
    before = environment.before_dotenv(sources, names[0]) if len(names) == 1 else ""
    return {_STATE: sources.site.state, _BEFORE: before}


def keep(target: Target) -> Keep:
    """Where a new key goes."""
    config = complete(Config.of(target.files))
    key = at(config, *provider_keys(target.wish), "apiKey")
    if place := apikey.file(config, key):
        return Keep(place)
    names = apikey.variables(key)
    if len(names) != 1 or not apikey.is_just(key, names[0]):
        return Keep(lines=_stanza(target, key))
    name, state, before = names[0], target.context[_STATE], target.context[_BEFORE]
    if before:
        return Keep(lines=f"{before}, which comes before {state}/.env: put the new key there")
    return Keep(Place(PlaceKind.DOTENV, f"{state}/.env", name))


def _stanza(target: Target, key: object) -> str:
    """The one line that makes a place for a key of its own."""
    name, where = target.wish.credential, ".".join(provider_keys(target.wish))
    return (
        f"{where} of openclaw.json {_holds(key)}; on the host, make its apiKey this, {_AGAIN}:\n"
        f'"apiKey": "${{{name}}}"'
    )


def _holds(key: object) -> str:
    match at(key, "source"), key:
        case "exec", _:
            return "takes its key from a command"
        case "store", _:
            return "takes its key from OpenClaw's own secret store"
        case _, "" | None:
            return "has no apiKey of its own"
        case _, str() if apikey.variables(key):
            return "makes its key up of several texts"
        case _, str():
            return "holds the key itself, a bare name or an auth profile's name"
    return "has an apiKey that cannot be followed"
