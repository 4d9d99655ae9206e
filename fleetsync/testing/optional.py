"""The rules for what an adapter may leave out: places for new keys, and real turns."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from fleetsync.adapter import Adapter, Command, Done, Keep, KeepsKeys, TakesTurns, Target, Turn
from fleetsync.errors import DocumentError
from fleetsync.facts import PlaceKind
from fleetsync.grading import Evidence, grade
from fleetsync.plan import Plan, plans
from fleetsync.testing.commands import bounded, inside, require
from fleetsync.testing.hostile import BROKEN, CANARY, ODD, endings
from fleetsync.testing.sample import Sample, answered, full

MOST_BESIDE: Final = 120
"""Seconds that a turn's command may take for starting and ending, beside the turn's own."""
_NONCE: Final = "nonce-0123456789abcdef01234567"
_SHOWN: Final = "TOTAL 0123456789ab"
_KEEPING: Final = (PlaceKind.JSON, PlaceKind.DOTENV, PlaceKind.FILE)


def a_new_key_has_a_place_or_lines(adapter: Adapter, sample: Sample) -> None:
    """`keep` names a place that can be written, else lines to add; it shows no secret."""
    if not isinstance(adapter, KeepsKeys):
        return
    for host in (sample, sample.without_key()):
        for plan in plans(adapter, host.wish, answered(adapter, host)):
            kept = adapter.keep(plan.target)
            require(kept == adapter.keep(plan.target), "the same target gives another place")
            _written(kept)
            for secret in host.secrets:
                require(secret not in repr(kept), "it shows a secret of the host's files")


def _written(kept: Keep) -> None:
    if kept.place is None:
        require(bool(kept.lines), "there is neither a place for a new key nor lines to add")
        return
    kind = kept.place.kind
    require(kind in _KEEPING, f"a key cannot be kept in a place of kind {kind.value}")
    if kind is PlaceKind.JSON:
        try:
            json.loads(f'{kept.before}"a key"{kept.after}')
        except ValueError:
            require(False, f"{kept.before}KEY{kept.after} is no JSON")


def a_turn_is_bounded_and_private(adapter: Adapter, sample: Sample) -> None:
    """It waits for nobody, tells no secret, and only a file holds what must come back."""
    if not isinstance(adapter, TakesTurns):
        return
    for plan in plans(adapter, sample.wish, answered(adapter, sample)):
        require(bool(adapter.tool(plan.target)), "it names no tool that reads")
        for turn in _turns(plan):
            command = adapter.turn(plan.target, turn)
            require(command == adapter.turn(plan.target, turn), "the same turn, another command")
            bounded(command, turn.seconds + MOST_BESIDE)
            require(not command.stdin, "a turn's stdin is /dev/null")
            inside(command, plan.target)
            _proving(command, turn)
            for secret in sample.secrets:
                require(secret not in repr(command), "its command shows a secret of the files")
    _defaults(adapter, sample)


def _turns(plan: Plan) -> Iterator[Turn]:
    for alias in plan.target.wish.aliases:
        yield Turn("ab" * 16, alias, _NONCE, "fleetsync-0123456789abcdef", 30)
        if "image" in alias.input:
            yield Turn(
                "cd" * 16, alias, _NONCE, "fleetsync-0123456789abcdef", 30,
                image=b"\x89PNG\r\n\x1a\n", expect=_SHOWN,
            )


def _proving(command: Command, turn: Turn) -> None:
    """What must come back stands in no word that the model, or another user, is shown."""
    shown = repr((command.argv, command.env))
    require(turn.nonce not in shown, "its command line shows the nonce")
    if turn.image:
        require(turn.expect not in shown, "its command line tells what the image shows")
        require(any(turn.image in file.content for file in command.files), "it gets no image")
    else:
        held = any(turn.nonce.encode() in file.content for file in command.files)
        require(held, "no file of it holds the nonce")


def _defaults(adapter: Adapter, sample: Sample) -> None:
    """The default alias is one of the wish or "", whatever the files hold."""
    assert isinstance(adapter, TakesTurns)
    spoiled = (sample.with_file(path, content) for path in map(full, sample.files)
               for content in (*ODD, *BROKEN))
    for host in (sample, *spoiled):
        for plan in plans(adapter, host.wish, answered(adapter, host)):
            _default(adapter, plan.target)


def _default(adapter: TakesTurns, target: Target) -> None:
    try:
        found = adapter.default_alias(target)
    except DocumentError:
        return
    names = {"", *(alias.name for alias in target.wish.aliases)}
    require(found in names, f"its default alias {found} is none of the wish")


def a_turn_is_not_believed_blindly(adapter: Adapter, sample: Sample) -> None:
    """Garbage, failures and silence never raise, never pass, and are not repeated."""
    if not isinstance(adapter, TakesTurns):
        return
    for plan in plans(adapter, sample.wish, answered(adapter, sample)):
        tool = adapter.tool(plan.target)
        for turn in _turns(plan):
            command = adapter.turn(plan.target, turn)
            for done in _endings(command, sample):
                seen = adapter.seen(plan.target, turn, done)
                graded = grade(Evidence(plan.target.wish, tool, turn, done, seen))
                require(not graded.passed, f"a turn passes by {done}")
                require(CANARY not in repr(seen), "it repeats what the client printed")


def _endings(command: Command, sample: Sample) -> Iterator[Done]:
    """Rubbish on both streams, and the same in every file that is sent back."""
    for done in endings((*sample.nearly, *sample.turned)):
        yield done
        if command.returns and done.started:
            yield replace(done, files=tuple((name, done.stdout) for name in command.returns))
