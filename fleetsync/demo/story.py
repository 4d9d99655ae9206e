"""The story: a catalog moves, two hosts follow, one without a key is refused.

It is told by the real commands. Whatever it claims at its end it has checked.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import shlex
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from fleetsync.demo.fleet import serving
from fleetsync.demo.hosts import COMPANION, MID, NEW, OLD, PRIMARY, DemoHost, lay_out, moved

Main: TypeAlias = Callable[[Sequence[str]], int]
"""The command line: arguments in, exit code out; it prints to `sys.stdout`."""

INTERRUPTED = 130
_OPENING = f"""\
Three hosts on loopback, each with Pi's files and a stand-in client in Pi's place.
The router moved: every alias from {OLD[0]} / {OLD[1]} to {NEW[0]} / {NEW[1]} tokens."""


@dataclass(frozen=True, slots=True)
class Claim:
    """Something the demo says of itself, and whether it held."""

    held: bool
    text: str


@dataclass(slots=True)
class Story:
    """What was told so far."""

    main: Main
    say: Callable[[str], None]
    hosts: Mapping[str, DemoHost]
    before: Mapping[str, Mapping[str, bytes]]
    claims: list[Claim] = field(default_factory=list)

    def run(self, *words: str, expect: int) -> None:
        """Run a command before the reader's eyes; its exit code is a claim."""
        self.say(f"\n$ fleetsync {shlex.join(words)}    # stand-in client on every host")
        code = self.main(words)
        if code == INTERRUPTED:
            raise KeyboardInterrupt
        if code != expect:
            self.claim(f"`fleetsync {shlex.join(words)}` ends with {expect}, not {code}", False)

    def ask(self, *words: str) -> list[dict[str, Any]]:
        """The targets in a command's envelope; it is not shown. Any: they are JSON."""
        with contextlib.redirect_stdout(io.StringIO()) as answer:
            self.main((*words, "--json", "-q"))
        hosts = json.loads(answer.getvalue() or '{"hosts": []}')["hosts"]
        return [target for host in hosts for target in host["targets"]]

    def claim(self, text: str, held: bool) -> None:
        """Note a claim."""
        self.claims.append(Claim(held, text))

    def untouched(self, name: str) -> bool:
        """Whether a host's home holds what it held before the story."""
        return self.hosts[name].listing() == self.before[name]


def tell(main: Main, say: Callable[[str], None]) -> tuple[Claim, ...]:
    """Tell the story and return what was checked of it.

    Raises KeyboardInterrupt where one of its commands was interrupted.
    """
    with (
        tempfile.TemporaryDirectory(prefix="fleetsync-demo-") as directory,
        _fleet(Path(directory).resolve()) as hosts,
    ):
        named = {host.name: host for host in hosts}
        story = Story(main, say, named, {host.name: host.listing() for host in hosts})
        say(_OPENING)
        _act(story)
        _prove(story)
        _close(story)
        return tuple(story.claims)


def _act(story: Story) -> None:
    story.run("preview", "-q", expect=5)
    kept = all(map(story.untouched, story.hosts))
    story.claim("a preview leaves all three hosts as they were", kept)
    story.run("preview", MID, expect=5)
    story.run("apply", PRIMARY, COMPANION, "--yes", "-q", expect=0)
    applied = {name: story.hosts[name].listing() for name in (PRIMARY, COMPANION)}
    story.run("apply", "--yes", "-q", expect=5)
    story.claim(
        "the repeat changes nothing on primary-node and companion-node",
        all(story.hosts[name].listing() == applied[name] for name in applied),
    )


def _prove(story: Story) -> None:
    for name in (PRIMARY, COMPANION):
        path = str(story.hosts[name].models.relative_to(story.hosts[name].home))
        before = story.before[name][path].decode()
        after = story.hosts[name].models.read_text("ascii")
        story.claim(
            f"{name}: the loader sees {NEW[0]} / {NEW[1]}; comments, names, costs and the "
            "other provider are the same bytes",
            after == moved(before) != before and _agrees(story, name),
        )
    story.say(f"\n{MID}, all that stands below its home, before -> after:")
    for line in _listing(story.before[MID], story.hosts[MID].listing()):
        story.say(f"  {line}")
    story.claim(
        f"{MID}: every file is byte for byte what it was, and none is ours", story.untouched(MID)
    )
    refused = [t for t in story.ask("preview", MID) if t["outcome"] == "refused"]
    story.claim(
        f"{MID}: refused with every place looked, and its drift of 8 values shown all the same",
        [(len(t["trace"]) > 2, len(t["changes"])) for t in refused] == [(True, 8)],
    )


def _listing(before: Mapping[str, bytes], after: Mapping[str, bytes]) -> Iterator[str]:
    """Each file with the digests of its bytes; directories are in the comparison alone."""
    for name in sorted({*before, *after}):
        digests = [
            hashlib.sha256(files[name]).hexdigest()[:8] if files.get(name) else "none"
            for files in (before, after)
        ]
        if digests != ["none", "none"]:
            yield f"{digests[0]} -> {digests[1]}  {name}"


def _agrees(story: Story, name: str) -> bool:
    found = [(t["outcome"], t["loader"]) for t in story.ask("verify", name)]
    return found == [("in step", "agrees")]


def _close(story: Story) -> None:
    story.say("\nWhat the demo checked:")
    for claim in story.claims:
        story.say(f"  {'ok' if claim.held else 'BROKEN'}  {claim.text}")
    broken = sum(not claim.held for claim in story.claims)
    story.say(
        f"The story broke in {broken} of {len(story.claims)} claims."
        if broken
        else "3 hosts with a stand-in client: 2 in step, 1 refused for want of its own credential."
    )

@contextlib.contextmanager
def _fleet(root: Path) -> Iterator[tuple[DemoHost, ...]]:
    """The hosts serving, and a process that uses this fleet and none of the operator's."""
    hosts = lay_out(root)
    with serving(root, hosts), _environment(
        FLEETSYNC_INVENTORY=str(root / "inventory"),
        PATH=f"{_plain_ssh(root)}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
        SSH_AUTH_SOCK=None,
    ):
        yield hosts


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
