"""A preview tells who wrote on a host last, and whether it was this catalog."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fleetsync.cli.render import blocks
from fleetsync.facts import Facts, StateFact
from fleetsync.inventory import Host
from fleetsync.job import Job, Run, Step
from fleetsync.look import Look, Session, host_result
from fleetsync.outcome import HostResult, Outcome
from fleetsync.probe import Salts
from fleetsync.remote import Reader
from fleetsync.testing.local import MemoryRemote
from fleetsync.testing.sample import HOST

from .fleets import account, alone, in_step

GENERATION = "5434ec6882b2" + "0" * 52


def told(*last: tuple[str, str], generation: str = GENERATION) -> str:
    """The sentence for a manifest with these lines, where the catalog is of `generation`."""
    run = Run("run-2", "bob@desk", "desk", generation)
    job = Job(Step.PREVIEW, run, Host("one", clients=("pi",)), ())
    session = Session(job, Reader(MemoryRemote(())), Salts.fresh(), ())
    found = host_result(session, Look(Facts(HOST), (), StateFact("/s", last=last)), ()).account
    assert found is not None
    return found.last_writer


APPLIED = (
    ("run", "run-1"), ("operator", "ada@desk"), ("controller", "desk"),
    ("generation", GENERATION), ("dialect.1", "JSON"),
)


def test_a_key_that_was_set_is_no_catalog() -> None:
    kept = (("run", "run-1"), ("operator", "ada@desk"), ("credential", "pi"))
    assert told(*kept) == "last given a key for pi by ada@desk, run run-1"


def test_the_catalogs_own_generation_is_told_as_such() -> None:
    assert told(*APPLIED) == (
        "last applied by ada@desk, run run-1, generation 5434ec6882b2 (the catalog's)"
    )


def test_another_generation_is_told_beside_the_catalogs() -> None:
    assert told(*APPLIED, generation="0123456789abcdef") == (
        "last applied by ada@desk, run run-1, generation 5434ec6882b2 "
        "(not the catalog's 0123456789ab)"
    )


def test_without_a_catalog_a_generation_is_compared_with_none() -> None:
    assert told(*APPLIED, generation="").endswith(", generation 5434ec6882b2")


def test_a_rollback_is_told_as_one() -> None:
    rolled_back = (("run", "run-3"), ("operator", "ada@desk"), ("undoes", "0123"))
    assert told(*rolled_back) == "last rolled back by ada@desk, run run-3"


def test_where_nobody_wrote_nothing_is_told() -> None:
    assert told() == ""


def test_a_hostile_manifest_steers_no_terminal() -> None:
    assert "\x1b" not in told(("operator", "\x1b[2Jada"), ("run", "1"))


def written() -> HostResult:
    row = replace(account(), last_writer="last applied by ada@desk")
    return replace(in_step("one"), account=row)


@pytest.mark.parametrize(("quiet", "count"), [(False, 1), (True, 0)])
def test_a_preview_prints_it_once_a_host_and_a_quiet_one_does_not(quiet: bool, count: int) -> None:
    lines = list(blocks([written()], quiet=quiet, verbose=False))
    assert lines.count("one  last applied by ada@desk") == count


def test_a_host_without_an_account_prints_none() -> None:
    lines = list(blocks([alone("one", Outcome.AWAY)], quiet=False, verbose=False))
    assert not [line for line in lines if "last applied" in line]
