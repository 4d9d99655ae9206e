"""Would Hermes, as it is started on this host, find a profile's router key?

Where it looks stands in `sources`. Where nothing is found it sends the text
`no-key-required` (0.19.0 and 0.18.2).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from fleetsync.adapter import Credential, Look
from fleetsync.facts import Place, PlaceFact, Verdict

from .homes import DEFAULT
from .sources import REFERENCE, Sources, is_inherited, is_plain, pools, resolved, vendor
from .versions import Version

_PLACEHOLDER = re.compile(
    r"(?i)<.*>|x{3,}|\*{1,}|\.{3}|change[-_ ]?me|replace.*|your[-_ ].*"
    r"|none|null|todo|dummy|example|placeholder|no-key-required"
)
_INHERITED = "the default profile's, which this profile inherits"


def judge(sources: Sources, version: Version) -> Credential:
    """The gate for one installation. It says why it is closed and what to do."""
    if version.key_commands and sources.entry.fields.get("key_cmd"):
        return _command(sources)
    looks: list[Look] = []
    if sources.pooled:
        for place, inherited in pools(sources):
            look = sources.look(place)
            looks.append(_inherited(look) if inherited else look)
            if look.opens:
                return _opened(looks, place)
            if look.fact.verdict not in (Verdict.ABSENT, Verdict.EMPTY):
                return _unfit_pool(sources, looks)
        if sources.api_key:
            return _text(sources, looks)
    return _variables(sources, looks)


def _inherited(look: Look) -> Look:
    """A pool's place with whose it is."""
    if look.fact.verdict is Verdict.ABSENT:
        return look
    return replace(look, fact=_noted(look.fact, _INHERITED))


def _noted(fact: PlaceFact, words: str) -> PlaceFact:
    return replace(fact, detail=", ".join(filter(None, (fact.detail, words))))


def _unfit_pool(sources: Sources, looks: list[Look]) -> Credential:
    last = looks[-1]
    return _closed(
        looks,
        f"{last.place} is {last.fact.verdict.value}, and it comes before config.yaml",
        f"correct it on the host: hermes -p {sources.home.name} auth list",
    )


def _command(sources: Sources) -> Credential:
    where = f"{sources.home.config.pattern} {sources.entry.told} key_cmd"
    return _closed(
        [Look(where, PlaceFact(Verdict.COMMAND))],
        f"{where} is a command: whether it gives a key is indeterminate, and this version of "
        "fleetsync does not run it",
        f"name a variable with key_env, and set it in {sources.home.directory}/.env",
    )


def _text(sources: Sources, looks: list[Look]) -> Credential:
    """What an `api_key` in config.yaml comes to: it is sent, whatever it is."""
    text, where = sources.api_key, f"{sources.home.config.pattern} {sources.entry.told} api_key"
    if names := REFERENCE.findall(text):
        looks.append(Look(where, PlaceFact(Verdict.REFERENCE, detail=_shown(sources, names))))
        return _references(sources, names, where, looks)
    if text.startswith("$"):
        verdict, why = Verdict.WRONG_SYNTAX, "Hermes reads no $NAME there, only ${NAME}"
    elif _PLACEHOLDER.fullmatch(text):
        verdict, why = Verdict.PLACEHOLDER, "it is a placeholder"
    else:
        looks.append(Look(where, _literal(sources), opens=True))
        return _opened(looks, sources.literal)
    looks.append(Look(where, PlaceFact(verdict)))
    return _closed(looks, f"{where} gives no key: {why}, and it is sent", _advice(sources))


def _literal(sources: Sources) -> PlaceFact:
    """A key in the file resolves, whatever it looks like; the host tells who else reads it."""
    told = PlaceFact(Verdict.RESOLVES)
    if sources.literal is not None and sources.literal in sources.facts.answers:
        told = sources.fact(sources.literal)
    fact = PlaceFact(Verdict.RESOLVES, told.fingerprint, told.detail)
    return _noted(fact, "a key in the file itself")


