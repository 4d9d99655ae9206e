"""The stand-in router: what a client gets from it, right or wrong, and what it remembers."""

from __future__ import annotations

import http.client
import json
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from fleetsync.testing.router import Fault, KeyVerdict, StandInRouter

KEY = "the-key-of-this-node-5f3a"
OTHER_KEY = "the-key-of-another-node-77"
NONCE = "nonce-0badcafe"
CHAT, RESPONSES, MODELS = "/v1/chat/completions", "/v1/responses", "/v1/models"
READ = {"name": "read", "parameters": {"type": "object", "properties": {"filePath": {}}}}
WRITE = {"name": "write", "parameters": {"type": "object", "properties": {"path": {}}}}
Json = dict[str, Any]


@pytest.fixture
def router() -> Iterator[StandInRouter]:
    aliases = {"llm.primary": 393216, "llm.secondary": 131072}
    with StandInRouter(aliases, {"node": KEY, "other": OTHER_KEY}) as standing:
        yield standing


def send(
    router: StandInRouter, method: str, path: str, body: object = None, *,
    authorization: str | None = f"Bearer {KEY}",
) -> tuple[http.client.HTTPResponse, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", router.port, timeout=30)
    headers = {} if authorization is None else {"Authorization": authorization}
    content = body if isinstance(body, bytes | None) else json.dumps(body).encode()
    connection.request(method, path, content, headers)
    answer = connection.getresponse()
    data = answer.read()
    connection.close()
    return answer, data


def get(router: StandInRouter, path: str = MODELS, **how: Any) -> tuple[int, Json]:
    answer, data = send(router, "GET", path, **how)
    return answer.status, json.loads(data)


def question(*messages: Json, text: str = "Hello", **more: object) -> Json:
    asked = messages or ({"role": "user", "content": text},)
    return {"model": "llm.primary", "messages": list(asked), **more}


def reading(prompt: str = "READ:/tmp/a/nonce.txt", *after: Json, **more: object) -> Json:
    """A question that offers two tools."""
    tools = [{"type": "function", "function": tool} for tool in (WRITE, READ)]
    return {**question({"role": "user", "content": prompt}, *after), "tools": tools, **more}


def gave(result: str) -> Json:
    return {"role": "tool", "tool_call_id": "call_1", "content": result}


def ask(router: StandInRouter, body: Json, path: str = CHAT) -> Json:
    answer, data = send(router, "POST", path, body)
    assert answer.status == 200, data
    return dict(json.loads(data))


def choice(router: StandInRouter, body: Json) -> Json:
    return dict(ask(router, body)["choices"][0])


def said(router: StandInRouter, body: Json) -> str:
    return str(choice(router, body)["message"]["content"])


def calls(router: StandInRouter, body: Json) -> list[tuple[str, Json]]:
    called = choice(router, body)["message"].get("tool_calls", [])
    return [(c["function"]["name"], json.loads(c["function"]["arguments"])) for c in called]


def events(data: bytes) -> list[Json]:
    """The documents of a stream, up to a [DONE]."""
    lines = [line.removeprefix(b"data: ") for line in data.splitlines() if b"data: " in line]
    return [json.loads(line) for line in lines if line != b"[DONE]"]


def stream(router: StandInRouter, body: Json, path: str = CHAT) -> list[Json]:
    answer, data = send(router, "POST", path, {**body, "stream": True})
    assert answer.getheader("Content-Type") == "text/event-stream"
    return events(data)


# --- lists and keys ---------------------------------------------------------------------


def test_the_list_of_models_tells_each_ones_window(router: StandInRouter) -> None:
    _, listed = get(router)
    windows = {row["id"]: (row["context_length"], row["max_model_len"]) for row in listed["data"]}
    assert windows == {"llm.primary": (393216, 393216), "llm.secondary": (131072, 131072)}


def test_one_model_of_the_list_can_be_asked_for(router: StandInRouter) -> None:
    status, row = get(router, f"{MODELS}/llm.secondary")
    assert (status, row["context_length"]) == (200, 131072)


def test_a_model_that_is_not_served_is_not_found(router: StandInRouter) -> None:
    status, told = get(router, f"{MODELS}/llm.gone")
    assert (status, told["error"]["code"]) == (404, "model_not_found")


@pytest.mark.parametrize(("method", "path"), [
    ("GET", "/api/tags"), ("POST", "/api/show"), ("GET", CHAT), ("POST", MODELS), ("PUT", MODELS),
])
def test_what_is_no_endpoint_is_not_found_in_openais_shape(
    router: StandInRouter, method: str, path: str
) -> None:
    answer, data = send(router, method, path)
    assert answer.status == 404
    assert json.loads(data)["error"].keys() == {"message", "type", "param", "code"}


def test_a_wrong_key_is_refused_and_never_said_again(router: StandInRouter) -> None:
    answer, data = send(router, "GET", MODELS, authorization="Bearer a-wrong-key")
    assert answer.status == 401
    assert json.loads(data)["error"]["message"] == "invalid api key"
    assert "a-wrong-key" not in f"{data!r}{answer.headers}{router.log}"


@pytest.mark.parametrize(("authorization", "verdict", "literal"), [
    (f"Bearer {KEY}", KeyVerdict.RIGHT, ""),
    ("Bearer something-else", KeyVerdict.WRONG, ""),
    (None, KeyVerdict.NONE, ""),
    ("Bearer ", KeyVerdict.NONE, ""),
    ("Basic bm9uZQ==", KeyVerdict.NONE, ""),
    ("Bearer $ROUTER_KEY", KeyVerdict.LITERAL, "$ROUTER_KEY"),
    ("Bearer ${ROUTER_KEY}", KeyVerdict.LITERAL, "${ROUTER_KEY}"),
    ("Bearer ROUTER_KEY", KeyVerdict.LITERAL, "ROUTER_KEY"),
    ("Bearer no-key-required", KeyVerdict.LITERAL, "no-key-required"),
])
def test_the_log_tells_which_kind_of_key_came(
    router: StandInRouter, authorization: str | None, verdict: KeyVerdict, literal: str
) -> None:
    send(router, "GET", MODELS, authorization=authorization)
    (request,) = router.log
    assert (request.key, request.literal) == (verdict, literal)


def test_the_log_tells_whose_key_came(router: StandInRouter) -> None:
    get(router)
    get(router, authorization=f"Bearer {OTHER_KEY}")
    assert [request.holder for request in router.log] == ["node", "other"]


def test_a_key_beyond_ascii_is_known_again() -> None:
    with StandInRouter({}, {"node": "schlüssel-Å-鍵"}) as router:
        sent = "schlüssel-Å-鍵".encode().decode("latin-1")
        assert get(router, authorization=f"Bearer {sent}")[0] == 200


def test_the_log_never_holds_a_right_key_wherever_it_was_sent(router: StandInRouter) -> None:
    send(router, "GET", f"/{KEY}?key={KEY}")
    send(router, "POST", CHAT, {"model": KEY, "messages": [{"role": "user", "content": KEY}]})
    assert len(router.log) == 2
    assert KEY not in repr(router.log)


def test_an_empty_key_is_not_taken_for_one() -> None:
    with pytest.raises(ValueError, match="empty"):
        StandInRouter({}, {"node": ""})


def test_the_log_tells_what_was_asked(router: StandInRouter) -> None:
    began = time.time()
    ask(router, reading("READ:/tmp/x"))
    (request,) = router.turns()
    assert (request.method, request.path, request.alias) == ("POST", CHAT, "llm.primary")
    assert (request.status, request.stream, request.has_tools) == (200, False, True)
    assert (request.tools, request.prompt) == (("write", "read"), "READ:/tmp/x")
    assert began <= request.time <= time.time()


# --- the model --------------------------------------------------------------------------


@pytest.mark.parametrize(("prompt", "path"), [
    ("READ:/tmp/a/nonce.txt", "/tmp/a/nonce.txt"),
    ("Read the file /tmp/a/nonce.txt, and reply with its content only.", "/tmp/a/nonce.txt"),
    ("Read `/tmp/a/nonce.txt`.", "/tmp/a/nonce.txt"),
    ("You are in /home/u. READ: '/tmp/a b/nonce.txt'", "/tmp/a b/nonce.txt"),
    ("See https://example.net/x and (/tmp/n).", "/tmp/n"),
])
def test_the_file_that_the_user_names_is_read(
    router: StandInRouter, prompt: str, path: str
) -> None:
    assert calls(router, reading(prompt)) == [("read", {"filePath": path})]


def test_the_file_is_found_though_another_message_of_the_user_follows(
    router: StandInRouter,
) -> None:
    context = {"role": "user", "content": [{"type": "text", "text": "You are in /home/u."}]}
    body = reading("READ:/tmp/n", context)
    assert calls(router, body) == [("read", {"filePath": "/tmp/n"})]


@pytest.mark.parametrize(("tool", "parameter"), [
    ("read", "path"), ("read_file", "file_path"), ("Read", "filePath"),
])
def test_the_path_has_the_name_that_the_tool_gives_it(
    router: StandInRouter, tool: str, parameter: str
) -> None:
    schema = {"name": tool, "parameters": {"properties": {"offset": {}, parameter: {}}}}
    tools = [{"type": "function", "function": schema}]
    body = question(text="READ:/tmp/n", tools=tools)
    assert calls(router, body) == [(tool, {parameter: "/tmp/n"})]


@pytest.mark.parametrize("result", [
    f"{NONCE}\n",
    json.dumps({"content": f"1|{NONCE}\n2|", "total_lines": 1}),
    f"     1\t{NONCE}\n",
])
def test_the_nonce_is_told_from_what_the_tool_read(router: StandInRouter, result: str) -> None:
    assert said(router, reading("READ:/tmp/n", gave(result))) == NONCE


def test_what_holds_no_nonce_is_told_without_the_numbers_of_its_lines(
    router: StandInRouter,
) -> None:
    result = json.dumps({"content": "1|two words\n2|"})
    assert said(router, reading("READ:/tmp/n", gave(result))) == "two words"


def test_the_pattern_of_a_nonce_can_be_given() -> None:
    with StandInRouter({"llm.primary": 1}, {"node": KEY}, nonce="[A-Z]{4}-[0-9]+") as router:
        assert said(router, reading("READ:/tmp/n", gave("1|see ABCD-12 here"))) == "ABCD-12"


def test_a_question_without_a_file_or_a_tool_is_answered_ok(router: StandInRouter) -> None:
    assert said(router, reading("Hello")) == "ok"
    assert said(router, question(text="READ:/tmp/n")) == "ok"


@pytest.mark.parametrize("role", ["user", "tool"])
def test_an_image_is_answered_with_the_text_given_for_it(role: str) -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}
    message = {"role": role, "content": [{"type": "text", "text": "READ:/tmp/n"}, image]}
    with StandInRouter({"llm.primary": 1}, {"node": KEY}, image_text="A SIGN") as router:
        assert said(router, question(message)) == "A SIGN"


