"""Decide what reading alone leaves open on one host: credential gates that only a client's
program can answer, and whether the router takes the host's own key.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from fleetsync import check
from fleetsync import prove as router
from fleetsync.errors import HostError
from fleetsync.facts import Place, Resolve, RunningQuestion
from fleetsync.job import Proof
from fleetsync.look import Look, Session, look, looked
from fleetsync.outcome import RouterRow, RouterVerdict
from fleetsync.plan import CLOSED, INDETERMINATE, Plan, proved
from fleetsync.redact import words
from fleetsync.remote import Prover, Runner

_ROUNDS = 4
"""How often answers may lead to further questions."""
_Key: TypeAlias = tuple[Place | Resolve, str]
"""One key of the host, by where it stands, and the address that it is shown to."""


def decided(session: Session, runner: Runner) -> Look:
    """A look at the host with every gate decided and its keys shown to the router. Raises
    HostError."""
    return prove(session, runner, decide(session, runner, look(session)))


def decide(session: Session, runner: Runner, seen: Look) -> Look:
    """`seen` with every gate decided: what pends is asked of the host, bounded, and all is
    planned anew from the answers. A gate that no answer opens is closed from then on.

    Raises HostError.
    """
    if not any(plan.gate == INDETERMINATE for plan in seen.plans):
        return seen
    facts = seen.facts
    for _ in range(_ROUNDS):
        asks = _asks(seen.plans) - facts.answers.keys()
        answers = check.answer(runner, asks, session.salts) if asks else {}
        facts = replace(facts, answers={**facts.answers, **answers})
        seen = looked(session, facts, decided=True)
        if not answers:
            break
    return seen


def _asks(plans: Sequence[Plan]) -> frozenset[RunningQuestion]:
    return frozenset(
        question
        for plan in plans
        if not plan.target.absent
        for question in plan.target.credential.asks
    )


def prove(session: Session, prover: Prover | Runner, seen: Look) -> Look:
    """`seen` with what the router answers to the keys of this host: one request for each
    key and address, however many targets use it. Only the inventory's address gets a key.
    A Prover runs no command for a key; a host that cannot ask leaves it `not checked`."""
    proof = session.job.proof
    if proof is Proof.NONE:
        return seen
    answers = {
        key: _ask(session, prover, key, plans)
        for key, plans in _by_key(seen.plans, proof).items()
    }
    host = session.job.host.name
    return replace(seen, plans=tuple(
        plan if plan.target.absent else proved(plan, _row(plan, proof, answers), host)
        for plan in seen.plans
    ))


def _by_key(plans: Sequence[Plan], proof: Proof) -> Mapping[_Key, list[Plan]]:
    found: dict[_Key, list[Plan]] = {}
    for plan in plans:
        key = _key(plan)
        if key and not _unasked(plan, proof):
            found.setdefault(key, []).append(plan)
    return found


def _key(plan: Plan) -> _Key | None:
    source = plan.target.credential.source
    return (source, plan.target.wish.base_url) if source else None


def _unasked(plan: Plan, proof: Proof) -> str:
    """Why the router is not asked about this target; "" where it is."""
    if plan.target.absent:
        return plan.target.absent
    if proof is Proof.OFFLINE:
        return "--offline"
    if plan.gate == CLOSED:
        return "there is no key to show"
    if plan.gate == INDETERMINATE:
        return "whether there is a key is decided at apply"
    if plan.target.credential.source is None:
        return "the key stands where only the client itself gets it from"
    return ""


def _ask(
    session: Session, prover: Prover | Runner, key: _Key, plans: Sequence[Plan]
) -> RouterRow:
    source, url = key
    aliases = dict.fromkeys(alias.name for plan in plans for alias in plan.target.wish.aliases)
    interpreters = dict.fromkeys(
        one.interpreter for plan in plans for one in plan.target.installations if one.interpreter
    )
    try:
        return router.prove(
            prover, source, url, tuple(aliases), session.salts, tuple(interpreters)
        )
    except HostError as error:
        return RouterRow(RouterVerdict.NOT_CHECKED, url, words(error.message))


def _row(plan: Plan, proof: Proof, answers: Mapping[_Key, RouterRow]) -> RouterRow:
    """The answer as it concerns this target, which may know fewer aliases than others."""
    reason, key = _unasked(plan, proof), _key(plan)
    if reason or key is None:
        return RouterRow(RouterVerdict.NOT_CHECKED, plan.target.wish.base_url, reason)
    row = answers[key]
    mine = {alias.name for alias in plan.target.wish.aliases}
    missing = tuple(name for name in row.missing if name in mine)
    if row.verdict is RouterVerdict.ALIAS_MISSING and not missing:
        return replace(row, verdict=RouterVerdict.ACCEPTED, missing=())
    return replace(row, missing=missing)
