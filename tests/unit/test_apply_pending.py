"""What was written and is right, but is not used yet by a client that runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from fleetsync import apply, decide, step, transaction, verify
from fleetsync.adapter import Loaded, Target
from fleetsync.facts import Facts, Place, PlaceKind, StateFact, Verdict
from fleetsync.inventory import Host
from fleetsync.job import Job, Run, Step
from fleetsync.look import Look, Session
from fleetsync.outcome import HostResult, Outcome
from fleetsync.plan import Plan
from fleetsync.probe import Salts
from fleetsync.remote import Reader, Runner, Writer
from fleetsync.testing.local import LocalRemote
from fleetsync.transaction import Applied, End
from fleetsync_openclaw import adapter
from tests.adapters.openclaw import CONFIG, NAME, config, target, wish

KEYED = {Place(PlaceKind.DOTENV, "~/.openclaw/.env", NAME): Verdict.RESOLVES}
WAITS = Loaded(True, pending="it runs the old file")


def seen(window: int) -> Target:
    table = config()
    table["models"]["providers"]["anvil"]["models"][0]["contextWindow"] = window
    return target(wish(), {CONFIG: table}, held=KEYED)


def look(one: Target) -> Look:
    return Look(Facts(), (Plan(adapter, one, adapter.plan(one), ()),), StateFact(""))


class Told:
    """A loader that gives these answers, one after the other."""

    def __init__(self, *answers: Loaded) -> None:
        self.left = list(answers)

    def __call__(self, runner: Runner, plan: Plan) -> Loaded:
        return self.left.pop(0)


def session(kind: Step, home: Path) -> Session:
    run = Run("run-1", "operator@here", "here", "generation")
    job = Job(kind, run, Host("node"), (wish(),))
    return Session(job, Reader(LocalRemote(home)), Salts.fresh(), ((adapter, wish()),))


def applied(monkeypatch: pytest.MonkeyPatch, home: Path, told: Told) -> HostResult:
    """An apply whose transaction succeeds, and whose loader says what `told` says."""
    looks = iter((look(seen(524288)), look(seen(393216))))
    monkeypatch.setattr(decide, "look", lambda session: next(looks))
    monkeypatch.setattr(apply, "look", lambda session: next(looks))
    monkeypatch.setattr(apply, "ask_loader", told)
    done = Applied("t", End.APPLIED, bundle="b")
    monkeypatch.setattr(transaction, "transact", lambda writer, job: done)
    remote = LocalRemote(home)
    return apply.apply(session(Step.APPLY, home), Runner(remote), Writer(remote))


def test_a_client_that_applies_the_file_after_a_while_is_changed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    told = Told(Loaded(True), WAITS, WAITS, Loaded(True, notes=("a note",)))
    (result,) = applied(monkeypatch, tmp_path, told).targets
    assert (result.outcome, result.notes, told.left) == (Outcome.CHANGED, ("a note",), [])


def test_a_client_that_never_applies_the_file_is_failed_and_the_file_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    told = Told(Loaded(True), WAITS, WAITS, WAITS, WAITS)
    (result,) = applied(monkeypatch, tmp_path, told).targets
    assert (result.outcome, result.bundle) == (Outcome.FAILED, "b")
    assert result.reason == "written, not applied: it runs the old file"
    assert "was kept" in result.step


def test_a_verification_names_a_client_that_runs_the_old_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(step, "look", lambda session: look(seen(393216)))
    monkeypatch.setattr(verify, "ask_loader", Told(WAITS))
    (result,) = step.verify(session(Step.VERIFY, tmp_path), Runner(LocalRemote(tmp_path))).targets
    assert result.outcome is Outcome.FAILED
    assert result.reason == "written, not applied: it runs the old file"
