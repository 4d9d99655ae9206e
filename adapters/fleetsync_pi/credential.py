"""Would Pi, as it is started on this host, find its own router key?

Pi's order (measured on 0.73.1, 0.84.4 and 1.6.0): the provider's entry in auth.json,
then the provider's apiKey in models.json. What a string there means depends on the
version: a variable's name, a template, a command, or the key itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from fleetsync.adapter import Credential, Look, Wish
from fleetsync.documents import MISSING, Document
from fleetsync.facts import Facts, Place, PlaceFact, PlaceKind, Verdict

from .versions import Version

_TEMPLATE = re.compile(r"\$(?:[$!]|\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))", re.ASCII)
_VARIABLE = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_CONSTANT = re.compile(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)+")
_PLACEHOLDER = re.compile(
    r"(?i)<.*>|x{3,}|\*{3,}|\.{3}|change[-_ ]?me|replace.*|your[-_ ].*"
    r"|none|null|todo|dummy|placeholder"
)
_USABLE = (Verdict.RESOLVES, Verdict.LOOSE)


@dataclass(frozen=True, slots=True)
class Stored:
    """The provider's entry in auth.json of one agent directory: `{"type": …, "key": …}`."""

    directory: str
    provider: str

    def _place(self, *keys: str) -> Place:
        names = "\x1f".join((self.provider, *keys))
        return Place(PlaceKind.JSON, f"{self.directory}/auth.json", names)

    @property
    def entry(self) -> Place:
        """The entry as a whole."""
        return self._place()

    @property
    def kind(self) -> Place:
        """What the entry says it is."""
        return self._place("type")

    @property
    def key(self) -> Place:
        """The key in it."""
        return self._place("key")

    @property
    def places(self) -> frozenset[Place]:
        """All that the host is asked about it."""
        return frozenset({self.entry, self.kind, self.key})


@dataclass(frozen=True, slots=True)
class Sources:
    """Where one host's Pi takes its key from: auth.json's place, and apiKey's string."""

    wish: Wish
    facts: Facts
    stored: Stored
    models: str
    api_key: str | None
    """None where models.json gives none (or could not be read)"""
    readable: bool = True
    """whether models.json could be read"""

    def fact(self, place: Place) -> PlaceFact:
        """The host's verdict on `place`."""
        answer = self.facts.answers.get(place)
        return answer if isinstance(answer, PlaceFact) else PlaceFact(Verdict.UNKNOWN)


def api_key(document: Document | None, provider: str) -> str | None:
    """The apiKey string of `provider` in models.json, None where it has none."""
    value = MISSING if document is None else document.value(("providers", provider, "apiKey"))
    return value if isinstance(value, str) else None


def variables(text: str | None) -> frozenset[str]:
    """Every variable that `text` can name in any version of Pi."""
    if text is None or text.startswith("!"):
        return frozenset()
    names = {name for name in _names(text) if name}
    return frozenset(names | ({text} if _VARIABLE.fullmatch(text) else set()))


def _names(text: str) -> Iterator[str]:
    return (found[1] or found[2] or "" for found in _TEMPLATE.finditer(text))


def environment(wish: Wish, names: frozenset[str]) -> frozenset[Place]:
    """The places where the client's environment could hold `names`."""
    kinds = [PlaceKind.SESSION, PlaceKind.LOGIN]
    if wish.policy.credential_scope == "interactive":
        kinds.append(PlaceKind.INTERACTIVE)
    return frozenset(Place(kind, "", name) for kind in kinds for name in names)


def judge(sources: Sources, version: Version) -> Credential:
    """The gate for one installation. It says why it is closed and what to do."""
    auth, where = sources.fact(sources.stored.key), sources.stored.key.told
    entry = sources.fact(sources.stored.entry).verdict
    if entry is Verdict.ABSENT:
        return _api_key(sources, version, Look(where, PlaceFact(Verdict.ABSENT)))
    if entry not in _NO_ANSWER and not _is_key_entry(sources):
        return _unusable(sources)
    match auth.verdict:
        case Verdict.RESOLVES | Verdict.LOOSE if version.dollar_is_variable and _mixes(auth):
            return _mixed(where, auth)
        case Verdict.RESOLVES | Verdict.LOOSE:
            return _opened(Look(where, auth, opens=True))
        case Verdict.REFERENCE if version.dollar_is_variable:
            return _environment(sources, (auth.detail,), (Look(where, auth),), where)
        case Verdict.REFERENCE:
            wrong = PlaceFact(Verdict.WRONG_SYNTAX, detail="sent as it stands")
            return _closed(
                (Look(where, wrong),),
                f"Pi {version.text} would send the text of {where} itself: it reads no $NAME there",
                "store the key itself in auth.json on the host",
            )
        case Verdict.COMMAND:
            return _command((Look(where, auth),), where)
    return _closed(
        (Look(where, auth),),
        f"{where} is {auth.verdict.value}, and it comes before apiKey in models.json",
        f"correct or remove the entry {sources.wish.provider} in auth.json on the host",
    )


_NO_ANSWER = (Verdict.UNREADABLE, Verdict.UNKNOWN)


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


def _opened(*looks: Look) -> Credential:
    loose = tuple(
        f"{look.place} is readable by others" for look in looks
        if look.fact.verdict is Verdict.LOOSE or "readable by others" in look.fact.detail
    )
    return Credential(looks, warnings=loose)


def _closed(trace: tuple[Look, ...], cause: str, step: str) -> Credential:
    return Credential(trace, cause, step)


