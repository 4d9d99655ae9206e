"""The command line in this process, over hosts that are made by hand."""

from __future__ import annotations

import io
import json
import re
import signal
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from fleetsync import fleet, receipt
from fleetsync.cli.main import main
from fleetsync.job import Approved, Job, Proof, Step
from fleetsync.outcome import BundleRow, HostResult, Outcome, RouterRow, RouterVerdict
from fleetsync.withdrawn import Withdrawal, withdraw

from .fleets import (
    INSTALLATION,
    TRACE,
    FakeFleet,
    account,
    alone,
    changed,
    drift,
    in_step,
    refused,
    target,
    write_inventory,
)


class Terminal(io.StringIO):
    """A stdin where somebody sits and types this."""

    def isatty(self) -> bool:
        return True


@dataclass
class Ended:
    """How a command line ended."""

    code: int
    out: str
    err: str

    @property
    def envelope(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.out)
        return found


@dataclass
class Bench:
    """One inventory of three hosts, and the command line over it."""

    fleet: FakeFleet
    receipts: Path
    captured: pytest.CaptureFixture[str]

    def run(self, *words: str) -> Ended:
        code = main(words)
        out, err = self.captured.readouterr()
        return Ended(code, out, err)

    def receipt(self) -> receipt.Receipt:
        (path,) = self.receipts.iterdir()
        return receipt.load(path)

    def all_are(self, step: Step, *results: HostResult) -> None:
        self.fleet.set(step, *results)


@pytest.fixture
def bench(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Bench]:
    fake = FakeFleet()
    monkeypatch.setattr(fleet, "run", fake.run)
    monkeypatch.setenv("FLEETSYNC_INVENTORY", str(write_inventory(tmp_path / "inventory")))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    for step in (Step.PREVIEW, Step.VERIFY, Step.DOCTOR):
        fake.set(step, drift("one"), in_step("two"), refused("three"))
    fake.set(Step.APPLY, changed("one"))
    yield Bench(fake, tmp_path / "backups", capsys)


def sits(monkeypatch: pytest.MonkeyPatch, typed: str) -> None:
    monkeypatch.setattr("sys.stdin", Terminal(typed))


# --- preview, verify, doctor ---------------------------------------------------------


def test_preview_ends_with_the_summary_and_the_next_command(bench: Bench) -> None:
    bench.fleet.set(Step.PREVIEW, drift("one"), in_step("two"), drift("three"))
    ended = bench.run("preview")
    assert ended.out.splitlines()[-2:] == [
        "3 hosts: 1 in step, 2 drift",
        "next: fleetsync apply one three",
    ]


def test_preview_of_a_large_fleet_repeats_the_words_of_the_operator(
    tmp_path: Path, bench: Bench
) -> None:
    names = [f"h{number}" for number in range(9)]
    tables = "".join(f'[hosts.{name}]\nclients = ["pi"]\n' for name in names)
    (tmp_path / "inventory" / "fleet.toml").write_text(
        '[router]\nprovider = "a"\nbase_url = "https://r.example"\ncredential = "K"\n' + tables
    )
    bench.fleet.set(Step.PREVIEW, *map(drift, names))
    assert bench.run("preview", "h*").out.splitlines()[-1] == "next: fleetsync apply 'h*'"


def test_the_next_command_repeats_the_options_that_led_here(bench: Bench, tmp_path: Path) -> None:
    ended = bench.run("--inventory", str(tmp_path / "inventory"), "preview", "--client", "pi")
    expected = f"next: fleetsync apply one --inventory {tmp_path}/inventory --client pi"
    assert ended.out.splitlines()[-1] == expected


