"""Would OpenClaw, as it is started on this host, find its own router key?

Measured on 2026.9.6. The provider's apiKey is a key, or names a variable (`${NAME}`, or
`$NAME` alone), or is a SecretRef; an auth profile in OpenClaw's own database comes first
where the configuration lists one. A bare NAME is sent as it stands; so is `${NAME}` where
the variable is missing or empty.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from fleetsync.adapter import Credential, Look
from fleetsync.facts import Place, PlaceFact, Verdict

from . import apikey, audit, spans
from .config import at
from .environment import (
    PLACEHOLDER,
    Sources,
    Stand,
    judged_on_host,
    looks,
    opening,
    running,
    unit_place,
)
from .router import is_loopback, provider_keys


def places(sources: Sources) -> frozenset[Place]:
    """All that the host must judge for this gate."""
    names = {*apikey.variables(sources.api_key), sources.wish.credential}
    found = {place for name in names for place in judged_on_host(sources, name)}
    file = apikey.file(sources.config, sources.api_key)
    return frozenset(found | ({file} if file else set()))


def judge(sources: Sources) -> Credential:
    """The gate. It says why it is closed and what to do."""
    profiles, key = tuple(_profiles(sources)), sources.api_key
    if key is None or key == "" or (isinstance(key, str) and key in profiles):
        return _keyless(sources, profiles)
    gate = _text(sources, key) if isinstance(key, str) else _reference(sources, key)
    if not profiles or not gate.opens:
        return gate
    first = f"auth profile {profiles[0]} in OpenClaw's database may come first: it was not judged"
    trace = (*_unknown(profiles), *gate.trace)
    return replace(gate, trace=trace, warnings=(first, *gate.warnings), source=None)


def in_database(sources: Sources) -> bool:
    """Whether OpenClaw's own database may hold the key."""
    return at(sources.api_key, "source") == "store" or any(_profiles(sources))


def _profiles(sources: Sources) -> Iterator[str]:
    """The auth profiles that the configuration lists for the router."""
    listed = at(sources.config, "auth", "profiles")
    for name, row in listed.items() if isinstance(listed, dict) else ():
        if at(row, "provider") == sources.wish.provider:
            yield str(name)


def _unknown(profiles: tuple[str, ...]) -> tuple[Look, ...]:
    return tuple(Look(audit.profile_place(name), PlaceFact(Verdict.UNKNOWN)) for name in profiles)


def _keyless(sources: Sources, profiles: tuple[str, ...]) -> Credential:
    if profiles:
        return audit.of_profile(sources, profiles[0])
    verdict = Verdict.EMPTY if sources.api_key == "" else Verdict.ABSENT
    trace = (Look(sources.where, PlaceFact(verdict)),)
    url = at(sources.config, *provider_keys(sources.wish), "baseUrl")
    sent = "it would send no key at all" if is_loopback(url) else "it finds none"
    return Credential(
        (*trace, *_beside(sources, sources.wish.credential)),
        f"provider {sources.wish.provider} has no apiKey: {sent}",
        sources.advice,
    )


def _text(sources: Sources, text: str) -> Credential:
    names = apikey.variables(text)
    if names:
        fact = PlaceFact(Verdict.REFERENCE, detail=", ".join(names))
        return _named(sources, names, Look(sources.where, fact))
    if not text.strip():
        verdict, why = Verdict.EMPTY, "it is empty"
    elif apikey.is_constant(text) or text == sources.wish.credential:
        verdict, why = Verdict.WRONG_SYNTAX, f"a bare name is sent as the key: write ${{{text}}}"
    elif PLACEHOLDER.fullmatch(text.strip()):
        verdict, why = Verdict.PLACEHOLDER, "it is a placeholder, and sent as it stands"
    else:
        literal = PlaceFact(Verdict.RESOLVES, detail="a key in the file itself")
        written = spans.of_value(sources.files, *provider_keys(sources.wish), "apiKey")
        source = None if apikey.has_escapes(text) else written
        return Credential((Look(sources.where, literal, opens=True),), source=source)
    bare = text if verdict is Verdict.WRONG_SYNTAX else sources.wish.credential
    return Credential(
        (Look(sources.where, PlaceFact(verdict)), *_beside(sources, bare)),
        f"{sources.where} gives OpenClaw no key: {why}",
        sources.advice,
    )


def _named(sources: Sources, names: tuple[str, ...], first: Look) -> Credential:
    """The gate where apiKey names variables: each must have a value."""
    found = {name: looks(sources, name) for name in names}
    opened = {name: opening(sources, name) for name in names}
    missing = [name for name, stand in opened.items() if stand is None]
    trace = (first, *(look for each in found.values() for look in each))
    if missing:
        return Credential(
            trace,
            f"{sources.where} names {', '.join(missing)}, which has no value where {_who(sources)} "
            "would see it: OpenClaw would send the text itself as the key",
            _where_to(sources, missing[0]),
        )
    variables = {name: stand.place for name, stand in opened.items() if stand and stand.place}
    return Credential(
        trace,
        warnings=tuple(_warnings(sources, opened)),
        source=variables.get(names[0]) if apikey.is_just(sources.api_key, names[0]) else None,
        variables=tuple(variables.items()),
    )


def _who(sources: Sources) -> str:
    units = sources.site.units
    return f"the gateway ({units[0].name})" if units else "OpenClaw"


def _where_to(sources: Sources, name: str) -> str:
    return (
        f"write {name}=… into {sources.site.state}/.env on the host (mode 0600): OpenClaw reads "
        "that file however it is started"
    )


def _warnings(sources: Sources, opened: dict[str, Stand | None]) -> Iterator[str]:
    for name, stand in opened.items():
        if stand is None:
            continue
        if stand.fact.verdict is Verdict.LOOSE:
            yield f"{stand.told} is readable by others"
        if sources.site.units and stand.told == unit_place(sources, name):
            yield (
                f"{name} is set for the gateway's unit only: `openclaw` in a shell there "
                "does not see it"
            )
        if stand.told == running(name).told:
            yield f"{name} is known to the running gateway, and stands nowhere that lasts"


def _reference(sources: Sources, key: object) -> Credential:
    """The gate where apiKey is a SecretRef."""
    source, names = at(key, "source"), apikey.variables(key)
    told = Look(sources.where, PlaceFact(Verdict.REFERENCE, detail=f"SecretRef {source}"))
    if names:
        return _named(sources, names, told)
    if source == "file":
        return _stored(sources, told)
    return audit.of_reference(sources, str(source))


def _stored(sources: Sources, told: Look) -> Credential:
    place = apikey.file(sources.config, sources.api_key)
    if place is None:
        return Credential(
            (told,),
            f"{sources.where} is a SecretRef to a file that secrets.providers does not name",
            "name that file in secrets.providers of openclaw.json on the host",
        )
    fact = sources.fact(place)
    look = Look(place.told, fact, opens=fact.verdict is Verdict.RESOLVES)
    if look.opens:
        return Credential((told, look), source=place)
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
