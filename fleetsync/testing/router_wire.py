"""How a stand-in router spells what it answers: OpenAI's JSON and its event streams. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from fleetsync.testing.router_model import Asked, Call, Said

JSON, EVENTS, HTML = "application/json", "text/event-stream", "text/html"
_TYPES = {
    400: "invalid_request_error", 401: "invalid_request_error", 403: "permission_error",
    404: "invalid_request_error", 429: "rate_limit_error",
}
_CREATED = 1767225600
_INPUT_TOKENS, _OUTPUT_TOKENS = 100, 10


@dataclass(frozen=True, slots=True)
class Reply:
    """A whole answer: a status, what kind of content, and that in pieces.

    A stream's pieces are its events. `location` is where a redirect leads.
    """

    status: int
    kind: str
    pieces: tuple[bytes, ...]
    location: str = ""


def document(value: object, status: int = 200) -> Reply:
    """An answer of one JSON document."""
    return Reply(status, JSON, (json.dumps(value).encode(),))


def error(status: int, message: str, code: str | None = None) -> Reply:
    """An error in OpenAI's shape."""
    kind = _TYPES.get(status, "server_error")
    told = {"message": message, "type": kind, "param": None, "code": code}
    return document({"error": told}, status)


def models(aliases: Mapping[str, int]) -> Reply:
    """The list of models, each with its context window under both of the usual names."""
    return document({"object": "list", "data": [_row(*alias) for alias in aliases.items()]})


def model(alias: str, window: int) -> Reply:
    """One model of the list."""
    return document(_row(alias, window))


def chat(asked: Asked, said: Said, identity: str) -> Reply:
    """An answer as a chat completion, or as its chunks."""
    if asked.stream:
        return Reply(200, EVENTS, (*_chunks(asked, said, identity), b"data: [DONE]\n\n"))
    message: dict[str, object] = {"role": "assistant", "content": said.text or None}
    if said.calls:
        message["tool_calls"] = [_tool_call(call, identity, n) for n, call in enumerate(said.calls)]
    choice = {"index": 0, "message": message, "finish_reason": _finish(said), "logprobs": None}
    return document({
        **_head(said, identity, "chat.completion"), "choices": [choice], "usage": _CHAT_USAGE,
    })


def responses(asked: Asked, said: Said, identity: str) -> Reply:
    """An answer as a response, or as the events of one."""
    if asked.stream:
        events = enumerate(_events(said, identity))
        return Reply(200, EVENTS, tuple(_event(n, kind, value) for n, (kind, value) in events))
    return document(_response(said, identity, _items(said, identity)))


def _row(alias: str, window: int) -> dict[str, object]:
    return {
        "id": alias, "object": "model", "created": _CREATED, "owned_by": "stand-in",
        "context_length": window, "max_model_len": window,
    }


_CHAT_USAGE = {
    "prompt_tokens": _INPUT_TOKENS, "completion_tokens": _OUTPUT_TOKENS,
    "total_tokens": _INPUT_TOKENS + _OUTPUT_TOKENS,
}
_USAGE = {
    "input_tokens": _INPUT_TOKENS, "input_tokens_details": {"cached_tokens": 0},
    "output_tokens": _OUTPUT_TOKENS, "output_tokens_details": {"reasoning_tokens": 0},
    "total_tokens": _INPUT_TOKENS + _OUTPUT_TOKENS,
}


def _head(said: Said, identity: str, kind: str) -> dict[str, object]:
    name = f"chatcmpl-{identity}"
    return {"id": name, "object": kind, "created": _CREATED, "model": said.model}


def _finish(said: Said) -> str:
    if said.cut:
        return "length"
    return "tool_calls" if said.calls else "stop"


def _tool_call(call: Call, identity: str, number: int) -> dict[str, object]:
    function = {"name": call.tool, "arguments": json.dumps(call.arguments)}
    return {"id": _call_id(identity, number), "type": "function", "function": function}


def _call_id(identity: str, number: int) -> str:
    return f"call_{identity}{number}"


