"""The ledger of a target: each thing that must be proved for it, and what is known. Pure.

A gate is required or optional. Only what was proved in this run is `passed`; what was to
be proved and was not is `open`; what lies outside the run is `not checked`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from fleetsync.outcome import (
    AGREES,
    GateRow,
    GateState,
    HostResult,
    Outcome,
    RouterVerdict,
    TargetResult,
    TurnRow,
    TurnVerdict,
)
from fleetsync.plan import CLOSED, OPEN

CREDENTIAL = "credential"
ROUTER = "router from host"
FILE = "file"
LOADER = "loader"
APPLIED = "gateway applied"
TURN = "turn (new session)"
IMAGE = "image turn"
SESSIONS = "existing sessions"

_SETTLED = (GateState.PASSED, GateState.UNAVAILABLE)


@dataclass(frozen=True, slots=True)
class Scope:
    """What of a target this run was to prove by scope.

    `default` is its own default alias, whose turn is required; `asked` those that this
    run was to try, `lacking` those among them that the target has not; `held` maps an
    alias to why its turns are held; `images` are the aliases that an image turn was asked
    for, `blind` those among them that take none; `untaken` says why no turn could be tried.
    """

    default: str
    every: tuple[str, ...]
    asked: Collection[str] = ()
    lacking: tuple[str, ...] = ()
    held: tuple[tuple[str, str], ...] = ()
    images: Collection[str] = ()
    blind: Collection[str] = ()
    untaken: str = ""


def ledger(target: TargetResult, *, applied: bool | None, scope: Scope) -> tuple[GateRow, ...]:
    """The gates of `target`, as a verification and its turns left them. `applied` tells
    whether its running service uses the files; None where none runs."""
    return (
        _credential(target),
        _router(target),
        _file(target),
        _loader(target),
        _applied(target, applied),
        *(_turn(target, alias, scope) for alias in scope.every),
        *(
            GateRow(TURN, GateState.NOT_CHECKED, False, alias, "the target has no such alias")
            for alias in scope.lacking
        ),
        *(_image(target, alias, scope) for alias in scope.every if alias in scope.images),
        GateRow(SESSIONS, GateState.NOT_CHECKED, False, "", "a session keeps what it began with"),
    )


def open_gates(target: TargetResult) -> tuple[GateRow, ...]:
    """The required gates that are not settled."""
    return tuple(row for row in target.gates if row.required and row.state not in _SETTLED)


def all_targets_verified(hosts: Iterable[HostResult]) -> bool:
    """Whether every required gate of every target of every host is settled."""
    found = tuple(hosts)
    targets = [target for host in found for target in host.targets]
    reached = all(host.outcome is None for host in found)
    return reached and bool(targets) and all(t.gates and not open_gates(t) for t in targets)


_CREDENTIAL = {OPEN: GateState.PASSED, CLOSED: GateState.FAILED}


def _credential(target: TargetResult) -> GateRow:
    return GateRow(CREDENTIAL, _CREDENTIAL.get(target.credential, GateState.OPEN), True)


_ROUTER = {
    RouterVerdict.ACCEPTED: GateState.PASSED,
    RouterVerdict.REJECTED: GateState.FAILED,
    RouterVerdict.NOT_CHECKED: GateState.NOT_CHECKED,
}


def _router(target: TargetResult) -> GateRow:
    row = target.router
    if row is None:
        return GateRow(ROUTER, GateState.NOT_CHECKED, False)
    state = _ROUTER.get(row.verdict, GateState.OPEN)
    detail = "" if state is GateState.PASSED else row.detail or row.verdict.value
    return GateRow(ROUTER, state, False, "", detail)


_FILE = {
    Outcome.IN_STEP: GateState.PASSED,
    Outcome.CHANGED: GateState.PASSED,
    Outcome.DRIFT: GateState.OPEN,
    Outcome.ABSENT: GateState.UNAVAILABLE,
}


def _file(target: TargetResult) -> GateRow:
    if target.outcome is Outcome.REFUSED and not _keyed(target):
        return GateRow(FILE, GateState.OPEN, True, "", "the target is refused for its key")
    written = target.outcome is Outcome.FAILED and bool(target.loader)
    state = GateState.PASSED if written else _FILE.get(target.outcome, GateState.FAILED)
    return GateRow(FILE, state, True, "", "" if state is GateState.PASSED else target.reason)


def _keyed(target: TargetResult) -> bool:
    rejected = target.router and target.router.verdict is RouterVerdict.REJECTED
    return target.credential == OPEN and not rejected


def _loader(target: TargetResult) -> GateRow:
    if not target.loader:
        return GateRow(LOADER, GateState.OPEN, True)
    agrees = target.loader == AGREES
    state = GateState.PASSED if agrees else GateState.FAILED
    return GateRow(LOADER, state, True, "", "" if agrees else target.loader)


def _applied(target: TargetResult, applied: bool | None) -> GateRow:
    if not target.loader:
        return GateRow(APPLIED, GateState.OPEN, True)
    if applied is None:
        return GateRow(APPLIED, GateState.UNAVAILABLE, True, "", "no gateway of it runs")
    state = GateState.PASSED if applied else GateState.FAILED
    return GateRow(APPLIED, state, True)


def _turn(target: TargetResult, alias: str, scope: Scope) -> GateRow:
    rows = [row for row in target.turns if row.alias == alias and not row.image]
    required = alias == scope.default
    state, detail = _state(alias, rows, scope, asked=alias in scope.asked, required=required)
    return GateRow(TURN, state, required, alias, detail)


def _image(target: TargetResult, alias: str, scope: Scope) -> GateRow:
    if alias in scope.blind:
        told = "its input in the catalog has no image"
        return GateRow(IMAGE, GateState.NOT_CHECKED, False, alias, told)
    rows = [row for row in target.turns if row.alias == alias and row.image]
    state, detail = _state(alias, rows, scope, asked=True, required=False)
    return GateRow(IMAGE, state, False, alias, detail)


def _state(
    alias: str, rows: list[TurnRow], scope: Scope, *, asked: bool, required: bool
) -> tuple[GateState, str]:
    held = dict(scope.held)
    if alias in held:
        return GateState.HELD, held[alias]
    if rows:
        return _graded(rows)
    if asked or required:
        return GateState.OPEN, scope.untaken
    return GateState.NOT_CHECKED, "outside this run"


def _graded(rows: list[TurnRow]) -> tuple[GateState, str]:
    """By the last attempt; an earlier failure is told all the same."""
    last = rows[-1]
    failed = tuple(_failures(rows[:-1]))
    if last.verdict is TurnVerdict.PASSED:
        return GateState.PASSED, "; ".join(failed)
    return GateState.FAILED, "; ".join((*failed, f"{last.verdict.value}: {last.reason}"))


def _failures(rows: Iterable[TurnRow]) -> Iterator[str]:
    return (
        f"attempt {row.attempt} failed ({row.verdict.value})"
        for row in rows
        if row.verdict is not TurnVerdict.PASSED
    )
