"""One exchange over a channel that answers in pieces."""

from __future__ import annotations

from collections import deque

import pytest

from fleetsync.exchange import converse


class Pieces:
    """A channel whose output comes in given pieces; then EOF, or the connection breaks."""

    def __init__(self, *pieces: bytes, eof: bool = True, window: int = 1 << 20) -> None:
        self.eof_received = 0
        self.sent = bytearray()
        self.sent_eof = False
        self.dropped = b""
        self._pieces = deque(pieces)
        self._eof = eof
        self._window = window

    def settimeout(self, timeout: float | None) -> None:
        """No wait is needed here."""

    def send_ready(self) -> bool:
        return self._window > 0

    def send(self, s: bytes) -> int:
        count = min(len(s), self._window)
        self.sent += s[:count]
        self._window -= count
        return count

    def shutdown_write(self) -> None:
        self.sent_eof = True

    def recv_ready(self) -> bool:
        return bool(self._pieces)

    def recv(self, nbytes: int) -> bytes:
        self._window += 10
        if self._pieces:
            piece = self._pieces.popleft()
            if not piece:
                raise TimeoutError
            return piece
        self.eof_received = int(self._eof)
        return b""

    def recv_stderr_ready(self) -> bool:
        return not self.dropped

    def recv_stderr(self, nbytes: int) -> bytes:
        self.dropped = b"noise"
        return self.dropped


class Deaf(Pieces):
    """A channel that takes nothing, and has something to say."""

    def send(self, s: bytes) -> int:
        raise OSError("Socket is closed")


@pytest.mark.parametrize("size", [1, 2, 3, 5, 100])
def test_the_end_line_is_seen_however_the_output_is_cut(size: int) -> None:
    output = b"one\r\n\0\xff x@@n END\n@@n EN\n@@n END 0\nlate"
    pieces = [output[at : at + size] for at in range(0, len(output), size)]
    answer = converse(Pieces(*pieces, eof=False), b"", b"@@n END", 1000)
    assert answer == output.removesuffix(b"late")


def test_an_end_line_may_be_the_first() -> None:
    assert converse(Pieces(b"@@n END\n"), b"", b"@@n END", 1000) == b"@@n END\n"


def test_output_without_an_end_line_is_returned_at_the_hosts_eof() -> None:
    assert converse(Pieces(b"no", b" such", b" shell"), b"", b"@@", 1000) == b"no such shell"


def test_an_end_line_without_its_line_end_counts_at_the_hosts_eof_only() -> None:
    assert converse(Pieces(b"\n@@ END"), b"", b"@@", 1000) == b"\n@@ END"


def test_output_that_stops_without_eof_is_a_broken_connection() -> None:
    with pytest.raises(ConnectionError):
        converse(Pieces(b"half", eof=False), b"", b"@@", 1000)


def test_more_than_the_cap_is_not_taken() -> None:
    with pytest.raises(OverflowError, match="longer than 10 bytes"):
        converse(Pieces(b"12345", b"123456"), b"", b"@@", 10)


def test_all_of_stdin_and_its_eof_are_sent_through_a_small_window() -> None:
    channel = Pieces(*[b""] * 50, window=7)
    converse(channel, bytes(range(256)), b"@@", 1000)
    assert (bytes(channel.sent), channel.sent_eof) == (bytes(range(256)), True)


def test_the_eof_is_sent_where_there_is_no_stdin() -> None:
    channel = Pieces()
    converse(channel, b"", b"@@", 1000)
    assert channel.sent_eof


def test_a_host_that_takes_no_input_is_heard() -> None:
    assert converse(Deaf(b"account closed"), b"script", b"@@", 1000) == b"account closed"


def test_standard_error_is_read_so_that_it_cannot_block() -> None:
    channel = Pieces(b"x")
    converse(channel, b"", b"@@", 1000)
    assert channel.dropped == b"noise"


def test_stdin_that_is_held_is_sent_without_an_end() -> None:
    channel = Pieces(*[b""] * 50, window=7)
    converse(channel, bytes(range(256)), b"@@", 1000, hold=True)
    assert (bytes(channel.sent), channel.sent_eof) == (bytes(range(256)), False)
