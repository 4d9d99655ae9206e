"""The transaction on a real sshd: connections dropped, disks full, files edited, two at once."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from fleetsync.remote import Writer
from fleetsync.transaction import Applied, End, Reason, transact
from tests.integration.faults.host import namespace
from tests.integration.faults.sshd_driver import WAYS, Held
from tests.integration.faults.world import FOREIGN, World
from tests.integration.sshd import RemoteHost, Sshd

pytestmark = pytest.mark.faults
Count = Callable[[int, int], None]


def run(way: str) -> tuple[int, list[str]]:
    """How many cases the driver ran, and what was wrong."""
    driver = (sys.executable, "-m", "tests.integration.faults.sshd_driver", way)
    done = subprocess.run(
        namespace("--mount", *driver),
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[2],
        check=True,
    )
    answer = json.loads(done.stdout)
    return answer["cases"], answer["wrong"]


@pytest.mark.parametrize("way", WAYS)
def test_a_transaction_survives_its_connection_or_is_settled_by_the_next(
    count_faults: Count, way: str
) -> None:
    cases, wrong = run(way)
    count_faults(cases, len(wrong))
    assert wrong == []
    assert cases == 5


def test_a_small_file_system_that_fills_up_tears_nothing(count_faults: Count) -> None:
    cases, wrong = run("full")
    count_faults(cases, len(wrong))
    assert wrong == []
    assert cases == 16


@pytest.fixture
def host(sshd_host: Sshd) -> RemoteHost:
    return sshd_host()


@pytest.fixture
def world(host: RemoteHost) -> World:
    world = World(host.home)
    world.plant()
    return world


@pytest.fixture
def apply(host: RemoteHost, world: World) -> Iterator[Callable[[str, str], Applied]]:
    """Runs a transaction at which a command is run just before some words of its script."""
    remote = host.remote()
    job = world.job()
    yield lambda words, command: transact(Writer(Held(remote, words, command)), job)
    remote.close()


Apply = Callable[[str, str], Applied]


def reasons(applied: Applied) -> set[Reason]:
    return {problem.reason for problem in applied.problems}


def test_an_edit_between_preview_and_apply_refuses_the_set(world: World, apply: Apply) -> None:
    world.write_foreign(in_place=True)
    applied = apply("fs_begin\n", ":")
    assert (applied.end, reasons(applied)) == (End.REFUSED, {Reason.MOVED})
    assert world.states() == ["old", "foreign", "old"]
    assert not world.state.exists()


def test_an_edit_between_compare_and_rename_is_kept(world: World, apply: Apply) -> None:
    settings = world.items[1].real
    edit = f"case $fs_real in '{settings}') printf %s '{FOREIGN.decode()}' >'{settings}' ;; esac"
    applied = apply('mv -f "$1" "$fs_real" ;;\n    esac || return 1\n', edit)
    assert (applied.end, reasons(applied)) == (End.UNDONE, {Reason.EDITED})
    assert world.settled("old", foreign=True) == []


@pytest.mark.parametrize(
    ("words", "end"),
    [
        ("fs_each fs_unchanged && fs_decide", End.REFUSED),
        ("fs_forward; then", End.UNDONE),
    ],
)
def test_a_link_swapped_in_is_never_followed(
    world: World, apply: Apply, words: str, end: End
) -> None:
    settings, other = world.items[1].real, world.home / "other.json"
    other.write_bytes(settings.read_bytes())
    applied = apply(words, f"ln -sf '{other}' '{settings}'")
    assert applied.end is end
    assert settings.is_symlink()
    assert other.read_bytes() == world.items[1].old
    assert [world.states()[number] for number in (0, 2)] == ["old", "old"]


def test_of_two_applies_at_once_one_is_applied_and_one_refused(
    host: RemoteHost, world: World
) -> None:
    def one(_: int) -> End:
        remote = host.remote()
        try:
            return transact(Writer(remote), world.job()).end
        finally:
            remote.close()

    with ThreadPoolExecutor(2) as pool:
        ends = list(pool.map(one, range(2)))
    assert sorted(end.value for end in ends) == ["applied", "refused"]
    assert world.settled("new") == []
