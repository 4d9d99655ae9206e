"""Decide, for every target of one host, what it is and what must change. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace

from fleetsync.adapter import Adapter, FileEdit, Keep, KeepsKeys, Planned, Refusal, Target, Wish
from fleetsync.documents import Dialect
from fleetsync.errors import DocumentError
from fleetsync.facts import Facts, FileFact, Place, Resolve
from fleetsync.outcome import Outcome, RouterRow, RouterVerdict, label
from fleetsync.sealed import Sealed

OPEN, CLOSED, INDETERMINATE = "open", "closed", "indeterminate"
"""The credential gate in one word; indeterminate where only a Runner can decide it."""


@dataclass(frozen=True, slots=True)
class Plan:
    """One target with all its changes. `refusals` not empty: nothing is written.

    `router` is what the router answered to the host's own key, None where it was not asked.
    """

    adapter: Adapter
    target: Target
    planned: Planned
    refusals: tuple[Refusal, ...]
    router: RouterRow | None = None
    decided: bool = False
    """whether a Runner was asked all that decides the gate"""

    @property
    def limits(self) -> str:
        """The declared limits beside the wished ones: "as wished", "differ", or "" where
        the files gave no answer."""
        if self.planned.edits:
            return "differ"
        refused = self.target.absent or self.target.refusals or self.planned.refusals
        return "" if refused else "as wished"

    @property
    def gate(self) -> str:
        """The credential gate in one word; "" for a client that is not installed."""
        credential = self.target.credential
        if self.target.absent:
            return ""
        if credential.pends:
            return INDETERMINATE
        return OPEN if credential.opens else CLOSED

    @property
    def rejected(self) -> bool:
        """Whether the router refused the host's own key."""
        return self.router is not None and self.router.verdict is RouterVerdict.REJECTED

    @property
    def label(self) -> str:
        """The target among all of its host: `pi`, or `hermes/work`."""
        return label(self.target.client, self.target.name)

    @property
    def candidates(self) -> dict[str, FileEdit]:
        """Every file of the target as it will be, by path; one that stays has no splice."""
        found = {fact.path: _unchanged(fact) for fact in self.target.files.values()}
        return found | {edit.file.path: edit for edit in self.planned.edits}

    @property
    def outcome(self) -> Outcome:
        """What a preview says of it."""
        if self.target.absent:
            return Outcome.ABSENT
        if self.refusals:
            return Outcome.REFUSED
        return Outcome.DRIFT if self.planned.edits else Outcome.IN_STEP


def _unchanged(fact: FileFact) -> FileEdit:
    """The file as it is (no splice, so no dialect is ever asked for)."""
    return FileEdit(fact, Dialect.JSON, (), fact.content or Sealed(b""), ())


def plans(
    adapter: Adapter, wish: Wish, facts: Facts, *, decided: bool = False
) -> tuple[Plan, ...]:
    """The plan of every target that `adapter` finds in `facts`.

    A gate that only a Runner can decide refuses nothing until a Runner was asked
    (`decided`); from then on it is closed unless the answers opened it.
    """
    return tuple(_plan(adapter, target, decided) for target in adapter.targets(wish, facts))


def _plan(adapter: Adapter, target: Target, decided: bool) -> Plan:
    gate = _gate(target, decided)
    if target.absent or target.refusals:
        return Plan(adapter, target, Planned(), (*target.refusals, *gate), decided=decided)
    try:
        planned = adapter.plan(target)
    except DocumentError as error:
        planned = Planned(refusals=(Refusal(error.message, error.hint),))
    return Plan(adapter, target, planned, (*gate, *planned.refusals), decided=decided)


def _gate(target: Target, decided: bool) -> tuple[Refusal, ...]:
    credential = target.credential
    if credential.opens or (credential.pends and not decided):
        return ()
    return (Refusal(credential.cause, credential.step),)


def proved(plan: Plan, row: RouterRow, host: str) -> Plan:
    """The plan with the router's answer: a key that it rejects refuses the target."""
    plan = replace(plan, router=row)
    if not plan.rejected:
        return plan
    client = plan.target.client
    refusal = Refusal(
        f"{row.url} rejects the key that {client} has on this host"
        + (f" ({row.detail})" if row.detail else ""),
        _renewed(plan, host),
    )
    return replace(plan, refusals=(refusal, *plan.refusals))


def _renewed(plan: Plan, host: str) -> str:
    """How the target gets another key: by our command, where its client keeps one of its
    own; by what its adapter knows of its stores; or where the key stands that it has."""
    keep = plan.adapter.keep(plan.target) if isinstance(plan.adapter, KeepsKeys) else Keep()
    source = plan.target.credential.source
    stands = source.place if isinstance(source, Resolve) else source
    told = _where(source) if source else ""
    if command := renewal(plan, host):
        elsewhere = stands and keep.place and stands.where != keep.place.where
        return f"{command}\nor: {told}" if elsewhere else command
    return keep.lines or told or f"put a valid key where {plan.target.client} reads it on the host"


def _where(source: Place | Resolve) -> str:
    if isinstance(source, Resolve):
        return f"have the command give a valid key: {source.place.told}"
    return f"replace the key where it stands: {source.told}"


def renewal(plan: Plan, host: str) -> str:
    """The command that gives the target a new key, "" where its client keeps none of its
    own."""
    adapter = plan.adapter
    if not isinstance(adapter, KeepsKeys) or adapter.keep(plan.target).place is None:
        return ""
    return f"fleetsync credential set {host} --target {plan.label}"
