"""Real turns through the real OpenClaw: what passes, and what each fault is graded as.

Most go through one running gateway. A fault that has OpenClaw close a provider for a
while, or try again at length, goes through `agent exec` on a host without a gateway, whose
state is apart for each turn.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from fleetsync.outcome import TurnVerdict
from fleetsync.testing.router import Fault, StandInRouter
from tests.clients import smokes, test_openclaw
from tests.clients.smokes import Record, Rig, graded
from tests.integration.sshd import RemoteHost, Sshd
from tests.listing import listing
from tests.matrix import FULL

REPEATED = (
    Fault.TOO_MANY, Fault.BROKEN, Fault.OVERLOADED, Fault.RESET, Fault.HTML, Fault.REDIRECT,
)
"""OpenClaw tries these again for more than a minute, whatever time a turn is given (eight
times, seen on 2026.9.6): a turn that lasts ten seconds is ended before it tells of them."""
EXPECTED = {**smokes.EXPECTED, **dict.fromkeys(REPEATED, TurnVerdict.TIMEOUT)}
APART = (
    Fault.UNAUTHORIZED, Fault.FORBIDDEN, Fault.TOO_MANY, Fault.BROKEN, Fault.OVERLOADED,
)
"""They leave a mark in the state of whoever sent the request."""
_LIKE = {*REPEATED, Fault.FORBIDDEN, Fault.STALL, Fault.DRIP}
"""To OpenClaw they are what another fault is: a refused key, or a turn that does not end."""
FAULTS = [fault for fault in EXPECTED if FULL or fault not in _LIKE]


def _seconds(fault: Fault) -> int:
    """A turn's limit: short where it must be reached, else long enough on a busy machine."""
    return 10 if EXPECTED[fault] is TurnVerdict.TIMEOUT else 60


def config(url: str) -> str:
    rows = ",\n".join(
        f"        {{ id: '{alias.name}', name: 'mine', contextWindow: {smokes.WINDOW}, "
        f"maxTokens: {smokes.OUTPUT}, input: {json.dumps(alias.input)} }}"
        for alias in smokes.aliases()
    )
    provider = (
        f'{{ baseUrl: "{url}", api: "openai-completions", apiKey: "${{{smokes.NAME}}}",\n'
        f"      models: [ // the router's\n{rows},\n      ] }}"
    )
    return test_openclaw.config(
        provider, "  agents: { defaults: { model: 'anvil/llm.primary' } },\n"
    )


def furnish(host: RemoteHost, url: str) -> None:
    """OpenClaw in step with the catalog, with a key of its own."""
    test_openclaw.install(host, test_openclaw.NEW)
    host.plant(test_openclaw.CONFIG, config(url), mode=0o600)
    host.plant(".openclaw/.env", f"{smokes.NAME}={smokes.KEY}\n", mode=0o600)


@pytest.fixture(scope="module")
def router() -> Iterator[StandInRouter]:
    with smokes.router() as made:
        yield made


@pytest.fixture(autouse=True)
def right_again(router: StandInRouter) -> Iterator[None]:
    yield
    router.go_right()


@pytest.fixture(scope="module")
def direct(
    router: StandInRouter, login_users: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Rig, RemoteHost]]:
    """A host with a running gateway."""
    with Sshd() as start:
        host = start("node")
        furnish(host, router.url)
        with test_openclaw.gateway(host.home, test_openclaw.NEW):
            made = smokes.rig("openclaw", host, router, tmp_path_factory.mktemp("backups"))
            yield made, host
            made.remote.close()


@pytest.fixture(scope="module")
def apart(
    router: StandInRouter, login_users: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Rig, RemoteHost]]:
    """A host without one."""
    with Sshd() as start:
        host = start("node")
        furnish(host, router.url)
        made = smokes.rig("openclaw", host, router, tmp_path_factory.mktemp("backups"))
        yield made, host
        made.remote.close()


def test_a_smoke_turn_passes_through_the_gateway_for_every_alias(
    direct: tuple[Rig, RemoteHost], record_property: Record
) -> None:
    rows = direct[0].take(aliases=smokes.ALIASES, seconds=30).turns
    assert [(row.alias, row.through) for row in rows] == [
        (alias, "gateway") for alias in smokes.ALIASES
    ]
    for row in rows:
        graded(record_property, row, TurnVerdict.PASSED)


def test_a_smoke_turn_passes_apart_and_leaves_the_home_as_it_was(
    apart: tuple[Rig, RemoteHost], record_property: Record
) -> None:
    rig, host = apart
    before = listing(host.home)
    row = rig.turn(seconds=60)
    graded(record_property, row, TurnVerdict.PASSED)
    assert row.through == "exec"
    assert listing(host.home) == before


@pytest.mark.parametrize(
    "fault", [fault for fault in FAULTS if fault not in APART], ids=lambda fault: fault.value
)
def test_each_fault_of_the_router_gives_a_smoke_its_verdict(
    direct: tuple[Rig, RemoteHost], router: StandInRouter, fault: Fault, record_property: Record
) -> None:
    router.go_wrong(fault, value="exec" if fault is Fault.OTHER_TOOL else "")
    graded(record_property, direct[0].turn(seconds=_seconds(fault)), EXPECTED[fault])


@pytest.mark.parametrize(
    "fault", [fault for fault in FAULTS if fault in APART], ids=lambda fault: fault.value
)
def test_each_fault_that_leaves_a_mark_gives_a_smoke_its_verdict(
    apart: tuple[Rig, RemoteHost], router: StandInRouter, fault: Fault, record_property: Record
) -> None:
    router.go_wrong(fault)
    graded(record_property, apart[0].turn(seconds=_seconds(fault)), EXPECTED[fault])


def test_the_smoke_command_proves_a_gateway_and_says_so(
    direct: tuple[Rig, RemoteHost], tmp_path: Path, record_property: Record
) -> None:
    rig, host = direct
    directory = smokes.inventory(tmp_path / "inventory", host, rig.router, "openclaw")
    code, report = smokes.fleetsync(directory, "smoke", "node")
    assert smokes.turns_of(report) == [("openclaw", "llm.primary", "passed")]
    assert (code, report["all_targets_verified"]) == (0, True)
    gates = {
        row["gate"]: row["state"] for row in report["hosts"][0]["targets"][0]["gates"]
    }
    assert gates["gateway applied"] == "passed"
    record_property("turn", [1, 1, 1])
