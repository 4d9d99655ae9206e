"""Generations of the catalog whose run was taken back: apply leaves them until asked again.

One small file each, `taken-back/<generation>.json`, beside the receipts.
"""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path

from fleetsync.errors import ConfigError
from fleetsync.receipt import replace_file

DIRECTORY = "taken-back"


@dataclass(frozen=True, slots=True)
class Withdrawal:
    """That `run`, which had applied `generation`, was taken back, by whom and when (UTC)."""

    generation: str
    run: str
    operator: str
    when: str

    @property
    def told(self) -> str:
        """It in one line."""
        return (
            f"generation {self.generation[:12]} was taken back: run {self.run}, "
            f"by {self.operator}, {self.when}"
        )


def withdraw(receipts: Path, one: Withdrawal) -> None:
    """Note it. Raises ConfigError where it cannot be written."""
    path = _path(receipts, one.generation)
    text = json.dumps(dataclasses.asdict(one), indent=2) + "\n"
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace_file(path, text.encode("ascii"))
    except OSError as error:
        raise ConfigError(
            (f"{path}: cannot be written: {error.strerror}",),
            "name a directory of your own with --receipts DIR",
        ) from error


def find(receipts: Path, generation: str) -> Withdrawal | None:
    """What is noted of `generation`. Raises ConfigError where it cannot be read."""
    path = _path(receipts, generation)
    try:
        return Withdrawal(**json.loads(path.read_bytes()))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError) as error:
        raise ConfigError((f"{path}: cannot be read as a note of fleetsync",)) from error


def restore(receipts: Path, generation: str) -> None:
    """Forget it: the operator asked for that generation again."""
    _path(receipts, generation).unlink(missing_ok=True)


def _path(receipts: Path, generation: str) -> Path:
    return receipts / DIRECTORY / f"{generation}.json"
