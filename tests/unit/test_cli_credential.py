"""`credential set` on the command line: whose key, how it comes in, and what is refused."""

from __future__ import annotations

import getpass
import io
import json
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import pytest

from fleetsync import fleet, receipt
from fleetsync.cli.main import fleetsync, main
from fleetsync.cli.options import CommonOption
from fleetsync.job import Job, Proof, Step
from fleetsync.outcome import (
    ChangeRow,
    FileDiff,
    HostResult,
    Outcome,
    RouterRow,
    RouterVerdict,
    TargetResult,
)
from fleetsync.sealed import Sealed

from .fleets import FakeFleet, alone, target, write_inventory

KEY = "sk-new-canary-222333"
STORE = "/home/op/.pi/agent/auth.json"
URL = "https://router.example.net/v1"


class Terminal(io.StringIO):
    """A stdin where somebody sits and types this."""

    def isatty(self) -> bool:
        return True


def seen(host: str = "one", outcome: Outcome = Outcome.DRIFT, **more: object) -> TargetResult:
    return target(
        host, outcome,
        changes=(ChangeRow(STORE, "anvil.key", "", None, "the new key"),),
        diffs=(FileDiff(STORE, STORE, "", "", "not told"),),
        notes=(f"{STORE} is made, with mode 0600",),
        **more,
    )


@dataclass
class Bench:
    """An inventory of three hosts, and the command line over it."""

    fleet: FakeFleet
    receipts: Path
    captured: pytest.CaptureFixture[str]
    patch: pytest.MonkeyPatch

    def run(self, *words: str, host: str = "one") -> tuple[int, str, str]:
        code = main(["credential", "set", *([host] if host else []), *words])
        return (code, *self.captured.readouterr())

    def types(self, key: str, answer: str = "y\n") -> None:
        self.patch.setattr("sys.stdin", Terminal(answer))
        self.patch.setattr(getpass, "getpass", lambda prompt: key)

    def pipes(self, data: bytes) -> None:
        self.patch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))

    def given(self) -> bytes:
        """The key that reached the host."""
        (job,) = (job for job in self.fleet.ran if job.step is Step.SET)
        assert job.order.key is not None
        return job.order.key.reveal()


@pytest.fixture
def bench(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Bench]:
    fake = FakeFleet()
    monkeypatch.setattr(fleet, "run", fake.run)
    monkeypatch.setenv("FLEETSYNC_INVENTORY", str(write_inventory(tmp_path / "inventory")))
    fake.set(Step.KEEP, HostResult("one", (seen(),)))
    row = RouterRow(RouterVerdict.ACCEPTED, URL)
    bundle = "/home/op/.local/state/fleetsync/txn/1.done"
    fake.set(Step.SET, HostResult("one", (seen(
        outcome=Outcome.CHANGED, router=row, bundle=bundle
    ),)))
    yield Bench(fake, tmp_path / "backups", capsys, monkeypatch)


def test_a_key_that_is_typed_is_written_after_a_yes(bench: Bench) -> None:
    bench.types(KEY)
    code, out, err = bench.run()
    assert (code, bench.given()) == (0, KEY.encode())
    assert f"the new key goes to {STORE}, anvil.key (nothing there now)" in out
    assert "is made, with mode 0600" in out
    assert f"router from this host  accepted  {URL}" in out
    assert "originals: /home/op/.local/state/fleetsync/txn/1.done on one" in out
    assert "Write it on one? [y/N] " in err


def test_a_no_writes_nothing(bench: Bench) -> None:
    bench.types(KEY, "n\n")
    code, _, err = bench.run()
    assert code == 2
    assert "declined: nothing was written" in err
    assert bench.fleet.steps(Step.SET) == []
    assert not bench.receipts.exists()


def test_yes_asks_for_the_key_alone(bench: Bench) -> None:
    bench.types(KEY, "")
    code, _, err = bench.run("--yes")
    assert (code, bench.given()) == (0, KEY.encode())
    assert "[y/N]" not in err


