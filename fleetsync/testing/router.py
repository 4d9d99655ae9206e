"""A stand-in router: an OpenAI-compatible endpoint on loopback, for tests of clients.

It lists models, answers chat completions and responses (streams too), and behaves as a
model that reads the file which the user names and tells the nonce in it. It keeps a log
of what came and with which key, and goes wrong on demand.

    with StandInRouter({"llm.primary": 393216}, keys={"node": "a-key"}) as router:
        router.go_wrong(Fault.BROKEN, alias="llm.primary", times=1)
        ...    # a client, given router.url and its key
        assert [turn.key for turn in router.turns()] == [KeyVerdict.RIGHT] * 3
"""

from __future__ import annotations

import enum
import itertools
import json
import re
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Self

from fleetsync.testing import router_wire as wire
from fleetsync.testing.router_faults import Fault, Program, Wrong, cut_short, fits, instead, spoil
from fleetsync.testing.router_http import ADDRESS, Answer, Received, Server
from fleetsync.testing.router_model import NONCE, Asked, Model, Said, chat, responses
from fleetsync.testing.router_wire import Reply

__all__ = ["Fault", "KeyVerdict", "Request", "StandInRouter"]

MODELS, CHAT, RESPONSES = "/v1/models", "/v1/chat/completions", "/v1/responses"
_ONE = MODELS + "/"
IMAGE_TEXT = "the text in the image"
_SPEECH = {CHAT: (chat, wire.chat), RESPONSES: (responses, wire.responses)}
_LITERAL = re.compile(
    r"\$[A-Za-z_]\w{0,63} | \$\{[A-Za-z_]\w{0,63}\} | [A-Z_][A-Z0-9_]{2,63} | no-key-required",
    re.VERBOSE,
)
_PROMPT_CAP = 4096


class KeyVerdict(enum.Enum):
    """What kind of key came with a request."""

    RIGHT = "right"
    WRONG = "wrong"
    NONE = "none"
    LITERAL = "literal"
    """no key but a reference that nobody resolved, or a placeholder"""


@dataclass(frozen=True, slots=True)
class Request:
    """One request, and what was answered. A right key is nowhere in it.

    `alias` is the model that it names, `holder` whose key it came with, `literal` what
    stood in a key's place. `status` is None where no answer is ever begun. `time` is in
    seconds since the epoch; `prompt` is the beginning of what the user says.
    """

    method: str
    path: str
    alias: str
    key: KeyVerdict
    status: int | None
    time: float
    holder: str = ""
    literal: str = ""
    stream: bool = False
    tools: tuple[str, ...] = ()
    prompt: str = ""
    fault: Fault | None = None

    @property
    def has_tools(self) -> bool:
        """Whether it offers tools."""
        return bool(self.tools)


