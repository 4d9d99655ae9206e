"""Decide, for every target of one host, what it is and what must change. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from fleetsync.adapter import Adapter, Planned, Refusal, Target, Wish
from fleetsync.errors import DocumentError
from fleetsync.facts import Facts
from fleetsync.outcome import Outcome


@dataclass(frozen=True, slots=True)
class Plan:
    """One target with all its changes. `refusals` not empty: nothing is written."""

    adapter: Adapter
    target: Target
    planned: Planned
    refusals: tuple[Refusal, ...]

    @property
    def outcome(self) -> Outcome:
        """What a preview says of it."""
        if self.target.absent:
            return Outcome.ABSENT
        if self.refusals:
            return Outcome.REFUSED
        return Outcome.DRIFT if self.planned.edits else Outcome.IN_STEP


def plans(adapter: Adapter, wish: Wish, facts: Facts) -> tuple[Plan, ...]:
    """The plan of every target that `adapter` finds in `facts`."""
    return tuple(_plan(adapter, target) for target in adapter.targets(wish, facts))


def _plan(adapter: Adapter, target: Target) -> Plan:
    if target.absent or target.refusals:
        return Plan(adapter, target, Planned(), (*target.refusals, *_gate(target)))
    try:
        planned = adapter.plan(target)
    except DocumentError as error:
        planned = Planned(refusals=(Refusal(error.message, error.hint),))
    return Plan(adapter, target, planned, (*_gate(target), *planned.refusals))


def _gate(target: Target) -> tuple[Refusal, ...]:
    credential = target.credential
    return () if credential.opens else (Refusal(credential.cause, credential.step),)