def _chunks(asked: Asked, said: Said, identity: str) -> Iterator[bytes]:
    head = _head(said, identity, "chat.completion.chunk")
    for delta in ({"role": "assistant", "content": ""}, *_deltas(said, identity), {}):
        finish = None if delta else _finish(said)
        choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
        yield _data({**head, "choices": [choice]})
    if asked.include_usage:
        yield _data({**head, "choices": [], "usage": _CHAT_USAGE})


def _deltas(said: Said, identity: str) -> Iterator[dict[str, object]]:
    """The name of a tool comes before its arguments, a text in two halves."""
    for number, call in enumerate(said.calls):
        whole = _tool_call(call, identity, number)
        arguments = json.dumps(call.arguments)
        begun = {**whole, "index": number, "function": {"name": call.tool, "arguments": ""}}
        yield {"tool_calls": [begun]}
        yield {"tool_calls": [{"index": number, "function": {"arguments": arguments}}]}
    for half in _halves(said.text):
        yield {"content": half}


def _halves(text: str) -> tuple[str, ...]:
    middle = len(text) // 2
    return tuple(half for half in (text[:middle], text[middle:]) if half)


def _response(said: Said, identity: str, items: Sequence[object], done: bool = True) -> object:
    cut = {"reason": "max_output_tokens"} if said.cut and done else None
    status = ("incomplete" if cut else "completed") if done else "in_progress"
    return {
        "id": f"resp_{identity}", "object": "response", "created_at": _CREATED,
        "model": said.model, "status": status, "incomplete_details": cut, "error": None,
        "output": items, "parallel_tool_calls": True, "tools": [], "tool_choice": "auto",
        "usage": _USAGE if done else None,
    }


def _items(said: Said, identity: str) -> list[dict[str, object]]:
    """What a response holds when it is complete."""
    if said.calls:
        return [_function_call(call, identity, number) for number, call in enumerate(said.calls)]
    return [{
        "id": f"msg_{identity}", "type": "message", "role": "assistant", "status": "completed",
        "content": [_part(said.text)],
    }]


def _function_call(call: Call, identity: str, number: int) -> dict[str, object]:
    return {
        "id": f"fc_{identity}{number}", "type": "function_call", "status": "completed",
        "call_id": _call_id(identity, number), "name": call.tool,
        "arguments": json.dumps(call.arguments),
    }


def _part(text: str) -> dict[str, object]:
    return {"type": "output_text", "text": text, "annotations": []}


def _events(said: Said, identity: str) -> Iterator[tuple[str, dict[str, object]]]:
    begun = _response(said, identity, [], done=False)
    yield "response.created", {"response": begun}
    yield "response.in_progress", {"response": begun}
    items = _items(said, identity)
    for place, item in enumerate(items):
        where: dict[str, object] = {"output_index": place, "item_id": item["id"]}
        empty: dict[str, object] = {"arguments": ""} if said.calls else {"content": []}
        opened = {**item, "status": "in_progress", **empty}
        yield "response.output_item.added", {"output_index": place, "item": opened}
        yield from _called(item, where) if said.calls else _told(said.text, where)
        yield "response.output_item.done", {"output_index": place, "item": item}
    last = "response.incomplete" if said.cut else "response.completed"
    yield last, {"response": _response(said, identity, items)}


def _called(
    item: dict[str, object], where: dict[str, object]
) -> Iterator[tuple[str, dict[str, object]]]:
    arguments = item["arguments"]
    yield "response.function_call_arguments.delta", {**where, "delta": arguments}
    yield "response.function_call_arguments.done", {**where, "arguments": arguments}


def _told(text: str, where: dict[str, object]) -> Iterator[tuple[str, dict[str, object]]]:
    inside = {**where, "content_index": 0}
    yield "response.content_part.added", {**inside, "part": _part("")}
    for half in _halves(text):
        yield "response.output_text.delta", {**inside, "delta": half}
    yield "response.output_text.done", {**inside, "text": text}
    yield "response.content_part.done", {**inside, "part": _part(text)}


def _event(number: int, kind: str, value: Mapping[str, object]) -> bytes:
    whole = {"type": kind, "sequence_number": number, **value}
    return f"event: {kind}\n".encode() + _data(whole)


def _data(value: object) -> bytes:
    return f"data: {json.dumps(value)}\n\n".encode()