def test_a_stream_of_chunks_makes_up_the_same_call(router: StandInRouter) -> None:
    chunks = stream(router, reading("READ:/tmp/n", stream_options={"include_usage": True}))
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks if chunk["choices"]]
    parts = [call["function"] for delta in deltas for call in delta.get("tool_calls", [])]
    assert [part["name"] for part in parts if "name" in part] == ["read"]
    assert json.loads("".join(part["arguments"] for part in parts)) == {"filePath": "/tmp/n"}
    assert chunks[-2]["choices"][0]["finish_reason"] == "tool_calls"
    assert chunks[-1]["usage"]["total_tokens"] == 110


def test_a_stream_has_no_usage_unless_it_is_asked_for(router: StandInRouter) -> None:
    chunks = stream(router, question())
    assert "".join(c["choices"][0]["delta"].get("content", "") for c in chunks) == "ok"
    assert chunks[-1]["choices"][0]["finish_reason"] == "stop"
    assert all("usage" not in chunk for chunk in chunks)


def responding(*items: Json, text: str = "READ:/tmp/n") -> Json:
    user = {"role": "user", "content": [{"type": "input_text", "text": text}]}
    tools = [{"type": "function", **READ}]
    return {"model": "llm.primary", "input": [user, *items], "tools": tools}