@pytest.mark.parametrize("command", ["preview", "doctor", "verify"])
def test_the_next_step_of_a_host_repeats_the_options_too(
    bench: Bench, tmp_path: Path, command: str
) -> None:
    step = "fleetsync credential set one --target pi\nsee fleetsync.log, then: fleetsync doctor one"
    found = target("one", Outcome.REFUSED, reason="no key of its own", step=step)
    for asked in (Step.PREVIEW, Step.DOCTOR, Step.VERIFY):
        bench.fleet.set(asked, HostResult("one", (found,)))
    ours = f"fleetsync --inventory '{tmp_path}/my fleet'"
    (tmp_path / "inventory").rename(tmp_path / "my fleet")
    lines = bench.run(command, "one", "--inventory", f"{tmp_path}/my fleet").out.splitlines()
    assert f"  next: {ours} credential set one --target pi" in lines
    assert f"        see fleetsync.log, then: {ours} doctor one" in lines


def test_a_rollback_of_nothing_names_the_list_of_this_inventory(
    bench: Bench, tmp_path: Path
) -> None:
    ended = bench.run("rollback", "--yes", "--inventory", str(tmp_path / "inventory"))
    assert f"`fleetsync bundles list --inventory {tmp_path}/inventory` shows" in ended.err


def test_a_bundle_without_a_generation_names_none(bench: Bench) -> None:
    row = BundleRow("5f", "done", 60, "ada", "a-run", "", (), "/b", ())
    bench.fleet.set(Step.BUNDLES, HostResult("one", bundles=(row,)))
    assert "  by ada in run a-run" in bench.run("bundles", "show", "one").out.splitlines()


