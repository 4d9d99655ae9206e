"""Kill or fail a transaction at every command that changes files; then look, recover, look."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.integration.faults.host import namespace

pytestmark = pytest.mark.faults


@dataclass
class Tally:
    cases: int = 0
    wrong: int = 0


@pytest.fixture(scope="module")
def tally() -> Iterator[Tally]:
    counted = Tally()
    yield counted
    sys.stdout.write(
        f"\nfaults injected: {counted.cases}  files torn or lost: {counted.wrong}\n"
    )


@pytest.mark.parametrize(
    ("shell", "kind", "phase", "step"),
    [
        ("dash", "kill", "apply", 1),
        ("bash", "kill", "apply", 3),
        ("busybox", "kill", "apply", 3),
        ("zsh", "kill", "apply", 9),
        ("dash", "full", "apply", 2),
        ("dash", "torn", "apply", 5),
        ("dash", "short", "apply", 5),
        ("dash", "error", "apply", 5),
        ("dash", "readonly", "apply", 7),
        ("dash", "kill", "recover", 2),
        ("dash", "kill", "undo", 4),
    ],
)
def test_every_file_is_old_or_new_and_the_next_contact_settles_all(
    tmp_path: Path, tally: Tally, shell: str, kind: str, phase: str, step: int
) -> None:
    driver = (sys.executable, "-m", "tests.integration.faults.driver", str(tmp_path))
    done = subprocess.run(
        namespace(*driver, shell, kind, phase, str(step)),
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[2],
        check=True,
    )
    answer = json.loads(done.stdout)
    tally.cases += answer["cases"]
    tally.wrong += len(answer["wrong"])
    assert answer["cases"] > 3
    assert answer["wrong"] == []
