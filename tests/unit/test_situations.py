"""The helper that real clients' credentials are held to: what it sees, and what it does not."""

from __future__ import annotations

import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from fleetsync.testing.router import StandInRouter
from tests.clients import situations
from tests.clients.situations import Keys, Observed, Situation, Watch

KEYS = Keys()    # of this process alone: other workers are watched as well


def row(**fields: object) -> Situation:
    named: dict[str, object] = {
        "name": "a", "gate": "open", "resolved": "open", "says": ("why",), "router": "accepted",
        "proof": "accepted", "plant": {}, "more": {}, **fields,
    }
    return Situation(**named)  # type: ignore[arg-type]  # one dict, several types


def test_a_situation_that_comes_as_expected_has_no_differences() -> None:
    assert row().differences(Observed("open", "open", "accepted", "accepted", "and why")) == []


@pytest.mark.parametrize(
    ("seen", "told"),
    [
        (("closed", "open", "accepted", "accepted", "why"), "gate is closed, not open"),
        (("open", "closed", "accepted", "accepted", "why"), "resolved is closed, not open"),
        (("open", "open", "401", "accepted", "why"), "router is 401, not accepted"),
        (("open", "open", "accepted", "rejected", "why"), "proof is rejected, not accepted"),
        (("open", "open", "accepted", "accepted", "how"), "'why' is not said"),
    ],
)
def test_each_difference_is_told(seen: tuple[str, str, str, str, str], told: str) -> None:
    assert row().differences(Observed(*seen)) == [told]


@pytest.mark.parametrize("client", ["pi", "hermes"])
def test_the_tables_of_the_clients_are_read(client: str) -> None:
    assert len(situations.table(client)) >= 12


@pytest.mark.parametrize(("word", "value"), [("gate", "shut"), ("router", "ok"), ("proof", "ok")])
def test_a_verdict_that_is_none_is_refused(
    word: str, value: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = {"gate": "open", "router": "401", "proof": "rejected", word: value}
    lines = "".join(f'{key} = "{held}"\n' for key, held in words.items())
    (tmp_path / "x.toml").write_text(f'["a"]\n{lines}')
    monkeypatch.setattr(situations, "_TABLES", tmp_path)
    with pytest.raises(ValueError, match=f"'{value}' is none of"):
        situations.table("x")


def test_a_router_that_saw_nothing_was_sent_no_request() -> None:
    with StandInRouter({"llm.primary": 8}, {"node": "a-key"}) as router:
        assert situations.observed(router) == "no request"


def waited_for(watch: Watch) -> None:
    """Until the watch has looked twice more: once in any case while all was there."""
    seen, deadline = watch.samples, time.monotonic() + 60
    while watch.samples < seen + 2 and time.monotonic() < deadline:
        time.sleep(0.01)


def test_a_key_among_any_programs_arguments_is_a_leak() -> None:
    program = ["sleep", "60", "--", KEYS.right]
    with Watch(KEYS) as watch, subprocess.Popen(
        ["sh", "-c", 'read line', *program], stdin=subprocess.PIPE
    ) as process:
        waited_for(watch)
        process.communicate(b"\n")
    assert watch.leaks == {"argv"}


def test_a_key_in_the_environment_of_a_program_of_ours_is_a_leak() -> None:
    with Watch(KEYS) as watch, subprocess.Popen(
        ["sh", "-c", "read line"], stdin=subprocess.PIPE, env={"A": KEYS.wrong}
    ) as process:
        waited_for(watch)
        process.communicate(b"\n")
    assert watch.leaks == {"environment"}


def test_what_holds_no_key_is_no_leak() -> None:
    with Watch(KEYS) as watch:
        waited_for(watch)
        watch.look("text", "canary")
    assert watch.leaks == set()


@dataclass
class Hidden:
    """Shows nothing in its repr, and travels with all it has."""

    key: str

    def __repr__(self) -> str:
        return "Hidden()"


@pytest.mark.parametrize(
    "held", [KEYS.right, KEYS.wrong.encode(), {"a": KEYS.right}, Hidden(KEYS.right)],
    ids=["text", "bytes", "repr", "pickle"],
)
def test_a_key_in_what_is_shown_or_travels_is_a_leak(held: object) -> None:
    watch = Watch(KEYS)
    watch.look("it", held)
    assert watch.leaks == {"it"}


def test_a_key_in_a_file_is_a_leak(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "receipt.json").write_text(f'"{KEYS.right}"')
    watch = Watch(KEYS)
    watch.look_below(tmp_path)
    assert watch.leaks == {"file receipt.json"}
