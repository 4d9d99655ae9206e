"""Real turns through the real Hermes: what passes, and what each fault is graded as."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from fleetsync.outcome import TurnVerdict
from fleetsync.testing.router import Fault
from tests.clients import smokes, test_hermes
from tests.clients.smokes import Record, Rig, graded
from tests.integration.sshd import RemoteHost, Sshd
from tests.listing import listing
from tests.matrix import FULL

PROFILES = ("default", "work")
NEW, OLD = test_hermes.VERSIONS
LEAN = {
    NEW: (
        Fault.UNAUTHORIZED, Fault.NOT_FOUND, Fault.BROKEN, Fault.OVERFLOW, Fault.HANG, Fault.HTML,
        Fault.WRONG_MODEL, Fault.WRONG_TEXT, Fault.TOO_LONG, Fault.EXTRA_CALL, Fault.OTHER_TOOL,
        Fault.NO_CALL,
    ),
    OLD: (Fault.UNAUTHORIZED, Fault.NO_CALL),
}
"""What each version is given where the matrix is not full: one of every kind that Hermes
treats alike."""
EXPECTED = {
    **smokes.EXPECTED,
    # Hermes never tells the name that the router answered with.
    Fault.WRONG_MODEL: TurnVerdict.PASSED,
    # It drops a second call that equals the first: one was made, and is told.
    Fault.EXTRA_CALL: TurnVerdict.PASSED,
}
FAULTS = [
    (version, fault) for version in (NEW, OLD) for fault in EXPECTED
    if FULL or fault in LEAN[version]
]


def config(url: str, profile: str) -> str:
    rows = "".join(
        f"      {alias.name}:\n        context_length: {smokes.WINDOW}\n"
        f"        supports_vision: {str('image' in alias.input).lower()}\n"
        for alias in smokes.aliases()
    )
    default = "llm.primary" if profile == "default" else "llm.secondary"
    return (
        f"model:\n  default: {default}\n  provider: custom:anvil   # mine\n"
        f"providers:\n  anvil:\n    base_url: {url}\n    key_env: {smokes.NAME}\n"
        f"    models:\n{rows}"
    )


def furnish(host: RemoteHost, version: str, url: str) -> None:
    """Hermes with two profiles in step with the catalog, each with a key of its own."""
    test_hermes.install(host, version)
    for profile in PROFILES:
        place = test_hermes.PLACES[profile]
        host.plant(f"{place}/config.yaml", config(url, profile), mode=0o600)
        host.plant(f"{place}/.env", f"{smokes.NAME}={smokes.KEY}\n", mode=0o600)


@pytest.fixture(scope="module")
def hermes(
    request: pytest.FixtureRequest, login_users: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Rig, RemoteHost]]:
    with Sshd() as start, smokes.router() as router:
        host = start("node")
        furnish(host, request.param, router.url)
        made = smokes.rig("hermes", host, router, tmp_path_factory.mktemp("backups"))
        yield made, host
        made.remote.close()


@pytest.mark.parametrize(("hermes", "profile", "alias"), [
    (version, profile, alias)
    for version in (NEW, OLD)
    for profile, alias in (
        ("work", "llm.primary"), ("default", "llm.primary"), ("work", "llm.secondary")
    )
    if FULL or version == NEW or profile == "default"
], indirect=["hermes"])
def test_a_smoke_turn_passes_for_every_profile_and_leaves_the_home_as_it_was(
    hermes: tuple[Rig, RemoteHost], profile: str, alias: str, record_property: Record
) -> None:
    rig, host = hermes
    rig.router.go_right()
    before = listing(host.home)
    row = rig.take(f"hermes/{profile}", aliases=[alias], seconds=60).turns[-1]
    graded(record_property, row, TurnVerdict.PASSED)
    assert (row.alias, listing(host.home)) == (alias, before)


@pytest.mark.parametrize("hermes", test_hermes.FEW, indirect=True)
def test_an_image_smoke_brings_back_the_text_of_the_image(
    hermes: tuple[Rig, RemoteHost], record_property: Record
) -> None:
    hermes[0].router.go_right()
    rows = hermes[0].take(
        "hermes/default", aliases=[smokes.SEES], image=smokes.PICTURE, seconds=60
    ).turns
    (shown,) = [row for row in rows if row.image]
    graded(record_property, shown, TurnVerdict.PASSED)


@pytest.mark.parametrize(
    ("hermes", "fault"), FAULTS, indirect=["hermes"],
    ids=[f"{version}-{fault.value}" for version, fault in FAULTS],
)
def test_each_fault_of_the_router_gives_a_smoke_its_verdict(
    hermes: tuple[Rig, RemoteHost], fault: Fault, record_property: Record
) -> None:
    rig, _ = hermes
    rig.router.go_right()
    rig.router.go_wrong(fault, value="terminal" if fault is Fault.OTHER_TOOL else "")
    waits = EXPECTED[fault] is TurnVerdict.TIMEOUT
    row = rig.turn("hermes/default", seconds=9 if waits else 60)
    graded(record_property, row, EXPECTED[fault])


def test_the_smoke_command_proves_every_profile_and_says_so(
    sshd_host: Sshd, tmp_path: Path, record_property: Record
) -> None:
    with smokes.router() as router:
        host = sshd_host("node")
        furnish(host, NEW, router.url)
        directory = smokes.inventory(tmp_path / "inventory", host, router, "hermes")
        code, report = smokes.fleetsync(directory, "smoke", "node")
    assert smokes.turns_of(report) == [
        ("default", "llm.primary", "passed"), ("work", "llm.secondary", "passed"),
    ]
    assert (code, report["all_targets_verified"]) == (0, True)
    record_property("turn", [2, 2, 2])
