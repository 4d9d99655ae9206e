"""Would Hermes, as it is started on this host, find a profile's router key?

Its order for a provider of one's own (measured on 0.19.0 and 0.18.2): the credential pool
in auth.json, which an `api_key` in config.yaml seeds; the variable that `key_env` names; a
variable named after the address. A profile's .env beats the process's environment, an
administrator's beats both. Where nothing is found the text `no-key-required` is sent.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import urlsplit

from fleetsync.adapter import Credential, Look, Wish
from fleetsync.documents import Document, Kind
from fleetsync.facts import Facts, Place, PlaceFact, PlaceKind, Verdict

from .entry import LIST, Entry, same_name
from .homes import DEFAULT, Home, managed_directory, root
from .versions import Version

_REFERENCE = re.compile(r"\$\{([^}]+)\}")
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_CONSTANT = re.compile(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)+", re.ASCII)
_PLACEHOLDER = re.compile(
    r"(?i)<.*>|x{3,}|\*{1,}|\.{3}|change[-_ ]?me|replace.*|your[-_ ].*"
    r"|none|null|todo|dummy|example|placeholder|no-key-required"
)
_USABLE = (Verdict.RESOLVES, Verdict.LOOSE)
_SKIPPED = ("OPENAI", "OPENROUTER", "OLLAMA")
"""Names that Hermes gives to their own hosts alone."""


@dataclass(frozen=True, slots=True)
class Sources:
    """Where one profile takes its key from: the host's verdicts, and its provider entry."""

    wish: Wish
    facts: Facts
    home: Home
    entry: Entry
    pooled: bool
    """whether Hermes keeps a pool for this entry"""

    def fact(self, place: Place) -> PlaceFact:
        """The host's verdict on `place`."""
        answer = self.facts.answers.get(place)
        return answer if isinstance(answer, PlaceFact) else PlaceFact(Verdict.UNKNOWN)

    def look(self, place: Place) -> Look:
        """The verdict with its place in words."""
        fact = self.fact(place)
        return Look(place.told, fact, opens=fact.verdict in _USABLE)

    @property
    def api_key(self) -> str:
        """The key's text in config.yaml, "" where it has none."""
        return self.entry.fields.get("api_key", "").strip()

    @property
    def key_env(self) -> str:
        """The variable that it names, "" where it names none."""
        fields = self.entry.fields
        older = fields.get("api_key_env", "") if self.entry.is_listed else ""
        return (fields.get("key_env") or older).strip()


def is_pooled(found: Document, entry: Entry) -> bool:
    """Whether Hermes keeps a pool for `entry`: with a `custom_providers` list, even an
    empty one, it knows only that list's (agent.credential_pool._iter_custom_providers)."""
    node = found.node((LIST,))
    return entry.is_listed or node is None or node.kind is not Kind.SEQUENCE


def places(sources: Sources) -> frozenset[Place]:
    """Every place that can decide, for one profile."""
    names = {sources.wish.credential, *_names(sources)}
    asked = (place for name in names for place in _environment(sources, name))
    return frozenset({*_pools(sources), *asked})


def _names(sources: Sources) -> Iterator[str]:
    """The variables that this profile's entry leads to."""
    found = {sources.key_env, vendor(sources.wish.base_url), *_REFERENCE.findall(sources.api_key)}
    return (name for name in found if _NAME.fullmatch(name))


def _pools(sources: Sources) -> Iterator[Place]:
    """The first two entries of the pool; a profile without its own reads the root's."""
    own, base = sources.home.directory, root(sources.facts)
    for directory in (own,) if sources.home.name == DEFAULT else (own, base):
        for index in ("0", "1"):
            keys = ("credential_pool", f"custom:{same_name(sources.entry.label)}", index)
            path = "\x1f".join((*keys, "access_token"))
            yield Place(PlaceKind.JSON, f"{directory}/auth.json", path)


def _environment(sources: Sources, name: str) -> tuple[Place, ...]:
    """Where `name` can be set for this profile, what counts first first."""
    home, managed = sources.home.directory, managed_directory(sources.facts)
    shells = [PlaceKind.SESSION, PlaceKind.LOGIN]
    if sources.wish.policy.credential_scope == "interactive":
        shells.append(PlaceKind.INTERACTIVE)
    return (
        Place(PlaceKind.DOTENV, f"{managed}/.env", name),
        Place(PlaceKind.DOTENV, f"{home}/.env", name),
        *(Place(kind, "", name) for kind in shells),
        Place(PlaceKind.DOTENV, f"{home}/.op.env", name),
    )


