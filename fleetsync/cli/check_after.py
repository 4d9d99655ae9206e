"""`apply --check-after`: wait, look again, and tell who changed a file since."""

from __future__ import annotations

from dataclasses import replace
from time import sleep

from fleetsync.cli.conduct import Conducted, conduct
from fleetsync.cli.options import Options
from fleetsync.cli.output import Output
from fleetsync.cli.selection import Selection
from fleetsync.job import Approved, Job, Step
from fleetsync.outcome import HostResult, Outcome, TargetResult


def check(
    last: Conducted, selection: Selection, options: Options, output: Output, *, seconds: float
) -> tuple[Conducted, Conducted | None]:
    """The results with what a look after `seconds` adds, and that look's own results.

    None where nothing was changed. An interrupt while waiting ends the waiting.
    """
    jobs = _jobs(last, selection)
    if not jobs or last.interrupted:
        return last, None
    output.say(f"looking again in {seconds:g} s")
    try:
        sleep(seconds)
    except KeyboardInterrupt:
        return replace(last, interrupted=True), None
    again = conduct(jobs, workers=options.workers, output=output, quiet=options.quiet)
    answers = {host.host: host for host in again.hosts}
    hosts = tuple(
        _host(host, answers[host.host], seconds) if host.host in answers else host
        for host in last.hosts
    )
    return replace(last, hosts=hosts, interrupted=again.interrupted), again


def _jobs(last: Conducted, selection: Selection) -> list[Job]:
    written = {host.host: _written(host) for host in last.hosts}
    names = [name for name, rows in written.items() if rows]
    return [
        replace(job, approved=written[job.host.name])
        for job in selection.jobs(Step.AGAIN, names)
    ]


def _written(host: HostResult) -> tuple[Approved, ...]:
    return tuple(
        Approved(target.label, file.path, file.before, file.after)
        for target in host.targets
        if target.outcome is Outcome.CHANGED
        for file in target.diffs
    )


def _host(host: HostResult, again: HostResult, seconds: float) -> HostResult:
    if again.outcome:
        note = f"not looked at again: {again.outcome.value}: {again.reason}"
        return replace(host, notes=(*host.notes, note), later=again.outcome)
    found = {target.label: target for target in again.targets}
    return replace(host, targets=tuple(
        _target(target, found.get(target.label), seconds) for target in host.targets
    ))


def _target(target: TargetResult, again: TargetResult | None, seconds: float) -> TargetResult:
    if target.outcome is not Outcome.CHANGED:
        return target
    if again is None:
        return replace(target, outcome=Outcome.FAILED,
                       reason=f"after {seconds:g} s the target is gone", step="look at the host")
    if again.outcome is Outcome.IN_STEP:
        return replace(target, notes=(*target.notes, f"still so after {seconds:g} s"))
    return replace(target, outcome=again.outcome, reason=again.reason, step=again.step)
