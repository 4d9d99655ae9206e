"""What is said of a transaction that did not write, and of one that was found cut off."""

from __future__ import annotations

from fleetsync.facts import Interrupted
from fleetsync.outcome import Outcome
from fleetsync.redact import printable
from fleetsync.transaction import Applied, End, Problem, Reason, Recovery


def unwritten(applied: Applied) -> dict[str, object]:
    """What becomes of a target's result where its transaction did not write."""
    told = "; ".join(map(problem_line, applied.problems)) or "the host gave no reason"
    match applied.end:
        case End.UNDONE:
            return {
                "outcome": Outcome.ROLLED_BACK,
                "reason": f"the write was taken back: {told}",
                "step": "preview again; the originals are in the bundle",
                "bundle": applied.bundle,
            }
        case End.STUCK:
            return {
                "outcome": Outcome.FAILED,
                "reason": f"the write could be neither finished nor taken back: {told}",
                "step": "make room or rights on the host, then apply again: it finishes this "
                "first; the originals are in the bundle",
                "bundle": applied.bundle,
            }
    return {
        "outcome": Outcome.REFUSED,
        "reason": f"nothing was written: {told}",
        "step": _STEPS.get(applied.problems[0].reason, "") if applied.problems else "",
    }


_STEPS = {
    Reason.LOCKED: "wait for the other run, then preview again",
    Reason.MOVED: "preview again",
    Reason.RESOLVED: "preview again",
    Reason.APPEARED: "preview again",
    Reason.EDITED: "preview again",
    Reason.COMPANION: "close the client on the host, or wait, then apply again",
    Reason.SPACE: "make room on the host, then apply again",
    Reason.LINKS: "keep one name of the file on the host",
    Reason.OWNER: "log in as the account that owns the file, or give it back",
    Reason.READONLY: "make it writable on the host, if its manager agrees",
    Reason.IMMUTABLE: "take the attribute off on the host (chattr -i), if that is wished",
    Reason.STUCK: "look into the state directory on the host",
}


def problem_line(problem: Problem) -> str:
    """One reason why not, on one line."""
    where = f"{problem.path}: " if problem.path else ""
    detail = f" ({problem.detail})" if problem.detail else ""
    return printable(f"{where}{problem.reason.value}{detail}")


def cut_line(one: Interrupted) -> str:
    """A transaction that was cut off and left as it is, on one line."""
    files = ", ".join(map(printable, one.files)) or "no file yet"
    return f"transaction {one.transaction} was cut off in state {one.state}: {files}"


def recovery_line(found: Recovery) -> str:
    """An interrupted transaction and what it is now, on one line."""
    return f"transaction {found.transaction}, interrupted in state {found.found}: {found.now} now"
