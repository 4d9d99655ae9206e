"""`smoke`: one bounded real turn through each client, graded, on record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from fleetsync import receipt
from fleetsync.cli.answers import ending, report
from fleetsync.cli.conduct import Conducted, conduct
from fleetsync.cli.options import Options
from fleetsync.cli.output import Output, Report
from fleetsync.cli.record import recorded
from fleetsync.cli.selection import Selection
from fleetsync.cli.turns import counts, turned
from fleetsync.errors import UsageError
from fleetsync.gates import all_targets_verified
from fleetsync.job import Job, Proof, Step, Turns
from fleetsync.outcome import HostResult, Outcome, TargetResult

IMAGE_CAP = 4 * 1024 * 1024
"""Bytes of an image beyond which a turn would test the router's limits instead."""
_IMAGES = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff")


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the operator asks of the turns: aliases besides each target's default, an
    image with the text that it shows, seconds and retries."""

    aliases: tuple[str, ...] = ()
    image: Path | None = None
    expect: str = ""
    seconds: int = 90
    retries: int = 1


def smoke(
    selection: Selection, options: Options, output: Output, wanted: Wanted, *, offline: bool
) -> Report:
    """Take the turns, show what they prove, keep a receipt. `offline` leaves out the
    proof of each host's key at the router, which else comes before its turns.

    Raises UsageError for an alias that no host has, an image that is none or that no alias
    takes, and where the receipt cannot be kept.
    """
    turns = turns_of(selection, wanted)
    jobs = jobs_of(selection, turns, offline=offline)
    with recorded("smoke", selection, Conducted(()), writes=bool(jobs)) as record:
        done = conduct(jobs, workers=options.workers, output=output, quiet=options.quiet)
        made = report("smoke", selection, done, drift_is_3=True)
        record.end(made, done, done)
    made = replace(made, all_targets_verified=all_targets_verified(done.hosts))
    shown(done, options, output)
    if record.path:
        output.answer(f"receipt: {record.path}")
    return record.reported(made)


def taken(
    last: Conducted, selection: Selection, options: Options, output: Output, turns: Turns, *,
    offline: bool,
) -> tuple[Conducted, Conducted | None]:
    """The results of a command that wrote, with what turns prove of the targets that now
    hold their wish; and the results of those turns alone, None where no host has one."""
    names = [host.host for host in last.hosts if _HOLDING & set(host.outcomes)]
    if not names:
        return last, None
    jobs = jobs_of(selection, turns, names, offline=offline)
    done = conduct(jobs, workers=options.workers, output=output, quiet=options.quiet)
    answers = {host.host: host for host in done.hosts}
    hosts = tuple(_turned(host, answers.get(host.host)) for host in last.hosts)
    return replace(last, hosts=hosts, interrupted=last.interrupted or done.interrupted), done


_HOLDING = {Outcome.CHANGED, Outcome.IN_STEP}


def _turned(host: HostResult, smoked: HostResult | None) -> HostResult:
    if smoked is None:
        return host
    if smoked.outcome:
        note = f"no turn was taken: {smoked.outcome.value}: {smoked.reason}"
        return replace(host, notes=(*host.notes, note))
    found = {target.label: target for target in smoked.targets}
    targets = tuple(_proved(target, found.get(target.label)) for target in host.targets)
    return replace(host, targets=targets, unsettled=smoked.unsettled)


def _proved(target: TargetResult, smoked: TargetResult | None) -> TargetResult:
    """A target that was written, or in step, with its turns; one that failed them failed."""
    if smoked is None or target.outcome not in _HOLDING:
        return target
    turned = replace(target, turns=smoked.turns, gates=smoked.gates)
    if smoked.outcome is Outcome.IN_STEP:
        return turned
    return replace(turned, outcome=smoked.outcome, reason=smoked.reason, step=smoked.step)


def shown(done: Conducted, options: Options, output: Output) -> None:
    """Print every turn, the gates and the counts."""
    output.answer(
        *turned(done.hosts, quiet=options.quiet, verbose=options.verbose, paint=output.paint),
        *ending(done),
        *counts(done.hosts),
    )


def jobs_of(
    selection: Selection, turns: Turns, names: Sequence[str] | None = None, *, offline: bool
) -> list[Job]:
    """A job for each host, each with a journal of its own beside the receipts."""
    proof = Proof.OFFLINE if offline else Proof.ASK
    stem = f"{receipt.compact(receipt.now())}-{selection.run.identity}"
    return [
        replace(job, proof=proof, turns=replace(turns, journal=(
            str(selection.receipts), f"{stem}-{job.host.name}"
        )))
        for job in selection.jobs(Step.SMOKE, names)
    ]


def turns_of(selection: Selection, wanted: Wanted) -> Turns:
    """What every host is told of its turns. Raises UsageError for an alias that no host
    has, and for an image that is none or that no alias takes."""
    found = [alias for _, wishes in selection.wishes for wish in wishes for alias in wish.aliases]
    known = {alias.name for alias in found}
    for name in wanted.aliases:
        if name not in known:
            raise UsageError(
                f"no selected host has the alias {name!r}",
                f"the selected hosts have {', '.join(sorted(known)) or 'none'}",
            )
    image, text = _image(wanted)
    if image and not any("image" in alias.input for alias in found):
        raise UsageError(
            "no alias of the selected hosts takes an image",
            'name one whose input in catalog.toml is ["text", "image"], or leave out --image',
        )
    aliases = tuple(dict.fromkeys((*selection.smoke, *wanted.aliases)))
    return Turns(aliases, wanted.seconds, wanted.retries, image, text)


def _image(wanted: Wanted) -> tuple[bytes, str]:
    if wanted.image is None:
        if wanted.expect:
            raise UsageError("--expect says what an image shows, and there is no --image")
        return b"", ""
    if not wanted.expect:
        raise UsageError(
            "--image needs --expect", "say with --expect TEXT which text the image shows"
        )
    try:
        data = wanted.image.read_bytes()
    except OSError as error:
        raise UsageError(f"{wanted.image}: {error.strerror}") from error
    if not data.startswith(_IMAGES):
        raise UsageError(f"{wanted.image} is no PNG or JPEG")
    if len(data) > IMAGE_CAP:
        raise UsageError(f"{wanted.image} has {len(data)} bytes; at most {IMAGE_CAP} are sent")
    return data, wanted.expect
