"""The story: a catalog moves, two hosts follow; one without a key is refused until it has one.

It is told by the real commands. Whatever it claims at its end it has checked.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from fleetsync.demo.hosts import ALIASES, COMPANION, MID, NEW, OLD, PRIMARY, key, lay_out
from fleetsync.demo.stage import Answer, Claim, Main, Story, fleet
from fleetsync.testing.router import KeyVerdict, StandInRouter

_STORE = ".pi/agent/auth.json"
"""Where Pi keeps a key of its own, below the home."""
_OPENING = f"""\
Three hosts and a router on loopback; a stand-in takes the place of each Pi, OpenClaw and Hermes.
The router moved: every alias from {OLD[0]} / {OLD[1]} to {NEW[0]} / {NEW[1]} tokens."""


def tell(main: Main, say: Callable[[str], None]) -> tuple[Claim, ...]:
    """Tell the story and return what was checked of it.

    Raises KeyboardInterrupt where one of its commands was interrupted.
    """
    with (
        tempfile.TemporaryDirectory(prefix="fleetsync-demo-") as directory,
        StandInRouter(
            dict.fromkeys(ALIASES, NEW[0]), {name: key(name) for name in (PRIMARY, COMPANION, MID)}
        ) as router,
    ):
        root = Path(directory).resolve()
        hosts = {host.name: host for host in lay_out(root, router.url)}
        before = {name: host.listing() for name, host in hosts.items()}
        story = Story(main, say, hosts, router, before, "stand-in client on every host")
        say(_OPENING)
        with fleet(root, tuple(hosts.values())):
            _act(story)
            _prove(story)
        story.close(
            f"3 hosts with stand-in clients: all in step, {MID} once it had a key of its own."
        )
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
