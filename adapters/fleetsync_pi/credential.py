"""Would Pi, as it is started on this host, find its own router key?

Pi's order (measured on 0.73.1, 0.84.4 and 1.6.0): the provider's entry in auth.json,
then the provider's apiKey in models.json. `keys` says how either spells a key.
"""

from __future__ import annotations

from dataclasses import replace

from fleetsync.adapter import Credential, Look
from fleetsync.facts import Place, PlaceFact, Resolve, Verdict

from .keys import Written
from .sources import Sources, gives
from .versions import Version

_NO_ANSWER = (Verdict.UNREADABLE, Verdict.UNKNOWN)
_NO_KEY = (Verdict.EMPTY, Verdict.PLACEHOLDER, Verdict.MALFORMED)


def judge(sources: Sources, version: Version) -> Credential:
    """The gate for one installation. It says why it is closed and what to do."""
    found = _judged(sources, version)
    return _with_headers(sources, found) if found.opens and version.dollar_is_variable else found


def _with_headers(sources: Sources, found: Credential) -> Credential:
    """A header whose variable has no value keeps 1.6.0 from sending any request."""
    names = sorted(sources.headers - {name for name, _ in found.variables})
    origins = {name: sources.origin(name) for name in names}
    given = tuple((name, place) for name, place in origins.items() if place)
    warnings = tuple(
        f"a header of provider {sources.wish.provider} names "
        f"{sources.shown(name) or 'a variable'}, which has no value: Pi sends no request then"
        for name, place in origins.items() if place is None
    )
    return replace(
        found, variables=(*found.variables, *given), warnings=(*found.warnings, *warnings)
    )


def _judged(sources: Sources, version: Version) -> Credential:
    if sources.fact(sources.stored.entry).verdict is Verdict.ABSENT:
        absent = Look(sources.stored.key.told, PlaceFact(Verdict.ABSENT))
        return _api_key(sources, version, absent)
    found = _stored(sources, version)
    if sources.api_key is None:
        return found
    hidden = PlaceFact(Verdict.SHADOWED, detail="auth.json")
    return replace(found, trace=(*found.trace, Look(sources.where, hidden)))


# --- auth.json -------------------------------------------------------------------


def _stored(sources: Sources, version: Version) -> Credential:
    place = sources.stored.key
    auth, where = sources.fact(place), place.told
    entry = sources.fact(sources.stored.entry).verdict
    if entry not in _NO_ANSWER and not _is_key_entry(sources):
        return _unusable(sources)
    match auth.verdict:
        case Verdict.RESOLVES | Verdict.LOOSE if version.dollar_is_variable and _mixes(auth):
            return _mixed(where, auth)
        case Verdict.RESOLVES | Verdict.LOOSE:
            return _opened(Look(where, auth, opens=True), source=place)
        case Verdict.REFERENCE if version.dollar_is_variable:
            told = replace(auth, detail=sources.named(auth.detail))
            return _environment(sources, (auth.detail,), (Look(where, told),), where)
        case Verdict.REFERENCE:
            wrong = PlaceFact(Verdict.WRONG_SYNTAX, detail="sent as it stands")
            return _closed(
                (Look(where, wrong),),
                f"Pi {version.text} would send the text of {where} itself: it reads no $NAME there",
                "store the key itself in auth.json on the host",
            )
        case Verdict.COMMAND:
            return _command(sources, (Look(where, auth),), where, place)
    return _closed(
        (Look(where, auth),),
        f"{where} is {auth.verdict.value}, and it comes before apiKey in models.json",
        f"correct or remove the entry {sources.wish.provider} in auth.json on the host",
    )


def _is_key_entry(sources: Sources) -> bool:
    """Any other entry hides apiKey and gives no key (0.84.4 and 1.6.0 send no request;
    0.73.1 passes over some of them, which is not relied on)."""
    kind = sources.fact(sources.stored.kind)
    has_key = sources.fact(sources.stored.key).verdict is not Verdict.ABSENT
    return has_key and kind.detail == "api_key"


