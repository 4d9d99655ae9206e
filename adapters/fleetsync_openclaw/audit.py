"""Keys that only OpenClaw itself can find: its own audit is asked, and judged.

Measured on 2026.9.6: `secrets audit --json` resolves every reference and prints no byte
of any value; `--allow-exec` runs the commands of exec references too. A key in an auth
profile is a finding of its own. It writes nothing but the state directory, which is one
apart (`launch.APART`); without a database the real one holds no key.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from fleetsync.adapter import Credential, Look
from fleetsync.facts import Ask, AskFact, PlaceFact, Read, Verdict

from . import launch
from .config import at
from .environment import Sources
from .router import provider_keys
from .site import Site, absolute
from .versions import parse

SECONDS = 60
"""It takes 2 to 5 s; under load 22 s were seen."""
_AUDIT = "OpenClaw's own audit"
CAP = 256 * 1024 * 1024
"""Bytes of a database that is still copied."""
_SAFE = re.compile(
    r"\((?:Secret store entry \"[A-Z0-9_]+\" was not found\."
    r"|Exec provider \"[\w-]+\" (?:exited with code \d+|timed out after \d+ ?ms)\."
    r"|resolved value is not a non-empty string\.?)\)",
    re.ASCII,
)
"""What an unresolved reference is told of, where that holds names and numbers alone."""


def database(site: Site) -> Read:
    """OpenClaw's own database, of which only the size is looked at."""
    return Read(f"{site.state}/state/openclaw.sqlite", content=False)


@dataclass(frozen=True, slots=True)
class Hidden:
    """A key that only OpenClaw finds: `what` says so, `place` where. `runs`: a command gives
    it; else it is in the database, under `profile` where an auth profile holds it."""

    what: str
    place: str
    beside: tuple[Look, ...] = ()
    profile: str = ""
    runs: bool = False


def of_reference(sources: Sources, source: object) -> Credential:
    """The gate where apiKey is a SecretRef of kind `source`: exec or store."""
    if source == "exec":
        what = f"{sources.where} is a SecretRef that runs a command"
        return _gate(sources, Hidden(what, sources.where, runs=True))
    if source == "store":
        told = Look(sources.where, PlaceFact(Verdict.REFERENCE, detail="SecretRef store"))
        what = "the key is in OpenClaw's secret store"
        return _gate(sources, Hidden(what, database(sources.site).pattern, (told,)))
    return Credential(
        (Look(sources.where, PlaceFact(Verdict.UNKNOWN)),),
        f"{sources.where} is a SecretRef that OpenClaw does not know: whether it gives a key "
        "is unknown",
        sources.advice,
    )


def of_profile(sources: Sources, name: str) -> Credential:
    """The gate where the key is in an auth profile."""
    key = sources.api_key
    fact = PlaceFact(Verdict.REFERENCE, detail=name) if key else PlaceFact(Verdict.ABSENT)
    what = f"the key is in auth profile {name} of OpenClaw's database"
    hidden = Hidden(what, profile_place(name), (Look(sources.where, fact),), profile=name)
    return _gate(sources, hidden)


def profile_place(name: str) -> str:
    """An auth profile in words."""
    return f"auth profile {name} in OpenClaw's database"


def _gate(sources: Sources, hidden: Hidden) -> Credential:
    if why := _unasked(sources, hidden):
        return _closed(sources, hidden, Verdict.ABSENT, why)
    ask = question(sources, stored=not hidden.runs)
    answer = sources.facts.answers.get(ask)
    if not isinstance(answer, AskFact):
        verdict = Verdict.COMMAND if hidden.runs else Verdict.INDETERMINATE
        return Credential(
            (*hidden.beside, Look(hidden.place, PlaceFact(verdict))),
            f"{hidden.what}: whether it gives one is indeterminate until OpenClaw is asked",
            "apply asks it (`openclaw secrets audit`)",
            asks=frozenset({ask}),
        )
    if why := _why(sources, answer, hidden):
        return _closed(sources, hidden, Verdict.UNKNOWN, why)
    look = Look(hidden.place, PlaceFact(Verdict.RESOLVES, detail=_AUDIT), opens=True)
    return Credential((*hidden.beside, look))


def _closed(sources: Sources, hidden: Hidden, verdict: Verdict, why: str) -> Credential:
    look = Look(hidden.place, PlaceFact(verdict))
    return Credential((*hidden.beside, look), f"{hidden.what}: {why}", sources.advice)


def _unasked(sources: Sources, hidden: Hidden) -> str:
    """Why OpenClaw cannot be asked, or need not be; "" where it is to be asked."""
    if not sources.installations:
        return "no OpenClaw is installed that could be asked for it"
    if hidden.runs:
        return ""
    version = parse(sources.installations[0].version)
    if version is None or not version.is_new:
        return "no OpenClaw of this age is asked for it, and fleetsync does not read it"
    fact = sources.facts.file(database(sources.site))
    if not fact.exists:
        return "there is no such database on the host"
    return f"it has {fact.size} bytes, more than are copied" if fact.size > CAP else ""


def question(sources: Sources, *, stored: bool) -> Ask:
    """The audit by the host's own OpenClaw; `stored` where its database takes part."""
    host, one = sources.facts.host, sources.installations[0]
    home = "" if host is None else str(host.home)
    words = (*launch.start(one), "secrets", "audit", "--json")
    argv = launch.apart(
        absolute(sources.site.state, home), *words, *(() if stored else ("--allow-exec",)),
        stored=stored,
    )
    env = launch.environment(one, home, absolute(sources.site.config, home))
    return Ask(argv, SECONDS, tuple(env.items()))


def _why(sources: Sources, answer: AskFact, hidden: Hidden) -> str:
    """Why the audit does not show a key; "" where it does."""
    report = _json(answer)
    if at(report, "version") != 1:
        ended = f" in {SECONDS} s" if answer.status is None else f" (status {answer.status})"
        return f"`openclaw secrets audit` gave no answer{ended}"
    if hidden.profile:
        shown = any(
            at(finding, "profileId") == hidden.profile and at(finding, "code") == "PLAINTEXT_FOUND"
            for finding in _findings(report)
        )
        return "" if shown else "OpenClaw's audit shows no key in it"
    path = ".".join((*provider_keys(sources.wish), "apiKey"))
    for finding in _findings(report):
        if at(finding, "jsonPath") == path and at(finding, "code") != "REF_SHADOWED":
            safe = _SAFE.search(str(at(finding, "message") or ""))
            return f"OpenClaw does not resolve it{f' {safe[0]}' if safe else ''}"
    resolution = at(report, "resolution")
    whole = at(resolution, "resolvabilityComplete") is True or not hidden.runs
    if whole and at(resolution, "refsChecked"):
        return ""
    return "OpenClaw's audit does not tell whether it resolves"


def _findings(report: object) -> Iterator[object]:
    found = at(report, "findings")
    yield from found if isinstance(found, list) else ()


def _json(answer: AskFact) -> object:
    try:
        return json.loads(answer.output.reveal())
    except (ValueError, RecursionError):
        return None