def test_responses_call_the_tool_and_then_tell_the_nonce(router: StandInRouter) -> None:
    (call,) = ask(router, responding(), RESPONSES)["output"]
    assert (call["type"], call["name"]) == ("function_call", "read")
    assert json.loads(call["arguments"]) == {"filePath": "/tmp/n"}
    result = {"type": "function_call_output", "call_id": call["call_id"], "output": NONCE}
    answer = ask(router, responding(call, result), RESPONSES)
    assert answer["output"][0]["content"][0]["text"] == NONCE
    assert (answer["status"], answer["usage"]["total_tokens"]) == ("completed", 110)


def test_a_plain_text_is_answered_by_responses_too(router: StandInRouter) -> None:
    answer = ask(router, {"model": "llm.primary", "input": "Hello"}, RESPONSES)
    assert answer["output"][0]["content"][0]["text"] == "ok"


def test_a_stream_of_events_makes_up_the_same_response(router: StandInRouter) -> None:
    result = {"type": "function_call_output", "call_id": "c", "output": NONCE}
    told = stream(router, responding(result), RESPONSES)
    deltas = [e["delta"] for e in told if e["type"] == "response.output_text.delta"]
    assert "".join(deltas) == NONCE
    assert [event["sequence_number"] for event in told] == list(range(len(told)))
    assert told[-1]["type"] == "response.completed"
    assert told[-1]["response"]["output"][0]["content"][0]["text"] == NONCE


