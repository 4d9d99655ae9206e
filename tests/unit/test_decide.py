"""What reading alone leaves open is asked, and decides: gates by a Runner, keys by the router."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import Any

import pytest

from fleetsync import check, decide, look, prove
from fleetsync.adapter import (
    Adapter,
    Command,
    Credential,
    Done,
    FileEdit,
    Keep,
    Loaded,
    Planned,
    Target,
    Wish,
)
from fleetsync.adapter import Look as Seen
from fleetsync.catalog import Alias, Policy
from fleetsync.documents import Dialect
from fleetsync.errors import HostUnusable
from fleetsync.facts import (
    Answer,
    Facts,
    FileFact,
    FileKind,
    HostFacts,
    Place,
    PlaceFact,
    PlaceKind,
    Question,
    Resolve,
    RunningQuestion,
    StateFact,
    Verdict,
)
from fleetsync.inventory import Host
from fleetsync.job import Job, Proof, Run, Step
from fleetsync.look import Look, Session, target_result
from fleetsync.outcome import Outcome, RouterRow, RouterVerdict, TargetResult
from fleetsync.plan import plans
from fleetsync.probe import Salts
from fleetsync.remote import Prover, Reader, Runner
from fleetsync.sealed import Sealed
from fleetsync.testing.local import MemoryRemote

URL = "http://127.0.0.1:9/v1"
NAME = "ROUTER_API_KEY"
KEY = Place(PlaceKind.DOTENV, "~/.nib/env", NAME)
RUNS = Resolve(Place(PlaceKind.JSON, "~/.nib/auth.json", "key"))
FURTHER = Resolve(Place(PlaceKind.JSON, "~/.nib/more.json", "key"))
ACCOUNT = HostFacts(PurePosixPath("/home/op"), "op", 1000, "/bin/sh", "Linux", "/usr/bin")
FILE = FileFact("/home/op/.nib/models", FileKind.FILE, sha256="a" * 64)
EDIT = FileEdit(FILE, Dialect.JSON, (), Sealed(b"{}"), ())
GOOD = PlaceFact(Verdict.RESOLVES, "0123456789ab")
HOME = MemoryRemote([])


def wish(client: str = "nib", *aliases: str) -> Wish:
    found = tuple(
        Alias(name=name, context_window=1000, max_output_tokens=100)
        for name in aliases or ("llm.primary",)
    )
    return Wish(client, "anvil", URL, NAME, found, frozenset({"llm.primary"}), Policy())


def asking(*questions: Resolve) -> Callable[[Facts], Credential]:
    """A gate that the answers to `questions`, one after the other, decide."""

    def judge(facts: Facts) -> Credential:
        for question in questions:
            answer = facts.answers.get(question)
            if not isinstance(answer, PlaceFact):
                row = Seen(question.place.told, PlaceFact(Verdict.COMMAND))
                return Credential((row,), "a command gives its key", "store it", asks=frozenset(
                    {question}
                ))
            if answer.verdict is not Verdict.RESOLVES:
                row = Seen(question.place.told, answer)
                return Credential((row,), "its command gives no key", "mend the command")
        return Credential((Seen(RUNS.place.told, GOOD, opens=True),), source=questions[-1])

    return judge


def standing(source: Place | Resolve | None = KEY) -> Callable[[Facts], Credential]:
    """An open gate whose key stands at `source`."""
    return lambda facts: Credential((Seen(KEY.told, GOOD, opens=True),), source=source)


@dataclass
class Nib:
    """A client of which one file drifts; its gate is as `judge` says."""

    judge: Callable[[Facts], Credential]
    name: str = "nib"
    targets_of: tuple[str, ...] = ("",)

    def questions(self, wish: Wish, facts: Facts) -> frozenset[Question]:
        return frozenset()

    def targets(self, wish: Wish, facts: Facts) -> tuple[Target, ...]:
        return tuple(
            Target(self.name, name, wish, {"models": FILE}, (), self.judge(facts))
            for name in self.targets_of
        )

    def plan(self, target: Target) -> Planned:
        return Planned((EDIT,))

    def loaders(self, target: Target, planned: Planned) -> tuple[Command, ...]:
        return ()

    def loaded(self, target: Target, planned: Planned, done: Sequence[Done]) -> Loaded:
        return Loaded(True)


@dataclass
class Bench:
    """Everything between a look and what is decided of it, without a host."""

    answers: dict[RunningQuestion, Answer] = field(default_factory=dict)
    rows: dict[object, RouterRow | HostUnusable] = field(default_factory=dict)
    asked: list[RunningQuestion] = field(default_factory=list)
    shown: list[tuple[object, str, tuple[str, ...]]] = field(default_factory=list)

    def answer(
        self, runner: Runner, questions: Collection[RunningQuestion], salts: Salts
    ) -> dict[Question, Answer]:
        self.asked += questions
        return {one: self.answers[one] for one in questions if one in self.answers}

    def prove(
        self, prover: object, source: Place | Resolve, url: str, aliases: Sequence[str],
        salts: Salts, interpreters: Sequence[str] = (),
    ) -> RouterRow:
        self.shown.append((source, url, tuple(aliases)))
        found = self.rows.get(source, RouterRow(RouterVerdict.ACCEPTED, url))
        if isinstance(found, HostUnusable):
            raise found
        return found

    def session(self, *adapters: Nib, proof: Proof = Proof.NONE, **wishes: Wish) -> Session:
        run = Run("run-1", "op@desk", "desk", "g" * 64)
        pairs: list[tuple[Adapter, Wish]] = [
            (one, wishes.get(one.name, wish(one.name))) for one in adapters
        ]
        job = Job(Step.APPLY, run, Host("node"), tuple(w for _, w in pairs), proof=proof)
        return Session(job, Reader(HOME), Salts.fresh(), tuple(pairs))

    def decided(self, *adapters: Nib) -> list[TargetResult]:
        session = self.session(*adapters)
        return results(session, decide.decide(session, Runner(HOME), first_look(session)))

    def proved(
        self, *adapters: Nib, proof: Proof = Proof.ASK, **wishes: Wish
    ) -> list[TargetResult]:
        session = self.session(*adapters, proof=proof, **wishes)
        return results(session, decide.prove(session, Prover(HOME), first_look(session)))


def first_look(session: Session) -> Look:
    facts = Facts(ACCOUNT, {KEY: GOOD})
    found = tuple(p for adapter, one in session.adapters for p in plans(adapter, one, facts))
    return Look(facts, found, StateFact(""))


def results(session: Session, seen: Look) -> list[TargetResult]:
    return [target_result(session, seen, plan) for plan in seen.plans]


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Bench:
    made = Bench()

    def ask(reader: Reader, questions: Collection[Question], salts: Salts) -> Any:
        return ACCOUNT, {one: PlaceFact(Verdict.ABSENT) for one in questions}

    monkeypatch.setattr(look, "ask", ask)
    monkeypatch.setattr(check, "answer", made.answer)
    monkeypatch.setattr(prove, "prove", made.prove)
    return made


# --- gates ---------------------------------------------------------------------------


def test_a_gate_that_only_a_program_decides_refuses_nothing_in_a_preview(bench: Bench) -> None:
    session = bench.session(Nib(asking(RUNS)))
    (target,) = results(session, first_look(session))
    assert (target.outcome, target.credential) == (Outcome.DRIFT, "indeterminate")
    assert (target.trace[0].place, target.trace[0].verdict) == (
        RUNS.place.told, "indeterminate",
    )
    assert target.notes == (
        "decided at apply: a command gives its key",
    )


def test_an_answer_that_gives_a_key_opens_the_gate(bench: Bench) -> None:
    bench.answers[RUNS] = GOOD
    (target,) = bench.decided(Nib(asking(RUNS)))
    assert (target.outcome, target.credential, target.notes) == (Outcome.DRIFT, "open", ())


def test_an_answer_that_gives_no_key_closes_it_with_all_places_looked(bench: Bench) -> None:
    bench.answers[RUNS] = PlaceFact(Verdict.EMPTY)
    (target,) = bench.decided(Nib(asking(RUNS)))
    assert (target.outcome, target.credential) == (Outcome.REFUSED, "closed")
    assert (target.reason, target.step) == ("its command gives no key", "mend the command")
    assert any(row.explains for row in target.trace)


def test_a_gate_that_stays_without_an_answer_is_refused(bench: Bench) -> None:
    (target,) = bench.decided(Nib(asking(RUNS)))
    assert (target.outcome, target.credential) == (Outcome.REFUSED, "indeterminate")
    assert target.reason == "a command gives its key"


def test_an_answer_may_lead_to_a_further_question(bench: Bench) -> None:
    bench.answers |= {RUNS: GOOD, FURTHER: GOOD}
    (target,) = bench.decided(Nib(asking(RUNS, FURTHER)))
    assert (bench.asked, target.credential) == ([RUNS, FURTHER], "open")


def test_a_gate_that_asks_without_end_is_refused(bench: Bench) -> None:
    chain = [Resolve(Place(PlaceKind.JSON, f"~/{number}", "key")) for number in range(9)]
    bench.answers |= dict.fromkeys(chain, GOOD)
    (target,) = bench.decided(Nib(asking(*chain)))
    assert (target.outcome, len(bench.asked) < 9) == (Outcome.REFUSED, True)


def test_nothing_is_asked_where_reading_decides(bench: Bench) -> None:
    (target,) = bench.decided(Nib(standing()))
    assert (bench.asked, target.credential) == ([], "open")


def test_one_answer_serves_all_targets(bench: Bench) -> None:
    bench.answers[RUNS] = GOOD
    two = bench.decided(Nib(asking(RUNS), targets_of=("a", "b")))
    assert ([t.credential for t in two], bench.asked) == (["open", "open"], [RUNS])


# --- the router ----------------------------------------------------------------------


def test_the_router_is_asked_once_for_a_key_that_several_targets_use(bench: Bench) -> None:
    two = bench.proved(Nib(standing(), targets_of=("a", "b")), Nib(standing(), "pen"))
    assert bench.shown == [(KEY, URL, ("llm.primary",))]
    assert [t.router for t in two] == [RouterRow(RouterVerdict.ACCEPTED, URL)] * 3


def test_each_key_is_shown_to_the_router(bench: Bench) -> None:
    other = Place(PlaceKind.FILE, "~/.pen/key", "")
    bench.proved(Nib(standing()), Nib(standing(other), "pen"))
    assert [source for source, _, _ in bench.shown] == [KEY, other]


def test_each_address_of_the_inventory_is_asked_about_its_own_wish_alone(bench: Bench) -> None:
    pen = replace(wish("pen"), base_url="http://127.0.0.1:8/v1")
    bench.proved(Nib(standing()), Nib(standing(), "pen"), pen=pen)
    assert [url for _, url, _ in bench.shown] == [URL, pen.base_url]


def test_a_missing_alias_is_told_on_the_targets_that_want_it(bench: Bench) -> None:
    bench.rows[KEY] = RouterRow(RouterVerdict.ALIAS_MISSING, URL, missing=("vision.ocr",))
    nib, pen = bench.proved(
        Nib(standing()), Nib(standing(), "pen"), pen=wish("pen", "llm.primary", "vision.ocr")
    )
    assert bench.shown == [(KEY, URL, ("llm.primary", "vision.ocr"))]
    assert (nib.router, nib.notes) == (RouterRow(RouterVerdict.ACCEPTED, URL), ())
    assert pen.router == bench.rows[KEY]
    assert pen.notes == (f"{URL} takes the host's key and does not list vision.ocr",)


def test_a_rejected_key_refuses_the_target(bench: Bench) -> None:
    bench.rows[KEY] = RouterRow(RouterVerdict.REJECTED, URL, "401")
    (target,) = bench.proved(Nib(standing()))
    assert (target.outcome, target.credential) == (Outcome.REFUSED, "open")
    assert target.reason == f"{URL} rejects the key that nib has on this host (401)"
    assert target.step == f"replace the key where it stands: {KEY.told}"


@dataclass
class Keeping(Nib):
    """A client that keeps a key of its own."""

    def keep(self, target: Target) -> Keep:
        return Keep(KEY)


def test_a_client_that_keeps_a_key_is_given_a_new_one_by_the_next_command(
    bench: Bench,
) -> None:
    bench.rows[KEY] = RouterRow(RouterVerdict.REJECTED, URL, "401")
    (target,) = bench.proved(Keeping(standing(), targets_of=("work",)))
    assert target.step == "fleetsync credential set node --target nib/work"


def test_a_rejected_key_that_stands_elsewhere_is_named_by_its_place(bench: Bench) -> None:
    login = Place(PlaceKind.LOGIN, "", NAME)
    bench.rows[login] = RouterRow(RouterVerdict.REJECTED, URL, "401")
    (target,) = bench.proved(Keeping(standing(login)))
    assert target.step == (
        "fleetsync credential set node --target nib\n"
        f"or: replace the key where it stands: {NAME} in the login shell's environment"
    )


def test_a_rejected_key_in_the_very_file_of_the_new_one_is_named_once(bench: Bench) -> None:
    beside = Place(PlaceKind.DOTENV, KEY.where, "OTHER_NAME")
    bench.rows[beside] = RouterRow(RouterVerdict.REJECTED, URL, "401")
    (target,) = bench.proved(Keeping(standing(beside)))
    assert target.step == "fleetsync credential set node --target nib"


@dataclass
class Pooled(Nib):
    """A client whose own store must be changed by its own program."""

    def keep(self, target: Target) -> Keep:
        return Keep(lines="nib auth add")


def test_what_an_adapter_knows_of_a_store_comes_before_the_place(bench: Bench) -> None:
    bench.rows[KEY] = RouterRow(RouterVerdict.REJECTED, URL, "401")
    (target,) = bench.proved(Pooled(standing()))
    assert target.step == "nib auth add"


def test_a_command_that_gives_a_rejected_key_is_named(bench: Bench) -> None:
    bench.answers[RUNS] = PlaceFact(Verdict.RESOLVES)
    bench.rows[RUNS] = RouterRow(RouterVerdict.REJECTED, URL, "401")
    (target,) = bench.proved(Nib(standing(RUNS)))
    assert target.step == f"have the command give a valid key: {RUNS.place.told}"


def test_a_closed_gate_names_the_command_that_opens_it_and_the_other_way(
    bench: Bench,
) -> None:
    bench.answers[RUNS] = PlaceFact(Verdict.EMPTY)
    (target,) = bench.decided(Keeping(asking(RUNS)))
    assert target.step == (
        "fleetsync credential set node --target nib\nor: mend the command"
    )


@pytest.mark.parametrize("verdict", [RouterVerdict.UNREACHABLE, RouterVerdict.NOT_A_ROUTER])
def test_what_is_no_answer_of_a_router_is_a_warning(
    bench: Bench, verdict: RouterVerdict
) -> None:
    bench.rows[KEY] = RouterRow(verdict, URL, "why", proxies=("https_proxy",))
    (target,) = bench.proved(Nib(standing()))
    assert (target.outcome, target.router) == (Outcome.DRIFT, bench.rows[KEY])
    assert "(why): " in target.notes[0]
    assert target.notes[1] == "on the way to it the host's https_proxy applied"


def test_no_key_is_shown_where_the_gate_is_closed(bench: Bench) -> None:
    closed = Nib(lambda facts: Credential((), "no key", "set one", source=KEY))
    (target,) = bench.proved(closed)
    assert bench.shown == []
    assert target.router == RouterRow(
        RouterVerdict.NOT_CHECKED, URL, "there is no key to show"
    )


def test_a_key_that_only_the_client_gets_is_not_shown(bench: Bench) -> None:
    (target,) = bench.proved(Nib(standing(None)))
    assert bench.shown == []
    assert target.router is not None
    assert target.router.verdict is RouterVerdict.NOT_CHECKED


def test_offline_asks_nothing_and_says_so(bench: Bench) -> None:
    (target,) = bench.proved(Nib(standing()), proof=Proof.OFFLINE)
    assert bench.shown == []
    assert target.notes == (f"{URL} was not asked whether it takes the host's key (--offline)",)


def test_a_preview_says_nothing_of_the_router(bench: Bench) -> None:
    (target,) = bench.proved(Nib(standing()), proof=Proof.NONE)
    assert (bench.shown, target.router, target.notes) == ([], None, ())


def test_a_host_that_cannot_ask_leaves_it_open(bench: Bench) -> None:
    bench.rows[KEY] = HostUnusable("the host has neither curl nor python3", "")
    (target,) = bench.proved(Nib(standing()))
    assert (target.outcome, target.router) == (
        Outcome.DRIFT,
        RouterRow(RouterVerdict.NOT_CHECKED, URL, "the host has neither curl nor python3"),
    )


def test_a_key_has_its_fingerprint_from_where_it_stands(bench: Bench) -> None:
    (target,) = bench.proved(Nib(standing()), proof=Proof.NONE)
    assert target.fingerprint == "0123456789ab"
