"""Take real turns through a client on its host, and keep every attempt.

A turn is put down in the journal before it is dispatched, and its end after. One whose
answer was lost has no end: nothing is sent to that host any more until it is settled.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from fleetsync import check, gates, grading
from fleetsync.adapter import Done, Seen, TakesTurns, Target, Turn
from fleetsync.catalog import Alias
from fleetsync.errors import DocumentError, HostError, Lost
from fleetsync.grading import Evidence, Grade
from fleetsync.job import Run, Turns
from fleetsync.journal import Dispatch, Journal
from fleetsync.outcome import (
    Outcome,
    RouterVerdict,
    TargetResult,
    TurnRow,
    TurnVerdict,
)
from fleetsync.plan import OPEN, Plan
from fleetsync.probe import Salts
from fleetsync.receipt import now
from fleetsync.redact import named, printable
from fleetsync.remote import Runner

_RETRIED = (TurnVerdict.ROUTER, TurnVerdict.TIMEOUT, TurnVerdict.CRASH)
"""What may be a passing trouble. A lost turn is never sent again by itself."""
_STEPS = {
    TurnVerdict.WRONG_MODEL: "see what the client falls back to and what the router answers with "
    "(`served_as` names what is no reroute), then: fleetsync smoke {host}",
    TurnVerdict.CATALOG: "see which aliases and limits client and router have, with: "
    "fleetsync doctor {host}",
    TurnVerdict.CREDENTIAL: "see where its key comes from, with: fleetsync doctor {host}",
    TurnVerdict.ROUTER: "look at the router and the model behind the alias, then: "
    "fleetsync smoke {host}",
    TurnVerdict.POLICY: "look at the client's tool policy on the host, and whether the model "
    "calls tools, then: fleetsync smoke {host}",
    TurnVerdict.CRASH: "look at the client's own messages on the host, then: "
    "fleetsync smoke {host}",
    TurnVerdict.TIMEOUT: "look at the router's load, or give a turn more time: "
    "fleetsync smoke {host} --turn-timeout SECONDS",
    TurnVerdict.HARNESS: "see how the client is started there, with: fleetsync doctor {host}",
    TurnVerdict.LOST: "ask the host whether anything of the turn is left: "
    "fleetsync recover {host}",
    TurnVerdict.SETUP: "see how the client is started there, with: fleetsync doctor {host}",
}


@dataclass(frozen=True, slots=True)
class Room:
    """Where and how the turns of one host are taken. `temporary` is its directory for
    scratch; `salts` tell a key by its fingerprint; `closed` is set once an answer was
    lost."""

    runner: Runner
    journal: Journal
    run: Run
    host: str
    temporary: str
    order: Turns
    salts: Salts
    closed: list[str] = field(default_factory=list)


def take(room: Room, plan: Plan, result: TargetResult, applied: bool | None) -> TargetResult:
    """The turns of one target that `result` verified, and its ledger of gates. `applied`
    tells whether its running service uses the files; None where none runs.

    Raises ConfigError where the journal cannot be written.
    """
    adapter = plan.adapter
    if not isinstance(adapter, TakesTurns):
        return _without(result, applied, plan, f"the adapter {adapter.name} takes no turns")
    default = _default(adapter, plan.target)
    aliases = {alias.name: alias for alias in plan.target.wish.aliases}
    chosen = [name for name in dict.fromkeys((default, *room.order.aliases)) if name in aliases]
    if not chosen:
        chosen = list(aliases)[:1]
    told = _Told(plan, result, applied, chosen[0] if chosen else "", tuple(chosen))
    reason = _untaken(result)
    if reason:
        return told.ending(room, (), reason)
    rows: list[TurnRow] = []
    for alias in (aliases[name] for name in chosen):
        rows += _alias(room, plan, adapter, alias)
    return told.ending(room, tuple(rows), "; ".join(room.closed))


def _default(adapter: TakesTurns, target: Target) -> str:
    """The target's own default alias; "" without a client, or where no file tells it."""
    if target.absent:
        return ""
    try:
        return adapter.default_alias(target)
    except DocumentError:
        return ""


@dataclass(frozen=True, slots=True)
class _Told:
    plan: Plan
    result: TargetResult
    applied: bool | None
    default: str
    chosen: tuple[str, ...]

    def ending(self, room: Room, rows: tuple[TurnRow, ...], untaken: str) -> TargetResult:
        turned = replace(self.result, turns=rows)
        aliases = self.plan.target.wish.aliases
        every = tuple(alias.name for alias in aliases)
        scope = gates.Scope(
            default=self.default,
            every=every,
            asked=self.chosen,
            lacking=tuple(name for name in room.order.aliases if name not in every),
            held=tuple((alias.name, alias.hold) for alias in aliases if alias.hold),
            images=self.chosen if room.order.image else (),
            blind=tuple(alias.name for alias in aliases if "image" not in alias.input),
            untaken=untaken,
        )
        ledger = gates.ledger(turned, applied=self.applied, scope=scope)
        return _judged(replace(turned, gates=ledger))


def _without(
    result: TargetResult, applied: bool | None, plan: Plan, reason: str
) -> TargetResult:
    every = tuple(alias.name for alias in plan.target.wish.aliases)
    scope = gates.Scope(default="", every=every, untaken=reason)
    ledger = gates.ledger(result, applied=applied, scope=scope)
    return replace(result, gates=ledger, notes=(*result.notes, reason))


