"""Real turns through the real Pi: what passes, and what each fault is graded as."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from fleetsync.outcome import TurnVerdict
from fleetsync.testing.router import Fault
from tests.clients import smokes, test_pi
from tests.clients.smokes import EXPECTED, Record, Rig, graded
from tests.integration.sshd import RemoteHost, Sshd
from tests.listing import listing
from tests.matrix import FULL

NEW, OLD = VERSIONS = ("1.6.0", "0.73.1")
LEAN = (Fault.UNAUTHORIZED, Fault.HTML, Fault.HANG, Fault.WRONG_MODEL, Fault.NO_CALL, Fault.EMPTY)
"""What the older version is given where the matrix is not full."""
FAULTS = [
    (version, fault) for version in VERSIONS for fault in EXPECTED
    if FULL or version == NEW or fault in LEAN
]


def models(version: str, url: str) -> str:
    rows = ",\n".join(
        f'{{ "id": "{alias.name}", "contextWindow": {smokes.WINDOW}, "maxTokens": '
        f'{smokes.OUTPUT}, "input": {json.dumps(alias.input)} }}'
        for alias in smokes.aliases()
    )
    return (
        '{ "providers": { // mine\n'
        f'"backup": {{ "baseUrl": "{url}", "api": "openai-completions", "apiKey": '
        f'"{smokes.KEY}", "models": [{{ "id": "llm.primary" }}] }},\n'
        f'"anvil": {{ "baseUrl": "{url}", "api": "openai-completions", "apiKey": '
        f'"{test_pi.spelled(version)}", "models": [\n{rows} ] }} }} }}\n'
    )


def furnish(host: RemoteHost, version: str, url: str) -> None:
    """Pi, its files in step with the catalog, and the host's own key."""
    test_pi.install(host, version)
    host.plant(".profile", f"export {smokes.NAME}={smokes.KEY}\n")
    host.plant(".pi/agent/models.json", models(version, url), mode=0o600)
    host.plant(".pi/agent/settings.json", json.dumps({
        "defaultProvider": "anvil", "defaultModel": "llm.primary",
        "enabledModels": ["anvil/llm.primary", "anvil/gone"],
    }))


@pytest.fixture(scope="module")
def pi(
    request: pytest.FixtureRequest, login_users: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Rig, RemoteHost]]:
    with Sshd() as start, smokes.router() as router:
        host = start("node")
        furnish(host, request.param, router.url)
        made = smokes.rig("pi", host, router, tmp_path_factory.mktemp("backups"))
        yield made, host
        made.remote.close()


@pytest.mark.parametrize("pi", VERSIONS, indirect=True)
def test_a_smoke_turn_passes_for_every_alias_and_leaves_the_home_as_it_was(
    pi: tuple[Rig, RemoteHost], record_property: Record
) -> None:
    rig, host = pi
    rig.router.go_right()
    before = listing(host.home)
    rows = rig.take(aliases=smokes.ALIASES, seconds=30).turns
    assert tuple(row.alias for row in rows) == smokes.ALIASES
    for row in rows:
        graded(record_property, row, TurnVerdict.PASSED)
        assert "anvil/gone" in "".join(row.warnings)
    assert listing(host.home) == before


@pytest.mark.parametrize("pi", VERSIONS, indirect=True)
def test_an_image_smoke_brings_back_the_text_of_the_image(
    pi: tuple[Rig, RemoteHost], record_property: Record
) -> None:
    pi[0].router.go_right()
    rows = pi[0].take(aliases=[smokes.SEES], image=smokes.PICTURE, seconds=30).turns
    (shown,) = [row for row in rows if row.image]
    graded(record_property, shown, TurnVerdict.PASSED)


@pytest.mark.parametrize("pi", [NEW], indirect=True)
def test_a_router_that_answers_with_the_hosts_key_has_it_shown_nowhere(
    pi: tuple[Rig, RemoteHost], record_property: Record
) -> None:
    rig, _ = pi
    rig.router.go_right()
    rig.router.go_wrong(Fault.WRONG_MODEL, value=smokes.KEY)
    row = rig.turn(seconds=30)
    graded(record_property, row, TurnVerdict.WRONG_MODEL)
    assert smokes.KEY not in repr(row)


@pytest.mark.parametrize("pi", [NEW], indirect=True)
def test_an_answer_with_half_a_surrogate_pair_is_graded_as_any_other(
    pi: tuple[Rig, RemoteHost], record_property: Record
) -> None:
    rig, _ = pi
    rig.router.go_right()
    rig.router.go_wrong(Fault.WRONG_TEXT, value="half \ud83d of a pair")
    graded(record_property, rig.turn(seconds=30), EXPECTED[Fault.WRONG_TEXT])


@pytest.mark.parametrize(
    ("pi", "fault"), FAULTS, indirect=["pi"],
    ids=[f"{version}-{fault.value}" for version, fault in FAULTS],
)
def test_each_fault_of_the_router_gives_a_smoke_its_verdict(
    pi: tuple[Rig, RemoteHost], fault: Fault, record_property: Record
) -> None:
    rig, _ = pi
    rig.router.go_right()
    rig.router.go_wrong(fault, value="bash" if fault is Fault.OTHER_TOOL else "")
    seconds = 9 if EXPECTED[fault] is TurnVerdict.TIMEOUT else 30
    graded(record_property, rig.turn(seconds=seconds), EXPECTED[fault])


@pytest.mark.parametrize("pi", VERSIONS, indirect=True)
def test_a_right_text_from_another_provider_fails_a_smoke(
    pi: tuple[Rig, RemoteHost], record_property: Record
) -> None:
    """The other provider works, at the same router, and brings the random text back."""
    pi[0].router.go_right()
    row = pi[0].turn(misled=("anvil", "backup"), seconds=30)
    graded(record_property, row, TurnVerdict.WRONG_MODEL)
    evidence = {check.name: check.holds for check in row.checks}
    assert (evidence["nonce"], evidence["provider"]) == (True, False)


def test_the_smoke_command_proves_a_host_and_says_so(
    sshd_host: Sshd, tmp_path: Path, record_property: Record
) -> None:
    with smokes.router() as router:
        host = sshd_host("node")
        furnish(host, "1.6.0", router.url)
        directory = smokes.inventory(tmp_path / "inventory", host, router, "pi")
        code, report = smokes.fleetsync(directory, "smoke", "node")
    assert smokes.turns_of(report) == [("pi", "llm.primary", "passed")]
    assert (code, report["all_targets_verified"]) == (0, True)
    record_property("turn", [1, 1, 1])


