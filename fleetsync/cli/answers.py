"""What the answers of all commands have in common: the step, its ending, the report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from fleetsync.cli.conduct import Conducted, conduct
from fleetsync.cli.failure import bug
from fleetsync.cli.options import Options
from fleetsync.cli.output import Output, Problem, Report, cell
from fleetsync.cli.render import blocks, summary
from fleetsync.cli.selection import Selection
from fleetsync.job import Order, Proof, Step
from fleetsync.outcome import HostResult, Outcome, exit_code

DECLINED = 2
BUG = 70
INTERRUPTED = 130
_STATUS = {
    1: "failed",
    DECLINED: "declined",
    4: "away",
    5: "refused",
    BUG: "bug",
    INTERRUPTED: "interrupted",
}


def look(
    step: Step,
    selection: Selection,
    options: Options,
    output: Output,
    order: Order | None = None,
    *,
    proof: Proof = Proof.NONE,
    deep: bool = False,
) -> Conducted:
    """Do a step that writes nothing on all selected hosts."""
    jobs = [
        replace(job, proof=proof, deep=deep) for job in selection.jobs(step, order=order)
    ]
    return conduct(jobs, workers=options.workers, output=output, quiet=options.quiet)


def show(seen: Conducted, options: Options, output: Output) -> None:
    """Print every host and the summary."""
    output.answer(
        *blocks(seen.hosts, quiet=options.quiet, verbose=options.verbose, paint=output.paint),
        *ending(seen),
    )


def ending(seen: Conducted) -> Iterator[str]:
    """The summary line, and what an interruption left open."""
    yield summary(seen.hosts)
    for state, names in (("no answer known", seen.begun), ("not started", seen.open)):
        if names:
            yield f"{state}: {cell(', '.join(names))}"


def report(
    command: str, selection: Selection, seen: Conducted, *, drift_is_3: bool = False
) -> Report:
    """The report of a step: 130 for an interrupted one and 70 for a fault of ours come
    before whatever the hosts said."""
    code = INTERRUPTED if seen.interrupted else exit_code(seen.hosts, drift_is_3=drift_is_3)
    return Report(
        command=command,
        status=status(code, seen.hosts),
        exit_code=code,
        generation=selection.run.generation,
        run=selection.run.identity,
        hosts=seen.hosts,
        errors=tuple(_problems(seen, selection)),
    )


def status(code: int, hosts: Sequence[HostResult]) -> str:
    """A word for the whole run. Drift is `drift` also where it ends with 0."""
    if code in _STATUS:
        return _STATUS[code]
    drift = any(Outcome.DRIFT in host.outcomes for host in hosts)
    return "drift" if drift else "unfinished" if code else "ok"


def _problems(seen: Conducted, selection: Selection) -> Iterator[Problem]:
    if seen.interrupted:
        left = ", ".join((*seen.begun, *seen.open))
        yield Problem("interrupted", f"interrupted; left: {left}" if left else "interrupted")
    for host in seen.hosts:
        again = selection.command("recover", (host.host,))
        yield from (Problem("recovery", f"{host.host}: {line}", again) for line in host.unsettled)
        if host.bug:
            yield bug(f"{host.host}: {host.reason}", "\n".join((host.reason, *host.bug)))
