"""The commands that look at a fleet and change nothing: call, print, report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fleetsync.cli.answers import ending, look, report, show
from fleetsync.cli.doctor import examination
from fleetsync.cli.options import Options
from fleetsync.cli.output import Output, Report
from fleetsync.cli.selection import Selection
from fleetsync.job import Proof, Step
from fleetsync.outcome import HostResult, Outcome


def preview(
    selection: Selection,
    options: Options,
    output: Output,
    *,
    drift_is_3: bool,
    prove: bool = False,
    offline: bool = False,
) -> Report:
    """Show what apply would change; change nothing. With `prove` each host asks the router
    whether it takes the host's key."""
    asked = Proof.ASK if prove else Proof.NONE
    proof = Proof.OFFLINE if offline else asked
    return _compare(
        Step.PREVIEW, selection, options, output, drift_is_3=drift_is_3, proof=proof
    )


def verify(selection: Selection, options: Options, output: Output) -> Report:
    """Tell whether every target holds the catalog; drift is exit code 3."""
    return _compare(Step.VERIFY, selection, options, output, drift_is_3=True)


def _compare(
    step: Step,
    selection: Selection,
    options: Options,
    output: Output,
    *,
    drift_is_3: bool,
    proof: Proof = Proof.NONE,
) -> Report:
    seen = look(step, selection, options, output, proof=proof)
    show(seen, options, output)
    drifting = [host.host for host in seen.hosts if Outcome.DRIFT in host.outcomes]
    if drifting and not selection.taken_back:  # a notice tells what apply needs then
        output.answer(f"next: {selection.command('apply', drifting)}")
    output.answer(*settling(seen.hosts, selection))
    return report(step.value, selection, seen, drift_is_3=drift_is_3)


def doctor(
    selection: Selection,
    options: Options,
    output: Output,
    *,
    deep: bool = False,
    offline: bool = False,
) -> Report:
    """Show what was found on every host, with one next step for each target. `deep` asks
    an interactive shell of the account too."""
    proof = Proof.OFFLINE if offline else Proof.ASK
    seen = look(Step.DOCTOR, selection, options, output, proof=proof, deep=deep)
    output.answer(
        *examination(
            seen.hosts, selection.command, quiet=options.quiet, paint=output.paint,
            known={host.name: host for host, _ in selection.wishes},
        ),
        *ending(seen),
    )
    return report("doctor", selection, seen)


def settling(hosts: Sequence[HostResult], selection: Selection) -> Iterator[str]:
    """The next step where a transaction was cut off."""
    cut = [host.host for host in hosts if host.interrupted]
    if cut:
        yield f"next: {selection.command('recover', cut)}"