def _untaken(result: TargetResult) -> str:
    """Why no turn may be tried; "" where nothing stands against it."""
    if result.outcome is not Outcome.IN_STEP:
        return f"the target is {result.outcome.value}"
    if result.credential != OPEN:
        return "the credential gate is not open"
    if result.router and result.router.verdict is RouterVerdict.REJECTED:
        return "the router rejects this host's key"
    return ""


def _judged(result: TargetResult) -> TargetResult:
    """The target with what its turns make of it: the last attempt at each alias counts."""
    last = {(row.alias, row.image): row for row in result.turns}
    bad = [row for row in last.values() if row.verdict is not TurnVerdict.PASSED]
    if not bad:
        return result
    reason = "; ".join(f"turn of {row.alias}: {row.verdict.value}: {row.reason}" for row in bad)
    return replace(result, outcome=Outcome.FAILED, reason=printable(reason), step=bad[0].step)


def _alias(room: Room, plan: Plan, adapter: TakesTurns, alias: Alias) -> Iterator[TurnRow]:
    if alias.hold:
        return
    yield from _attempts(room, plan, adapter, _turn(room, alias))
    if room.order.image and "image" in alias.input:
        yield from _attempts(room, plan, adapter, _pictured(room, alias))


def _turn(room: Room, alias: Alias) -> Turn:
    return Turn(
        secrets.token_hex(16), alias, f"nonce-{secrets.token_hex(12)}",
        f"fleetsync-{secrets.token_hex(8)}", room.order.seconds,
    )


def _pictured(room: Room, alias: Alias) -> Turn:
    return replace(_turn(room, alias), image=room.order.image, expect=room.order.expect)


def _attempts(room: Room, plan: Plan, adapter: TakesTurns, turn: Turn) -> Iterator[TurnRow]:
    """The attempts at one turn, each with an identity, a nonce and a session of its own."""
    for attempt in range(1, room.order.retries + 2):
        if room.closed:
            return
        fresh = _turn(room, turn.alias)
        one = replace(turn, identity=fresh.identity, nonce=fresh.nonce, session=fresh.session)
        row = _attempt(room, plan, adapter, one, attempt)
        yield row
        if row.verdict not in _RETRIED:
            return


def _attempt(
    room: Room, plan: Plan, adapter: TakesTurns, turn: Turn, attempt: int
) -> TurnRow:
    room.journal.dispatched(Dispatch(
        run=room.run.identity,
        host=room.host,
        target=plan.label,
        alias=turn.alias.name,
        attempt=attempt,
        identity=turn.identity,
        nonce=turn.nonce,
        session=turn.session,
        scratch=f"{room.temporary}/fleetsync-{turn.identity}",
        at=now(),
    ))
    seen, done, graded = _run(room, plan, adapter, turn)
    if graded.verdict is TurnVerdict.LOST and done is None:
        room.closed.append("the answer to a turn was lost: recovery required")
    else:
        room.journal.ended(turn.identity, graded.verdict.value)
    return _row(room, plan, turn, attempt, seen, done, graded)


def _run(
    room: Room, plan: Plan, adapter: TakesTurns, turn: Turn
) -> tuple[Seen | None, Done | None, Grade]:
    try:
        command = adapter.turn(plan.target, turn)
        done = check.run(
            room.runner, command, plan.candidates, turn.identity, lifeline=True
        )
    except Lost as error:
        return None, None, grading.lost(error.message)
    except (HostError, DocumentError) as error:
        return None, None, Grade(TurnVerdict.SETUP, error.message)
    seen = adapter.seen(plan.target, turn, done)
    tool = adapter.tool(plan.target)
    return seen, done, grading.grade(Evidence(plan.target.wish, tool, turn, done, seen))


def _row(
    room: Room, plan: Plan, turn: Turn, attempt: int, seen: Seen | None, done: Done | None,
    graded: Grade,
) -> TurnRow:
    def shown(text: str) -> str:
        return named(text, lambda word: _is_key(room.salts, plan, word))

    checks = tuple(replace(row, seen=shown(row.seen)) for row in graded.checks)
    return TurnRow(
        identity=turn.identity,
        alias=turn.alias.name,
        attempt=attempt,
        verdict=graded.verdict,
        reason=shown(graded.reason),
        step=_STEPS.get(graded.verdict, "").format(host=room.host),
        checks=checks,
        warnings=tuple(map(printable, seen.warnings)) if seen else (),
        seconds=round(done.seconds, 3) if done else 0.0,
        ran=_ran(plan),
        through=seen.through if seen else "",
        image=bool(turn.image),
    )


def _is_key(salts: Salts, plan: Plan, word: str) -> bool:
    """Whether it is the host's own key. Some routers repeat what they were sent."""
    mine = salts.fingerprint(word.encode("utf-8", "surrogatepass"))
    return any(look.fact.fingerprint == mine for look in plan.target.credential.trace)


def _ran(plan: Plan) -> str:
    """What the turn was taken through: program, version and the digest of its code."""
    for one in plan.target.installations[:1]:
        digest = f" {one.runtime[0][1][:12]}" if one.runtime else ""
        return f"{' '.join(one.argv)} {one.version}{digest}"
    return ""
