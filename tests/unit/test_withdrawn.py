"""Generations that were taken back are remembered beside the receipts."""

from __future__ import annotations

from pathlib import Path

import pytest

from fleetsync.errors import ConfigError
from fleetsync.withdrawn import Withdrawal, find, restore, withdraw

ONE = Withdrawal("a" * 64, "abcd1234", "ada@desk", "2026-11-30T12:00:00Z")


def test_what_was_withdrawn_is_found_by_its_generation_alone(tmp_path: Path) -> None:
    withdraw(tmp_path / "backups", ONE)
    assert find(tmp_path / "backups", "a" * 64) == ONE
    assert find(tmp_path / "backups", "b" * 64) is None


def test_it_is_readable_by_its_owner_alone(tmp_path: Path) -> None:
    withdraw(tmp_path, ONE)
    (path,) = (tmp_path / "taken-back").iterdir()
    assert path.stat().st_mode & 0o777 == 0o600


def test_it_is_forgotten_on_demand_and_again_without_harm(tmp_path: Path) -> None:
    withdraw(tmp_path, ONE)
    restore(tmp_path, ONE.generation)
    restore(tmp_path, ONE.generation)
    assert find(tmp_path, ONE.generation) is None


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"generation": 1, "more": 2}'])
def test_a_note_that_cannot_be_read_is_told_and_never_taken_for_none(
    tmp_path: Path, text: str
) -> None:
    withdraw(tmp_path, ONE)
    (path,) = (tmp_path / "taken-back").iterdir()
    path.write_text(text)
    with pytest.raises(ConfigError, match="cannot be read"):
        find(tmp_path, ONE.generation)


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "taken-back").write_text("a file")
    with pytest.raises(ConfigError, match="cannot be written"):
        withdraw(tmp_path, ONE)
