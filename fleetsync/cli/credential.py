"""`credential set`: show where the key goes, take it, ask, write, prove, keep a receipt."""

from __future__ import annotations

import getpass
import sys
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace

from fleetsync.cli.answers import ending, look, report, show
from fleetsync.cli.conduct import Conducted, conduct
from fleetsync.cli.hidden import at_terminal
from fleetsync.cli.options import Options
from fleetsync.cli.output import Output, Report, cell
from fleetsync.cli.record import recorded
from fleetsync.cli.render import results
from fleetsync.cli.selection import Selection, select
from fleetsync.cli.writing import agreed, approved, declined, final
from fleetsync.errors import UsageError
from fleetsync.job import Order, Proof, Step
from fleetsync.new_key import CAP, fault
from fleetsync.outcome import HostResult, Outcome, TargetResult
from fleetsync.sealed import Sealed

_COMMAND = "credential set"
_HELP = "fleetsync credential set --help"


def put(
    words: Sequence[str], options: Options, output: Output, *, target: str, yes: bool
) -> Report:
    """Put a key that the operator types, or pipes in, where one client of one host keeps
    its own. Raises UsageError where it is not clear whose, or the text can be no key."""
    selection = _one_host(words, options)
    piped = None if at_terminal() else _piped(yes=yes)
    seen = _narrowed(look(Step.KEEP, selection, options, output), target)
    ready = [] if seen.interrupted else _ready(seen.hosts)
    if not ready:
        show(seen, options, output)
        return report(_COMMAND, selection, seen)
    (aim,) = ready
    output.answer(*_aim(aim, seen.hosts))
    key = piped or _typed(aim)
    if not yes and not agreed((f"Write it on {cell(aim.host)}? [y/N] ",), output):
        return declined(report(_COMMAND, selection, seen))
    with recorded(_COMMAND, selection, seen, writes=True) as record:
        done = _write(selection, seen.hosts, aim, key, options, output)
        last = final(seen, done)
        made = report(_COMMAND, selection, last)
        record.end(made, done, last)
    told = frozenset(aim.notes)
    output.answer(*results(last.hosts, quiet=options.quiet, told=told, paint=output.paint))
    output.answer(*ending(last))
    if record.path:
        output.answer(f"receipt: {record.path}")
    if not options.quiet:
        output.answer(*_next(last.hosts, selection))
    return record.reported(made)


def _one_host(words: Sequence[str], options: Options) -> Selection:
    """The selection of exactly one host, for a run that has nothing to do with a generation
    of the catalog."""
    if len(words) != 1:
        raise UsageError("credential set wants exactly one HOST", _HELP)
    selection = select(words, options, again=True)
    if len(selection.wishes) != 1:
        names = ", ".join(host.name for host, _ in selection.wishes)
        raise UsageError(f"{words[0]} names several hosts: {names}",
                         "each host has a key of its own: name one")
    return replace(selection, run=replace(selection.run, generation=""))


def _narrowed(seen: Conducted, label: str) -> Conducted:
    """The one target that is meant. A host that gave no target stays as it is."""
    return replace(seen, hosts=tuple(_aimed(host, label) for host in seen.hosts))


def _aimed(host: HostResult, label: str) -> HostResult:
    labels = [target.label for target in host.targets]
    if host.outcome or label in labels:
        return replace(host, targets=tuple(t for t in host.targets if t.label == label))
    if label:
        told = ", ".join(labels) or "none"
        raise UsageError(f"{host.host} has no target {label}", f"it has: {told}")
    if len(labels) > 1:
        raise UsageError(
            f"{host.host} has several targets: {', '.join(labels)}",
            f"each keeps a key of its own: name one, as in --target {labels[0]}",
        )
    return host


def _ready(hosts: Sequence[HostResult]) -> list[TargetResult]:
    return [t for host in hosts for t in host.targets if t.outcome is Outcome.DRIFT]


def _aim(aim: TargetResult, hosts: Sequence[HostResult]) -> Iterator[str]:
    for change in aim.changes:
        now = f"{change.before} now" if change.before else "nothing there now"
        yield (f"{cell(aim.host)}  {cell(aim.label)}  the new key goes to {cell(change.file)}, "
               f"{cell(change.subject)} ({cell(now)})")
    cut = (f"{line}, settled first" for host in hosts for line in host.interrupted)
    yield from (f"  note: {cell(note)}" for note in (*aim.notes, *cut))


# --- the key -----------------------------------------------------------------------


def _piped(*, yes: bool) -> Sealed:
    """The key on standard input, which is then no place to answer a question."""
    if not yes:
        raise UsageError(
            "credential set reads the key from standard input here, so nobody could answer "
            "its question",
            "give the same command with --yes, or at a terminal without the pipe",
        )
    data = sys.stdin.buffer.read(2 * CAP) if sys.stdin else b""
    line = data.removesuffix(b"\n")
    if len(line) != len(data):
        line = line.removesuffix(b"\r")
    return _judged(line.decode("utf-8", "surrogateescape"))


def _typed(aim: TargetResult) -> Sealed:
    """The key from a prompt on the terminal that does not show it."""
    prompt = f"New key for {aim.label} on {aim.host} (not shown): "
    with warnings.catch_warnings():
        warnings.simplefilter("error", getpass.GetPassWarning)
        try:
            return _judged(getpass.getpass(cell(prompt)))
        except getpass.GetPassWarning:
            raise UsageError(
                "this terminal would show the key, so it was not asked for",
                "pipe it in: fleetsync credential set HOST --yes < FILE",
            ) from None
        except EOFError:
            raise UsageError("no key was given; nothing was touched", _HELP) from None


def _judged(text: str) -> Sealed:
    if why := fault(text):
        raise UsageError(f"this is no key: {why}; nothing was touched",
                         "give the key itself, on one line, as the router's operator issued it")
    return Sealed(text.encode("ascii"))


# --- writing and its ending ---------------------------------------------------------


def _write(
    selection: Selection,
    seen: Sequence[HostResult],
    aim: TargetResult,
    key: Sealed,
    options: Options,
    output: Output,
) -> Conducted:
    order = Order(target=aim.label, key=key)
    jobs = [
        replace(job, approved=approved(host), proof=Proof.ASK)
        for job in selection.jobs(Step.SET, [aim.host], order)
        for host in seen
    ]
    return conduct(jobs, workers=options.workers, output=output, quiet=options.quiet)


def _next(hosts: Sequence[HostResult], selection: Selection) -> Iterator[str]:
    changed = [host.host for host in hosts if Outcome.CHANGED in host.outcomes]
    if changed:
        back = selection.command("rollback", changed)
        yield f"put the one before back: {back} --run {selection.run.identity}"
        yield f"next: {selection.command('apply', changed)}"
