"""Would OpenClaw, as it is started on this host, find its own router key?

Measured on 2026.9.6. The provider's apiKey is a key, or names a variable (`${NAME}`, or
`$NAME` alone), or is a SecretRef; an auth profile in OpenClaw's own database comes first
where the configuration lists one. A bare NAME is sent as it stands; so is `${NAME}` where
the variable is missing or empty.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from fleetsync.adapter import Credential, Look
from fleetsync.facts import Place, PlaceFact, PlaceKind, Verdict

from .config import at
from .environment import PLACEHOLDER, Sources, judged_on_host, looks, running, unit_place
from .router import is_loopback, provider_keys

_TEMPLATE = re.compile(r"\$?\$\{([A-Z_][A-Z0-9_]*)\}", re.ASCII)
_WHOLE = re.compile(r"\$([A-Z_][A-Z0-9_]*)", re.ASCII)
_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*", re.ASCII)
_CONSTANT = re.compile(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)+", re.ASCII)


def places(sources: Sources) -> frozenset[Place]:
    """All that the host must judge for this gate."""
    names = variables(sources.api_key) | {sources.wish.credential}
    found = {place for name in names for place in judged_on_host(sources, name)}
    stored = _file(sources)
    return frozenset(found | ({stored} if stored else set()))


def variables(key: object) -> frozenset[str]:
    """The variables that an apiKey names."""
    if isinstance(key, str):
        return frozenset(_names(key))
    name = at(key, "id") if at(key, "source") == "env" else None
    return frozenset({name} if isinstance(name, str) and _VARIABLE.fullmatch(name) else ())


def _names(text: str) -> Iterator[str]:
    if whole := _WHOLE.fullmatch(text):
        yield whole[1]
    for found in _TEMPLATE.finditer(text):
        if not found[0].startswith("$$"):
            yield found[1]


def judge(sources: Sources) -> Credential:
    """The gate. It says why it is closed and what to do."""
    profiles, key = tuple(_profiles(sources)), sources.api_key
    if key is None or key == "" or (isinstance(key, str) and key in profiles):
        return _keyless(sources, profiles)
    gate = _text(sources, key) if isinstance(key, str) else _reference(sources, key)
    if not profiles or not gate.opens:
        return gate
    first = f"auth profile {profiles[0]} in OpenClaw's database may come first: it was not judged"
    return Credential((*_unknown(profiles), *gate.trace), warnings=(first, *gate.warnings))


def _profiles(sources: Sources) -> Iterator[str]:
    """The auth profiles that the configuration lists for the router."""
    listed = at(sources.config, "auth", "profiles")
    for name, row in listed.items() if isinstance(listed, dict) else ():
        if at(row, "provider") == sources.wish.provider:
            yield str(name)


def _unknown(profiles: tuple[str, ...]) -> tuple[Look, ...]:
    return tuple(
        Look(f"auth profile {name} in OpenClaw's database", PlaceFact(Verdict.UNKNOWN))
        for name in profiles
    )


def _keyless(sources: Sources, profiles: tuple[str, ...]) -> Credential:
    verdict = Verdict.EMPTY if sources.api_key == "" else Verdict.ABSENT
    trace = (*_unknown(profiles), Look(sources.where, PlaceFact(verdict)))
    if profiles:
        return Credential(
            trace,
            f"the key is in auth profile {profiles[0]} of OpenClaw's own database, which "
            "fleetsync does not read: whether it is there is unknown",
            _advice(sources),
        )
    url = at(sources.config, *provider_keys(sources.wish), "baseUrl")
    sent = "it would send no key at all" if is_loopback(url) else "it finds none"
    return Credential(
        (*trace, *_beside(sources, sources.wish.credential)),
        f"provider {sources.wish.provider} has no apiKey: {sent}",
        _advice(sources),
    )


def _text(sources: Sources, text: str) -> Credential:
    names = tuple(dict.fromkeys(_names(text)))
    if names:
        fact = PlaceFact(Verdict.REFERENCE, detail=", ".join(names))
        return _named(sources, names, Look(sources.where, fact))
    if not text.strip():
        verdict, why = Verdict.EMPTY, "it is empty"
    elif _CONSTANT.fullmatch(text) or text == sources.wish.credential:
        verdict, why = Verdict.WRONG_SYNTAX, f"a bare name is sent as the key: write ${{{text}}}"
    elif PLACEHOLDER.fullmatch(text.strip()):
        verdict, why = Verdict.PLACEHOLDER, "it is a placeholder, and sent as it stands"
    else:
        literal = PlaceFact(Verdict.RESOLVES, detail="a key in the file itself")
        return Credential((Look(sources.where, literal, opens=True),))
    bare = text if verdict is Verdict.WRONG_SYNTAX else sources.wish.credential
    return Credential(
        (Look(sources.where, PlaceFact(verdict)), *_beside(sources, bare)),
        f"{sources.where} gives OpenClaw no key: {why}",
        _advice(sources),
    )


def _named(sources: Sources, names: tuple[str, ...], first: Look) -> Credential:
    """The gate where apiKey names variables: each must have a value."""
    found = {name: looks(sources, name) for name in names}
    missing = [name for name, each in found.items() if not any(look.opens for look in each)]
    trace = (first, *(look for each in found.values() for look in each))
    if missing:
        return Credential(
            trace,
            f"{sources.where} names {', '.join(missing)}, which has no value where {_who(sources)} "
            "would see it: OpenClaw would send the text itself as the key",
            _where_to(sources, missing[0]),
        )
    return Credential(trace, warnings=tuple(_warnings(sources, found)))


def _who(sources: Sources) -> str:
    units = sources.site.units
    return f"the gateway ({units[0].name})" if units else "OpenClaw"


def _where_to(sources: Sources, name: str) -> str:
    return (
        f"write {name}=… into {sources.site.state}/.env on the host (mode 0600): OpenClaw reads "
        "that file however it is started"
    )


def _warnings(sources: Sources, found: dict[str, tuple[Look, ...]]) -> Iterator[str]:
    for name, each in found.items():
        for look in each:
            if look.opens and look.fact.verdict is Verdict.LOOSE:
                yield f"{look.place} is readable by others"
            if look.opens and sources.site.units and look.place == unit_place(sources, name):
                yield (
                    f"{name} is set for the gateway's unit only: `openclaw` in a shell there "
                    "does not see it"
                )
            if look.opens and look.place == running(name).told:
                yield f"{name} is known to the running gateway, and stands nowhere that lasts"


def _reference(sources: Sources, key: object) -> Credential:
    """The gate where apiKey is a SecretRef."""
    source, names = at(key, "source"), tuple(variables(key))
    told = Look(sources.where, PlaceFact(Verdict.REFERENCE, detail=f"SecretRef {source}"))
    if names:
        return _named(sources, names, told)
    if source == "file":
        return _stored(sources, told)
    if source == "exec":
        return Credential(
            (Look(sources.where, PlaceFact(Verdict.COMMAND)),),
            f"{sources.where} is a SecretRef that runs a command: whether it gives a key is "
            "indeterminate, and this version of fleetsync does not run it",
            _advice(sources),
        )
    return Credential(
        (told, Look("OpenClaw's secret store", PlaceFact(Verdict.UNKNOWN))),
        f"{sources.where} leads to OpenClaw's own database, which fleetsync does not read: "
        "whether the key is there is unknown",
        _advice(sources),
    )


def _file(sources: Sources) -> Place | None:
    """The file, or the string in a JSON file, that a SecretRef names."""
    key = sources.api_key
    provider, name = at(key, "provider"), at(key, "id")
    table = at(sources.config, "secrets", "providers", str(provider))
    path = at(table, "path")
    if at(key, "source") != "file" or not isinstance(path, str) or not isinstance(name, str):
        return None
    if at(table, "mode") == "singleValue":
        return Place(PlaceKind.FILE, path, "")
    steps = (part.replace("~1", "/").replace("~0", "~") for part in name.split("/")[1:])
    return Place(PlaceKind.JSON, path, "\x1f".join(steps))


def _stored(sources: Sources, told: Look) -> Credential:
    place = _file(sources)
    if place is None:
        return Credential(
            (told,),
            f"{sources.where} is a SecretRef to a file that secrets.providers does not name",
            "name that file in secrets.providers of openclaw.json on the host",
        )
    fact = sources.fact(place)
    look = Look(place.told, fact, opens=fact.verdict is Verdict.RESOLVES)
    if look.opens:
        return Credential((told, look))
    loose = fact.verdict is Verdict.LOOSE
    why = ", and OpenClaw reads no secret from such a file" if loose else ""
    return Credential(
        (told, look),
        f"{place.told} is {fact.verdict.value}{why}",
        f"chmod 600 {place.where}" if loose else f"put the key into {place.where} (mode 0600)",
    )


def _beside(sources: Sources, name: str) -> Iterator[Look]:
    """The places of a variable that apiKey does not name: they explain, they open nothing."""
    return (Look(look.place, look.fact) for look in looks(sources, name))


def _advice(sources: Sources) -> str:
    name = sources.wish.credential
    return (
        f'on the host, write apiKey: "${{{name}}}" into the provider and {name}=… into '
        f"{sources.site.state}/.env (mode 0600)"
    )
