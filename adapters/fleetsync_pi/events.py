"""What Pi's JSON events and its stderr tell of one turn.

Measured on 0.73.1, 0.84.4 and 1.6.0: `message_end` of the role assistant carries the
provider and the model that were asked for, the calls, the text, the stop reason, and
another model's name if the router gave one; an error is prose in `errorMessage` alone, and
the exit status is 0 all the same. Pi tells neither the router's address nor the context
window. The router's and the provider's prose may repeat a key, so none of it is passed on.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from fleetsync.adapter import Done, Seen, Target, Turn
from fleetsync.facts import Resolve
from fleetsync.sealed import Sealed

from .versions import Version, parse

_Event = Mapping[str, Any]
_STATUS = re.compile(r"([1-5]\d\d)\b")
_ERRNO = re.compile(r"\bE[A-Z_]{4,20}\b")
_WINDOW = re.compile(r"context.?(length|window)|maximum context|too many tokens", re.IGNORECASE)
_PATTERN = re.compile(r'Warning: No models match pattern "([\w./:*@+-]{1,120})"', re.ASCII)
_WORD = re.compile(r"[A-Za-z]{1,20}")


@dataclass(frozen=True, slots=True)
class Failure:
    """What a client's words on its failure mean; `sent`: whether a request left it."""

    fault: str = ""
    problem: str = ""
    sent: bool | None = True


def seen(target: Target, turn: Turn, done: Done) -> Seen:
    """Everything that the turn's output tells; nothing is inferred."""
    events, broken = _events(done.stdout.reveal())
    replies = tuple(_replies(events))
    errors = done.stderr.reveal().decode("utf-8", "replace")
    failure = _failure(target, replies, errors, done) or _unfinished(target, events, broken, done)
    last = replies[-1] if replies else {}
    return Seen(
        provider=_text(last, "provider"),
        model=_text(last, "model"),
        tools=tuple(_calls(replies)) if replies else None,
        failed_tools=sum(1 for e in events if _is(e, "tool_execution_end") and e.get("isError")),
        stop=_stop(last),
        fallback=len({_asked(reply) for reply in replies}) > 1 if replies else None,
        answered_as=_answered_as(turn, replies),
        text=Sealed.of(_said(last)) if replies else None,
        requested=failure.sent if failure.fault else bool(replies),
        fault=failure.fault,
        problem=failure.problem,
        warnings=tuple(_warnings(errors)),
    )


def _events(output: bytes) -> tuple[list[_Event], bool]:
    """The events, and whether anything else was printed."""
    found: list[_Event] = []
    broken = False
    for line in output.splitlines():
        try:
            event = json.loads(line)
        except (ValueError, RecursionError):
            event = None
        if isinstance(event, dict):
            found.append(event)
        else:
            broken = True
    return found, broken


def _is(event: _Event, kind: str) -> bool:
    return event.get("type") == kind


def _replies(events: list[_Event]) -> Iterator[_Event]:
    """The model's messages, each when it is complete."""
    for event in events:
        message = event.get("message")
        if _is(event, "message_end") and isinstance(message, dict):
            if message.get("role") == "assistant":
                yield message


def _text(reply: _Event, key: str) -> str | None:
    value = reply.get(key)
    return value if isinstance(value, str) else None


def _asked(reply: _Event) -> tuple[str | None, str | None]:
    return _text(reply, "provider"), _text(reply, "model")


def _parts(reply: _Event, kind: str) -> Iterator[_Event]:
    content = reply.get("content")
    parts = content if isinstance(content, list) else []
    return (part for part in parts if isinstance(part, dict) and part.get("type") == kind)


def _calls(replies: tuple[_Event, ...]) -> Iterator[str]:
    return (str(part.get("name")) for reply in replies for part in _parts(reply, "toolCall"))


def _said(reply: _Event) -> str:
    return "".join(str(part.get("text", "")) for part in _parts(reply, "text"))


def _stop(reply: _Event) -> str | None:
    found = _text(reply, "stopReason")
    return found if found and _WORD.fullmatch(found) else None


