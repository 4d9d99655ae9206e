"""Adapters are found through entry points, ours as a third party's."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import Distribution, EntryPoint
from pathlib import Path

import pytest

from fleetsync.errors import FleetsyncError
from fleetsync.registry import adapters_of, discover

Install = Callable[[str, str, str], EntryPoint]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Give a distribution with one entry point, whose module holds adapters "zed" and "other"."""
    (tmp_path / "some_adapters.py").write_text(
        "class Named:\n    def __init__(self, name):\n        self.name = name\n"
        "zed, other, port = Named('zed'), Named('other'), Named('port')\n"
    )
    monkeypatch.syspath_prepend(tmp_path)

    def install(distribution: str, name: str, value: str) -> EntryPoint:
        info = tmp_path / f"{distribution}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1\n")
        (info / "entry_points.txt").write_text(f"[fleetsync.adapters]\n{name} = {value}\n")
        [point] = Distribution.at(info).entry_points
        return point

    return install


def test_our_adapter_for_pi_is_found() -> None:
    assert discover()["pi"].name == "pi"


def test_a_third_party_s_adapter_is_found_by_its_name(install: Install) -> None:
    points = [install("zed-fleet", "zed", "some_adapters:zed")]
    assert [adapter.name for adapter in adapters_of(points).values()] == ["zed"]


def test_no_adapter_at_all_says_how_to_install_one() -> None:
    with pytest.raises(FleetsyncError) as error:
        adapters_of([])
    assert "pip install -e ." in error.value.hint


def test_two_distributions_that_claim_one_name_are_both_named(install: Install) -> None:
    points = [
        install("zed-fleet", "zed", "some_adapters:zed"),
        install("other-fleet", "zed", "some_adapters:zed"),
    ]
    with pytest.raises(FleetsyncError, match=r'named "zed": of zed-fleet and of other-fleet'):
        adapters_of(points)


@pytest.mark.parametrize("value", ["no_such_module:zed", "some_adapters:missing"])
def test_an_adapter_that_does_not_load_names_its_distribution(install: Install, value: str) -> None:
    with pytest.raises(FleetsyncError, match='"zed" of zed-fleet does not load'):
        adapters_of([install("zed-fleet", "zed", value)])


def test_an_adapter_that_gives_itself_another_name_is_refused(install: Install) -> None:
    with pytest.raises(FleetsyncError, match="gives itself another name"):
        adapters_of([install("zed-fleet", "zed", "some_adapters:other")])


@pytest.mark.parametrize("name", ["port", "Zed", "zed.x", "zed_x"])
def test_a_name_that_a_host_s_table_cannot_hold_is_refused(install: Install, name: str) -> None:
    with pytest.raises(FleetsyncError, match="has a name that a host's table cannot hold"):
        adapters_of([install("zed-fleet", name, "some_adapters:port")])