class StandInRouter:
    """A router on 127.0.0.1, from entering the context to leaving it.

    `aliases` are the models that it serves, each with its context window in tokens; `keys`
    are those that it accepts, each under the name of its holder. `nonce` is the pattern of
    the token that the model tells from what it read; `image_text` is what it tells of an
    image. Once entered: `port`, `url` (the base URL that clients are given). Raises
    ValueError for an empty key.
    """

    def __init__(
        self, aliases: Mapping[str, int], keys: Mapping[str, str], *, nonce: str = NONCE,
        image_text: str = IMAGE_TEXT,
    ) -> None:
        if "" in keys.values():
            raise ValueError("a key cannot be empty")
        self._aliases = dict(aliases)
        self._holders = {key: holder for holder, key in keys.items()}
        self._model = Model(re.compile(nonce), image_text)
        self._program = Program()
        self._numbers = itertools.count(1)
        self._changed = threading.Condition()
        self._log: list[Request] = []

    def __enter__(self) -> Self:
        self._server = Server(self._answer)
        self.port = self._server.port
        self.url = f"http://{ADDRESS}:{self.port}/v1"
        self._server.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.close()

    def go_wrong(
        self, fault: Fault, *, alias: str = "", path: str = "", times: int | None = None,
        value: str = "",
    ) -> None:
        """Have `fault` befall requests for `alias` at `path`, where given, from now on: the
        next `times` that it fits, or all. Of several, the earlier comes first.

        A request without a right key is refused before that, and one for a path or an
        alias that there is not has no other fault.
        """
        self._program.add(Wrong(fault, value, alias, path, times))

    def go_right(self) -> None:
        """Forget every fault that is to come."""
        self._program.clear()

    @property
    def log(self) -> tuple[Request, ...]:
        """All requests so far, in the order in which they came."""
        with self._changed:
            return tuple(self._log)

    def turns(self) -> tuple[Request, ...]:
        """Those among them that ask the model for an answer."""
        return tuple(request for request in self.log if request.path in _SPEECH)

    def clear_log(self) -> None:
        """Forget what came."""
        with self._changed:
            self._log.clear()

    def wait(self, count: int, seconds: float = 30) -> tuple[Request, ...]:
        """The log, once it has `count` requests. Raises TimeoutError after `seconds`."""
        with self._changed:
            if not self._changed.wait_for(lambda: len(self._log) >= count, seconds):
                raise TimeoutError(f"{len(self._log)} requests came, not {count}")
            return tuple(self._log)

    def _answer(self, received: Received) -> Answer:
        path = received.path.partition("?")[0]
        body = _parse(received.body)
        asked = _SPEECH[path][0](body or {}) if path in _SPEECH else None
        request = self._request(received, path, asked)
        answer = self._refusal(request, body) or self._said(request, asked)
        self._note(request, answer)
        return answer

    def _request(self, received: Received, path: str, asked: Asked | None) -> Request:
        verdict, holder, literal = self._judge(received.authorization)
        alias = asked.model if asked else path[len(_ONE) :] if path.startswith(_ONE) else ""
        return Request(
            method=received.method, path=path, alias=alias, key=verdict, holder=holder,
            literal=literal, status=None, time=time.time(),
            stream=asked is not None and asked.stream,
            tools=tuple(tool.name for tool in asked.tools) if asked else (),
            prompt="\n".join(asked.prompts)[:_PROMPT_CAP] if asked else "",
        )

    def _judge(self, authorization: bytes) -> tuple[KeyVerdict, str, str]:
        """What kind of key it is, whose, and the text in its place where it is none."""
        scheme, _, rest = authorization.decode("utf-8", "replace").partition(" ")
        key = rest.strip()
        if scheme.lower() != "bearer" or not key:
            return KeyVerdict.NONE, "", ""
        if key in self._holders:
            return KeyVerdict.RIGHT, self._holders[key], ""
        if _LITERAL.fullmatch(key):
            return KeyVerdict.LITERAL, "", key
        return KeyVerdict.WRONG, "", ""

    def _refusal(self, request: Request, body: Mapping[str, object] | None) -> Answer | None:
        """Why there is nothing to answer, if so."""
        listed = request.path == MODELS
        spoken = request.path in _SPEECH
        known = listed or spoken or request.path.startswith(_ONE)
        if not known or request.method != ("POST" if spoken else "GET"):
            return Answer(wire.error(404, "there is no such endpoint"))
        if request.key is not KeyVerdict.RIGHT:
            return Answer(wire.error(401, "invalid api key", "invalid_api_key"))
        if spoken and body is None:
            return Answer(wire.error(400, "the body is not a JSON object"))
        if not listed and request.alias not in self._aliases:
            told = f"The model `{self._masked(request.alias)}` does not exist."
            return Answer(wire.error(404, told, "model_not_found"))
        return None

    def _said(self, request: Request, asked: Asked | None) -> Answer:
        """What the model says or the list holds, with the fault whose turn it is."""
        said = self._model.say(asked) if asked else None
        wrong = self._program.take(request.alias, request.path, lambda f: fits(f, asked, said))
        if wrong and said and asked:
            said = spoil(said, wrong, asked, self._model.peek)
        reply = (wrong and instead(wrong)) or self._spelled(request, asked, said)
        if wrong and wrong.fault is Fault.INVALID_JSON:
            reply = cut_short(reply)
        return Answer(reply, wrong)

    def _spelled(self, request: Request, asked: Asked | None, said: Said | None) -> Reply:
        if asked and said:
            return _SPEECH[request.path][1](asked, said, f"{next(self._numbers):08x}")
        if request.path == MODELS:
            return wire.models(self._aliases)
        return wire.model(request.alias, self._aliases[request.alias])

    def _note(self, request: Request, answer: Answer) -> None:
        fault = answer.wrong.fault if answer.wrong else None
        status = None if fault in (Fault.HANG, Fault.RESET) else answer.reply.status
        known = request.path in (MODELS, *_SPEECH)
        noted = replace(
            request, status=status, fault=fault, prompt=self._masked(request.prompt),
            path=request.path if known else self._masked(request.path),
            alias=request.alias if request.alias in self._aliases else self._masked(request.alias),
        )
        with self._changed:
            self._log.append(noted)
            self._changed.notify_all()

    def _masked(self, text: str) -> str:
        """The text without a right key, should a client send one elsewhere than it belongs."""
        for key in self._holders:
            text = text.replace(key, "[key]")
        return text


def _parse(body: bytes) -> Mapping[str, object] | None:
    """A JSON object, None where it is none."""
    try:
        value = json.loads(body)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None
