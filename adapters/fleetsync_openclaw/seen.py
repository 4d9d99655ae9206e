"""What OpenClaw's own output tells of a turn.

Measured on 2026.6.11 and 2026.9.6. A turn through the gateway, or of `agent --local`, ends
in an envelope that names the model asked and the one that answered, fallbacks, tools, the
context window and the stop reason; that of `agent exec` names model and tools alone. What
comes before it on stderr is diagnostics.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from fleetsync.adapter import Done, Seen, Target, Turn
from fleetsync.sealed import Sealed

from .config import at
from .turn import EXEC, OVERDUE, THROUGH

_FAULTS = (
    (r"temporarily disabled after a provider auth", "credential",
     "the provider is in a cooldown after a rejected key"),
    (r"Authentication failed|\b40[13]\b|invalid api key|No API key", "credential",
     "the router did not accept the key"),
    (r"SECRET_SURFACE_UNAVAILABLE|configured but unavailable|unresolved in the active runtime",
     "credential", "OpenClaw does not resolve a key of its configuration"),
    (r"context_overflow|Context overflow|maximum context length", "catalog",
     "the router takes less context than OpenClaw was told"),
    (r"Unknown model|model was not found|model_not_found|does not exist|\b404\b", "catalog",
     "the model is unknown"),
    (r"is not allowed for agent", "policy", "OpenClaw's allowlist leaves the model out"),
    (r"token mismatch|requires credentials|unauthorized|pair this device|missing scope", "policy",
     "the gateway does not let this account in"),
    (r"incognito|INVALID_REQUEST", "policy", "the gateway makes no session for the turn"),
    (r"ECONNREFUSED|Gateway not reachable|gateway closed", "crash",
     "the gateway does not answer"),
    (r"connection (?:refused|error)|fetch failed|rate.?limit|\b429\b|\b50\d\b|overloaded"
     r"|server error|billing|LLM request failed|malformed|empty response", "router",
     "the router gave no answer that OpenClaw could use"),
    (r"timed? ?out|timeout", "timeout", "no answer came in time"),
)
"""What a failure's text means: its fault, and our own words, for the text may quote a key."""
_MOST_CALLS = 20
_UNSET = re.compile(r"missing env var \"([A-Z_][A-Z0-9_]*)\" at ([\w.-]+)", re.ASCII)


def seen(target: Target, turn: Turn, done: Done) -> Seen:
    """The evidence in the output of a turn that ended."""
    through = target.context[THROUGH]
    warnings = tuple(_warnings(done))
    told = _json(done)
    if fault := _overdue(target, turn, done) or _fault(done, told):
        return Seen(
            requested=_left(told), fault=fault[0], problem=fault[1], through=through,
            warnings=warnings,
        )
    if "final" in told:
        return _of_exec(turn, told, warnings)
    result = told.get("result", told)
    return _of_run(turn, at(result, "meta"), result, warnings, through)


def _of_exec(turn: Turn, told: dict[str, object], warnings: tuple[str, ...]) -> Seen:
    model = _text(told.get("model"))
    return Seen(
        provider=_text(told.get("provider")),
        model=model,
        tools=_tools(told),
        failed_tools=_count(told, "toolSummary", "failures"),
        fallback=True if model not in (None, turn.alias.name) else None,
        text=_answer(told),
        requested=_count(told, "assistantTurns") > 0,
        through=EXEC,
        warnings=warnings,
    )


