"""What a story is told with: the commands before the reader's eyes, and what they prove."""

from __future__ import annotations

import contextlib
import io
import json
import os
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from fleetsync.demo.fleet import serving
from fleetsync.demo.hosts import DemoHost
from fleetsync.outcome import label
from fleetsync.testing.router import StandInRouter

Main: TypeAlias = Callable[[Sequence[str]], int]
"""The command line: arguments in, exit code out; it prints to `sys.stdout`."""

Answer: TypeAlias = Mapping[str, Mapping[str, Mapping[str, Any]]]
"""By host and target, what JSON says of it; Any: it is JSON."""

INTERRUPTED = 130


@dataclass(frozen=True, slots=True)
class Claim:
    """Something the demo says of itself, and whether it held."""

    held: bool
    text: str


@dataclass(slots=True)
class Story:
    """What was told so far. `clients` is what each command says of the clients on the hosts."""

    main: Main
    say: Callable[[str], None]
    hosts: Mapping[str, DemoHost]
    router: StandInRouter
    before: Mapping[str, Mapping[str, bytes]]
    clients: str
    claims: list[Claim] = field(default_factory=list)

    def run(self, *words: str, expect: int, given: str = "") -> None:
        """Run a command before the reader's eyes; its exit code is a claim. `given` is a
        line on its standard input."""
        source = " < a-new-key" if given else ""
        self.say(f"\n$ fleetsync {shlex.join(words)}{source}    # {self.clients}")
        with _typed(given):
            code = self.main(words)
        if code == INTERRUPTED:
            raise KeyboardInterrupt
        if code != expect:
            self.claim(f"`fleetsync {shlex.join(words)}` ends with {expect}, not {code}", False)

    def ask(self, *words: str) -> Answer:
        """What a command's envelope holds of each target; it is not shown."""
        with contextlib.redirect_stdout(io.StringIO()) as answer:
            self.main((*words, "--json", "-q"))
        hosts = json.loads(answer.getvalue() or '{"hosts": []}')["hosts"]
        return {
            host["host"]: {label(t["client"], t["name"]): t for t in host["targets"]}
            for host in hosts
        }

    def claim(self, text: str, held: bool) -> None:
        """Note a claim."""
        self.claims.append(Claim(held, text))

    def untouched(self, name: str) -> bool:
        """Whether a host's home holds what it held before the story."""
        return self.hosts[name].listing() == self.before[name]

    def close(self, whole: str) -> None:
        """Say what was checked; `whole` where all of it held."""
        self.say("\nWhat the demo checked:")
        for claim in self.claims:
            self.say(f"  {'ok' if claim.held else 'BROKEN'}  {claim.text}")
        broken = sum(not claim.held for claim in self.claims)
        told = f"The story broke in {broken} of {len(self.claims)} claims."
        self.say(told if broken else whole)


@contextlib.contextmanager
def _typed(line: str) -> Iterator[None]:
    """Put a line on this process's standard input, and nothing where it is empty."""
    before = sys.stdin
    sys.stdin = io.TextIOWrapper(io.BytesIO(f"{line}\n".encode() if line else b""))
    try:
        yield
    finally:
        sys.stdin = before


@contextlib.contextmanager
def fleet(root: Path, hosts: Sequence[DemoHost]) -> Iterator[None]:
    """The hosts serving, and a process that uses this fleet and none of the operator's."""
    with serving(root, hosts), _environment(
        FLEETSYNC_INVENTORY=str(root / "inventory"),
        PATH=f"{_plain_ssh(root)}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
        SSH_AUTH_SOCK=None,
    ):
        yield


def _plain_ssh(root: Path) -> Path:
    """A directory with an `ssh` that reads no configuration of the operator's."""
    programs = root / "bin"
    programs.mkdir()
    real = shutil.which("ssh")
    if real:
        program = programs / "ssh"
        program.write_text(f'#!/bin/sh\nexec {shlex.quote(real)} -F none "$@"\n', "utf-8")
        program.chmod(0o755)
    return programs


@contextlib.contextmanager
def _environment(**values: str | None) -> Iterator[None]:
    """Set variables of this process (None removes one) and put them back."""
    before = {name: os.environ.get(name) for name in values}
    _set(values)
    try:
        yield
    finally:
        _set(before)


def _set(values: Mapping[str, str | None]) -> None:
    for name, value in values.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
