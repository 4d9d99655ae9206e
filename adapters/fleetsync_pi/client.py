"""The Pi adapter: which facts it needs, what its target is, and what must change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from fleetsync.adapter import (
    Command,
    Credential,
    Done,
    Keep,
    Loaded,
    Planned,
    Refusal,
    Seen,
    Target,
    Turn,
    Wish,
)
from fleetsync.errors import DocumentError
from fleetsync.facts import (
    Facts,
    FileFact,
    FileKind,
    Installation,
    PlaceFact,
    Question,
    Read,
    Variable,
    Verdict,
)
from fleetsync.programs import foremost, linked, shared

from . import catalog, default, events, keep, loader, router, turns
from .credential import judge
from .files import MODELS, SETTINGS, document
from .keys import Stored, headers, written
from .sources import Sources, environment
from .versions import PROGRAM, Version, parse, too_old

_AGENT_DIR = Variable("PI_CODING_AGENT_DIR")
_DEFAULT_DIR = "~/.pi/agent"


class PiAdapter:
    """Pi keeps its contract in `models.json` of its agent directory: one target a host."""

    name = "pi"

    def questions(self, wish: Wish, facts: Facts) -> frozenset[Question]:
        """Both files, auth.json's entry, the variables, a key in models.json, the installations."""
        directory = _directory(facts)
        return frozenset({
            _AGENT_DIR,
            PROGRAM.locate(wish),
            _read(directory, MODELS),
            _read(directory, SETTINGS),
            *Stored(directory, wish.provider).places,
            *_named(wish, facts, directory),
        })

    def targets(self, wish: Wish, facts: Facts) -> tuple[Target, ...]:
        """The one target; every installation on the host shares its directory."""
        directory = _directory(facts)
        files = {role: facts.file(_read(directory, role)) for role in (MODELS, SETTINGS)}
        found = PROGRAM.found(wish, facts)
        installations = tuple(filter(PROGRAM.owns, found))
        sources = _sources(wish, facts, directory)
        return (Target(
            client=self.name,
            name=self.name,
            wish=wish,
            files=files,
            installations=installations,
            credential=_gate(sources, installations),
            refusals=(*_wandering(facts), *_refusals(wish, files, found)),
            notes=tuple(_notes(facts, files, installations)),
            absent=PROGRAM.absent(wish, found),
            context=_context(sources),
        ),)

    def plan(self, target: Target) -> Planned:
        """The edits of models.json, and of settings.json where aliases leave."""
        return catalog.plan(target, _versions(target.installations))

    def loaders(self, target: Target, planned: Planned) -> tuple[Command, ...]:
        """Pi's RPC question, put to every installation."""
        return tuple(loader.command(target, one) for one in target.installations)

    def loaded(self, target: Target, planned: Planned, done: tuple[Done, ...]) -> Loaded:
        """Whether every installation reports exactly the wished contract."""
        return loader.judge(target, planned, done)

    def keep(self, target: Target) -> Keep:
        """The provider's entry in auth.json (since 0.80.0); else the lines to write."""
        return keep.keep(target, _versions(target.installations))

    def default_alias(self, target: Target) -> str:
        """What a bare `pi` would use. Raises Unreadable."""
        return default.default_alias(target)

    def tool(self, target: Target) -> str:
        """Pi's own reading tool."""
        return turns.READ

    def turn(self, target: Target, turn: Turn) -> Command:
        """A print run in JSON mode, in a scratch agent directory. Raises Unreadable."""
        return turns.command(target, turn)

    def seen(self, target: Target, turn: Turn, done: Done) -> Seen:
        """What its events and its stderr tell."""
        return events.seen(target, turn, done)


def _wished_directory(facts: Facts) -> str:
    variable = facts.variable(_AGENT_DIR)
    return (variable.value or "") if variable else ""


def _is_placed(value: str) -> bool:
    """Whether it names one directory wherever Pi is started; `~` is the home (1.6.0, 0.73.1)."""
    return value == "~" or value.startswith(("/", "~/"))


def _directory(facts: Facts) -> str:
    """Pi's agent directory: PI_CODING_AGENT_DIR where set and not empty (1.6.0)."""
    value = _wished_directory(facts)
    return value.rstrip("/") or "/" if _is_placed(value) and "*" not in value else _DEFAULT_DIR


def _wandering(facts: Facts) -> Iterator[Refusal]:
    value = _wished_directory(facts)
    if "*" in value:
        yield Refusal(
            f"PI_CODING_AGENT_DIR is {value}: a * in it would stand for any name",
            "give the directory another name on the host",
        )
    elif value and not _is_placed(value):
        yield Refusal(
            f"PI_CODING_AGENT_DIR is the relative path {value}: it depends on where Pi is started",
            "make it absolute on the host",
        )


def _read(directory: str, role: str) -> Read:
    return Read(f"{directory}/{role}.json")