def test_a_stream_of_events_makes_up_the_same_call(router: StandInRouter) -> None:
    told = stream(router, responding(), RESPONSES)
    done = {event["type"]: event for event in told}
    arguments = done["response.function_call_arguments.done"]["arguments"]
    assert json.loads(arguments) == {"filePath": "/tmp/n"}
    assert done["response.output_item.done"]["item"]["name"] == "read"


def test_a_body_that_is_no_json_object_is_a_bad_request(router: StandInRouter) -> None:
    assert [send(router, "POST", CHAT, body)[0].status for body in (b"[]", b"{")] == [400, 400]


@pytest.mark.parametrize("body", [
    {"messages": "x", "tools": {}}, {"messages": [1, {"role": "user"}], "tools": [{}, 3]},
    {"messages": [{"role": "user", "content": [3, {"type": "text"}]}], "stream_options": 1},
])
def test_a_body_of_odd_shape_is_answered_all_the_same(router: StandInRouter, body: Json) -> None:
    assert said(router, {"model": "llm.primary", **body}) == "ok"


def test_an_alias_that_is_not_served_gets_no_answer(router: StandInRouter) -> None:
    answer, data = send(router, "POST", CHAT, {**question(), "model": "llm.gone"})
    assert (answer.status, json.loads(data)["error"]["code"]) == (404, "model_not_found")


# --- what goes wrong --------------------------------------------------------------------


@pytest.mark.parametrize("fault", [
    Fault.UNAUTHORIZED, Fault.FORBIDDEN, Fault.NOT_FOUND, Fault.TOO_MANY, Fault.BROKEN,
    Fault.OVERLOADED,
])
def test_an_error_has_the_status_that_was_asked_for(router: StandInRouter, fault: Fault) -> None:
    router.go_wrong(fault)
    for method, path, body in (("GET", MODELS, None), ("POST", CHAT, question())):
        answer, data = send(router, method, path, body)
        assert answer.status == int(fault.value)
        assert json.loads(data)["error"]["message"]
    assert [(r.status, r.fault) for r in router.log] == [(int(fault.value), fault)] * 2


def test_an_error_can_have_a_code_of_ones_choice(router: StandInRouter) -> None:
    router.go_wrong(Fault.TOO_MANY, value="insufficient_quota")
    _, data = send(router, "POST", CHAT, question())
    assert json.loads(data)["error"]["code"] == "insufficient_quota"


def test_a_fault_is_over_after_so_many_times(router: StandInRouter) -> None:
    router.go_wrong(Fault.BROKEN, times=2)
    assert [get(router)[0] for _ in range(3)] == [500, 500, 200]


def test_a_fault_befalls_its_own_alias_alone(router: StandInRouter) -> None:
    router.go_wrong(Fault.BROKEN, alias="llm.secondary")
    assert said(router, question()) == "ok"
    answer, _ = send(router, "POST", CHAT, {**question(), "model": "llm.secondary"})
    assert answer.status == 500
    assert get(router)[0] == 200


def test_a_fault_befalls_its_own_path_alone(router: StandInRouter) -> None:
    router.go_wrong(Fault.FORBIDDEN, path=MODELS)
    assert get(router)[0] == 403
    assert said(router, question()) == "ok"


def test_faults_come_one_after_another_and_can_be_called_off(router: StandInRouter) -> None:
    router.go_wrong(Fault.BROKEN, times=1)
    router.go_wrong(Fault.OVERLOADED)
    assert [get(router)[0], get(router)[0]] == [500, 503]
    router.go_right()
    assert get(router)[0] == 200


def test_a_context_that_is_too_long_is_refused_with_the_limit(router: StandInRouter) -> None:
    router.go_wrong(Fault.OVERFLOW, value="8192")
    answer, data = send(router, "POST", CHAT, question())
    told = json.loads(data)["error"]
    assert (answer.status, told["code"]) == (400, "context_length_exceeded")
    assert "maximum context length is 8192 tokens" in told["message"]


def test_a_page_comes_in_the_place_of_an_answer(router: StandInRouter) -> None:
    router.go_wrong(Fault.HTML)
    answer, data = send(router, "GET", MODELS)
    assert (answer.status, answer.getheader("Content-Type")) == (200, "text/html")
    assert data.startswith(b"<!doctype html>")