def _unusable(sources: Sources) -> Credential:
    where = sources.stored.entry.told
    return _closed(
        (Look(where, PlaceFact(Verdict.MALFORMED, detail="no API key entry")),),
        f'{where} is no entry {{"type": "api_key", "key": …}}, and it comes before apiKey in '
        "models.json",
        f"correct or remove the entry {sources.wish.provider} in auth.json on the host",
    )


def _mixes(fact: PlaceFact) -> bool:
    return "holds a $" in fact.detail


def _mixed(where: str, auth: PlaceFact) -> Credential:
    return _closed(
        (Look(where, PlaceFact(Verdict.INDETERMINATE, detail=auth.detail)),),
        f"{where} names a variable inside other text: whether that gives a key is indeterminate",
        "store the key itself in auth.json on the host; a $ that belongs to it is written $$",
    )


# --- models.json -----------------------------------------------------------------


def _api_key(sources: Sources, version: Version, auth: Look) -> Credential:
    found, where = sources.api_key, sources.where
    if not sources.readable:
        return _unread(auth, sources.models)
    if found is None:
        return _nowhere(sources, version, auth)
    if found.is_command:
        trace = (auth, Look(where, PlaceFact(Verdict.COMMAND)))
        return _command(sources, trace, where, found.place)
    if version.bare_is_variable and found.is_word:
        fact = PlaceFact(Verdict.REFERENCE, detail=sources.shown(found.text))
        return _bare(sources, version, (auth, Look(where, fact)), found)
    if found.names and version.dollar_is_variable:
        told = ", ".join(sources.named(name) for name in found.names)
        trace = (auth, Look(where, PlaceFact(Verdict.REFERENCE, detail=told)))
        alone = found.is_just(found.names[0])
        return _environment(sources, found.names, trace, where, alone=alone)
    return _literal(sources, version, auth, found)


def _nowhere(sources: Sources, version: Version, auth: Look) -> Credential:
    absent = Look(sources.where, PlaceFact(Verdict.ABSENT))
    return _closed(
        (auth, absent, *sources.looks((sources.wish.credential,))),
        f"Pi has no key for {sources.wish.provider}: neither auth.json nor models.json names one",
        _advice(sources, version),
    )


def _unread(auth: Look, models: str) -> Credential:
    return _closed(
        (auth, Look(f"{models} apiKey", PlaceFact(Verdict.UNREADABLE))),
        f"whether Pi has a key cannot be told: {models} cannot be read",
        "make models.json readable for Pi first",
    )


def _bare(
    sources: Sources, version: Version, trace: tuple[Look, ...], word: Written
) -> Credential:
    """A bare word before 0.79.4: the variable of that name, else the word itself."""
    found = _environment(sources, (word.text,), trace, sources.where)
    if found.opens or word.is_constant or word.text == sources.wish.credential:
        return found
    return _literal(sources, version, trace[0], word)


def _literal(sources: Sources, version: Version, auth: Look, found: Written) -> Credential:
    """A key in the file itself: our own look at its text first, then the host's."""
    host = PlaceFact(Verdict.UNKNOWN) if found.place is None else sources.fact(found.place)
    if found.names:
        verdict, why = Verdict.WRONG_SYNTAX, "it reads no $NAME: use the bare name"
    elif not found.text.strip():
        verdict, why = Verdict.EMPTY, "it is empty"
    elif found.is_constant or found.text == sources.wish.credential:
        verdict, why = Verdict.WRONG_SYNTAX, f"a bare name is sent as the key: write ${found.text}"
    elif found.is_placeholder:
        verdict, why = Verdict.PLACEHOLDER, "it is a placeholder"
    elif host.verdict in _NO_KEY:
        verdict, why = host.verdict, f"it is {host.verdict.value}"
    else:
        return _in_the_file(sources, version, auth, found, host)
    shown = tuple(name for name in found.variables if sources.shown(name))
    names = shown if verdict is Verdict.WRONG_SYNTAX else ()
    return _closed(
        (auth, Look(sources.where, PlaceFact(verdict)), *sources.looks(names)),
        f"{sources.where} gives Pi {version.text} no key: {why}",
        _advice(sources, version),
    )