def vendor(url: str) -> str:
    """The variable that Hermes derives from an address: EXAMPLE_API_KEY for
    router.example.net; "" for one that gives none (0.19.0, _host_derived_api_key)."""
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        return ""
    labels = [label for label in host.split(".") if label]
    if not labels or ":" in host or any(letter.isdigit() for letter in labels[-1]):
        return ""
    while labels and labels[0] in ("api", "www"):
        labels.pop(0)
    word = re.sub(r"\W", "_", labels[-2], flags=re.ASCII).upper() if len(labels) > 1 else ""
    return f"{word}_API_KEY" if word[:1].isalpha() and word not in _SKIPPED else ""


def judge(sources: Sources, version: Version) -> Credential:
    """The gate for one installation. It says why it is closed and what to do."""
    if version.key_commands and sources.entry.fields.get("key_cmd"):
        return _command(sources)
    looks: list[Look] = []
    if sources.pooled:
        for place in _pools(sources):
            look = sources.look(place)
            looks.append(look)
            if look.opens:
                return _opened(looks)
            if look.fact.verdict not in (Verdict.ABSENT, Verdict.EMPTY):
                return _unfit_pool(sources, looks)
        if sources.api_key:
            return _text(sources, looks)
    return _variables(sources, looks)


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
    if names := _REFERENCE.findall(text):
        looks.append(Look(where, PlaceFact(Verdict.REFERENCE, detail=_shown(sources, names))))
        missing = [name for name in names if not _resolves(sources, name, looks)]
        if not missing:
            return _opened(looks)
        return _closed(
            looks,
            f"{where} names {_shown(sources, missing)}, which has no value for this profile: "
            "Hermes sends the name itself",
            _set(sources, missing[0]),
        )
    if text.startswith("$"):
        verdict, why = Verdict.WRONG_SYNTAX, "Hermes reads no $NAME there, only ${NAME}"
    elif _PLACEHOLDER.fullmatch(text):
        verdict, why = Verdict.PLACEHOLDER, "it is a placeholder"
    else:
        literal = PlaceFact(Verdict.RESOLVES, detail="a key in the file itself")
        return _opened([*looks, Look(where, literal, opens=True)])
    looks.append(Look(where, PlaceFact(verdict)))
    return _closed(looks, f"{where} gives no key: {why}, and it is sent", _advice(sources))


def _variables(sources: Sources, looks: list[Look]) -> Credential:
    """key_env, then an `api_key` without a pool, then the variable named after the host."""
    where = f"{sources.home.config.pattern} {sources.entry.told}"
    if sources.key_env:
        fact = PlaceFact(Verdict.REFERENCE, detail=_shown(sources, [sources.key_env]))
        looks.append(Look(f"{where} key_env", fact))
        if _resolves(sources, sources.key_env, looks):
            return _opened(looks)
    else:
        looks.append(Look(f"{where} key_env", _misspelled(sources)))
    if sources.api_key:
        return _text(sources, looks)
    derived = vendor(sources.wish.base_url)
    if derived and derived != sources.key_env and _resolves(sources, derived, looks):
        return _opened(looks)
    if not sources.key_env and derived != sources.wish.credential:
        _resolves(sources, sources.wish.credential, looks)
    return _nothing(sources, _unopened(looks))


def _shown(sources: Sources, names: list[str]) -> str:
    """Variables' names; what is not spelled like one may be the key itself."""
    fit = all(_is_plain(sources, name) for name in names)
    return ", ".join(names) if fit else "what is not spelled like a variable"


def _is_plain(sources: Sources, name: str) -> bool:
    """Whether `name` can be no key that somebody wrote where a variable's name belongs."""
    return name == sources.wish.credential or _CONSTANT.fullmatch(name) is not None


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


def _resolves(sources: Sources, name: str, looks: list[Look]) -> bool:
    """Whether `name` has a usable value for this profile; the places go to `looks`, but
    for those of a name that nothing shows to be one: it may be the key itself."""
    seen = list(_looked(sources, name))
    opens = any(look.opens for look in seen)
    if opens or _is_plain(sources, name):
        looks += seen
    return opens


def _looked(sources: Sources, name: str) -> Iterator[Look]:
    for place in _environment(sources, name) if _NAME.fullmatch(name) else ():
        look = sources.look(place)
        yield look
        # An assignment in a .env counts, and hides the environment, even if it is empty.
        hides = place.kind is PlaceKind.DOTENV and look.fact.verdict is not Verdict.ABSENT
        if look.opens or hides:
            return


def _set(sources: Sources, name: str) -> str:
    if not _is_plain(sources, name):
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


def _opened(looks: list[Look]) -> Credential:
    loose = tuple(
        f"{look.place} is readable by others" for look in looks
        if look.opens
        and (look.fact.verdict is Verdict.LOOSE or "readable by others" in look.fact.detail)
    )
    return Credential(tuple(looks), warnings=loose)


def _closed(looks: list[Look], cause: str, step: str) -> Credential:
    return Credential(tuple(_unopened(looks)), cause, step)
