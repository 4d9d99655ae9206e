"""Nib, a made-up client, as a third party would teach it to fleetsync.

It keeps its limits in `~/.config/nib/catalog.json`, takes its key from its environment,
and prints by `nib models FILE` what it makes of a file.
"""

from __future__ import annotations

from fleetsync import adapter as client
from fleetsync import facts as host
from fleetsync.adapter import SCRATCH, Command, Loaded, Planned, Refusal, Target, Wish
from fleetsync.documents import Dialect, parse
from fleetsync.draft import Draft
from fleetsync.errors import DocumentError
from fleetsync.sealed import Sealed

FILE = host.Read("~/.config/nib/catalog.json")


class NibAdapter:
    """One target a host: Nib has one file."""

    name = "nib"

    def questions(self, wish: Wish, facts: host.Facts) -> frozenset[host.Question]:
        """The file, the programs called nib, and whether the key is there."""
        return frozenset({FILE, _programs(wish), _key(wish)})

    def targets(self, wish: Wish, facts: host.Facts) -> tuple[Target, ...]:
        """The file as it is, who would read it, and whether it has a key."""
        fact, key = facts.file(FILE), facts.place(_key(wish))
        programs = facts.installations(_programs(wish))
        gate, why, absent = _gate(wish, key), _refusals(wish, fact), "" if programs else "no `nib`"
        return (Target("nib", "nib", wish, {"catalog": fact}, programs, gate, why, (), absent),)

    def plan(self, target: Target) -> Planned:
        """Set what differs; all else in the file stays as it is."""
        fact = target.files["catalog"]
        draft = Draft(fact, parse((fact.content or Sealed(b"")).reveal(), Dialect.JSON))
        for alias in target.wish.aliases:
            limits = {"window": alias.context_window, "output": alias.max_output_tokens}
            for key, wanted in limits.items():
                path = ("models", alias.name, key)
                draft.managed.append(path)
                if draft.value(path) != wanted:
                    draft.put(alias.name, key, path, wanted)
        return Planned(draft.finish(), tuple(draft.changes))

    def loaders(self, target: Target, planned: Planned) -> tuple[Command, ...]:
        """`nib models`, asked about a copy in a home of its own."""
        copy = client.ScratchFile("catalog.json", source=target.files["catalog"].path)
        env = (("HOME", SCRATCH), ("PATH", "/usr/bin:/bin"))
        words = ("models", f"{SCRATCH}/catalog.json")
        found = target.installations
        return tuple(Command((*one.argv, *words), env, (copy,), seconds=10) for one in found)

    def loaded(self, target: Target, planned: Planned, done: tuple[client.Done, ...]) -> Loaded:
        """Whether every nib prints a line `alias window output` for each alias."""
        wanted = {f"{a.name} {a.context_window} {a.max_output_tokens}" for a in target.wish.aliases}
        told = (one.stdout.reveal().decode("utf-8", "replace").splitlines() for one in done)
        agrees = bool(done) and all(wanted <= set(lines) for lines in told)
        return Loaded(agrees, "" if agrees else "nib does not see the wished limits")


def _programs(wish: Wish) -> host.Locate:
    named = tuple(tuple(argv) for argv in wish.options.get("commands") or ())
    return host.Locate(("nib",), explicit=named)


def _key(wish: Wish) -> host.Place:
    return host.Place(host.PlaceKind.LOGIN, "", wish.credential)


def _gate(wish: Wish, key: host.PlaceFact) -> client.Credential:
    opens = key.verdict is host.Verdict.RESOLVES
    cause = "" if opens else f"nib would find no {wish.credential}"
    trace = (client.Look(_key(wish).told, key, opens),)
    return client.Credential(trace, cause, "" if opens else "set it in ~/.profile on the host")


def _refusals(wish: Wish, fact: host.FileFact) -> tuple[Refusal, ...]:
    if fact.content is None:
        return (Refusal(f"{fact.path} cannot be read ({fact.kind.value})", "repair it there"),)
    try:
        found = parse(fact.content.reveal(), Dialect.JSON)
    except DocumentError as error:
        return (Refusal(f"{fact.path}: {error.message}", error.hint or "correct it there"),)
    ours = isinstance(found.value(("models",)), dict) and found.value(("router",)) == wish.base_url
    return () if ours else (Refusal(f"{fact.path} is not of {wish.base_url}", "correct it"),)


adapter = NibAdapter()
