"""A host that is a shell on this machine, with a home of its own, and may be sabotaged."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from fleetsync.errors import Lost
from fleetsync.remote import ANSWER_CAP

_NAMESPACE = ("--pid", "--fork", "--kill-child", "--mount-proc")


def namespace(*more: str) -> tuple[str, ...]:
    """The command that opens a PID namespace: what kills in there can hit nothing outside.
    An unprivileged user needs a user namespace for it."""
    mapped = () if os.geteuid() == 0 else ("--user", "--map-root-user")
    return (shutil.which("unshare") or "unshare", *_NAMESPACE, *mapped, *more)


def shell(name: str, tools: Path) -> tuple[Path, str]:
    """A directory that holds `name` as `sh`, and the PATH of that host.

    busybox comes with its own tools, so that its cp, ln, mv and stat are tested too.
    """
    tools.mkdir(parents=True, exist_ok=True)
    program = shutil.which(name)
    if program is None:
        raise FileNotFoundError(name)
    if name == "busybox":
        subprocess.run([program, "--install", "-s", str(tools)], check=True)
    else:
        (tools / "sh").unlink(missing_ok=True)
        (tools / "sh").symlink_to(program)
    return tools / "sh", f"{tools}:/usr/bin:/bin"


class Hurry:
    """A host whose `sleep` ends at once and sets the host's `date` a second ahead: what it
    waits for by the clock or by counting comes without anybody waiting."""

    def __init__(self, tools: Path) -> None:
        self._slept = tools / "slept"
        self._plant(tools / "sleep", f"printf . >>'{self._slept}'")
        date, ahead = shutil.which("date"), f"$(wc -c <'{self._slept}')"
        self._plant(tools / "date", f'echo "$(($({date} +%s) + {ahead}))"')
        self.start_over()

    @staticmethod
    def _plant(program: Path, text: str) -> None:
        program.unlink(missing_ok=True)
        program.write_text(f"#!/bin/sh\n{text}\n")
        program.chmod(0o755)

    def start_over(self) -> None:
        """The time is what it is again."""
        self._slept.write_bytes(b"")


@dataclass
class ShellRemote:
    """Runs each script under the sh at `sh`. `prelude` is run before its calls, and
    `replaced` changes its text: that is how a host is sabotaged."""

    sh: Path
    path: str
    home: Path
    prelude: str = ""
    replaced: tuple[tuple[str, str], ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    within: tuple[str, ...] = ()

    def connect(self) -> None:
        """Nothing to reach."""

    def close(self) -> None:
        """Nothing to let go."""

    def exchange(
        self, command: str, stdin: bytes, end: bytes, *, seconds: float, cap: int = ANSWER_CAP,
        hold: bool = False,
    ) -> bytes:
        """Run the script to its end; what it printed."""
        try:
            done = subprocess.run(
                self.argv(command),
                input=self.text(stdin),
                stdout=subprocess.PIPE,
                env=self.variables(),
                cwd=self.home,
                timeout=seconds,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise Lost("no end came in time") from error
        return done.stdout

    def argv(self, command: str) -> list[str]:
        """What runs the script."""
        return [*self.within, str(self.sh), "-c", command.removeprefix("sh -c '")[:-1]]

    def text(self, stdin: bytes) -> bytes:
        """The script, sabotaged."""
        text = stdin.decode("ascii").replace("fs_calls() {\n", f"fs_calls() {{\n{self.prelude}\n")
        for old, new in self.replaced:
            if old not in text:
                raise LookupError(old)
            text = text.replace(old, new)
        return text.encode()

    def variables(self) -> dict[str, str]:
        """The environment of the script."""
        return {"HOME": str(self.home), "PATH": self.path, **self.environment}
