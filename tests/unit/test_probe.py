"""Questions become one exec, adapters ask until they know enough, and torn reads do not count."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from fleetsync.adapter import Command, Done, Loaded, Planned, Target, Wish
from fleetsync.catalog import Policy
from fleetsync.errors import Away, FleetsyncError, HostUnusable, Lost
from fleetsync.facts import (
    Ask,
    Facts,
    FileFact,
    Locate,
    Place,
    PlaceKind,
    Question,
    Read,
    State,
    Variable,
)
from fleetsync.probe import ROUNDS, Salts, ask, probe
from fleetsync.remote import Call, Reader
from fleetsync.testing.local import FailingRemote, How, LocalRemote, MemoryRemote

SALTS = Salts("1" * 32, "2" * 32)
HOST = "host\t/home/op\top\t1000\t/bin/bash\tLinux\t/usr/bin"
WISH = Wish("one", "anvil", "https://router.example.net/v1", "KEY", (), frozenset(), Policy())


class Adapter:
    """Asks what `asks` returns; it is nothing else."""

    def __init__(self, name: str, asks: Callable[[Facts], set[Question]]) -> None:
        self.name, self.asks = name, asks

    def questions(self, wish: Wish, facts: Facts) -> frozenset[Question]:
        return frozenset(self.asks(facts))

    def targets(self, wish: Wish, facts: Facts) -> tuple[Target, ...]:
        return ()

    def plan(self, target: Target) -> Planned:
        return Planned()

    def loaders(self, target: Target, planned: Planned) -> tuple[Command, ...]:
        return ()

    def loaded(self, target: Target, planned: Planned, done: tuple[Done, ...]) -> Loaded:
        return Loaded(True)


def answering(*records: str) -> Callable[[bytes], bytes]:
    """A host that says these records, each a line and perhaps `RAW` and its bytes."""

    def answer(stdin: bytes) -> bytes:
        found = re.search(rb"fs_main ([0-9a-f]{32})\n", stdin)
        assert found is not None
        mark = f"\n@@{found[1].decode()} "
        return "".join(mark + part for part in ("BEGIN\n", *records, "END 0\n")).encode()

    return answer


def file_record(content: str, told: str | None = None) -> tuple[str, str, str]:
    digest = hashlib.sha256((told or content).encode()).hexdigest()
    row = f"file\t0\t/f\tfile\t/f\t600\t0\t0\t{len(content)}\t0\t1\t{digest}\t1\t0"
    return row, f"RAW\n{content}", "EOR"


def calls(stdin: bytes) -> list[str]:
    """The calls of a script: its function and number."""
    body = stdin.decode().rpartition("fs_calls() {\n:\n")[2].partition("\n}\n")[0]
    return [" ".join(line.split()[:2]) for line in body.splitlines()]


def test_all_questions_are_answered_by_one_exec(tmp_path: Path) -> None:
    remote = LocalRemote(tmp_path)
    questions = (
        Read("~/a"), Read("~/*/b"), Locate(("agent",)), Variable("DIR"), State(),
        Place(PlaceKind.SESSION, "", "KEY"), Place(PlaceKind.JSON, "~/c", "key"),
    )
    _, answers = ask(Reader(remote), questions, SALTS)
    assert (len(remote.exchanges), set(answers)) == (1, set(questions))


def test_one_run_of_the_login_shell_answers_for_all_names() -> None:
    remote = MemoryRemote([b""])
    questions = (Locate(("a",)), Variable("B"), Place(PlaceKind.LOGIN, "", "C"))
    with pytest.raises(HostUnusable):
        ask(Reader(remote), questions, SALTS)
    assert calls(remote.sent[0]).count("fs_login '5'") == 1


def test_without_need_no_login_shell_is_run() -> None:
    remote = MemoryRemote([b""])
    with pytest.raises(HostUnusable):
        ask(Reader(remote), (Read("~/a"), State(), Place(PlaceKind.SESSION, "", "C")), SALTS)
    assert "fs_login '5'" not in calls(remote.sent[0])


def test_a_file_that_changed_while_it_was_read_is_read_again() -> None:
    remote = MemoryRemote([
        answering(HOST, *file_record("torn", "before")), answering(HOST, *file_record("whole")),
    ])
    _, answers = ask(Reader(remote), (Read("/f"),), SALTS)
    (fact,) = answers[Read("/f")]  # type: ignore[misc] # a tuple of facts
    assert isinstance(fact, FileFact) and fact.content is not None
    assert fact.content.reveal() == b"whole"


def test_only_the_torn_file_is_read_again() -> None:
    state = "state\t1\t/home/op/.local/state/fleetsync"
    remote = MemoryRemote([
        answering(HOST, *file_record("torn", "before"), state),
        answering(HOST, *file_record("whole")),
    ])
    ask(Reader(remote), (Read("/f"), State()), SALTS)
    assert [call for call in calls(remote.sent[1]) if call.split()[1:] == ["'0'"]] == [
        "fs_read '0'"
    ]


def test_a_file_that_keeps_changing_makes_the_host_unusable_for_now() -> None:
    remote = MemoryRemote([answering(HOST, *file_record("torn", "before"))] * 3)
    with pytest.raises(HostUnusable, match="/f"):
        ask(Reader(remote), (Read("/f"),), SALTS)


def test_a_host_without_a_digest_is_believed() -> None:
    row, raw, end = file_record("whole")
    digest = hashlib.sha256(b"whole").hexdigest()
    remote = MemoryRemote([answering(HOST, row.replace(digest, ""), raw, end)])
    _, answers = ask(Reader(remote), (Read("/f"),), SALTS)
    assert len(remote.sent) == len(answers) == 1


def test_an_answer_with_parts_missing_is_no_answer() -> None:
    with pytest.raises(HostUnusable, match="parts missing"):
        ask(Reader(MemoryRemote([answering(HOST)])), (State(),), SALTS)


def test_an_answer_without_the_account_is_no_answer() -> None:
    with pytest.raises(HostUnusable, match="parts missing"):
        ask(Reader(MemoryRemote([answering()])), (), SALTS)


def test_an_account_without_a_home_is_unusable() -> None:
    remote = MemoryRemote([answering(HOST.replace("/home/op", ""))])
    with pytest.raises(HostUnusable, match="no home"):
        ask(Reader(remote), (), SALTS)


def test_a_reader_runs_no_client_program() -> None:
    remote = MemoryRemote([])
    with pytest.raises(TypeError, match="no client program"):
        ask(Reader(remote), (Ask(("agent", "--version")),), SALTS)


def test_salts_are_128_bits_each_and_new_for_each_run() -> None:
    one, other = Salts.fresh(), Salts.fresh()
    found = {one.first, one.second, other.first, other.second}
    assert (len(found), {len(bytes.fromhex(salt)) for salt in found}) == (4, {16})


def test_salts_do_not_show() -> None:
    assert repr(SALTS) == "Salts(…)"


def test_a_probe_knows_the_account_and_our_state_without_any_adapter(tmp_path: Path) -> None:
    facts = probe(Reader(LocalRemote(tmp_path)), (), SALTS)
    assert (str(facts.host and facts.host.home), set(facts.answers)) == (
        str(tmp_path), {State()},
    )


def test_what_two_adapters_ask_goes_into_one_exec(tmp_path: Path) -> None:
    remote = LocalRemote(tmp_path)
    one = Adapter("one", lambda facts: {Read("~/one"), Read("~/both")})
    two = Adapter("two", lambda facts: {Read("~/two"), Read("~/both")})
    facts = probe(Reader(remote), [(one, WISH), (two, WISH)], SALTS)
    assert (len(remote.exchanges), set(facts.answers)) == (
        1, {State(), Read("~/one"), Read("~/two"), Read("~/both")},
    )


def test_an_adapter_may_ask_further_and_nothing_is_put_twice(tmp_path: Path) -> None:
    def asks(facts: Facts) -> set[Question]:
        return {Read("~/one"), Read("~/two" if Read("~/one") in facts.answers else "~/one")}

    remote = LocalRemote(tmp_path)
    probe(Reader(remote), [(Adapter("one", asks), WISH)], SALTS)
    reads = [line for one in remote.exchanges for line in one.stdin.decode().splitlines()
             if line.startswith("fs_read '")]
    assert [line.rpartition(" ")[2] for line in reads] == ["'~/one'", "'~/two'"]


def test_an_adapter_that_asks_without_end_is_named(tmp_path: Path) -> None:
    remote = LocalRemote(tmp_path)
    endless = Adapter("endless", lambda facts: {Read(f"~/{len(facts.answers)}")})
    content = Adapter("content", lambda facts: {Read("~/0")})
    with pytest.raises(FleetsyncError, match="adapter endless still asks after 12 rounds"):
        probe(Reader(remote), [(content, WISH), (endless, WISH)], SALTS)
    assert len(remote.exchanges) == ROUNDS


def test_an_adapter_that_wants_a_program_run_is_named() -> None:
    asking = Adapter("asking", lambda facts: {Ask(("agent", "--version"))})
    with pytest.raises(FleetsyncError, match="adapter asking asks to run a program"):
        probe(Reader(MemoryRemote([])), [(asking, WISH)], SALTS)


def test_a_remote_that_fails_is_away_before_anything_was_sent(tmp_path: Path) -> None:
    inner = LocalRemote(tmp_path)
    reader = Reader(FailingRemote(inner, after=1, how=How.AWAY))
    ask(reader, (), SALTS)
    with pytest.raises(Away):
        ask(reader, (), SALTS)
    assert len(inner.exchanges) == 1


def test_a_remote_that_loses_the_answer_had_the_host_do_its_work(tmp_path: Path) -> None:
    inner = LocalRemote(tmp_path)
    with pytest.raises(Lost):
        ask(Reader(FailingRemote(inner, after=0)), (), SALTS)
    assert len(inner.exchanges) == 1


def test_a_memory_remote_raises_the_error_that_is_scripted() -> None:
    with pytest.raises(Away):
        Reader(MemoryRemote([Away("gone")])).call([Call("fs_host")])


def test_a_local_remote_is_lost_when_its_time_is_over(tmp_path: Path) -> None:
    with pytest.raises(Lost, match=r"0\.1 seconds"):
        LocalRemote(tmp_path).exchange("sleep 5", b"", b"", seconds=0.1)
