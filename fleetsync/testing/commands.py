"""What every command of an adapter keeps: it is bounded, and lies in its scratch directory."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Final

from fleetsync.adapter import SCRATCH, Command, Target
from fleetsync.testing.sample import ContractError

LARGEST_OUTPUT: Final = 16 * 1024 * 1024


def require(holds: bool, told: str) -> None:
    """Raise ContractError with `told` unless it holds."""
    if not holds:
        raise ContractError(told)


def bounded(command: Command, most: int) -> None:
    """It is named by a path, and ends within `most` seconds and so much output."""
    told = " ".join(command.argv)
    require(bool(command.argv) and command.argv[0].startswith(("/", SCRATCH)),
            f"its program is not named by its path: {told}")
    require(0 < command.seconds <= most, f"{command.seconds} seconds for {told}")
    require(0 < command.cap <= LARGEST_OUTPUT, f"{command.cap} bytes of output for {told}")
    require(bool(command.stdin) == bool(command.until), f"stdin and until go together: {told}")


def inside(command: Command, target: Target) -> None:
    """It gets each variable once, files in its scratch directory, and only the target's own."""
    told = " ".join(command.argv)
    names = [*(name for name, _ in command.env), *(name for name, _ in command.keys)]
    require(len(set(names)) == len(names), f"a variable is given twice: {told}")
    paths = {one.path for one in target.files.values()}
    for name in (*(file.name for file in command.files), *command.returns):
        within = PurePosixPath(name)
        require(
            bool(within.parts) and not within.is_absolute() and ".." not in within.parts,
            f"{name} is no name inside the scratch directory",
        )
    for file in command.files:
        require(not file.source or file.source in paths, f"{file.source} is no file of the target")