def test_a_redirect_leads_where_it_was_told_to(router: StandInRouter) -> None:
    router.go_wrong(Fault.REDIRECT, value="http://127.0.0.1:9/v1/models")
    answer, _ = send(router, "GET", MODELS)
    assert (answer.status, answer.getheader("Location")) == (302, "http://127.0.0.1:9/v1/models")


@pytest.mark.parametrize("streaming", [False, True])
def test_broken_json_cannot_be_read(router: StandInRouter, streaming: bool) -> None:
    router.go_wrong(Fault.INVALID_JSON)
    answer, data = send(router, "POST", CHAT, question(stream=streaming))
    assert answer.status == 200
    with pytest.raises(json.JSONDecodeError):
        events(data) if streaming else json.loads(data)


def test_another_model_can_answer(router: StandInRouter) -> None:
    router.go_wrong(Fault.WRONG_MODEL, value="backend-xyz")
    assert ask(router, question())["model"] == "backend-xyz"
    assert {chunk["model"] for chunk in stream(router, question())} == {"backend-xyz"}


@pytest.mark.parametrize(("fault", "text"), [
    (Fault.EMPTY, "None"), (Fault.WRONG_TEXT, "nonce-1"), (Fault.TOO_LONG, NONCE),
])
def test_a_fault_of_the_text_leaves_the_call_before_it(
    router: StandInRouter, fault: Fault, text: str
) -> None:
    router.go_wrong(fault, times=1, value="nonce-1")
    assert calls(router, reading("READ:/tmp/n")) == [("read", {"filePath": "/tmp/n"})]
    assert said(router, reading("READ:/tmp/n", gave(NONCE))) == text
    assert [request.fault for request in router.log] == [None, fault]


def test_an_answer_can_end_for_its_length(router: StandInRouter) -> None:
    router.go_wrong(Fault.TOO_LONG)
    assert choice(router, question())["finish_reason"] == "length"
    response = ask(router, responding(text="Hello"), RESPONSES)
    assert response["incomplete_details"] == {"reason": "max_output_tokens"}
    assert stream(router, responding(text="Hello"), RESPONSES)[-1]["type"] == "response.incomplete"


def test_the_tool_can_be_called_twice_at_once(router: StandInRouter) -> None:
    router.go_wrong(Fault.EXTRA_CALL)
    body = reading("READ:/tmp/n")
    assert calls(router, body) == [("read", {"filePath": "/tmp/n"})] * 2
    identities = {call["id"] for call in choice(router, body)["message"]["tool_calls"]}
    assert len(identities) == 2


def test_another_tool_can_be_called_and_the_text_be_right(
    router: StandInRouter, tmp_path: Path
) -> None:
    nonce = tmp_path / "nonce.txt"
    nonce.write_text(NONCE + "\n")
    router.go_wrong(Fault.OTHER_TOOL, value="write")
    assert calls(router, reading(f"READ:{nonce}")) == [("write", {"path": str(nonce)})]
    assert said(router, reading(f"READ:{nonce}", gave("no content given"))) == NONCE


def test_the_right_text_can_come_without_a_call(router: StandInRouter, tmp_path: Path) -> None:
    nonce = tmp_path / "nonce.txt"
    nonce.write_text(NONCE + "\n")
    router.go_wrong(Fault.NO_CALL)
    assert choice(router, reading(f"READ:{nonce}")) == {
        "index": 0, "finish_reason": "stop", "logprobs": None,
        "message": {"role": "assistant", "content": NONCE},
    }


def test_a_broken_connection_is_a_reset(router: StandInRouter) -> None:
    router.go_wrong(Fault.RESET)
    with pytest.raises(ConnectionResetError):
        get(router)
    assert [request.status for request in router.log] == [None]


def test_a_slow_drip_comes_byte_by_byte(router: StandInRouter) -> None:
    router.go_wrong(Fault.DRIP, value="0.001")
    assert said(router, question()) == "ok"
    router.go_right()
    router.go_wrong(Fault.DRIP, value="3600")
    with socket.create_connection(("127.0.0.1", router.port), timeout=30) as client:
        client.sendall(spelled("GET", MODELS))
        got = b""
        while not got.endswith(b"\r\n\r\n{"):
            got += client.recv(1)
        client.settimeout(0.3)
        with pytest.raises(TimeoutError):
            client.recv(1)