def _in_the_file(
    sources: Sources, version: Version, auth: Look, found: Written, host: PlaceFact
) -> Credential:
    """The host itself can take it from there, unless Pi reads escapes in it."""
    note = f", {host.detail}" if "by others" in host.detail else ""
    fact = PlaceFact(Verdict.RESOLVES, detail=f"a key in the file itself{note}")
    as_it_is = gives(host) and not (version.dollar_is_variable and found.has_escapes)
    look = Look(sources.where, fact, opens=True)
    return _opened(auth, look, source=found.place if as_it_is else None)


# --- commands and variables ------------------------------------------------------


def _command(
    sources: Sources, trace: tuple[Look, ...], where: str, place: Place | None
) -> Credential:
    """A command is run where a Runner may ask; a preview runs nothing."""
    instead = "store the key itself in auth.json on the host, or name a variable"
    if place is None:
        return _closed(
            trace,
            f"{where} is a command (`!…`) whose spelling only Pi reads: it cannot be run to see "
            "whether it gives a key",
            instead,
        )
    command = Resolve(place)
    fact = sources.printed(command)
    if fact is None:
        return Credential(
            trace,
            f"{where} is a command (`!…`): whether it gives a key is indeterminate until it is "
            "run, which a preview does not do",
            f"run apply, verify or doctor, which run it; or {instead}",
            asks=frozenset({command}),
        )
    looks = (*trace, Look(f"what the command of {where} prints", fact, opens=gives(fact)))
    if gives(fact):
        return _opened(*looks, source=command)
    why = f" ({fact.detail})" if fact.detail else ""
    return _closed(
        looks, f"the command of {where} gives no key: {fact.verdict.value}{why}",
        f"correct the command on the host; or {instead}",
    )


def _environment(
    sources: Sources, names: tuple[str, ...], trace: tuple[Look, ...], where: str, *,
    alone: bool = True,
) -> Credential:
    """Do the variables have a value? `alone`: one of them is the key, and nothing is added."""
    looks = sources.looks(names)
    missing = [name for name in names if sources.origin(name) is None]
    if not missing:
        return _given(sources, names, (*trace, *looks), alone=alone)
    told = ", ".join(sources.named(name) for name in missing)
    silent = [look.fact.detail for look in looks if look.fact.verdict is Verdict.UNKNOWN]
    if silent:
        return _closed(
            (*trace, *looks),
            f"{where} names {told}: whether Pi would see a value cannot be told, because "
            f"{silent[0] or 'the host gave no answer'}",
            "let the account's start-up files come to an end, so that its shells can be asked",
        )
    return _closed(
        (*trace, *looks),
        f"{where} names {told}, which has no value where Pi would see it on this host",
        f"set {told} persistently for this account on the host (for example in ~/.profile, "
        "which login shells read), or store the key in auth.json there",
    )


def _given(
    sources: Sources, names: tuple[str, ...], trace: tuple[Look, ...], *, alone: bool
) -> Credential:
    variables = tuple((name, place) for name in names if (place := sources.origin(name)))
    found = _opened(*trace, source=variables[0][1] if alone else None)
    warnings = (*found.warnings, *sources.disagreeing(names))
    return replace(found, warnings=warnings, variables=variables)


# --- what is said ----------------------------------------------------------------


def _opened(*looks: Look, source: Place | Resolve | None) -> Credential:
    loose = tuple(
        f"{look.place} is readable by others" for look in looks
        if look.fact.verdict is Verdict.LOOSE or "readable by others" in look.fact.detail
    )
    return Credential(looks, warnings=loose, source=source)


def _closed(trace: tuple[Look, ...], cause: str, step: str) -> Credential:
    return Credential(trace, cause, step)


def _advice(sources: Sources, version: Version) -> str:
    name = sources.wish.credential
    spelled = f"${name}" if version.dollar_is_variable else name
    if version.needs_api_key:
        return f'on the host, write "apiKey": "{spelled}" into the provider and set {name} there'
    return (
        f"store this host's own key in auth.json there, or write "
        f'"apiKey": "{spelled}" into the provider and set {name} for the account'
    )
