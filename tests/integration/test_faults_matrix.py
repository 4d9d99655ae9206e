"""Kill or fail a transaction, its recovery and its undo at every call that changes files."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.integration.faults.host import namespace
from tests.integration.faults.matrix import Cell, Fault, Phase, chosen, expected
from tests.integration.faults.mutants import MUTANTS

pytestmark = pytest.mark.faults
Count = Callable[[int, int], None]


def run(folder: Path, cell: Cell, *more: str) -> dict[str, object]:
    """The driver's answer. The file system is its own, in memory."""
    driver = (
        sys.executable, "-m", "tests.integration.faults.driver", str(folder), cell.shell,
        cell.fault.name, cell.phase.name, str(cell.step), *more,
    )
    mount = f"mount -t tmpfs none '{folder}' && exec \"$@\""
    done = subprocess.run(
        namespace("--mount", "sh", "-c", mount, "sh", *driver),
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[2],
        check=True,
    )
    answer: dict[str, object] = json.loads(done.stdout)
    return answer


@pytest.mark.parametrize("cell", chosen(), ids=str)
def test_every_file_is_old_or_new_and_the_next_contact_settles_all(
    tmp_path: Path, count_faults: Count, cell: Cell
) -> None:
    answer = run(tmp_path, cell)
    cases, wrong, calls = answer["cases"], answer["wrong"], answer["calls"]
    assert isinstance(cases, int) and isinstance(wrong, list) and isinstance(calls, dict)
    count_faults(cases, len(wrong))
    assert wrong == []
    assert set(calls) >= expected(cell.fault, cell.phase)


@pytest.mark.parametrize(
    ("mutant", "fault"),
    [("rename replaced by cp", Fault.KILL), ("compare removed", Fault.REPLACE)],
)
def test_a_defect_of_the_scripts_is_found(tmp_path: Path, mutant: str, fault: Fault) -> None:
    assert mutant in MUTANTS
    answer = run(tmp_path, Cell("dash", fault, Phase.APPLY, 4), "--mutant", mutant)
    assert answer["wrong"] != []
