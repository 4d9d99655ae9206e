"""On which line a key of the operator's TOML stands."""

from __future__ import annotations

from pathlib import Path

import pytest

from fleetsync.toml import parse

TEXT = '''\
# a comment with [hosts.no] and no = 1
top.inner = 1
[hosts."x y"] # a comment
commands = [
  ["/bin/pi"],   # ] and [
  ["/bin/pi2"],
]
port = 22
[ hosts . b ]
"q=" = """
[hosts.no]
no = 1
"quoted"
"""
literal = \'\'\'
no = 1\'\'\'
inline = {a = "]", b = 1}
[[lists]]
z = "\\\\"
[lists.y]
w = '#'
[hosts.c]
last = true'''


@pytest.mark.parametrize(
    ("keys", "line"),
    [
        (("top", "inner"), 2),
        (("hosts",), 3),
        (("hosts", "x y"), 3),
        (("hosts", "x y", "commands"), 4),
        (("hosts", "x y", "port"), 8),
        (("hosts", "b"), 9),
        (("hosts", "b", "q="), 10),
        (("hosts", "b", "literal"), 15),
        (("hosts", "b", "inline"), 17),
        (("lists",), 18),
        (("lists", "z"), 19),
        (("lists", "y", "w"), 21),
        (("hosts", "c", "last"), 23),
    ],
)
def test_a_key_has_the_line_of_its_statement(keys: tuple[str, ...], line: int) -> None:
    assert parse(Path("x"), TEXT).line(keys) == line


@pytest.mark.parametrize(
    ("keys", "line"),
    [
        (("hosts", "b", "inline", "b"), 17),
        (("hosts", "x y", "clients"), 3),
        (("hosts", "no"), 3),
        (("hosts", "no", "no"), 3),
        (("nowhere",), 1),
        ((), 1),
    ],
)
def test_a_key_without_statement_has_the_line_of_what_is_around_it(
    keys: tuple[str, ...], line: int
) -> None:
    assert parse(Path("x"), TEXT).line(keys) == line


def test_windows_line_ends_count_once() -> None:
    assert parse(Path("x"), TEXT.replace("\n", "\r\n")).line(("hosts", "c", "last")) == 23
