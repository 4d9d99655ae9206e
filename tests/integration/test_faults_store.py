"""Kill or fail the setting of a key at the calls that change files."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.integration.faults.host import namespace
from tests.integration.faults.matrix import Fault
from tests.integration.faults.store_driver import MUTANTS

pytestmark = pytest.mark.faults
CASES = (
    ("dash", Fault.KILL, "json", "put", 1),
    ("dash", Fault.KILL, "file", "put", 2),
    ("dash", Fault.KILL, "dotenv", "undo", 2),
    ("dash", Fault.TORN, "dotenv", "put", 1),
    ("dash", Fault.FULL, "dotenv", "put", 6),
    ("dash", Fault.ERROR, "json", "put", 6),
    ("busybox", Fault.KILL, "dotenv", "put", 6),
    ("bash", Fault.KILL, "json", "undo", 6),
)




def drive(
    folder: Path, shell: str, fault: Fault, kind: str, phase: str, step: int, mutant: str = ""
) -> Any:
    """The driver's answer, on a file system of its own."""
    driver = (
        sys.executable, "-m", "tests.integration.faults.store_driver", str(folder), shell,
        fault.name, kind, phase, mutant, str(step),
    )
    mount = f"mount -t tmpfs none '{folder}' && exec \"$@\""
    done = subprocess.run(
        namespace("--mount", "sh", "-c", mount, "sh", *driver),
        stdout=subprocess.PIPE, cwd=Path(__file__).parents[2], check=True,
    )
    return json.loads(done.stdout)


@pytest.mark.parametrize(("shell", "fault", "kind", "phase", "step"), CASES)
def test_a_store_is_old_or_new_and_the_new_key_is_nowhere_else(
    tmp_path: Path, count_faults: Callable[[int, int], None],
    shell: str, fault: Fault, kind: str, phase: str, step: int,
) -> None:
    answer = drive(tmp_path, shell, fault, kind, phase, step)
    count_faults(answer["cases"], len(answer["wrong"]))
    assert answer["wrong"] == []
    assert answer["cases"] > 5


@pytest.mark.parametrize("mutant", [*filter(None, MUTANTS)])
def test_a_defect_of_the_scripts_is_found(tmp_path: Path, mutant: str) -> None:
    assert drive(tmp_path, "dash", Fault.KILL, "json", "put", 12, mutant)["wrong"] != []
