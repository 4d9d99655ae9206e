"""One real turn: a real Pi on a throw-away host, with the stand-in router behind it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from fleetsync.demo.hosts import ALIASES, NEW, PRIMARY, key, lay_out_real
from fleetsync.demo.real import RealPi
from fleetsync.demo.stage import Claim, Main, Story, fleet
from fleetsync.testing.router import KeyVerdict, StandInRouter

_ALIAS = ALIASES[0]


def take(main: Main, say: Callable[[str], None], pi: RealPi) -> tuple[Claim, ...]:
    """Have `apply` and `smoke` reach one host where `pi` is the client; return what was
    checked of it.

    Raises KeyboardInterrupt where one of the commands was interrupted.
    """
    with (
        tempfile.TemporaryDirectory(prefix="fleetsync-demo-") as directory,
        StandInRouter(dict.fromkeys(ALIASES, NEW[0]), {PRIMARY: key(PRIMARY)}) as router,
    ):
        root = Path(directory).resolve()
        host = lay_out_real(root, router.url, {"pi": pi.program, "node": pi.node})
        named = {PRIMARY: host}
        story = Story(main, say, named, router, {PRIMARY: host.listing()}, f"Pi {pi.version}")
        say(
            f"One host and a stand-in router on loopback. The client is a real Pi {pi.version},\n"
            f"{pi.program},\nrun by {pi.node}."
        )
        with fleet(root, (host,)):
            story.run("apply", "--yes", "-q", expect=0)
            applied = host.listing()
            router.clear_log()
            story.run("smoke", "-v", expect=0)
            _prove(story, applied)
        story.close(f"A real Pi {pi.version} took a real turn through {_ALIAS}, and left nothing.")
        return tuple(story.claims)


def _prove(story: Story, applied: Mapping[str, bytes]) -> None:
    host = story.hosts[PRIMARY]
    story.claim(
        f"{PRIMARY}: Pi's own loader sees {NEW[0]} / {NEW[1]}, and every other file is the same "
        "bytes",
        host.moved_alone(story.before[PRIMARY]),
    )
    turns = story.router.turns()
    story.claim(
        f"the router was asked for {_ALIAS} alone, with the host's own key: first for the call "
        "of a reading tool, then for the text of what was read",
        {(turn.alias, turn.key, turn.holder) for turn in turns}
        == {(_ALIAS, KeyVerdict.RIGHT, PRIMARY)}
        and len(turns) == 2
        and all(turn.tools == ("read",) for turn in turns),
    )
    story.claim("the turn left the host's home as it was", host.listing() == applied)