def _of_run(
    turn: Turn, meta: object, result: object, warnings: tuple[str, ...], through: str
) -> Seen:
    agent = at(meta, "agentMeta")
    effective = at(agent, "terminalReceipt", "effective")
    model = _text(at(agent, "model"))
    used = at(meta, "executionTrace", "fallbackUsed")
    window = at(agent, "contextTokens")
    return Seen(
        provider=_text(at(agent, "provider")),
        model=model,
        context_window=window if type(window) is int else None,
        tools=_tools(meta),
        failed_tools=_count(meta, "toolSummary", "failures"),
        stop=_text(at(meta, "stopReason")) or _text(at(meta, "completion", "stopReason")),
        fallback=True if model != turn.alias.name else used if isinstance(used, bool) else None,
        answered_as=_text(at(effective, "responseModel")),
        text=_answer(result),
        requested=bool(at(meta, "executionTrace", "attempts")),
        through=through,
        warnings=warnings,
    )


def _overdue(target: Target, turn: Turn, done: Done) -> tuple[str, str] | None:
    """Why the gateway did not end the turn by itself: it tries up to eight times again."""
    if done.status != OVERDUE:
        return None
    told = re.escape(f"isError=true model={turn.alias.name} provider={target.wish.provider} error=")
    tries = re.findall(told.encode() + rb"(.{1,200})", done.stderr.reveal())
    text = tries[-1].decode("utf-8", "replace") if tries else ""
    return _sorted(text) or ("timeout", f"no answer came in {turn.seconds} s")


def _sorted(text: str) -> tuple[str, str] | None:
    """The fault that a failure's text tells of, in our words."""
    for pattern, fault, words in _FAULTS:
        if re.search(pattern, text, re.IGNORECASE):
            return fault, words
    return None


def _fault(done: Done, told: dict[str, object]) -> tuple[str, str] | None:
    """The kind of the failure that it tells of, in our words; None where it tells of none."""
    if not told:
        return "crash", f"OpenClaw printed no result (exit status {done.status})"
    result = told.get("result", told)
    error = told.get("error") or at(result, "meta", "error")
    failed = told.get("ok") is False or told.get("status") in ("error", "timeout")
    if not (failed or error):
        return None
    text = " ".join((
        str(at(error, "kind") or ""), str(at(error, "message") or ""), *_errors(told)
    ))
    late = told.get("status") == "timeout"
    return _sorted(text) or (
        ("timeout", "no answer came in time") if late
        else ("crash", "OpenClaw failed in a way that is not known")
    )


def _errors(told: dict[str, object]) -> Iterator[str]:
    """The texts of payloads that are errors."""
    for source in (told, told.get("result")):
        payloads = at(source, "payloads")
        for payload in payloads if isinstance(payloads, list) else ():
            if at(payload, "isError") is True:
                yield str(at(payload, "text") or "")


def _left(told: dict[str, object]) -> bool | None:
    """Whether a request left OpenClaw, as far as a failure shows it."""
    attempts = at(told.get("result"), "meta", "executionTrace", "attempts")
    return True if attempts or _count(told, "assistantTurns") else None


def _tools(meta: object) -> tuple[str, ...]:
    """The tools called: each name once is told, with the number of all calls. More calls
    than a turn could make are as wrong as the most that are told of."""
    names = at(meta, "toolSummary", "tools")
    found = tuple(map(str, names)) if isinstance(names, list) else ()
    calls = min(_count(meta, "toolSummary", "calls"), _MOST_CALLS)
    return found * calls if len(found) == 1 else found + ("another",) * (calls - len(found))


def _count(value: object, *keys: str) -> int:
    found = at(value, *keys)
    return found if type(found) is int else 0


def _answer(source: object) -> Sealed | None:
    payloads = at(source, "payloads")
    if not isinstance(payloads, list):
        return None
    return Sealed.of("\n".join(str(at(row, "text") or "") for row in payloads))


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _warnings(done: Done) -> Iterator[str]:
    """Variables that the configuration names and that have no value."""
    told = done.stderr.reveal().decode("utf-8", "replace")
    for name, where in dict.fromkeys(_UNSET.findall(told)):
        yield f"{where} names {name}, which has no value"


def _json(done: Done) -> dict[str, object]:
    """The object that it printed, empty where it printed none."""
    try:
        found = json.loads(done.stdout.reveal())
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
