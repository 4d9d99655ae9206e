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
                "step": "make room or rights on the host, then run it again: that finishes this "
                "first; the originals are in the bundle",
                "bundle": applied.bundle,
            }
    return {
        "outcome": Outcome.REFUSED,
        "reason": f"nothing was written: {told}",
        "step": _STEPS[applied.problems[0].reason] if applied.problems else _AGAIN,
    }


_AGAIN = "preview again"
_REPAIR = "repair it on the host, then preview again"
_REPORT = "run it again; if it stays so, report it"
_STEPS = {
    Reason.LOCKED: "wait for the other run, then preview again",
    Reason.MOVED: _AGAIN,
    Reason.RESOLVED: _AGAIN,
    Reason.APPEARED: _AGAIN,
    Reason.EDITED: _AGAIN,
    Reason.DANGLING: _REPAIR,
    Reason.DIRECTORY: _REPAIR,
    Reason.FIFO: _REPAIR,
    Reason.DEVICE: _REPAIR,
    Reason.IRREGULAR: _REPAIR,
    Reason.COMPANION: "close the client on the host, or wait, then run it again",
    Reason.SPACE: "make room on the host, then run it again",
    Reason.CAP: "a file of that size is not written: look into it on the host",
    Reason.LINKS: "keep one name of the file on the host",
    Reason.OWNER: "log in as the account that owns the file, or give it back",
    Reason.GROUP: "give the file to a group of this account on the host (chgrp)",
    Reason.MODE: "take that bit off the file on the host (chmod)",
    Reason.READONLY: "make it writable on the host, if its manager agrees",
    Reason.IMMUTABLE: "take the attribute off on the host (chattr -i), if that is wished",
    Reason.ACL: "give the host a cp that keeps access lists (GNU's), or take the list off the file",
    Reason.HASH: "install sha256sum on the host",
    Reason.STAT: "install stat on the host",
    Reason.STATE: "make it a directory of this account on the host, or move away what is there",
    Reason.STUCK: "look into the state directory on the host",
    Reason.CANDIDATE: _REPORT,
    Reason.SYNTAX: _REPAIR,
    Reason.TWICE: _REPAIR,
    Reason.BLOCKED: _REPAIR,
    Reason.QUOTE: _REPAIR,
    Reason.TOOL: "install awk on the host, then run it again",
    Reason.STAGE: "look at the file's mode, owner and directory on the host, then run it again",
    Reason.WRITE: "look at room and rights on the host, then run it again",
    Reason.UNKNOWN: _AGAIN,
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