def test_a_stall_sends_the_first_half_and_no_more(router: StandInRouter) -> None:
    router.go_wrong(Fault.STALL)
    with socket.create_connection(("127.0.0.1", router.port), timeout=30) as client:
        client.sendall(spelled("POST", CHAT, question(stream=True)))
        got = b""
        while b'"role": "assistant"' not in got:
            got += client.recv(65536)
        client.settimeout(0.3)
        with pytest.raises(TimeoutError):
            client.recv(1)
    assert b"[DONE]" not in got


def test_a_request_that_hangs_is_in_the_log_before_it_ends(router: StandInRouter) -> None:
    router.go_wrong(Fault.HANG)
    with socket.create_connection(("127.0.0.1", router.port), timeout=30) as client:
        client.sendall(spelled("POST", CHAT, question()))
        (request,) = router.wait(1)
        assert (request.status, request.fault) == (None, Fault.HANG)
        client.settimeout(0.3)
        with pytest.raises(TimeoutError):
            client.recv(1)


# --- connections ------------------------------------------------------------------------


def spelled(method: str, path: str, body: Json | None = None, version: str = "1.1") -> bytes:
    """A request as bytes."""
    content = json.dumps(body).encode() if body else b""
    return (
        f"{method} {path} HTTP/{version}\r\nHost: router\r\nAuthorization: Bearer {KEY}\r\n"
        f"Content-Length: {len(content)}\r\n\r\n"
    ).encode() + content


def test_one_connection_serves_many_requests(router: StandInRouter) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", router.port, timeout=30)
    headers: Mapping[str, str] = {"Authorization": f"Bearer {KEY}"}
    ports = set()
    for streaming in (True, False, True):
        connection.request("POST", CHAT, json.dumps(question(stream=streaming)), headers)
        ports.add(connection.sock.getsockname()[1])
        assert connection.getresponse().read()
    connection.close()
    assert len(ports) == 1


def test_a_stream_for_an_old_client_ends_with_the_connection(router: StandInRouter) -> None:
    with socket.create_connection(("127.0.0.1", router.port), timeout=30) as client:
        client.sendall(spelled("POST", CHAT, question(stream=True), version="1.0"))
        got = b"".join(iter(lambda: client.recv(65536), b""))
    assert got.endswith(b"data: [DONE]\n\n")
    assert b"chunked" not in got.lower()


def test_the_head_alone_is_sent_where_that_is_asked_for(router: StandInRouter) -> None:
    answer, data = send(router, "HEAD", MODELS)
    assert (answer.status, data) == (404, b"")


def test_clients_that_drop_do_no_harm(
    router: StandInRouter, capfd: pytest.CaptureFixture[str]
) -> None:
    whole = spelled("POST", CHAT, question(stream=True))
    for sent in (b"", b"POST /v1", whole[:-3], whole, b"not http\r\n\r\n"):
        with socket.create_connection(("127.0.0.1", router.port), timeout=30) as client:
            client.sendall(sent)
    assert get(router)[0] == 200
    assert capfd.readouterr() == ("", "")


def test_a_body_of_unknown_length_is_not_read(router: StandInRouter) -> None:
    with socket.create_connection(("127.0.0.1", router.port), timeout=30) as client:
        client.sendall(b"POST /v1/responses HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n")
        assert client.recv(65536) == b""


def test_leaving_ends_every_thread_whatever_the_clients_do() -> None:
    before = threading.active_count()
    clients = []
    with StandInRouter({"llm.primary": 1}, {"node": KEY}) as router:
        for fault in (Fault.HANG, Fault.STALL, Fault.DRIP):
            router.go_wrong(fault, times=1, value="3600")
            clients.append(socket.create_connection(("127.0.0.1", router.port), timeout=30))
            clients[-1].sendall(spelled("POST", CHAT, question(stream=True)))
            router.wait(len(clients))
        idle = socket.create_connection(("127.0.0.1", router.port), timeout=30)
        idle.sendall(spelled("GET", MODELS))
        router.wait(4)
        began = time.monotonic()
    assert time.monotonic() - began < 20
    assert threading.active_count() == before
    for client in (*clients, idle):
        client.close()


def test_waiting_for_requests_that_do_not_come_ends(router: StandInRouter) -> None:
    with pytest.raises(TimeoutError, match="0 requests came, not 1"):
        router.wait(1, seconds=0.01)


def test_the_log_can_be_begun_anew(router: StandInRouter) -> None:
    get(router)
    router.clear_log()
    assert router.log == ()
