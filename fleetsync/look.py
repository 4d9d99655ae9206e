"""Look at one host: probe it, plan for it, and say what was seen.

The bytes of client files and the connection live and end inside one step.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from fleetsync import check, credentials, diff
from fleetsync.adapter import Adapter, FileEdit, Loaded, Wish
from fleetsync.documents import Dialect
from fleetsync.facts import Facts, FileFact, Installation, Sealed, State, StateFact
from fleetsync.job import Job, Step
from fleetsync.outcome import (
    AccountRow,
    FileRow,
    HostResult,
    InstallationRow,
    TargetResult,
)
from fleetsync.plan import Plan, plans
from fleetsync.probe import Salts, ask, probe
from fleetsync.redact import printable
from fleetsync.remote import Reader, Runner

AGREES = "agrees"
"""What a target's result says of its loader when it sees exactly the wish."""


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
    found = tuple(p for adapter, wish in session.adapters for p in plans(adapter, wish, facts))
    facts = _explained(session, facts, found)
    state = facts.answers.get(State())
    return Look(facts, found, state if isinstance(state, StateFact) else StateFact(""))


def _explained(session: Session, facts: Facts, found: Sequence[Plan]) -> Facts:
    """The host-wide credential places too, where a gate is closed or the operator asks."""
    names = {
        plan.target.wish.credential
        for plan in found
        if session.job.step is Step.DOCTOR
        or not (plan.target.absent or plan.target.credential.opens)
    }
    questions = facts.missing(frozenset(p for name in names for p in credentials.places(name)))
    if not questions:
        return facts
    return facts.with_answers(*ask(session.reader, questions, session.salts))


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
_TOLD = ("run", "operator", "controller", "generation", "undoes")


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
    """Who wrote last, from the newest manifest; `ours` is the catalog's generation. What
    takes back has none of its own."""
    if "operator" not in last:
        return ""
    verb = "rolled back" if last.get("undoes") else "applied"
    wrote = last.get("generation", "")
    other = "the catalog's" if wrote == ours else f"not the catalog's {ours[:_SHOWN]}"
    which = f", generation {wrote[:_SHOWN]} ({other})" if wrote else ""
    return printable(f"last {verb} by {last['operator']}, run {last.get('run', '?')}{which}")


def target_result(session: Session, look: Look, plan: Plan) -> TargetResult:
    """What a preview says of one target."""
    target, planned = plan.target, plan.planned
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
        trace=credentials.trace(target.credential, target.wish.credential, look.facts.answers),
        installations=tuple(map(_installation, target.installations)),
        files=tuple(_file(role, fact) for role, fact in target.files.items()),
        notes=tuple(
            map(printable, (*target.notes, *target.credential.warnings, *planned.notes))
        ),
    )


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
    candidates = {fact.path: _unchanged(fact) for fact in plan.target.files.values()}
    candidates |= {edit.file.path: edit for edit in plan.planned.edits}
    done = tuple(check.run(runner, command, candidates) for command in commands)
    return plan.adapter.loaded(plan.target, plan.planned, done)


def _unchanged(fact: FileFact) -> FileEdit:
    """The file as it is (no splice, so no dialect is ever asked for)."""
    return FileEdit(fact, Dialect.JSON, (), fact.content or Sealed(b""), ())
