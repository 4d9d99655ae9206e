"""Hosts are independent: what happens on one never changes another's outcome."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from fleetsync.errors import (
    AuthenticationRefused,
    Away,
    FleetsyncError,
    HostKeyRefused,
    HostUnusable,
    Lost,
)
from fleetsync.fleet import Job, Run, Step, run
from fleetsync.inventory import Host
from fleetsync.outcome import HostResult, Outcome, exit_code
from fleetsync.remote import Remote
from fleetsync.testing.local import LocalRemote
from tests import standin

RUN = Run("r", "o", "c", "g")
FAULTS: dict[str, tuple[Exception, Outcome]] = {
    "away": (Away("no route", ""), Outcome.AWAY),
    "lost": (Lost("cut off", ""), Outcome.UNKNOWN),
    "key": (HostKeyRefused("changed", ""), Outcome.REFUSED),
    "login": (AuthenticationRefused("no", ""), Outcome.REFUSED),
    "shell": (HostUnusable("no sh", ""), Outcome.FAILED),
    "bug": (KeyError("canary-secret"), Outcome.FAILED),
}


@pytest.fixture
def good(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    home.mkdir()
    standin.install(home)
    standin.write_models(home, standin.models(393216, 4096))
    standin.give_key(home)
    return home


def jobs(*names: str) -> list[Job]:
    return [Job(Step.PREVIEW, RUN, Host(name), (standin.wish(),)) for name in names]


def connecting(home: Path) -> Callable[[Host, float], Remote]:
    def connect(host: Host, seconds: float) -> Remote:
        if host.name in FAULTS:
            raise FAULTS[host.name][0]
        return LocalRemote(home)

    return connect


def go(
    work: list[Job], home: Path, workers: int = 4, stop_after: int = 99
) -> tuple[HostResult, ...]:
    finished: list[HostResult] = []
    return run(
        work, workers=workers, started=lambda name: None, finished=finished.append,
        stopped=lambda: len(finished) >= stop_after, connect=connecting(home),
    )


def test_every_fault_stays_with_its_own_host(good: Path) -> None:
    names = ["one", *FAULTS, "two"]
    results = go(jobs(*names), good)
    assert [result.host for result in results] == names
    found = {result.host: result.outcomes for result in results}
    assert found["one"] == found["two"] == (Outcome.IN_STEP,)
    assert {name: found[name] for name in FAULTS} == {
        name: (outcome,) for name, (_, outcome) in FAULTS.items()
    }


def test_a_bug_tells_where_and_no_value(good: Path) -> None:
    (result,) = go(jobs("bug"), good)
    assert result.bug
    assert "canary-secret" not in repr(result)


def test_a_reason_does_not_repeat_the_hosts_name(good: Path) -> None:
    def connect(host: Host, seconds: float) -> Remote:
        raise Away(f"{host.name}: no route", "")

    (result,) = run(
        jobs("one"), workers=1, started=lambda name: None, finished=lambda result: None,
        connect=connect,
    )
    assert result.reason == "no route"


def test_away_is_neither_failed_nor_in_step(good: Path) -> None:
    assert exit_code(go(jobs("one", "away"), good), drift_is_3=False) == 4


@pytest.mark.parametrize("name", ["away", "lost"])
def test_a_host_that_says_nothing_has_a_next_command(good: Path, name: str) -> None:
    (result,) = go(jobs(name), good)
    assert result.step.endswith(f": fleetsync doctor {name}")


def test_no_host_is_started_once_stopped(good: Path) -> None:
    results = go(jobs("one", "two", "three"), good, workers=1, stop_after=1)
    assert [result.host for result in results] == ["one"]


def test_no_more_hosts_than_workers_are_under_way(good: Path) -> None:
    under_way, most, lock = 0, 0, threading.Lock()

    class Counting(LocalRemote):
        def close(self) -> None:
            nonlocal under_way
            with lock:
                under_way -= 1

    def connect(host: Host, seconds: float) -> Remote:
        nonlocal under_way, most
        with lock:
            under_way += 1
            most = max(most, under_way)
        return Counting(good)

    run(
        jobs(*"abcdef"), workers=2, started=lambda name: None, finished=lambda result: None,
        connect=connect,
    )
    assert 1 <= most <= 2
    assert under_way == 0


def test_jobs_and_results_can_travel(good: Path) -> None:
    (job,) = jobs("one")
    assert pickle.loads(pickle.dumps(job)) == job
    (result,) = go([job], good)
    assert pickle.loads(pickle.dumps(result)) == result


OURS = [fault for fault, _ in FAULTS.values() if isinstance(fault, FleetsyncError)]


@pytest.mark.parametrize("error", OURS)
def test_errors_keep_their_fields_when_they_travel(error: FleetsyncError) -> None:
    travelled = pickle.loads(pickle.dumps(error))
    assert (type(travelled), travelled.args) == (type(error), error.args)
