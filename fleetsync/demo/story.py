"""The story: a catalog moves, two hosts follow; one without a key is refused until it has one.

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
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from fleetsync.demo.fleet import serving
from fleetsync.demo.hosts import (
    ALIASES,
    COMPANION,
    MID,
    NEW,
    OLD,
    PRIMARY,
    DemoHost,
    key,
    lay_out,
)
from fleetsync.outcome import label
from fleetsync.testing.router import KeyVerdict, StandInRouter

Main: TypeAlias = Callable[[Sequence[str]], int]
"""The command line: arguments in, exit code out; it prints to `sys.stdout`."""

Answer: TypeAlias = Mapping[str, Mapping[str, Mapping[str, Any]]]
"""By host and target, what JSON says of it; Any: it is JSON."""

INTERRUPTED = 130
_STORE = ".pi/agent/auth.json"
"""Where Pi keeps a key of its own, below the home."""
_OPENING = f"""\
Three hosts and a router on loopback; a stand-in takes the place of each Pi, OpenClaw and Hermes.
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
    router: StandInRouter
    before: Mapping[str, Mapping[str, bytes]]
    claims: list[Claim] = field(default_factory=list)

    def run(self, *words: str, expect: int, given: str = "") -> None:
        """Run a command before the reader's eyes; its exit code is a claim. `given` is a
        line on its standard input."""
        source = " < a-new-key" if given else ""
        self.say(f"\n$ fleetsync {shlex.join(words)}{source}    # stand-in client on every host")
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


def tell(main: Main, say: Callable[[str], None]) -> tuple[Claim, ...]:
    """Tell the story and return what was checked of it.

    Raises KeyboardInterrupt where one of its commands was interrupted.
    """
    with (
        tempfile.TemporaryDirectory(prefix="fleetsync-demo-") as directory,
        StandInRouter(
            dict.fromkeys(ALIASES, NEW[0]), {name: key(name) for name in (PRIMARY, COMPANION, MID)}
        ) as router,
        _fleet(Path(directory).resolve(), router.url) as hosts,
    ):
        named = {host.name: host for host in hosts}
        story = Story(main, say, named, router, {host.name: host.listing() for host in hosts})
        say(_OPENING)
        _act(story)
        _prove(story)
        _close(story)
        return tuple(story.claims)


def _act(story: Story) -> None:
    planned = story.ask("preview")
    story.run("preview", "-q", expect=5)
    story.run("preview", MID, expect=5)
    kept = all(map(story.untouched, story.hosts))
    story.claim("a preview leaves all three hosts as they were", kept)
    _count(story, planned)
    story.run("apply", PRIMARY, COMPANION, "--yes", "-q", expect=0)
    applied = {name: story.hosts[name].listing() for name in (PRIMARY, COMPANION)}
    story.run("apply", "--yes", "-q", expect=5)
    story.claim(
        f"the repeat changes nothing on {PRIMARY} and {COMPANION}",
        all(story.hosts[name].listing() == applied[name] for name in applied),
    )
    story.claim(
        f"{MID}: every file is byte for byte what it was, and none is ours (digest of all: "
        f"{_digest(story.before[MID])} -> {_digest(story.hosts[MID].listing())})",
        story.untouched(MID),
    )
    story.run("credential", "set", MID, "--yes", expect=0, given=key(MID))
    story.run("apply", MID, "--yes", "-q", expect=0)


def _count(story: Story, planned: Answer) -> None:
    """Claim how much each target has to change, and that the host without a key is refused."""
    wanted = {
        name: {file.target: file.changes for file in host.catalog_files}
        for name, host in story.hosts.items()
    }
    found = {
        name: {one: len(target["changes"]) for one, target in targets.items()}
        for name, targets in planned.items()
    }
    told = "; ".join(
        f"{name} {', '.join(f'{one} {count}' for one, count in wanted[name].items())}"
        for name in (PRIMARY, COMPANION)
    )
    story.claim(f"the changes planned are {told}", found == wanted)
    refused = [t for t in planned.get(MID, {}).values() if t["outcome"] == "refused"]
    story.claim(
        f"{MID}: refused with every place looked, and its drift of 8 values shown all the same",
        [(len(t["trace"]) > 2, len(t["changes"])) for t in refused] == [(True, 8)],
    )


def _prove(story: Story) -> None:
    verified = story.ask("verify")
    for name, besides in ((PRIMARY, ()), (COMPANION, ()), (MID, (_STORE,))):
        host = story.hosts[name]
        seen = {one: (t["outcome"], t["loader"]) for one, t in verified.get(name, {}).items()}
        agreed = {file.target: ("in step", "agrees") for file in host.catalog_files}
        story.claim(
            f"{name}: every client's loader sees {NEW[0]} / {NEW[1]}; all else in its "
            f"catalog files ({len(agreed)}), and every other file{_but(besides)}, is the same "
            "bytes",
            seen == agreed and host.moved_alone(story.before[name], besides=besides),
        )
    shown = {(one.holder, one.key) for one in story.router.log}
    story.claim(
        "each host itself showed its own key to the router, which took all three",
        shown == {(name, KeyVerdict.RIGHT) for name in story.hosts},
    )


def _but(besides: Sequence[str]) -> str:
    return f" but {', '.join(besides)}" if besides else ""


def _digest(listing: Mapping[str, bytes]) -> str:
    """One digest of all that stands below a home."""
    digest = hashlib.sha256()
    for name, data in sorted(listing.items()):
        digest.update(b"%s\0%d\0%s" % (name.encode(), len(data), data))
    return digest.hexdigest()[:16]


def _close(story: Story) -> None:
    story.say("\nWhat the demo checked:")
    for claim in story.claims:
        story.say(f"  {'ok' if claim.held else 'BROKEN'}  {claim.text}")
    broken = sum(not claim.held for claim in story.claims)
    story.say(
        f"The story broke in {broken} of {len(story.claims)} claims."
        if broken
        else f"3 hosts with stand-in clients: all in step, {MID} once it had a key of its own."
    )


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
def _fleet(root: Path, router: str) -> Iterator[tuple[DemoHost, ...]]:
    """The hosts serving, and a process that uses this fleet and none of the operator's."""
    hosts = lay_out(root, router)
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
