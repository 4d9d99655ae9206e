"""Diffs: exact, aligned, masked."""

from __future__ import annotations

import difflib
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from fleetsync.adapter import Change, FileEdit, Planned
from fleetsync.diff import diffs, rows, unified
from fleetsync.documents import Dialect, Set, parse
from fleetsync.facts import FileFact, FileKind
from fleetsync.sealed import Sealed

LINES = st.lists(st.sampled_from("abcdef"), max_size=30)


@given(LINES, LINES)
def test_a_diff_of_ours_rebuilds_the_new_text(before: list[str], after: list[str]) -> None:
    assert patched(before, list(unified(before, after, "f"))) == after


@given(LINES, LINES)
def test_only_differing_texts_have_a_diff(before: list[str], after: list[str]) -> None:
    assert bool(list(unified(before, after, "f"))) == (before != after)


@given(LINES, st.integers(0, 29))
def test_one_changed_line_gives_the_same_hunk_as_difflib(lines: list[str], at: int) -> None:
    after = [*lines]
    if at >= len(after):
        return
    after[at] = "CHANGED"
    ours = [line for line in unified(lines, after, "f")][1:]
    theirs = list(difflib.unified_diff(lines, after, lineterm="", n=3))[2:]
    assert [line.rstrip("\n") for line in ours][1:] == theirs[1:]


def patched(before: list[str], diff: list[str]) -> list[str]:
    """What a patch program makes of `before` and `diff`."""
    result: list[str] = []
    at = 0
    for line in diff[1:]:
        if line.startswith("@@"):
            start, length = (int(n) for n in line.split()[1][1:].split(","))
            start = start if length == 0 else start - 1
            result += before[at:start]
            at = start
        elif line.startswith("+"):
            result.append(line[1:].rstrip("\n"))
        else:
            assert before[at] == line[1:].rstrip("\n")
            at += 1
            if line.startswith(" "):
                result.append(line[1:].rstrip("\n"))
    return result + before[at:]


def planned(text: str, path: Any, value: Any) -> Planned:
    data = text.encode()
    edited = parse(data, Dialect.JSON_COMMENTS).edit([Set(path, value)])
    fact = FileFact("/m.json", FileKind.FILE, sha256=Sealed(data).sha256, content=Sealed(data))
    edit = FileEdit(fact, Dialect.JSON_COMMENTS, edited.splices, Sealed(edited.data), (path,))
    return Planned((edit,))


def test_what_is_not_managed_is_masked_on_both_sides() -> None:
    text = (
        '{\n  "key": "planted-secret-1",\n  "window": 5, // token planted-secret-2-0123456789\n'
        '  "list": ["planted-secret-3"]\n}\n'
    )
    (found,) = diffs(planned(text, ("window",), 6), frozenset())
    assert "planted" not in found.text
    assert '-  "window": 5' in found.text
    assert '+  "window": 6' in found.text
    assert found.before == Sealed(text.encode()).sha256
    assert found.after == Sealed(text.replace("5", "6", 1).encode()).sha256


def test_a_managed_value_that_looks_like_a_token_is_masked_in_its_row() -> None:
    (row,) = rows(Planned(changes=(Change("f", "llm.primary", "contextWindow",
                                          "sk-0123456789abcdef", "5"),)))
    assert row.before is not None
    assert "0123456789" not in row.before
    assert row.after == "5"


def test_control_characters_in_a_name_are_shown_as_escapes() -> None:
    (row,) = rows(Planned(changes=(Change("f", "\x1b[31mred", "k", None, "1"),)))
    assert row.subject == "\\x1b[31mred"