def test_an_interruption_at_the_prompt_ends_with_130(bench: Bench) -> None:
    def interrupt(prompt: str) -> NoReturn:
        raise KeyboardInterrupt

    bench.types(KEY)
    bench.patch.setattr(getpass, "getpass", interrupt)
    code, _, _ = bench.run()
    assert code == 130
    assert bench.fleet.steps(Step.SET) == []
    assert not bench.receipts.exists()


def test_a_terminal_that_would_show_the_key_is_not_asked(bench: Bench) -> None:
    def show(prompt: str) -> str:
        warnings.warn("Can not control echo on the terminal.", getpass.GetPassWarning, 2)
        return KEY

    bench.types(KEY)
    bench.patch.setattr(getpass, "getpass", show)
    code, _, err = bench.run()
    assert code == 2
    assert "this terminal would show the key" in err
    assert bench.fleet.steps(Step.SET) == []


def test_the_end_of_the_terminal_is_no_key(bench: Bench) -> None:
    def end(prompt: str) -> NoReturn:
        raise EOFError

    bench.types(KEY)
    bench.patch.setattr(getpass, "getpass", end)
    code, _, err = bench.run()
    assert code == 2
    assert "no key was given; nothing was touched" in err


@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n"])
def test_a_key_on_standard_input_is_one_line(bench: Bench, end: bytes) -> None:
    bench.pipes(KEY.encode() + end)
    code, _, _ = bench.run("--yes")
    assert (code, bench.given()) == (0, KEY.encode())


def test_a_key_on_standard_input_wants_yes(bench: Bench) -> None:
    bench.pipes(KEY.encode())
    code, _, err = bench.run()
    assert code == 2
    assert "nobody could answer its question" in err
    assert "--yes" in err
    assert bench.fleet.ran == []


@pytest.mark.parametrize("data", [
    b"", b"\n", b"sk-a b-1\n", b"sk-a\nsk-b\n", b"sk-a\n\n", b"sk-a\rb\n", b"sk-\x07\n",
    b"sk-\xc3\xa4\n", b"sk-\xff\n", b"$ROUTER_API_KEY\n", b"!pass show\n", b"<your key>\n",
    b"changeme\n", b"your-api-key\n", b"xxxx\n", b"'sk-quoted-1'\n", b"k" * 8193, b"k" * 99999,
    b"sk-\0\n", b"\xef\xbb\xbfsk-1\n",
])
def test_what_is_no_key_is_refused_before_a_host_is_contacted(bench: Bench, data: bytes) -> None:
    bench.pipes(data)
    code, out, err = bench.run("--yes")
    assert code == 2
    assert "this is no key: it " in err
    assert bench.fleet.ran == []
    words = [word for word in data.decode("utf-8", "replace").split() if len(word) > 3]
    assert not [word for word in words if word in out + err]


@pytest.mark.parametrize("host", ["*", "t*"])
def test_several_hosts_are_one_too_many(bench: Bench, host: str) -> None:
    bench.types(KEY)
    code, _, err = bench.run(host=host)
    assert code == 2
    assert f"{host} names several hosts: " in err
    assert bench.fleet.ran == []


@pytest.mark.parametrize("words", [(), ("two",)])
def test_no_host_and_two_words_are_usage_errors(bench: Bench, words: tuple[str, ...]) -> None:
    bench.types(KEY)
    code, _, err = bench.run(*words, host="one" if words else "")
    assert code == 2
    assert "credential set wants exactly one HOST" in err
    assert bench.fleet.ran == []


def test_a_group_of_one_host_is_that_host(bench: Bench) -> None:
    bench.types(KEY)
    assert bench.run(host="@canary")[0] == 0


def _several(bench: Bench) -> None:
    both = tuple(
        TargetResult("one", "hermes", name, Outcome.DRIFT, changes=seen().changes,
                     diffs=seen().diffs)
        for name in ("default", "work")
    )
    bench.fleet.set(Step.KEEP, HostResult("one", both))
    bench.types(KEY)


