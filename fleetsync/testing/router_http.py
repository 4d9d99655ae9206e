"""The HTTP side of a stand-in router: threads, connections, and bytes sent right or wrong.

HTTP/1.1 with connections kept alive, one thread each. Closing ends all of them at once,
those included that never answer and those whose client does not read.
"""

from __future__ import annotations

import contextlib
import os
import socket
import socketserver
import struct
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from typing import Any

from fleetsync.testing import router_wire as wire
from fleetsync.testing.router_faults import Fault, Wrong
from fleetsync.testing.router_wire import Reply

ADDRESS = "127.0.0.1"
_BODY_CAP = 64 * 1024 * 1024
_TICK = 0.05
_DRIP_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class Received:
    """A request as it came: `authorization` is that header's bytes, b"" without one."""

    method: str
    path: str
    authorization: bytes
    body: bytes


@dataclass(frozen=True, slots=True)
class Answer:
    """What is to be sent, and what goes wrong with the sending, if anything."""

    reply: Reply
    wrong: Wrong | None = None


class Server(socketserver.ThreadingMixIn, socketserver.TCPServer):
    """Listens on a free loopback port and has `answer` answer every request."""

    allow_reuse_address = True
    request_queue_size = 64

    def __init__(self, answer: Callable[[Received], Answer]) -> None:
        super().__init__((ADDRESS, 0), _Handler)
        self.answer = answer
        self.closing = threading.Event()
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._thread = threading.Thread(
            target=self.serve_forever, args=(_TICK,), name="stand-in router"
        )

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self.socket.getsockname()[1])

    def start(self) -> None:
        """Begin to answer, in threads of its own."""
        self._thread.start()

    def close(self) -> None:
        """Break every connection and end every thread."""
        self.closing.set()
        self.shutdown()
        self._thread.join()
        with self._lock:
            for connection in self._open:
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
        self.server_close()

    # socketserver gives requests and addresses no types.
    def process_request(self, request: Any, client_address: Any) -> None:
        """As the base; remembers the connection, so that closing can break it."""
        with self._lock:
            self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """As the base; forgets the connection."""
        with self._lock:
            self._open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """As the base, which prints a traceback; no word where the client left, or we close."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Server

    def handle(self) -> None:
        """As the base, until the client leaves or we close."""
        with contextlib.suppress(OSError):
            super().handle()

    def log_message(self, *_: Any) -> None:
        """The router has a log of its own."""

    def version_string(self) -> str:
        """What the Server header says."""
        return "stand-in-router"

    def _serve(self) -> None:
        body = self._body()
        if body is None:
            self.close_connection = True
            return
        authorization = self.headers.get("Authorization", "").encode("latin-1", "replace")
        received = Received(self.command, self.path, authorization, body)
        self._send(self.server.answer(received))

    do_GET = do_POST = do_HEAD = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = _serve

    def _body(self) -> bytes | None:
        """The request's content; None where it has no plain length or the client left."""
        length = self.headers.get("Content-Length", "0")
        if not length.isascii() or not length.isdigit() or int(length) > _BODY_CAP:
            return None
        if "Transfer-Encoding" in self.headers:
            return None
        body = self.rfile.read(int(length))
        return body if len(body) == int(length) else None

    def _send(self, answer: Answer) -> None:
        fault = answer.wrong.fault if answer.wrong else None
        if fault is Fault.RESET:
            self._reset()
        elif fault is Fault.HANG:
            self._hang()
        else:
            self._send_reply(answer.reply, answer.wrong)

    def _send_reply(self, reply: Reply, wrong: Wrong | None) -> None:
        chunked = reply.kind == wire.EVENTS and self.request_version == "HTTP/1.1"
        self._send_head(reply, chunked)
        if self.command == "HEAD":
            return
        fault = wrong.fault if wrong else None
        for piece in _pieces(reply, fault):
            self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece) if chunked else piece)
            if wrong and fault is Fault.DRIP:
                self.server.closing.wait(float(wrong.value or _DRIP_SECONDS))
        if fault is Fault.STALL:
            self._hang()
        elif chunked:
            self.wfile.write(b"0\r\n\r\n")

    def _send_head(self, reply: Reply, chunked: bool) -> None:
        self.send_response(reply.status)
        self.send_header("Content-Type", reply.kind)
        if reply.location:
            self.send_header("Location", reply.location)
        if chunked:
            self.send_header("Transfer-Encoding", "chunked")
        elif reply.kind == wire.EVENTS:
            self.close_connection = True    # HTTP/1.0 knows the end of a stream by that
        else:
            self.send_header("Content-Length", str(sum(map(len, reply.pieces))))
        self.end_headers()

    def _hang(self) -> None:
        self.server.closing.wait()
        self.close_connection = True

    def _reset(self) -> None:
        """Close without the farewell that TCP has, which the other side sees as a reset."""
        self.close_connection = True
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        os.close(self.connection.detach())


def _pieces(reply: Reply, fault: Fault | None) -> Iterable[bytes]:
    """The content as it is to be written: by events, by bytes, or half of it."""
    whole = b"".join(reply.pieces)
    if fault is Fault.DRIP:
        return _bytes(whole)
    return (whole[: len(whole) // 2],) if fault is Fault.STALL else filter(None, reply.pieces)


def _bytes(whole: bytes) -> Iterator[bytes]:
    return (whole[at : at + 1] for at in range(len(whole)))