def _references(
    sources: Sources, names: list[str], where: str, looks: list[Look]
) -> Credential:
    """What `${NAME}` comes to; several, or one inside a text, make a composed key."""
    found = {name: resolved(sources, name, looks) for name in dict.fromkeys(names)}
    missing = [name for name, place in found.items() if place is None]
    if missing:
        return _closed(
            looks,
            f"{where} names {_shown(sources, missing)}, which has no value for this profile: "
            "Hermes sends the name itself",
            _set(sources, missing[0]),
        )
    alone = REFERENCE.fullmatch(sources.api_key) is not None
    return _opened(looks, found[names[0]] if alone else None, found)


def _variables(sources: Sources, looks: list[Look]) -> Credential:
    """key_env, then an `api_key` without a pool, then the variable named after the host."""
    where = f"{sources.home.config.pattern} {sources.entry.told}"
    if sources.key_env:
        fact = PlaceFact(Verdict.REFERENCE, detail=_shown(sources, [sources.key_env]))
        looks.append(Look(f"{where} key_env", fact))
        if place := resolved(sources, sources.key_env, looks):
            return _opened(looks, place, {sources.key_env: place})
    else:
        looks.append(Look(f"{where} key_env", _misspelled(sources)))
    if sources.api_key:
        return _text(sources, looks)
    derived = vendor(sources.wish.base_url)
    if derived and derived != sources.key_env:
        if place := resolved(sources, derived, looks):
            return _opened(looks, place, {derived: place})
    if not sources.key_env and derived != sources.wish.credential:
        resolved(sources, sources.wish.credential, looks)
    return _nothing(sources, _unopened(looks))


def _shown(sources: Sources, names: list[str]) -> str:
    """Variables' names; what is not spelled like one may be the key itself."""
    fit = all(is_plain(sources, name) for name in names)
    return ", ".join(names) if fit else "what is not spelled like a variable"


def _misspelled(sources: Sources) -> PlaceFact:
    """A key that looks right and is not read (0.19.0: keyEnv and api_key_env in `providers`)."""
    for key in ("keyEnv", "apiKeyEnv", "api_key_env"):
        if sources.entry.fields.get(key):
            return PlaceFact(Verdict.WRONG_SYNTAX, detail=f"{key} is not read here")
    return PlaceFact(Verdict.ABSENT)


def _unopened(looks: list[Look]) -> list[Look]:
    """Places that were only looked at to explain open nothing."""
    return [Look(look.place, look.fact) for look in looks]


def _nothing(sources: Sources, looks: list[Look]) -> Credential:
    home, name = sources.home, sources.key_env
    wrong = _misspelled(sources)
    if name:
        cause = f"key_env names {_shown(sources, [name])}, which has no value for this profile"
        step = _set(sources, name)
    elif wrong.verdict is Verdict.WRONG_SYNTAX:
        cause, step = f"{wrong.detail}: Hermes reads key_env", _advice(sources)
    else:
        cause, step = f"{sources.entry.told} names no key", _advice(sources)
    alone = "" if home.name == DEFAULT else " (a profile does not read the default profile's .env)"
    return _closed(looks, f"Hermes would send `no-key-required`: {cause}{alone}", step)


def _set(sources: Sources, name: str) -> str:
    if not is_plain(sources, name):
        return _advice(sources)
    return (
        f"on the host, put {name}=… into {sources.home.directory}/.env (mode 0600), or set it "
        "persistently for the account"
    )


def _advice(sources: Sources) -> str:
    name = sources.wish.credential
    return (
        f"on the host, write `key_env: {name}` into {sources.entry.told} and put {name}=… into "
        f"{sources.home.directory}/.env (mode 0600)"
    )


def _opened(
    looks: list[Look],
    source: Place | None,
    variables: Mapping[str, Place | None] = MappingProxyType({}),
) -> Credential:
    """An open gate. Of the variables that it takes those are given which Hermes does not
    read from a file by itself."""
    loose = tuple(
        f"{look.place} is readable by others" for look in looks
        if look.opens
        and (look.fact.verdict is Verdict.LOOSE or "readable by others" in look.fact.detail)
    )
    given = tuple((n, p) for n, p in variables.items() if p is not None and is_inherited(p))
    return Credential(tuple(looks), warnings=loose, source=source, variables=given)


def _closed(looks: list[Look], cause: str, step: str) -> Credential:
    return Credential(tuple(_unopened(looks)), cause, step)
