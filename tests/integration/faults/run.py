"""Start the driver where its kills reach nothing else."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.integration.faults.host import namespace
from tests.integration.faults.matrix import Cell


def drive(folder: Path, cell: Cell, settled: Path, *more: str) -> Any:
    """The driver's answer. The file system is its own, in memory; `settled` is outside."""
    driver = (
        sys.executable, "-m", "tests.integration.faults.driver", str(folder), cell.shell,
        cell.fault.name, cell.phase.name, str(cell.step), str(settled), *more,
    )
    mount = f"mount -t tmpfs none '{folder}' && exec \"$@\""
    done = subprocess.run(
        namespace("--mount", "sh", "-c", mount, "sh", *driver),
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[3],
        check=True,
    )
    return json.loads(done.stdout)
