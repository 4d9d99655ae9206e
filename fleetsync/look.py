"""Look at one host: probe it, plan for it, and say what was seen.

The bytes of client files and the connection live and end inside one step.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from fleetsync import check, credentials, diff
from fleetsync.adapter import Adapter, Credential, Loaded, Refusal, Wish
from fleetsync.facts import (
    Facts,
    FileFact,
    Installation,
    Place,
    Question,
    State,
    StateFact,
)
from fleetsync.job import Job, Step
from fleetsync.outcome import (
    AccountRow,
    FileRow,
    HostResult,
    InstallationRow,
    RouterRow,
    RouterVerdict,
    TargetResult,
)
from fleetsync.plan import CLOSED, INDETERMINATE, OPEN, Plan, plans, renewal
from fleetsync.probe import Salts, ask, probe
from fleetsync.redact import printable
from fleetsync.remote import Reader, Runner


@dataclass(frozen=True, slots=True)
class Session:
    """One host while its step is under way. It holds a Reader only: what runs a client
    program or writes is handed to the steps that do so."""

    job: Job
    reader: Reader
    salts: Salts
    adapters: tuple[tuple[Adapter, Wish], ...]
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Look:
    """What one look at a host showed."""

    facts: Facts
    plans: tuple[Plan, ...]
    state: StateFact


def look(session: Session) -> Look:
    """Read all that is to be known and plan every target. Raises HostError."""
    facts = probe(session.reader, session.adapters, session.salts)
    return looked(session, facts, decided=False)


def looked(session: Session, facts: Facts, *, decided: bool) -> Look:
    """What `facts` come to; `decided` where a Runner was asked all that it can answer.

    Raises HostError: where a gate is closed the host is asked for more places.
    """
    found = tuple(
        plan
        for adapter, wish in session.adapters
        for plan in plans(adapter, wish, facts, decided=decided)
    )
    facts = _explained(session, facts, found)
    found = tuple(_told(session.job.host.name, plan, facts) for plan in found)
    state = facts.answers.get(State())
    return Look(facts, found, state if isinstance(state, StateFact) else StateFact(""))


def _explained(session: Session, facts: Facts, found: Sequence[Plan]) -> Facts:
    """Where the keys come from; and the host-wide places too, where a gate is closed or
    the operator asks."""
    wanted: set[Question] = set()
    for plan in found:
        source, name = plan.target.credential.source, plan.target.wish.credential
        if isinstance(source, Place):
            wanted.add(source)
        if plan.gate == CLOSED or (plan.gate and session.job.step is Step.DOCTOR):
            wanted.update(credentials.places(name, deep=session.job.deep))
    questions = facts.missing(frozenset(wanted))
    if not questions:
        return facts
    return facts.with_answers(*ask(session.reader, questions, session.salts))


def _told(host: str, plan: Plan, facts: Facts) -> Plan:
    """The plan, its closed gate told as the host-wide places have it, and with the command
    that opens it."""
    if plan.gate != CLOSED:
        return plan
    cause, step = plan.target.credential.cause, plan.target.credential.step
    told = credentials.elsewhere(host, plan.target, facts.answers)
    command = renewal(plan, host)
    if not told and command:
        told = Refusal(cause, f"{command}\nor: {step}" if step else command)
    if not told:
        return plan
    return replace(plan, refusals=tuple(
        told if one.reason == cause else one for one in plan.refusals
    ))


def host_result(
    session: Session, look: Look, targets: tuple[TargetResult, ...], notes: tuple[str, ...] = ()
) -> HostResult:
    """The host's result: its targets, and what was seen of the account and our state."""
    return HostResult(
        session.job.host.name,
        targets,
        notes=(*session.notices, *notes),
        interrupted=tuple(_interrupted(look.state)),
        account=_account(look, session.job.run.generation),
    )


def _interrupted(state: StateFact) -> Iterator[str]:
    for one in state.interrupted:
        files = ", ".join(map(printable, one.files)) or "no file yet"
        yield f"transaction {one.transaction} was cut off in state {one.state}: {files}"


_SHOWN = 12
"""Characters of a generation that people are shown."""
_TOLD = ("run", "operator", "controller", "generation", "undoes", "credential")


def _account(look: Look, generation: str) -> AccountRow | None:
    host, state = look.facts.host, look.state
    if host is None:
        return None
    last = " ".join(f"{key}={printable(value)}" for key, value in state.last if key in _TOLD)
    return AccountRow(
        host.user, str(host.home), host.shell, host.system, host.interactive_noise,
        state.directory, last, state.locked_by, _last_writer(dict(state.last), generation),
    )


