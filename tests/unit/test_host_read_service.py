"""A credential in the environment of a running program is judged where it runs."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fleetsync.facts import Place, PlaceFact, PlaceKind, Variable, VariableFact, Verdict
from tests.unit.host_read import SHELLS, Host

KEY, TITLE = "ROUTER_API_KEY", f"fleetsync-test-gateway-{os.getpid()}"


@pytest.fixture(params=SHELLS)
def host(request: pytest.FixtureRequest, tmp_path: Path) -> Host:
    return Host(tmp_path, request.param)


@contextmanager
def running(environment: dict[str, str]) -> Iterator[None]:
    """A program of that title, started with this environment, and ready."""
    script = f"echo; exec -a {TITLE} sleep 600"
    with subprocess.Popen(
        ["bash", "-c", script], env={"PATH": "/usr/bin:/bin", **environment},
        stdout=subprocess.PIPE,
    ) as process:
        try:
            assert process.stdout is not None
            process.stdout.readline()
            while not Path(f"/proc/{process.pid}/cmdline").read_bytes().startswith(TITLE.encode()):
                pass
            yield
        finally:
            process.kill()


def judged(host: Host) -> PlaceFact:
    return host.place(PlaceKind.SERVICE, TITLE, KEY)


def test_a_variable_of_the_running_program_resolves(host: Host) -> None:
    with running({"BEFORE": "a=b", KEY: "a-real-key", "AFTER": "c"}):
        assert judged(host).verdict is Verdict.RESOLVES


def test_a_program_of_another_home_is_not_this_hosts(host: Host, tmp_path: Path) -> None:
    with running({"HOME": str(tmp_path / "other"), KEY: "a-real-key"}):
        assert judged(host).verdict is Verdict.ABSENT
    with running({"HOME": str(host.home), KEY: "a-real-key"}):
        assert judged(host).verdict is Verdict.RESOLVES


def test_an_empty_variable_of_the_running_program_is_empty(host: Host) -> None:
    with running({KEY: ""}):
        assert judged(host).verdict is Verdict.EMPTY


def test_another_variable_that_ends_alike_is_another(host: Host) -> None:
    with running({f"OTHER_{KEY}": "a-real-key"}):
        assert judged(host) == PlaceFact(Verdict.ABSENT)


def test_where_none_runs_the_verdict_says_so(host: Host) -> None:
    assert judged(host) == PlaceFact(Verdict.ABSENT, detail="none runs")


def test_what_a_check_of_ours_started_is_no_running_program(host: Host) -> None:
    with running({"DIR": "/scratch", "FLEETSYNC_RUN": "abc", KEY: "a-real-key"}):
        assert host.one(Variable("DIR", TITLE)) == VariableFact(None, None, None)
        assert judged(host) == PlaceFact(Verdict.ABSENT, detail="none runs")


def test_a_title_that_is_no_plain_word_is_never_sent(host: Host) -> None:
    with pytest.raises(ValueError, match="cannot be looked for"):
        host.ask(Place(PlaceKind.SERVICE, "x; reboot", KEY))


def test_a_running_programs_directory_is_read(host: Host) -> None:
    with running({"OTHER_DIR": "/no", "DIR": "/srv/a b", "AFTER": "c"}):
        assert host.one(Variable("DIR", TITLE)) == VariableFact(None, None, "/srv/a b")
        assert host.one(Variable("GONE", TITLE)) == VariableFact(None, None, None)


def test_where_no_program_runs_there_is_no_value(host: Host) -> None:
    assert host.one(Variable("DIR", TITLE)) == VariableFact(None, None, None)


def test_no_value_is_asked_of_a_program_with_an_odd_title(host: Host) -> None:
    with pytest.raises(ValueError, match="cannot be looked for"):
        host.one(Variable("DIR", "x; reboot"))