def _answered_as(turn: Turn, replies: tuple[_Event, ...]) -> str | None:
    """The name that the router gave, where Pi tells one: only if it is not the alias."""
    names = [name for reply in replies if (name := _text(reply, "responseModel"))]
    known = (turn.alias.name, *turn.alias.served_as)
    odd = [name for name in names if name not in known]
    return next(iter((*odd, *names)), None)


# --- failures --------------------------------------------------------------------


def _failure(
    target: Target, replies: tuple[_Event, ...], errors: str, done: Done
) -> Failure | None:
    """What Pi itself tells of a failure: in the last reply, else on stderr."""
    last = replies[-1] if replies else {}
    if told := _text(last, "errorMessage"):
        return _meaning(told)
    if replies and not last.get("content") and _stop(last) == "stop":
        return Failure("router", "the answer is empty: 0.73.1 takes any page for one")
    if "No API key found" in errors:
        return Failure("credential", "Pi finds no key for the provider", sent=False)
    if "Using custom model id" in errors:
        return Failure("catalog", "Pi does not know the alias and sent it all the same")
    if "Unknown provider" in errors:
        return Failure("catalog", "Pi does not know the provider: it rejects models.json", False)
    if not replies and isinstance(target.credential.source, Resolve):
        return Failure("credential", "the command for the key gave Pi none", sent=False)
    if not replies and done.status:
        return Failure("crash", f"Pi ended with status {done.status} before any request", False)
    return None


def _meaning(told: str) -> Failure:
    """Sort the prose of `errorMessage`: it begins with an HTTP status, or with its own words."""
    if status := _STATUS.match(told):
        return _by_status(int(status[1]), told)
    errno = _ERRNO.search(told)
    named = f" ({errno[0]})" if errno else ""
    if "API key" in told:
        return Failure("credential", "the command or variable for the key gave Pi none", False)
    if re.search(r"timed? ?out", told, re.IGNORECASE):
        return Failure("timeout", f"the router gave no answer in time{named}")
    if told.startswith("Connection error"):
        sent = True if "ECONNRESET" in told else (False if errno else None)
        return Failure("router", f"no connection to the router{named}", sent)
    if re.search(r"[Ss]tream|JSON|terminated|response", told):
        return Failure("router", f"the router's answer is cut off or none{named}")
    return Failure("router", f"Pi's request to the model failed{named}", None)


def _by_status(status: int, told: str) -> Failure:
    if status in (401, 403):
        return Failure("credential", f"the router rejects the key (HTTP {status})")
    if status == 404:
        return Failure("catalog", "the router does not know the alias (HTTP 404)")
    if status in (400, 413, 422) and _WINDOW.search(told):
        return Failure("catalog", f"more than the model's context window (HTTP {status})")
    if status in (408, 504):
        return Failure("timeout", f"the router gave no answer in time (HTTP {status})")
    return Failure("router", f"the router answers HTTP {status}")


def _unfinished(
    target: Target, events: list[_Event], broken: bool, done: Done
) -> Failure:
    """A run that ended by itself, and not as a turn does."""
    if not done.started or done.timed_out or done.truncated or done.signal:
        return Failure()
    if broken:
        return Failure("crash", "Pi printed something else than the events of a turn", None)
    version = parse(target.installations[0].version)
    if events and not _is_settled(events, version):
        return Failure("crash", "Pi's run did not come to its end", None)
    return Failure()


def _is_settled(events: list[_Event], version: Version | None) -> bool:
    if version is None or not version.settles:
        return any(_is(event, "agent_end") for event in events)
    settled = [event for event in events if _is(event, "agent_settled")]
    return bool(settled) and not settled[-1].get("aborted")


def _warnings(errors: str) -> Iterator[str]:
    """Pi's own warnings, as far as they are known to hold no text of the user's files."""
    for line in errors.splitlines():
        if found := _PATTERN.match(line.strip()):
            yield f"no model matches the user's pattern {found[1]} in settings.json"
        elif "Using custom model id" in line:
            yield "the alias is none of this provider's models to Pi"
        elif line.startswith("Warning:"):
            yield "Pi warns of something else: start it there to read it"
