"""Grade a real turn by the identity of what answered, never by its text alone. Pure.

`CHECKS` are all there is to it: each looks at one piece of evidence, and the first that
does not hold gives the verdict. What a client does not tell is `unavailable`: it proves
nothing, and a turn that shows no model, no tool calls or no nonce cannot pass.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from fleetsync.adapter import Done, Seen, Turn, Wish
from fleetsync.addresses import public_url
from fleetsync.outcome import CheckRow, TurnVerdict

UNAVAILABLE = "unavailable"
FAULTS = {
    "credential": TurnVerdict.CREDENTIAL,
    "router": TurnVerdict.ROUTER,
    "catalog": TurnVerdict.CATALOG,
    "policy": TurnVerdict.POLICY,
    "crash": TurnVerdict.CRASH,
    "timeout": TurnVerdict.TIMEOUT,
}
"""What a client's own words on its failure mean."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """All that is known of one turn."""

    wish: Wish
    tool: str
    turn: Turn
    done: Done
    seen: Seen


@dataclass(frozen=True, slots=True)
class Grade:
    """The verdict on one turn, and every piece of evidence."""

    verdict: TurnVerdict
    reason: str
    checks: tuple[CheckRow, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether it proves what it was to prove."""
        return self.verdict is TurnVerdict.PASSED


@dataclass(frozen=True, slots=True)
class Found:
    """What one check came to: its row, the verdict where it fails, and in which words."""

    row: CheckRow
    verdict: TurnVerdict
    reason: str


Check = Callable[[Evidence], Found]


def grade(evidence: Evidence) -> Grade:
    """The verdict: how the program ended, what the client told of a failure, then every
    check in order."""
    found = tuple(check(evidence) for check in CHECKS)
    rows = tuple(one.row for one in found)
    early = _ended(evidence.done) or _told(evidence.seen)
    if early:
        return Grade(*early, rows)
    for one in found:
        if one.row.holds is False:
            return Grade(one.verdict, one.reason, rows)
    return Grade(*_proved(found), rows)


def lost(reason: str) -> Grade:
    """The grade of a turn whose answer did not come."""
    return Grade(TurnVerdict.LOST, reason)


def _ended(done: Done) -> tuple[TurnVerdict, str] | None:
    if not done.started:
        return TurnVerdict.SETUP, done.problem or "it could not be started"
    if done.timed_out:
        return TurnVerdict.TIMEOUT, f"no answer in {done.seconds:.0f} s: it was ended"
    if done.truncated:
        return TurnVerdict.LOST, "it printed more than is read"
    if done.signal:
        return TurnVerdict.CRASH, f"signal {done.signal} ended it"
    return None


def _told(seen: Seen) -> tuple[TurnVerdict, str] | None:
    if seen.fault:
        return FAULTS[seen.fault], seen.problem or f"the client tells of a {seen.fault} failure"
    return None


_VITAL = ("model", "tool calls", "nonce")


def _proved(found: tuple[Found, ...]) -> tuple[TurnVerdict, str]:
    for one in found:
        if one.row.name in _VITAL and one.row.holds is None:
            return TurnVerdict.LOST, f"the client's output does not tell the {one.row.name}"
    return TurnVerdict.PASSED, ""


# --- the checks ------------------------------------------------------------------


def _row(name: str, wanted: str, seen: str | None, *, holds: bool) -> CheckRow:
    if seen is None:
        return CheckRow(name, wanted, UNAVAILABLE, None)
    return CheckRow(name, wanted, seen, holds)


def _routed(evidence: Evidence) -> Found:
    seen = evidence.seen.requested
    told = None if seen is None else ("yes" if seen else "no")
    row = _row("request", "yes", told, holds=bool(seen))
    reason = f"nothing shows that a request left the client; {_end(evidence.done)}"
    return Found(row, TurnVerdict.HARNESS, reason)


def _end(done: Done) -> str:
    """How the program ended, without a word of what it printed: that may be anything."""
    printed = len(done.stdout) + len(done.stderr)
    return (
        f"it ended with status {done.status} after {done.seconds:.1f} s, "
        f"having printed {printed} bytes"
    )


def _provider(evidence: Evidence) -> Found:
    wanted, seen = evidence.wish.provider, evidence.seen.provider
    row = _row("provider", wanted, seen, holds=seen == wanted)
    return Found(row, TurnVerdict.WRONG_MODEL, f"provider {seen} took it, not {wanted}")


def _model(evidence: Evidence) -> Found:
    wanted, seen = evidence.turn.alias.name, evidence.seen.model
    row = _row("model", wanted, seen, holds=seen == wanted)
    return Found(row, TurnVerdict.WRONG_MODEL, f"model {seen} took it, not {wanted}")


def _router(evidence: Evidence) -> Found:
    wanted, seen = evidence.wish.base_url.rstrip("/"), evidence.seen.router
    told = None if seen is None else public_url(seen)    # it may be another provider's, with a key
    row = _row("router", wanted, told, holds=(seen or "").rstrip("/") == wanted)
    return Found(row, TurnVerdict.WRONG_MODEL, f"the request went to {told}, not to {wanted}")


def _fallback(evidence: Evidence) -> Found:
    seen = evidence.seen.fallback
    told = None if seen is None else ("a fallback" if seen else "none")
    row = _row("fallback", "none", told, holds=seen is False)
    return Found(row, TurnVerdict.WRONG_MODEL, "a fallback model answered")


def _answered_as(evidence: Evidence) -> Found:
    alias, seen = evidence.turn.alias, evidence.seen.answered_as
    names = (alias.name, *alias.served_as)
    row = _row("answered as", " or ".join(names), seen, holds=seen in names)
    return Found(
        row, TurnVerdict.WRONG_MODEL,
        f"the router answered as {seen}, which is neither the alias nor in its served_as",
    )


def _context(evidence: Evidence) -> Found:
    wanted, seen = evidence.turn.alias.context_window, evidence.seen.context_window
    told = None if seen is None else str(seen)
    row = _row("context window", str(wanted), told, holds=seen == wanted)
    return Found(
        row, TurnVerdict.CATALOG, f"the client used a context window of {seen}, not {wanted}"
    )


def _tool_calls(evidence: Evidence) -> Found:
    image, seen = bool(evidence.turn.image), evidence.seen.tools
    wanted = () if image else (evidence.tool,)
    told = None if seen is None else ", ".join(seen) or "none"
    row = _row("tool calls", ", ".join(wanted) or "none", told, holds=seen == wanted)
    return Found(
        row, TurnVerdict.POLICY,
        f"tool calls: {told}; exactly {row.wanted} was wanted: the client's policy keeps the "
        "tool back, or the model did not do as asked",
    )


def _tool_results(evidence: Evidence) -> Found:
    failed = evidence.seen.failed_tools
    row = _row("failed tool calls", "0", str(failed), holds=failed == 0)
    return Found(row, TurnVerdict.POLICY, f"{failed} tool calls failed: the client denied them")


def _stop(evidence: Evidence) -> Found:
    seen = evidence.seen.stop
    row = _row("stop reason", "stop", seen, holds=seen == "stop")
    verdict = TurnVerdict.CATALOG if seen == "length" else TurnVerdict.ROUTER
    return Found(row, verdict, f"the answer ended by `{seen}`")


def _nonce(evidence: Evidence) -> Found:
    turn, text = evidence.turn, evidence.seen.text
    wanted, name = (turn.expect, "expected text") if turn.image else (turn.nonce, "nonce")
    held = text is not None and wanted.encode() in text.reveal()
    told = None if text is None else ("there" if held else "not there")
    row = _row("nonce", f"the {name}", told, holds=held)
    return Found(row, TurnVerdict.ROUTER, f"the answer does not hold the {name}")


def _status(evidence: Evidence) -> Found:
    status = evidence.done.status
    row = _row("exit status", "0", str(status), holds=status == 0)
    return Found(row, TurnVerdict.CRASH, f"the client ended with status {status}")


CHECKS: tuple[Check, ...] = (
    _routed, _provider, _model, _router, _fallback, _answered_as, _context, _tool_calls,
    _tool_results, _stop, _nonce, _status,
)
"""Every check, in the order in which they give the verdict."""