def _sources(wish: Wish, facts: Facts, directory: str) -> Sources:
    """What models.json says of the key, as far as it could be read, and the facts."""
    fact, stored = facts.file(_read(directory, MODELS)), Stored(directory, wish.provider)
    try:
        found = document(fact, MODELS)
    except DocumentError:
        return Sources(wish, facts, stored, fact.path, None, readable=False)
    return Sources(
        wish, facts, stored, fact.path,
        api_key=written(fact, found, wish.provider),
        readable=found is not None or fact.kind is FileKind.ABSENT,
        headers=headers(found, wish.provider),
    )


def _named(wish: Wish, facts: Facts, directory: str) -> frozenset[Question]:
    """The variables that this host's files name for the key, and a key in models.json."""
    sources = _sources(wish, facts, directory)
    key, auth = sources.api_key, facts.place(sources.stored.key)
    named = {auth.detail} if _is_reference(auth) else set()
    names = {wish.credential, *named, *sources.headers, *(key.variables if key else ())}
    literal = {key.place} if key and key.place and key.may_be_key else set()
    return frozenset({*environment(wish, names), *literal})


def _is_reference(fact: PlaceFact) -> bool:
    return fact.verdict.value == "reference" and bool(fact.detail)


def _context(sources: Sources) -> dict[str, str]:
    """What a turn and a new key need to know: the entry in auth.json, and the account."""
    stored = sources.fact(sources.stored.entry).verdict is not Verdict.ABSENT
    host = sources.facts.host
    return {
        "stored": sources.fact(sources.stored.key).verdict.value if stored else "",
        "home": str(host.home) if host else "",
        "path": host.path if host else "",
    }


def _gate(sources: Sources, installations: tuple[Installation, ...]) -> Credential:
    return foremost([judge(sources, version) for version in _versions(installations)])


def _versions(installations: tuple[Installation, ...]) -> tuple[Version, ...]:
    found = (parse(installation.version) for installation in installations)
    return tuple(version for version in found if version is not None)


def _refusals(
    wish: Wish, files: Mapping[str, FileFact], found: tuple[Installation, ...]
) -> Iterator[Refusal]:
    yield from PROGRAM.unfit(found)
    for one in PROGRAM.fit(found):
        yield from _version_refusals(one)
    yield from _file_refusals(files, _versions(found), wish)


def _version_refusals(one: Installation) -> Iterator[Refusal]:
    version = parse(one.version)
    if version is None:
        yield Refusal(f"{one.path}: its package.json gives no version", "reinstall Pi there")
    elif too_old(one.interpreter_version, version.node):
        needed = ".".join(map(str, version.node))
        yield Refusal(
            f"{one.interpreter} is Node {one.interpreter_version}; Pi {one.version} needs {needed}",
            f"update Node there, or name a launcher with a newer one in {PROGRAM.launchers}",
        )


def _file_refusals(
    files: Mapping[str, FileFact], versions: tuple[Version, ...], wish: Wish
) -> Iterator[Refusal]:
    models = files[MODELS]
    if models.kind is FileKind.ABSENT:
        yield Refusal(
            f"{models.path} is absent, so Pi has no provider {wish.provider}",
            'create it on the host with {"providers": {…}} and this provider in it:\n'
            + router.stanza(wish, versions),
        )
    for role, fact in files.items():
        if fact.kind not in (FileKind.FILE, FileKind.ABSENT):
            yield Refusal(f"{fact.path}: {fact.kind.value}", "repair it on the host")
        elif fact.over_cap:
            yield Refusal(f"{fact.path} has {fact.size} bytes, more than we read", "look into it")
        else:
            yield from _unreadable(fact, role, versions)


def _unreadable(fact: FileFact, role: str, versions: tuple[Version, ...]) -> Iterator[Refusal]:
    try:
        found = document(fact, role)
    except DocumentError as error:
        hint = error.hint or "correct it there: Pi cannot read it either"
        yield Refusal(f"{fact.path}: {error.message}", hint)
        return
    blind = [v.text for v in versions if not v.reads_bom]
    if found is not None and "bom" in found.features and blind:
        yield Refusal(
            f"{fact.path} begins with a byte order mark, which Pi {', '.join(blind)} cannot read",
            "save it as UTF-8 without one",
        )


def _notes(
    facts: Facts, files: Mapping[str, FileFact], installations: tuple[Installation, ...]
) -> Iterator[str]:
    answer = facts.variable(_AGENT_DIR)
    if answer and _is_placed(answer.value or ""):
        yield f"agent directory {_directory(facts)} (PI_CODING_AGENT_DIR)"
        if answer.session != answer.login and answer.session and answer.login:
            yield f"PI_CODING_AGENT_DIR is {answer.session} in an ssh command: that one is not used"
    yield from shared(installations, "agent directory")
    for fact in files.values():
        yield from linked(fact, "whatever manages that file may put it back")
    for version in _versions(installations):
        if version.notice:
            yield version.notice
        if version.rewrites_models:
            yield f"Pi {version.text} rewrites models.json at every start and drops its comments"
