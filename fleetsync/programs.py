"""The installations of a client on a host: how they are looked for, and what is said of
them alike for every client. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fleetsync.adapter import Credential, Refusal, Wish
from fleetsync.facts import Facts, FileFact, Installation, Locate


@dataclass(frozen=True, slots=True)
class Program:
    """What a client program is known by.

    `command` is its name and the client's, `title` its name in prose. `packages` are the
    packages that hold it, the newest name first; `runtimes` are files below one whose
    change means another program.
    """

    command: str
    title: str
    packages: tuple[str, ...]
    runtimes: tuple[str, ...]

    def locate(self, wish: Wish) -> Locate:
        """The question for it: in the usual places, and by the inventory's launchers."""
        commands = wish.options.get("commands") or ()
        launchers = tuple(tuple(argv) for argv in commands)
        return Locate((self.command,), self.packages, self.runtimes, launchers)

    def found(self, wish: Wish, facts: Facts) -> tuple[Installation, ...]:
        """All that bear its name, other programs among them."""
        return facts.installations(self.locate(wish))

    def owns(self, one: Installation) -> bool:
        """Whether it is this client, and not another program of that name."""
        return one.package in self.packages

    def absent(self, wish: Wish, found: Sequence[Installation]) -> str:
        """Why the client counts as not installed; "" where it is, or is said to be."""
        if any(map(self.owns, found)) or wish.options.get("commands"):
            return ""
        if others := ", ".join(one.path for one in found):
            return f"{others} is not {self.title} (it belongs to no package {self.packages[0]})"
        return f"no `{self.command}` in PATH, the login shell's PATH and the known places"

    def unfit(self, found: Sequence[Installation]) -> Iterator[Refusal]:
        """What keeps an installation from being asked, whatever its version."""
        for one in found:
            told, explicit = " ".join(one.argv), one.found == "inventory"
            step = f"correct it on the host, or name a launcher: {self.launchers}"
            if explicit:
                step = f"correct {self.launchers} in the inventory, or what it names on the host"
            if one.problem and (explicit or self.owns(one)):
                yield Refusal(f"{told}: {one.problem}", step)
            elif explicit and not self.owns(one):
                yield Refusal(f"{told} does not lead to a package of {self.title}", step)

    def fit(self, found: Sequence[Installation]) -> tuple[Installation, ...]:
        """Those that can be asked."""
        return tuple(one for one in found if self.owns(one) and not one.problem)

    @property
    def launchers(self) -> str:
        """The key of the inventory that names its launchers."""
        return f"[hosts.NAME.{self.command}] commands"


def shared(installations: Sequence[Installation], what: str) -> Iterator[str]:
    """That several installations work with the same files."""
    if len(installations) > 1:
        told = ", ".join(f"{one.path} ({one.version})" for one in installations)
        yield f"{len(installations)} installations share this {what}: {told}"


def foremost(judged: Sequence[Credential]) -> Credential:
    """The gate of several installations: it must be open for each; the first closed one
    speaks."""
    closed = [credential for credential in judged if not credential.opens]
    return (closed or list(judged) or [Credential(())])[0]


def linked(fact: FileFact, otherwise: str) -> Iterator[str]:
    """That a file is a link, and what becomes of it later."""
    if fact.is_link:
        yield f"{fact.path} is a link: {fact.real} is edited and the link kept; {otherwise}"