def test_of_several_targets_one_must_be_named(bench: Bench) -> None:
    _several(bench)
    code, _, err = bench.run()
    assert code == 2
    assert "one has several targets: hermes/default, hermes/work" in err
    assert "--target hermes/default" in err
    assert bench.fleet.steps(Step.SET) == []


def test_a_target_that_is_named_is_the_only_one(bench: Bench) -> None:
    _several(bench)
    bench.run("--target", "hermes/work")
    (job,) = (job for job in bench.fleet.ran if job.step is Step.SET)
    assert (job.order.target, job.proof) == ("hermes/work", Proof.ASK)
    assert [row.target for row in job.approved or ()] == ["hermes/work"]


def test_a_target_that_is_not_there_is_a_usage_error(bench: Bench) -> None:
    bench.types(KEY)
    code, _, err = bench.run("--target", "hermes/work")
    assert code == 2
    assert "one has no target hermes/work" in err
    assert "it has: pi" in err


def test_a_client_without_a_place_ends_with_5_and_the_lines(bench: Bench) -> None:
    found = target("one", Outcome.REFUSED, reason="no place", step="add this line\nand that")
    bench.fleet.set(Step.KEEP, HostResult("one", (found,)))
    bench.types(KEY)
    code, out, _ = bench.run()
    assert code == 5
    assert "  next: add this line\n        and that\n" in out
    assert bench.fleet.steps(Step.SET) == []


@pytest.mark.parametrize(
    ("outcome", "code"), [(Outcome.AWAY, 4), (Outcome.HELD, 0), (Outcome.FAILED, 1)]
)
def test_a_host_that_gives_no_target_ends_as_ever(
    bench: Bench, outcome: Outcome, code: int
) -> None:
    bench.fleet.set(Step.KEEP, alone("one", outcome))
    bench.types(KEY)
    assert bench.run()[0] == code


def test_a_key_that_the_router_rejects_ends_with_1(bench: Bench) -> None:
    failed = seen(outcome=Outcome.FAILED, reason=f"written, but {URL} rejects it",
                  step="give it another")
    bench.fleet.set(Step.SET, HostResult("one", (failed,)))
    bench.types(KEY)
    code, out, _ = bench.run()
    assert code == 1
    assert "rejects it" in out
    assert "next: give it another" in out
    assert "accepted" not in out


def test_the_receipt_and_the_envelope_hold_neither_key_nor_digest(bench: Bench) -> None:
    bench.types(KEY)
    code, out, err = bench.run("--json")
    envelope = json.loads(out)
    assert (code, envelope["command"], envelope["status"]) == (0, "credential set", "ok")
    (path,) = bench.receipts.iterdir()
    kept = receipt.load(path)
    assert (kept.command, kept.generation, kept.state) == ("credential set", "", "done")
    assert {(f.before, f.after) for a in kept.attempts for f in a.files} == {("", "not told")}
    told = out + err + path.read_text()
    assert KEY not in told
    assert Sealed(KEY.encode()).sha256 not in told


def test_a_fault_of_ours_shows_no_key(bench: Bench, tmp_path: Path) -> None:
    bench.patch.setattr("tempfile.tempdir", str(tmp_path))

    def fail(job: Job) -> None:
        if job.step is Step.SET:
            raise ZeroDivisionError

    bench.fleet.before_each = fail
    bench.types(KEY)
    code, out, err = bench.run("--debug")
    (trace,) = tmp_path.glob("fleetsync-bug-*")
    assert code == 70
    assert KEY not in out + err + trace.read_text()


def test_the_command_can_take_a_key_from_the_terminal_and_standard_input_alone() -> None:
    group = fleetsync.commands["credential"]
    command = group.commands["set"]  # type: ignore[attr-defined] # it is a group
    own = {p.name for p in command.params if not isinstance(p, CommonOption)}
    assert own == {"hosts", "target", "yes"}
    assert list(group.commands) == ["set"]  # type: ignore[attr-defined]


def test_the_group_alone_shows_its_help(bench: Bench) -> None:
    code = main(["credential"])
    _, err = bench.captured.readouterr()
    assert code == 2
    assert "set  Put a new one where a client keeps its own" in err
