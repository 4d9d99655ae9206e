"""What Hermes tells of a turn: its usage file, and the session that it exports.

Both are JSON of Hermes' own (0.18.2 and 0.19.0). Its exit status says little: a request
that the router refused ends with 0, and the refusal stands where the answer would.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fleetsync.adapter import Done, Seen, Target, Turn
from fleetsync.errors import DocumentError
from fleetsync.sealed import Sealed

from .entry import entries, same_name, same_url
from .files import CONFIG, document
from .turn import SESSION, USAGE

_LATE = 124
"""The exit status of oneshot.py for a turn that it ended at its limit."""
_STATUS = re.compile(r"\bHTTP (\d{3})\b")
_CUT_OFF = "cut off by a network error"
"""What Hermes tells the model after a stream that broke off (0.19.0)."""
_WORDS = (
    ("context length exceeded", "catalog", "the request is over the model's context window"),
    ("connection error", "router", "no connection to the router"),
    ("timed out", "timeout", "the router did not answer in time"),
    ("empty stream", "router", "the router's answer is no stream of an answer"),
    ("malformed", "router", "the router's answer is malformed"),
    ("invalid api response", "router", "the router's answer is malformed"),
    ("no inference provider", "credential", "Hermes found no provider with a key"),
    ("unknown provider", "catalog", "Hermes knows no such provider"),
    ("api call failed", "router", "the router's answer could not be read"),
)
"""Words of Hermes' on a failure, lower-cased, what they mean, and that in words of ours."""


@dataclass(frozen=True, slots=True)
class Told:
    """One turn's usage file and session; each empty where Hermes wrote none."""

    usage: Mapping[str, Any]
    session: Mapping[str, Any]
    output: str

    @property
    def messages(self) -> tuple[Mapping[str, Any], ...]:
        """The session's messages, in order."""
        found = self.session.get("messages")
        return tuple(m for m in found if isinstance(m, dict)) if isinstance(found, list) else ()

    @property
    def answer(self) -> Mapping[str, Any]:
        """The last message of the model."""
        said = (m for m in reversed(self.messages) if m.get("role") == "assistant")
        return next(said, {})

    @property
    def failed(self) -> bool:
        """Whether Hermes calls the turn a failure, or wrote down no answer to it."""
        return bool(self.usage.get("failed")) or not self.answer


def told(target: Target, turn: Turn, done: Done) -> Seen:
    """All that Hermes tells. Which model the router says that it is, and which window Hermes
    counts with, it does not tell."""
    found = _read(done)
    fault, problem = _fault(found, turn, done)
    model, provider = _model(found), _provider(target, found)
    known = model is not None and provider is not None
    ours = (turn.alias.name, target.wish.provider)
    return Seen(
        provider=provider,
        model=model,
        router=_word(found.session, "billing_base_url"),
        tools=tuple(_calls(found.messages)) if found.session else None,
        failed_tools=sum(map(_has_failed, found.messages)),
        stop=_word(found.answer, "finish_reason"),
        fallback=(model, provider) != ours if known else None,
        text=_text(found),
        requested=_requested(found, done),
        fault=fault,
        problem=problem,
    )


def _read(done: Done) -> Told:
    held = dict(done.files)
    usage = _object(held.get(USAGE, Sealed(b"")).reveal())
    session = _session(held.get(SESSION, Sealed(b"")).reveal(), usage.get("session_id"))
    failure = Sealed.of(str(usage.get("failure", "")))
    texts = (done.stdout.reveal(), done.stderr.reveal(), failure.reveal())
    return Told(usage, session, b"\n".join(texts).decode("utf-8", "replace"))


def _object(data: bytes | str) -> Mapping[str, Any]:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _session(data: bytes, identity: object) -> Mapping[str, Any]:
    """Of the exported sessions, one a line, that of the turn; the first where it tells none."""
    every = [row for row in map(_object, data.splitlines()) if "messages" in row]
    named = [row for row in every if row.get("id") == identity]
    return (named or every or [{}])[0]


def _word(held: Mapping[str, Any], key: str) -> str | None:
    value = held.get(key)
    return value if isinstance(value, str) and value else None


def _model(found: Told) -> str | None:
    """The model that answered. Without a usage file the session tells, once it has an answer:
    before, it names the one that it began with."""
    if found.usage:
        return _word(found.usage, "model")
    return _word(found.session, "model") if found.answer else None


def _provider(target: Target, found: Told) -> str | None:
    """The provider by the name of its entry. Hermes calls one of the user's own `custom`
    and its address, or `custom:NAME` after a fallback."""
    name = _word(found.session, "billing_provider") or _word(found.usage, "provider")
    if name is None:
        return None
    label = same_name(name).removeprefix("custom:")
    if same_name(target.wish.provider) == label:
        return target.wish.provider
    if label != "custom":
        return label
    return _named(target, _word(found.session, "billing_base_url") or "") or name


def _named(target: Target, url: str) -> str | None:
    """The entry that has this address, where exactly one has it."""
    try:
        file = document(target.files[CONFIG])
        every = entries(file) if file is not None else ()
    except DocumentError:
        return None
    here = [one for one in every if same_url(url) in map(same_url, one.urls)]
    if len(here) != 1:
        return None
    ours = same_name(target.wish.provider) in here[0].names
    return target.wish.provider if ours else here[0].key


def _calls(messages: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for message in messages:
        calls = message.get("tool_calls")
        for call in calls if isinstance(calls, list) else ():
            function = call.get("function") if isinstance(call, dict) else None
            yield str(function.get("name", "")) if isinstance(function, dict) else ""


def _has_failed(message: Mapping[str, Any]) -> bool:
    """Whether a tool answered with an error, or there is no such tool."""
    if message.get("role") != "tool":
        return False
    content = str(message.get("content", ""))
    failed = content.startswith(("Error", "Tool '"))
    return failed or bool(_object(content).get("error"))


def _text(found: Told) -> Sealed | None:
    content = found.answer.get("content")
    return Sealed.of(content) if isinstance(content, str) else None


def _requested(found: Told, done: Done) -> bool | None:
    if found.usage.get("api_calls") or found.session.get("api_call_count") or found.answer:
        return True
    if _STATUS.search(found.output):
        return True
    return None if done.timed_out or done.status == _LATE or not found.usage else False


def _fault(found: Told, turn: Turn, done: Done) -> tuple[str, str]:
    """What failed and how, in words of ours: Hermes' own may hold what the router said."""
    if done.timed_out or done.status == _LATE:
        return "timeout", f"no answer in {turn.seconds} s: Hermes was ended"
    if any(_CUT_OFF in str(m.get("content")) for m in found.messages if m.get("role") == "user"):
        return "router", "the router's answer broke off"
    if not found.failed:
        return "", ""
    if status := _STATUS.search(found.output):
        return _refused(int(status[1]))
    output = found.output.lower()
    for words, fault, problem in _WORDS:
        if words in output:
            return fault, problem
    return "crash", f"Hermes gave no answer (exit status {done.status})"


def _refused(status: int) -> tuple[str, str]:
    match status:
        case 401 | 403:
            return "credential", f"the router refused this host's key (HTTP {status})"
        case 404:
            return "catalog", "the router knows no such model (HTTP 404)"
        case _:
            return "router", f"the router answered with HTTP {status}"
