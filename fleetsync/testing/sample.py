"""A host as facts alone, on which an adapter's client holds old limits.

An adapter's author writes one `Sample`; `answered` puts the adapter's questions to it as
a probe would, without a host.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import PurePosixPath

from fleetsync.adapter import Adapter, Wish
from fleetsync.facts import (
    Answer,
    Ask,
    Facts,
    FileFact,
    FileKind,
    HostFacts,
    Installation,
    Locate,
    Place,
    PlaceFact,
    Question,
    Read,
    Resolve,
    State,
    StateFact,
    Variable,
    VariableFact,
    Verdict,
)
from fleetsync.probe import ROUNDS
from fleetsync.sealed import Sealed

HOME = "/home/u"
"""The home of the account; `~` in a sample's paths stands for it."""
HOST = HostFacts(PurePosixPath(HOME), "u", 1000, "/bin/sh", "Linux", "/usr/bin:/bin")


class ContractError(AssertionError):
    """An adapter (or a sample) breaks a rule; the message says which and how."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One host with the client, and what the operator wants of it.

    At least one file must hold other limits than `wish`, so that there is a plan. `files`
    are contents (or whole facts) by path; `key` is the place that holds the host's key.
    `managed` are the keys that a Change may name. `secrets` stand in the files, outside
    what is managed, and must never show. `at_home` are words of loader commands that must
    run in the real home (asking for a service's unit); every other one runs in SCRATCH.
    """

    wish: Wish
    files: Mapping[str, bytes | FileFact]
    installations: tuple[Installation, ...]
    key: Place
    managed: frozenset[str]
    secrets: tuple[str, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    at_home: tuple[str, ...] = ()
    nearly: tuple[bytes, ...] = ()
    turned: tuple[bytes, ...] = ()

    def with_file(self, path: str, content: bytes | FileFact) -> Sample:
        """This host with other content at `path`."""
        files = {full(name): held for name, held in self.files.items()}
        return replace(self, files={**files, full(path): content})

    def without_key(self) -> Sample:
        """This host, its key gone."""
        return replace(self, key=replace(self.key, name=f"{self.key.name}_ELSEWHERE"))

    def bare(self) -> Sample:
        """This host with nothing on it."""
        return replace(self.without_key(), files={}, installations=(), variables={})


def full(path: str) -> str:
    """`path` with the home for its `~`."""
    return HOME + path[1:] if path.startswith("~") else path


def fact(path: str, content: bytes | FileFact) -> FileFact:
    """A regular file with `content`, as a host would tell of it."""
    if isinstance(content, FileFact):
        return content
    sealed = Sealed(content)
    return FileFact(
        path, FileKind.FILE, path, 0o600, 1000, 1000, len(content), 1700000000, 1, sealed.sha256,
        content=sealed,
    )


def answer(sample: Sample, question: Question) -> Answer:
    """What the sample's host says. Raises ContractError where asked to run a program."""
    match question:
        case Read():
            return _read(sample, question)
        case Locate():
            return sample.installations
        case Variable():
            return VariableFact(None, sample.variables.get(question.name))
        case Place():
            found = Verdict.RESOLVES if question == sample.key else Verdict.ABSENT
            return PlaceFact(found, "f" * 12 if question == sample.key else "")
        case State():
            return StateFact("")
        case Ask() | Resolve():
            raise ContractError(f"a probe only reads, and {question} is to be run")


def _read(sample: Sample, question: Read) -> tuple[FileFact, ...]:
    pattern = full(question.pattern)
    held = {full(path): content for path, content in sample.files.items()}
    found = [path for path in sorted(held) if _matches(path, pattern)]
    if not found and "*" not in pattern:
        return (FileFact(pattern, FileKind.ABSENT),)
    facts = (fact(path, held[path]) for path in found)
    return tuple(one if question.content else replace(one, content=None) for one in facts)


def _matches(path: str, pattern: str) -> bool:
    """As the host's shell has it: a `*` stays within its part of the path."""
    parts, wanted = path.split("/"), pattern.split("/")
    return len(parts) == len(wanted) and all(map(fnmatchcase, parts, wanted))


def rounds(adapter: Adapter, sample: Sample) -> list[frozenset[Question]]:
    """What the adapter asks in each round, the last one with nothing left unanswered.

    Raises ContractError where it still asks after as many rounds as a probe has.
    """
    facts, asked = Facts(), []
    for _ in range(ROUNDS):
        asked.append(adapter.questions(sample.wish, facts))
        missing = facts.missing(asked[-1])
        if not missing:
            return asked
        facts = facts.with_answers(HOST, {one: answer(sample, one) for one in missing})
    left = ", ".join(sorted(map(repr, missing)))
    raise ContractError(f"{adapter.name} still asks after {ROUNDS} rounds: {left}")


def answered(adapter: Adapter, sample: Sample) -> Facts:
    """All that the adapter comes to know of the sample's host."""
    asked = frozenset().union(*rounds(adapter, sample))
    return Facts(HOST, {one: answer(sample, one) for one in asked})
