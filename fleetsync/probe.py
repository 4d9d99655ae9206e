"""Read a host: questions become one script, its records become facts.

`ask` answers a set of questions by one exec, `probe` lets each adapter ask until it
knows enough. Nothing here writes to the host or starts a client program.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from fleetsync.adapter import Adapter, Wish
from fleetsync.answers import answered, by_number
from fleetsync.errors import FleetsyncError, HostUnusable
from fleetsync.facts import (
    Answer,
    Ask,
    Facts,
    FileFact,
    HostFacts,
    Question,
    Read,
    ReadOnlyQuestion,
    Resolve,
    State,
)
from fleetsync.questions import calls, shells, unaskable
from fleetsync.remote import Call, Reader, Record

ROUNDS = 12
"""Execs after which an adapter that still asks is taken to be broken."""
PATIENCE = 5
"""Seconds that a login shell has for its start-up files."""
_TORN_READS = 3
_FAULT = "this is a fault of the adapter: report it to its author"


@dataclass(frozen=True, slots=True)
class Salts:
    """Two 128-bit salts of one run: with them equal keys on two hosts have equal
    fingerprints, and without them a fingerprint tells nothing."""

    first: str
    second: str

    @classmethod
    def fresh(cls) -> Salts:
        """New salts; they live in memory, for one run."""
        return cls(secrets.token_hex(16), secrets.token_hex(16))

    def fingerprint(self, key: bytes) -> str:
        """What a host answers for a place where `key` stands."""
        inner = hashlib.sha256(self.first.encode() + key).hexdigest()
        return hashlib.sha256(f"{self.second}{inner}".encode()).hexdigest()[:12]

    def __repr__(self) -> str:
        return "Salts(…)"


def probe(reader: Reader, adapters: Sequence[tuple[Adapter, Wish]], salts: Salts) -> Facts:
    """Everything that the adapters need to know of the host, and our own state there.

    One exec answers what all adapters ask in a round. Raises HostError, and
    FleetsyncError naming an adapter that asks without end or asks to run a program.
    """
    facts = Facts()
    for _ in range(ROUNDS):
        missing = facts.missing(frozenset(_wanted(adapters, facts)))
        if facts.host is not None and not missing:
            return facts
        facts = facts.with_answers(*ask(reader, missing, salts))
    asking = [a.name for a, wish in adapters if facts.missing(a.questions(wish, facts))]
    if not asking:
        return facts
    raise FleetsyncError(
        f"the adapter {', '.join(asking)} still asks after {ROUNDS} rounds", _FAULT
    )


def _wanted(adapters: Sequence[tuple[Adapter, Wish]], facts: Facts) -> Iterator[Question]:
    yield State()
    for adapter, wish in adapters:
        for question in adapter.questions(wish, facts):
            if isinstance(question, Ask | Resolve):
                raise FleetsyncError(
                    f"the adapter {adapter.name} asks to run a program, but a probe only reads",
                    _FAULT,
                )
            yield question


def ask(
    reader: Reader, questions: Collection[Question], salts: Salts, patience: int = PATIENCE
) -> tuple[HostFacts, dict[Question, Answer]]:
    """Answer `questions` by one exec; once more for a file that changed while it was read.

    `patience` bounds the login shell, in seconds. Raises HostError, ValueError for a
    question that could not be put safely, TypeError for an Ask.
    """
    answers: dict[Question, Answer] = {}
    left: list[ReadOnlyQuestion] = []
    for question in _in_order(questions):
        known = unaskable(question)
        if known is None:
            left.append(question)
        else:
            answers[question] = known
    for _ in range(_TORN_READS):
        host, records = _put(reader, left, salts, patience)
        for number, asked in enumerate(left):
            answers[asked] = answered(asked, records[str(number)], host)
        left = [asked for asked in left if _torn(answers[asked])]
        if not left:
            return host, answers
    raise HostUnusable(
        "a file changed each time it was read: "
        + ", ".join(asked.pattern for asked in left if isinstance(asked, Read)),
        "wait until the program that writes it is done, then run the command again",
    )


def _in_order(questions: Iterable[Question]) -> list[ReadOnlyQuestion]:
    found: list[ReadOnlyQuestion] = []
    for question in questions:
        if isinstance(question, Ask | Resolve):
            raise TypeError("a Reader runs no client program")
        found.append(question)
    return sorted(found, key=repr)


def _torn(answer: Answer) -> bool:
    return isinstance(answer, tuple) and any(
        isinstance(one, FileFact)
        and one.content is not None
        and one.sha256 not in ("", one.content.sha256)
        for one in answer
    )


def _put(
    reader: Reader, left: Sequence[ReadOnlyQuestion], salts: Salts, patience: int
) -> tuple[HostFacts, Mapping[str, list[Record]]]:
    put = [*opening(salts, left, patience)]
    for number, question in enumerate(left):
        put += calls(str(number), question)
    return by_number(reader.call(put))


def opening(
    salts: Salts, questions: Sequence[ReadOnlyQuestion], patience: int = PATIENCE
) -> Iterator[Call]:
    """The calls that come before those of `questions`, at most one login shell included."""
    yield Call("fs_host")
    yield Call("fs_salts", (salts.first, salts.second))
    yield from shells(questions, patience)