def _last_writer(last: Mapping[str, str], ours: str) -> str:
    """Who wrote last, from the newest manifest; `ours` is the catalog's generation, "" where
    no catalog was read. What takes back has none of its own."""
    if "operator" not in last:
        return ""
    verb = "rolled back" if last.get("undoes") else "applied"
    if last.get("credential"):
        verb = f"given a key for {last['credential']}"
    wrote = last.get("generation", "")
    other = " (the catalog's)" if wrote == ours else f" (not the catalog's {ours[:_SHOWN]})"
    which = f", generation {wrote[:_SHOWN]}{other if ours else ''}" if wrote else ""
    return printable(f"last {verb} by {last['operator']}, run {last.get('run', '?')}{which}")


def target_result(session: Session, look: Look, plan: Plan) -> TargetResult:
    """What a preview says of one target."""
    target, planned, answers = plan.target, plan.planned, look.facts.answers
    reasons = [refusal.reason for refusal in plan.refusals]
    steps = [refusal.step for refusal in plan.refusals if refusal.step]
    return TargetResult(
        host=session.job.host.name,
        client=target.client,
        name=target.name,
        outcome=plan.outcome,
        reason=printable(target.absent or "; ".join(reasons)),
        step=printable("\n".join(steps)) if not target.absent else _install(target.client),
        changes=diff.rows(planned),
        diffs=diff.diffs(planned, target.wish.known),
        trace=credentials.trace(target.credential, target.wish.credential, answers),
        installations=tuple(map(_installation, target.installations)),
        files=tuple(_file(role, fact) for role, fact in target.files.items()),
        notes=tuple(map(printable, _notes(look, plan))),
        credential=plan.gate,
        router=plan.router,
        fingerprint=_fingerprint(target.credential, look.facts),
        limits=plan.limits,
    )


def _notes(look: Look, plan: Plan) -> Iterator[str]:
    credential = plan.target.credential
    yield from plan.target.notes
    yield from credential.warnings
    yield from plan.planned.notes
    if plan.gate == INDETERMINATE and not plan.decided:
        yield f"decided at apply: {credential.cause}"
    if plan.router and plan.gate == OPEN:
        yield from _router_notes(plan.router)
    if plan.gate == CLOSED and (hint := credentials.hint(plan.target, look.facts.answers)):
        yield hint


def _router_notes(row: RouterRow) -> Iterator[str]:
    """What leaves it open whether the router takes the key. A rejection refuses instead."""
    detail = f" ({row.detail})" if row.detail else ""
    told = {
        RouterVerdict.UNREACHABLE: f"the host does not reach {row.url}{detail}: its key is "
        "not proved",
        RouterVerdict.NOT_A_ROUTER: f"{row.url} does not answer as a router does{detail}: the "
        "host's key is not proved",
        RouterVerdict.ALIAS_MISSING: f"{row.url} takes the host's key and does not list "
        f"{', '.join(row.missing)}",
        RouterVerdict.NOT_CHECKED: f"{row.url} was not asked whether it takes the host's "
        f"key{detail}",
    }
    if row.verdict in told:
        yield told[row.verdict]
    if row.proxies and row.verdict is not RouterVerdict.ACCEPTED:
        yield f"on the way to it the host's {', '.join(row.proxies)} applied"


def _fingerprint(credential: Credential, facts: Facts) -> str:
    """Of the key that the client would take; only to be compared with other hosts'."""
    if credential.source is None or not credential.opens:
        return ""
    return facts.place(credential.source).fingerprint


def _install(client: str) -> str:
    return (
        f"install it there, take {client} out of the host's `clients`, or name its launcher: "
        f"[hosts.NAME.{client}] commands"
    )


def _installation(one: Installation) -> InstallationRow:
    return InstallationRow(
        " ".join(one.argv), one.found, one.package, one.version,
        one.runtime[0][1] if one.runtime else "", one.interpreter, one.interpreter_version,
        one.problem,
    )


def _file(role: str, fact: FileFact) -> FileRow:
    mode = f"{fact.mode:04o}" if fact.exists else ""
    return FileRow(role, fact.path, fact.real, fact.kind.value, mode, fact.sha256)


def ask_loader(runner: Runner, plan: Plan) -> Loaded:
    """What the client's own loader makes of the files as planned (live, when in step)."""
    commands = plan.adapter.loaders(plan.target, plan.planned)
    done = tuple(check.run(runner, command, plan.candidates) for command in commands)
    return plan.adapter.loaded(plan.target, plan.planned, done)
