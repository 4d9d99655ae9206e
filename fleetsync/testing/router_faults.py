"""What a stand-in router does wrong on demand: for one alias or all, so often or for ever.

What concerns how bytes are sent (hang, stall, drip, reset) is the matter of `router_http`.
"""

from __future__ import annotations

import enum
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace

from fleetsync.testing import router_wire as wire
from fleetsync.testing.router_model import Asked, Call, Said, Tool, call_of, named_file
from fleetsync.testing.router_wire import Reply


class Fault(enum.Enum):
    """One way to go wrong. `value` is what `StandInRouter.go_wrong` was given with it."""

    UNAUTHORIZED = "401"
    FORBIDDEN = "403"
    NOT_FOUND = "404"
    TOO_MANY = "429"
    """`value` is the code in the error, as "insufficient_quota\""""
    BROKEN = "500"
    OVERLOADED = "503"
    OVERFLOW = "context overflow"
    """400, whose message names `value` tokens as the maximum"""
    HANG = "hang"
    """takes the request and never answers"""
    STALL = "stall"
    """the first half of the answer, and no more"""
    DRIP = "drip"
    """one byte every `value` seconds (0.2)"""
    RESET = "reset"
    """breaks the connection"""
    HTML = "html"
    """a page, with status 200"""
    INVALID_JSON = "invalid json"
    REDIRECT = "redirect"
    """302 to `value`"""
    WRONG_MODEL = "wrong model"
    """answers as the model `value`"""
    EMPTY = "empty"
    """an answer without text"""
    WRONG_TEXT = "wrong text"
    """answers `value`, which is no nonce"""
    TOO_LONG = "too long"
    """the answer ends for its length"""
    EXTRA_CALL = "extra call"
    """the reading tool twice at once"""
    OTHER_TOOL = "other tool"
    """calls the tool `value`, and answers the right text all the same"""
    NO_CALL = "no call"
    """answers the right text without the tool"""


@dataclass(slots=True)
class Wrong:
    """A fault that is to come: where, how often yet (None: for ever)."""

    fault: Fault
    value: str = ""
    alias: str = ""
    path: str = ""
    times: int | None = None

    def meets(self, alias: str, path: str) -> bool:
        """Whether a request for `alias` at `path` would have it."""
        return self.alias in ("", alias) and self.path in ("", path) and self.times != 0


class Program:
    """The faults to come, in the order in which they were asked for. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._faults: list[Wrong] = []

    def add(self, wrong: Wrong) -> None:
        """Let it come after those before it."""
        with self._lock:
            self._faults.append(wrong)

    def clear(self) -> None:
        """Nothing goes wrong any more."""
        with self._lock:
            self._faults.clear()

    def take(self, alias: str, path: str, fits: Callable[[Fault], bool]) -> Wrong | None:
        """The first fault that meets the request and fits its answer; it is used up by one."""
        with self._lock:
            for wrong in self._faults:
                if wrong.meets(alias, path) and fits(wrong.fault):
                    if wrong.times is not None:
                        wrong.times -= 1
                    return wrong
        return None


_STATUSES = {
    Fault.UNAUTHORIZED: (401, "invalid api key", "invalid_api_key"),
    Fault.FORBIDDEN: (403, "this key may not do that", "forbidden"),
    Fault.NOT_FOUND: (404, "there is no such model", "model_not_found"),
    Fault.TOO_MANY: (429, "too many requests", "rate_limit_exceeded"),
    Fault.BROKEN: (500, "the server had an error", None),
    Fault.OVERLOADED: (503, "the server is overloaded", None),
}
_OF_CALLS = frozenset({Fault.EXTRA_CALL, Fault.NO_CALL})
_OF_TEXTS = frozenset({Fault.EMPTY, Fault.WRONG_TEXT, Fault.TOO_LONG})
_OF_MODELS = _OF_CALLS | _OF_TEXTS | {Fault.WRONG_MODEL, Fault.OTHER_TOOL, Fault.OVERFLOW}
_PAGE = b"<!doctype html><title>Sign in</title><p>Sign in to go on.</p>"


def fits(fault: Fault, asked: Asked | None, said: Said | None) -> bool:
    """Whether a fault can befall an answer: a call, a text, or (None) a list of models."""
    if asked is None or said is None:
        return fault not in _OF_MODELS
    if said.calls:
        return fault not in _OF_TEXTS
    return fault not in _OF_CALLS and (fault is not Fault.OTHER_TOOL or bool(asked.results))


def spoil(said: Said, wrong: Wrong, asked: Asked, known: Callable[[Asked], str]) -> Said:
    """The answer with the fault in it; `known` tells the right text without a tool."""
    match wrong.fault:
        case Fault.WRONG_MODEL:
            return replace(said, model=wrong.value or "another-model")
        case Fault.EMPTY:
            return replace(said, text="")
        case Fault.WRONG_TEXT:
            return replace(said, text=wrong.value or "nothing of the kind")
        case Fault.TOO_LONG:
            return replace(said, cut=True)
        case Fault.EXTRA_CALL:
            return replace(said, calls=said.calls * 2)
        case Fault.OTHER_TOOL if said.calls:
            return replace(said, calls=(_other(wrong, asked),))
        case Fault.OTHER_TOOL | Fault.NO_CALL:
            return replace(said, text=known(asked), calls=())
        case _:
            return said


def instead(wrong: Wrong) -> Reply | None:
    """What is sent in the place of the answer, None where the fault leaves it."""
    match wrong.fault:
        case Fault.OVERFLOW:
            told = f"This model's maximum context length is {wrong.value or 4096} tokens."
            return wire.error(400, told, "context_length_exceeded")
        case Fault.HTML:
            return Reply(200, wire.HTML, (_PAGE,))
        case Fault.REDIRECT:
            return Reply(302, wire.HTML, (b"",), location=wrong.value)
        case fault if fault in _STATUSES:
            status, message, code = _STATUSES[fault]
            return wire.error(status, message, wrong.value or code)
        case _:
            return None


def cut_short(reply: Reply) -> Reply:
    """The reply, its JSON broken off in the middle."""
    whole = reply.pieces[0]
    end = b"\n\n" if reply.kind == wire.EVENTS else b""
    return replace(reply, pieces=(whole[: len(whole) // 2] + end,))


def _other(wrong: Wrong, asked: Asked) -> Call:
    """A call of the tool that `value` names; it need not be one that the request offers."""
    path = named_file(asked.prompts)
    offered = {tool.name: tool for tool in asked.tools}
    return call_of(offered.get(wrong.value) or Tool(wrong.value or "bash", ()), path)