def test_receipts_lie_beside_an_inventory_that_is_named_from_below(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    below = tmp_path / "inventory" / "notes"
    below.mkdir()
    monkeypatch.chdir(below)
    assert bench.run("apply", "one", "--yes", "--inventory", "..").code == 0
    assert bench.receipt().command == "apply"


def test_an_apply_that_would_end_at_once_is_not_suggested(bench: Bench) -> None:
    assert bench.run("apply", "one", "--yes").code == 0
    generation = bench.receipt().generation
    withdraw(bench.receipts, Withdrawal(generation, "a-run", "ada", "2026-01-01T00:00:00Z"))
    ended = bench.run("preview", "one")
    assert "apply needs --again" in ended.err
    assert ended.out.splitlines()[-1] == "1 host: 1 drift"


def test_a_run_without_a_receipt_is_sought_in_this_inventory(
    bench: Bench, tmp_path: Path
) -> None:
    words = ("--run", "abcd1234", "--inventory", str(tmp_path / "inventory"))
    expected = f"fleetsync rollback HOST --inventory {tmp_path}/inventory --run abcd1234"
    assert expected in bench.run("rollback", "--yes", *words).err


def test_preview_writes_no_receipt(bench: Bench) -> None:
    bench.run("preview")
    assert not bench.receipts.exists()


def test_progress_goes_to_stderr_in_plain_lines(bench: Bench) -> None:
    lines = bench.run("preview", "two").err.splitlines()
    assert lines == ["preview: 1 host", "  two: begun", "  two: in step (0.0 s)"]


def test_a_quiet_run_has_no_progress(bench: Bench) -> None:
    assert bench.run("preview", "-q").err == ""


def test_a_terminal_gets_one_live_line(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("sys.stderr", screen)
    assert main(["preview", "one"]) == 0
    assert re.search(r"preview.*1/1", screen.getvalue())
    assert "begun" not in screen.getvalue()


def test_a_dumb_terminal_gets_plain_lines(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen = Terminal()
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setattr("sys.stderr", screen)
    main(["preview", "one"])
    assert screen.getvalue().splitlines()[0] == "preview: 1 host"


def test_a_selection_runs_on_the_named_hosts_alone(bench: Bench) -> None:
    bench.run("preview", "@canary", "th*")
    assert bench.fleet.steps(Step.PREVIEW) == ["one", "three"]


def test_common_options_count_before_and_after_the_command(bench: Bench) -> None:
    before, after = bench.run("-q", "preview"), bench.run("preview", "-q")
    assert before == after
    assert len(before.out.splitlines()) == 4


def test_the_timeout_reaches_the_run(bench: Bench) -> None:
    bench.run("preview", "--timeout", "7")
    assert bench.fleet.ran[0].run.seconds == 7


def test_no_colour_where_stdout_is_no_terminal(bench: Bench) -> None:
    assert "\x1b" not in bench.run("preview").out


@pytest.mark.parametrize(
    ("variable", "value", "colour"),
    [("TERM", "xterm", True), ("TERM", "dumb", False), ("NO_COLOR", "1", False)],
)
def test_colour_follows_the_terminal_and_the_environment(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, variable: str, value: str, colour: bool
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv(variable, value)
    screen = Terminal()
    monkeypatch.setattr("sys.stdout", screen)
    main(["preview", "-q"])
    assert ("\x1b[" in screen.getvalue()) is colour


def test_doctor_gives_each_target_one_next_step(bench: Bench) -> None:
    assert len(re.findall("^  next: ", bench.run("doctor").out, re.MULTILINE)) == 3


def test_doctor_of_several_hosts_ends_with_the_table_of_keys(bench: Bench) -> None:
    ended = bench.run("doctor")
    assert "router keys:" in ended.out.splitlines()
    assert ended.out.splitlines()[-1].startswith("3 hosts: ")


@pytest.mark.parametrize(("words", "step", "proof", "deep"), [
    (["preview"], Step.PREVIEW, Proof.NONE, False),
    (["preview", "--prove"], Step.PREVIEW, Proof.ASK, False),
    (["preview", "--prove", "--offline"], Step.PREVIEW, Proof.OFFLINE, False),
    (["verify"], Step.VERIFY, Proof.NONE, False),
    (["doctor"], Step.DOCTOR, Proof.ASK, False),
    (["doctor", "--deep", "--offline"], Step.DOCTOR, Proof.OFFLINE, True),
    (["apply", "--yes"], Step.APPLY, Proof.ASK, False),
    (["apply", "--yes", "--offline"], Step.APPLY, Proof.OFFLINE, False),
])
def test_the_router_is_asked_by_apply_and_doctor_and_where_it_is_wished(
    bench: Bench, words: list[str], step: Step, proof: Proof, deep: bool
) -> None:
    bench.run(*words)
    jobs = [job for job in bench.fleet.ran if job.step is step]
    assert {(job.proof, job.deep) for job in jobs} == {(proof, deep)}


def test_a_host_that_is_away_at_the_second_look_is_away(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fleetsync.cli.check_after.sleep", lambda seconds: None)
    bench.fleet.set(Step.AGAIN, alone("one", Outcome.AWAY, "no route"))
    ended = bench.run("apply", "one", "--yes", "--check-after", "5", "--json")
    assert (ended.code, ended.envelope["status"]) == (4, "away")
    (host,) = ended.envelope["hosts"]
    assert host["targets"][0]["outcome"] == "changed"
    assert host["notes"] == ["not looked at again: away: no route"]
    assert bench.receipt().attempts[-1].outcome == "away"


def test_a_host_that_was_not_seen_again_has_a_next_step(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fleetsync.cli.check_after.sleep", lambda seconds: None)
    bench.fleet.set(Step.AGAIN, alone("one", Outcome.AWAY, "no route"))
    ended = bench.run("apply", "one", "--yes", "--check-after", "5")
    assert "look again when they answer: fleetsync verify one" in ended.out.splitlines()


# --- exit codes ----------------------------------------------------------------------

CASES = [
    (Outcome.IN_STEP, 0, "ok"),
    (Outcome.HELD, 0, "ok"),
    (Outcome.FAILED, 1, "failed"),
    (Outcome.ROLLED_BACK, 1, "failed"),
    (Outcome.UNKNOWN, 1, "failed"),
    (Outcome.REFUSED, 5, "refused"),
    (Outcome.CONFLICT, 5, "refused"),
    (Outcome.ABSENT, 5, "refused"),
    (Outcome.AWAY, 4, "away"),
]


@pytest.mark.parametrize("command", ["preview", "verify", "doctor"])
@pytest.mark.parametrize(("outcome", "code", "status"), CASES)
def test_an_outcome_has_one_exit_code(
    bench: Bench, command: str, outcome: Outcome, code: int, status: str
) -> None:
    bench.fleet.set(Step(command), alone("one", outcome))
    ended = bench.run(command, "one", "--json")
    assert (ended.code, ended.envelope["exit_code"]) == (code, code)
    assert ended.envelope["status"] == status


@pytest.mark.parametrize(
    ("words", "code"),
    [(["preview"], 0), (["preview", "--exit-code"], 3), (["verify"], 3), (["doctor"], 0)],
)
def test_drift_is_3_where_it_was_asked_for(bench: Bench, words: list[str], code: int) -> None:
    ended = bench.run(*words, "one", "--json")
    assert ended.code == code
    assert ended.envelope["status"] == "drift"


def test_an_interrupted_transaction_is_3(bench: Bench) -> None:
    bench.fleet.set(Step.PREVIEW, replace(in_step("one"), interrupted=("cut off",)))
    ended = bench.run("preview", "one", "--json")
    assert (ended.code, ended.envelope["status"]) == (3, "unfinished")


def test_a_bug_in_one_hosts_step_is_70_and_its_trace_is_kept(bench: Bench) -> None:
    found = replace(alone("one", Outcome.FAILED, "a bug: KeyError"), bug=("plan.py:7 plan",))
    bench.fleet.set(Step.PREVIEW, found)
    ended = bench.run("preview", "one")
    (path,) = re.findall(r"its trace is in (\S+)", ended.err)
    assert ended.code == 70
    assert "plan.py:7 plan" in Path(path).read_text()


# --- apply ---------------------------------------------------------------------------


def test_apply_writes_to_the_hosts_with_drift_what_was_seen(bench: Bench) -> None:
    bench.run("apply", "--yes")
    jobs = [job for job in bench.fleet.ran if job.step is Step.APPLY]
    path = "/home/op/.pi/agent/models.json"
    assert [(job.host.name, job.approved) for job in jobs] == [
        ("one", (Approved("pi", path, "a" * 64, "b" * 64),))
    ]


def test_apply_goes_to_a_host_in_step_where_a_transaction_was_cut_off(bench: Bench) -> None:
    bench.fleet.set(Step.PREVIEW, replace(in_step("two"), interrupted=("cut off",)))
    bench.fleet.set(Step.APPLY, replace(in_step("two"), notes=("finished now",)))
    ended = bench.run("apply", "two", "--yes")
    assert (ended.code, bench.fleet.steps(Step.APPLY)) == (0, ["two"])
    assert "two  note: finished now" in ended.out.splitlines()


def test_apply_ends_with_bundle_receipt_and_the_repeat(bench: Bench) -> None:
    lines = bench.run("apply", "one", "--yes").out.splitlines()
    assert "  originals: /home/op/.local/state/fleetsync/txn/1.done on one" in lines
    assert lines[-4] == "1 host: 1 changed"
    assert lines[-3].startswith(f"receipt: {bench.receipts}/")
    assert lines[-1] == "repeat, and nothing changes: fleetsync apply one"


def test_apply_counts_the_hosts_it_left(bench: Bench) -> None:
    ended = bench.run("apply", "--yes")
    assert "3 hosts: 1 in step, 1 changed, 1 refused" in ended.out.splitlines()
    assert ended.code == 5


def test_apply_asks_on_stderr_and_takes_yes(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    sits(monkeypatch, "y\n")
    ended = bench.run("apply", "one")
    assert "Write 1 file on 1 host? [y/N] " in ended.err
    assert bench.fleet.steps(Step.APPLY) == ["one"]


@pytest.mark.parametrize("typed", ["n\n", "\n", "", "yess\n"])
def test_anything_but_yes_writes_nothing(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, typed: str
) -> None:
    sits(monkeypatch, typed)
    ended = bench.run("apply", "one")
    assert ended.code == 2
    assert bench.fleet.steps(Step.APPLY) == []
    assert not bench.receipts.exists()


def test_without_terminal_and_yes_no_host_is_contacted(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    ended = bench.run("apply", "one", "two", "--client", "pi")
    assert ended.code == 2
    assert bench.fleet.ran == []
    assert "look with `fleetsync preview one two --client pi`, then give the same" in ended.err


def test_a_repeat_with_nothing_to_write_asks_and_sends_nothing(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    sits(monkeypatch, "")
    ended = bench.run("apply", "two")
    assert ended.code == 0
    assert bench.fleet.steps(Step.APPLY) == []
    assert ended.out.splitlines()[:2] == ["two  pi  in step", "1 host: 1 in step"]


def test_a_quiet_apply_prints_what_changed_and_the_summary(bench: Bench) -> None:
    lines = bench.run("apply", "one", "two", "--yes", "-q").out.splitlines()
    assert lines[0] == "one  pi  changed  2 changes"
    assert lines[2] == "2 hosts: 1 in step, 1 changed"
    assert lines[3].startswith("receipt: ")


def test_the_receipt_has_begun_before_the_first_host_is_written(bench: Bench) -> None:
    states: list[str] = []

    def look(job: Job) -> None:
        if job.step is Step.APPLY:
            states.append(bench.receipt().state)

    bench.fleet.before_each = look
    bench.run("apply", "--yes")
    assert (states, bench.receipt().state) == (["begun"], "done")


def test_the_receipt_holds_every_attempt_of_every_host(bench: Bench) -> None:
    code = bench.run("apply", "--yes").code
    kept = bench.receipt()
    assert [(a.step, a.host, a.outcome) for a in kept.attempts] == [
        ("preview", "one", "drift"),
        ("preview", "two", "in step"),
        ("preview", "three", "refused"),
        ("apply", "one", "changed"),
    ]
    assert (kept.exit_code, kept.open) == (code, ())


def test_a_run_that_wrote_nothing_leaves_a_receipt_as_well(bench: Bench) -> None:
    bench.run("apply", "two", "--yes")
    assert bench.receipt().state == "done"


def test_no_host_is_written_where_the_receipt_cannot_be_kept(
    bench: Bench, tmp_path: Path
) -> None:
    (tmp_path / "backups").write_text("in the way")
    ended = bench.run("apply", "--yes")
    assert ended.code == 2
    assert bench.fleet.steps(Step.APPLY) == []


def test_a_receipt_lost_at_the_end_is_a_failure_that_hides_no_result(bench: Bench) -> None:
    def lose(job: Job) -> None:
        if job.step is Step.APPLY:
            for path in bench.receipts.iterdir():
                path.unlink()
            bench.receipts.rmdir()
            bench.receipts.write_text("in the way")

    bench.fleet.before_each = lose
    ended = bench.run("apply", "one", "--yes", "--json")
    assert ended.code == 1
    assert ended.envelope["hosts"][0]["targets"][0]["outcome"] == "changed"
    assert ended.envelope["errors"][0]["code"] == "receipt"


def test_a_fault_in_the_middle_leaves_a_receipt_that_says_so(bench: Bench) -> None:
    def break_down(job: Job) -> None:
        if job.step is Step.APPLY:
            raise KeyError("a fault")

    bench.fleet.before_each = break_down
    assert bench.run("apply", "--yes").code == 70
    assert (bench.receipt().state, bench.receipt().open) == ("broken", ("one",))


# --- ^C ------------------------------------------------------------------------------


def presses(times: int, on: tuple[Step, str]) -> Any:
    """What a fleet does when ^C is pressed while a host is under way."""

    def press(job: Job) -> None:
        if (job.step, job.host.name) == on:
            for _ in range(times):
                signal.raise_signal(signal.SIGINT)

    return press


def test_the_first_interrupt_finishes_what_was_begun_and_starts_no_more(bench: Bench) -> None:
    bench.fleet.before_each = presses(1, (Step.PREVIEW, "one"))
    ended = bench.run("preview")
    assert ended.code == 130
    assert bench.fleet.steps(Step.PREVIEW) == ["one"]
    assert "not started: two, three" in ended.out.splitlines()
    assert "llm.primary" in ended.out


def test_the_second_interrupt_leaves(bench: Bench) -> None:
    bench.fleet.before_each = presses(2, (Step.PREVIEW, "two"))
    ended = bench.run("preview", "--json")
    assert ended.code == 130
    assert [host["host"] for host in ended.envelope["hosts"]] == ["one"]
    assert ended.envelope["errors"] == [
        {"code": "interrupted", "message": "interrupted; left: two, three", "hint": ""}
    ]


def test_an_interrupted_preview_is_not_applied(bench: Bench) -> None:
    bench.fleet.before_each = presses(1, (Step.PREVIEW, "one"))
    assert bench.run("apply", "--yes").code == 130
    assert bench.fleet.steps(Step.APPLY) == []
    assert bench.receipt().state == "interrupted"


def test_an_interrupted_apply_keeps_what_is_open_and_what_is_unknown(bench: Bench) -> None:
    bench.fleet.set(Step.PREVIEW, drift("two"), drift("three"))
    bench.fleet.set(Step.APPLY, changed("two"))
    bench.fleet.before_each = presses(2, (Step.APPLY, "two"))
    ended = bench.run("apply", "--yes", "--json")
    kept = bench.receipt()
    assert ended.code == 130
    assert (kept.state, kept.open) == ("interrupted", ("three",))
    assert [(a.host, a.outcome) for a in kept.attempts[3:]] == [
        ("one", "changed"),
        ("two", "unknown"),
    ]


def test_an_interrupt_at_the_question_is_130(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def press() -> str:
        raise KeyboardInterrupt

    terminal = Terminal()
    monkeypatch.setattr(terminal, "readline", press)
    monkeypatch.setattr("sys.stdin", terminal)
    ended = bench.run("apply", "--json")
    assert (ended.code, ended.envelope["status"]) == (130, "interrupted")
    assert bench.fleet.steps(Step.APPLY) == []


def test_the_handler_of_interrupts_is_put_back(bench: Bench) -> None:
    before = signal.getsignal(signal.SIGINT)
    bench.run("preview")
    assert signal.getsignal(signal.SIGINT) is before


# --- the envelope --------------------------------------------------------------------


def test_the_envelope_has_its_fields_in_order(bench: Bench) -> None:
    found = bench.run("preview", "--json").envelope
    assert list(found) == [
        "fleetsync", "command", "status", "exit_code", "generation", "run", "receipt", "hosts",
        "errors", "notices", "all_targets_verified",
    ]
    assert found["fleetsync"] == 1
    assert re.fullmatch("[0-9a-f]{64}", found["generation"])
    assert re.fullmatch("[0-9a-f]{8}", found["run"])


def test_the_envelope_carries_each_target_with_its_words(bench: Bench) -> None:
    found = bench.run("preview", "one", "--json").envelope["hosts"][0]["targets"][0]
    assert found["outcome"] == "drift"
    assert found["changes"][0] == {
        "file": "/home/op/.pi/agent/models.json", "subject": "llm.primary",
        "key": "contextWindow", "before": "524288", "after": "393216",
    }


def test_the_envelope_carries_the_whole_sheet_of_a_host_and_its_targets(bench: Bench) -> None:
    row = RouterRow(RouterVerdict.ALIAS_MISSING, "http://r/v1", "", ("a",), ("http_proxy",))
    found = target(
        "one", Outcome.IN_STEP, installations=(INSTALLATION,), trace=TRACE, credential="open",
        router=row, limits="as wished", shared_with=("two",), fingerprint="0123456789ab",
    )
    bench.fleet.set(
        Step.DOCTOR, HostResult("one", (found,), account=account(), writers=("cc-switch",))
    )
    (host,) = bench.run("doctor", "one", "--json").envelope["hosts"]
    (told,) = host["targets"]
    assert host["writers"] == ["cc-switch"]
    assert host["account"]["shell"] == "/bin/bash"
    assert told["router"] == {
        "verdict": "alias missing", "url": "http://r/v1", "detail": "", "missing": ["a"],
        "proxies": ["http_proxy"],
    }
    assert [told[key] for key in ("credential", "limits", "shared_with")] == [
        "open", "as wished", ["two"],
    ]
    assert told["trace"][0] == {
        "place": "~/.pi/agent/auth.json anvil.key", "verdict": "absent", "detail": "",
        "opens": False, "explains": False,
    }
    assert told["installations"][0]["interpreter"] == "/usr/bin/node"
    assert "fingerprint" not in told


def test_json_prints_one_line_and_nothing_else(bench: Bench) -> None:
    assert len(bench.run("apply", "--yes", "--json").out.splitlines()) == 1


def breaks(job: Job) -> None:
    raise ValueError("something we did not think of")


FAILURES: list[tuple[str, Sequence[str], int, str]] = [
    ("an unknown command", ["nonsense"], 2, "usage"),
    ("no command", [], 2, "usage"),
    ("an unknown option", ["preview", "--nonsense"], 2, "usage"),
    ("an abbreviated option", ["preview", "--verb"], 2, "usage"),
    ("a bad value", ["preview", "--workers", "0"], 2, "usage"),
    ("a contradiction", ["preview", "-q", "-v"], 2, "usage"),
    ("an unknown host", ["preview", "nowhere"], 2, "usage"),
    ("an unknown client", ["preview", "--client", "nobody"], 2, "usage"),
    ("no inventory", ["preview", "--inventory", "/nonexistent"], 2, "usage"),
    ("no terminal and no --yes", ["apply"], 2, "usage"),
]


@pytest.mark.parametrize(("case", "words", "code", "error"), FAILURES)
def test_json_is_printed_on_failure(
    bench: Bench,
    monkeypatch: pytest.MonkeyPatch,
    case: str,
    words: list[str],
    code: int,
    error: str,
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO())
    ended = bench.run(*words, "--json")
    assert ended.code == ended.envelope["exit_code"] == code, case
    assert ended.envelope["errors"][0]["code"] == error
    assert ended.envelope["errors"][0]["message"]
    assert bench.fleet.ran == []


def test_json_carries_every_fault_of_the_operators_files(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "inventory" / "catalog.toml").write_text(
        '[aliases."a"]\ncontext_window = 0\nmax_output_tokens = true\n'
    )
    ended = bench.run("preview", "--json")
    assert (ended.code, ended.envelope["status"]) == (2, "configuration")
    assert len(ended.envelope["errors"]) == 2


def test_json_tells_a_bug_without_its_values(bench: Bench) -> None:
    bench.fleet.before_each = breaks
    ended = bench.run("preview", "--json")
    assert (ended.code, ended.envelope["errors"][0]["code"]) == (70, "bug")
    assert "something we did not think of" not in ended.out


def test_a_bugs_trace_is_kept_for_the_operator_alone(bench: Bench) -> None:
    bench.fleet.before_each = breaks
    ended = bench.run("preview")
    (path,) = re.findall(r"its trace is in (\S+)", ended.err)
    assert Path(path).stat().st_mode & 0o777 == 0o600
    assert "test_cli.py" in Path(path).read_text()
    assert "Traceback" not in ended.err


def test_debug_says_where_an_error_came_from(bench: Bench) -> None:
    assert "Traceback" in bench.run("preview", "nowhere", "--debug").err


def test_every_option_in_words_that_are_hosts_is_a_host(bench: Bench) -> None:
    ended = bench.run("preview", "--", "--json")
    assert ended.code == 2
    assert ended.out == ""


def test_an_unfit_name_in_a_result_stays_ascii_in_json(bench: Bench) -> None:
    hostile = "\x1b[31m\udce9é"
    found = target("one", Outcome.IN_STEP, notes=(hostile,))
    bench.fleet.set(Step.PREVIEW, HostResult("one", (found,)))
    ended = bench.run("preview", "one", "--json")
    assert ended.out.isascii()
    assert "\x1b" not in ended.out