def _command(trace: tuple[Look, ...], where: str) -> Credential:
    return _closed(
        trace,
        f"{where} is a command (`!…`): whether it gives a key is indeterminate, and this "
        "version of fleetsync does not run it",
        "store the key itself in auth.json on the host, or name a variable",
    )


def _api_key(sources: Sources, version: Version, auth: Look) -> Credential:
    text, where = sources.api_key, f"{sources.models} apiKey"
    if not sources.readable:
        return _unread(auth, sources.models)
    if text is None:
        absent = Look(where, PlaceFact(Verdict.ABSENT))
        step = _advice(sources, version)
        environment_looks = _looks(sources, (sources.wish.credential,))
        return _closed(
            (auth, absent, *environment_looks),
            f"Pi has no key for {sources.wish.provider}: neither auth.json nor models.json "
            "names one",
            step,
        )
    if text.startswith("!"):
        return _command((auth, Look(where, PlaceFact(Verdict.COMMAND))), where)
    if version.bare_is_variable and _VARIABLE.fullmatch(text):
        fact = PlaceFact(Verdict.REFERENCE, detail=_shown(text, sources))
        return _bare(sources, version, (auth, Look(where, fact)), where)
    names = tuple(name for name in _names(text) if name)
    if names and version.dollar_is_variable:
        told = ", ".join(_named(name, sources) for name in names)
        fact = PlaceFact(Verdict.REFERENCE, detail=told)
        return _environment(sources, names, (auth, Look(where, fact)), where)
    return _literal(sources, version, auth, where, dollar=bool(names))


def _unread(auth: Look, models: str) -> Credential:
    return _closed(
        (auth, Look(f"{models} apiKey", PlaceFact(Verdict.UNREADABLE))),
        f"whether Pi has a key cannot be told: {models} cannot be read",
        "make models.json readable for Pi first",
    )


def _bare(
    sources: Sources, version: Version, trace: tuple[Look, ...], where: str
) -> Credential:
    """A bare word before 0.79.4: the variable of that name, else the word itself."""
    name = sources.api_key or ""
    found = _environment(sources, (name,), trace, where)
    if found.opens or _CONSTANT.fullmatch(name) or name == sources.wish.credential:
        return found
    return _literal(sources, version, trace[0], where, dollar=False)


def _shown(text: str, sources: Sources) -> str:
    """A bare word is shown only if it looks like a variable's name: it may be the key."""
    return text if _CONSTANT.fullmatch(text) or text == sources.wish.credential else ""


def _literal(
    sources: Sources, version: Version, auth: Look, where: str, *, dollar: bool
) -> Credential:
    text = sources.api_key or ""
    if dollar:
        verdict, why = Verdict.WRONG_SYNTAX, "it reads no $NAME: use the bare name"
    elif not text.strip():
        verdict, why = Verdict.EMPTY, "it is empty"
    elif _CONSTANT.fullmatch(text) or text == sources.wish.credential:
        verdict, why = Verdict.WRONG_SYNTAX, f"a bare name is sent as the key: write ${text}"
    elif _PLACEHOLDER.fullmatch(text.strip()):
        verdict, why = Verdict.PLACEHOLDER, "it is a placeholder"
    else:
        literal = PlaceFact(Verdict.RESOLVES, detail="a key in the file itself")
        return _opened(auth, Look(where, literal, opens=True))
    names = tuple(name for name in variables(text) if _shown(name, sources))
    names = names if verdict is Verdict.WRONG_SYNTAX else ()
    return _closed(
        (auth, Look(where, PlaceFact(verdict)), *_looks(sources, names)),
        f"{where} gives Pi {version.text} no key: {why}",
        _advice(sources, version),
    )


def _environment(
    sources: Sources, names: tuple[str, ...], trace: tuple[Look, ...], where: str
) -> Credential:
    looks = _looks(sources, names)
    missing = [name for name in names if not _seen(sources, name)]
    if not missing:
        return _opened(*trace, *looks)
    told = ", ".join(_named(name, sources) for name in missing)
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


def _seen(sources: Sources, name: str) -> bool:
    places = environment(sources.wish, frozenset({name}))
    return any(sources.fact(place).verdict in _USABLE for place in places)


def _looks(sources: Sources, names: tuple[str, ...]) -> tuple[Look, ...]:
    places = (
        place
        for name in names
        for place in sorted(environment(sources.wish, frozenset({name})), key=_by_kind)
    )
    facts = ((place, sources.fact(place)) for place in places)
    return tuple(
        Look(_told(place, sources), fact, opens=fact.verdict in _USABLE) for place, fact in facts
    )


def _told(place: Place, sources: Sources) -> str:
    return replace(place, name=_named(place.name, sources)).told


def _named(name: str, sources: Sources) -> str:
    """A variable's name may be a key, or a piece of one, behind a `$`: it is shown if it
    looks like a variable's name, or if the whole template is one that has a value."""
    text = sources.api_key or ""
    whole = text in (f"${name}", f"${{{name}}}") and _seen(sources, name)
    shown = name not in text or whole
    return name if shown or _shown(name, sources) else "a variable"


def _by_kind(place: Place) -> int:
    return list(PlaceKind).index(place.kind)


def _advice(sources: Sources, version: Version) -> str:
    name = sources.wish.credential
    spelled = f"${name}" if version.dollar_is_variable else name
    if version.needs_api_key:
        return f'on the host, write "apiKey": "{spelled}" into the provider and set {name} there'
    return (
        f"store this host's own key in auth.json there, or write "
        f'"apiKey": "{spelled}" into the provider and set {name} for the account'
    )
