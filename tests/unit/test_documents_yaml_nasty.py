"""Nasty neighbours: whatever stands before or after a managed section, it stays as it is."""

from __future__ import annotations

import pytest

from fleetsync.documents import Edit, Remove, Set
from tests.unit.documents_yaml import read

SECTION = "managed:\n  limit: 1\n  other: 2\n"

EDITS: list[Edit] = [
    Set(("managed", "limit"), 3), Set(("managed", "new"), 4), Remove(("managed", "other")),
]

SNIPPETS = [
    ("a null before comments", "key:\n  # - one\n  # - two\n"),
    ("a null with a comment", "key: # c\n"),
    ("empty braces with a comment", "key: {} # c\nlist: [] # c\n"),
    ("a commented-out section", "key: 1\n\n# managed:\n#   limit: 5\n"),
    ("a list under its key", "key:\n- a\n- b\n# at the margin\n"),
    ("a list in a list", "key:\n- - a\n  - b\n- -\n"),
    ("dashes alone", "key:\n-\n  a: 1\n-\n"),
    ("an explicit key", "key:\n  ? a\n  : b\n  ? c\n"),
    ("quoted keys", "'key': 1\n\"other\\tkey\": 2\n"),
    ("keys of other types", "on: 1\n1: 2\n1.5: 3\n~: 4\n2024-01-01: 5\n"),
    ("duplicate keys", "key: 1\nkey: 2\nsub: {a: 1, a: 2}\n"),
    ("an unused anchor", "key: &unused value\n"),
    ("anchors in use", "key: &used {a: &in 1}\nalias: *used\nlist: [*in, *in]\n"),
    ("merges", "key: &one {a: 1}\nmore: {<<: *one, b: 2}\nmost: {<<: [*one, *one]}\n"),
    ("tags", "key: !!str 5\nmap: !!map {a: !!float 1}\nset: !!set {a, b}\nbytes: !!binary eA==\n"),
    ("text blocks", "key: |\n  limit: 1\n\nfold: >\n  a\n  # no comment\n"),
    ("stripped and kept blocks", "key: |-\n  a\n\nkeep: |+\n  b\n\n"),
    ("an indented block", "key: |2\n    a\n   # b\n"),
    ("a block with a commented header", "key: | # c\n  managed:\n    limit: 1\n"),
    ("plain text over lines", "key: one\n  two # c\n"),
    ("a paragraph", "key: one\n\n  two\n  three\n"),
    ("quoted text over lines", "key: 'one # no\n\n  two'\nmore: \"a\\\n  \\ b\"\n"),
    ("tabs after a colon", "key:\tvalue\t# c\n"),
    ("flow over lines", "key: [ # c\n  a, # d\n  {b: 1,\n   c: 2}, # e\n]\n"),
    ("pairs in a list", "key: [a: 1, b: 2, ? c : 3]\n"),
    ("a jinja string", "key: '{{ name }}'\nmore: \"{% if x %}\"\n"),
    ("variables", "key: ${VAR}\nurl: http://${HOST}:1/v1\n"),
    ("emoji", "key: 🦊 ☆\n'🦊': 1 # ☆\n"),
    ("separators of YAML alone", "key: 1 # a\u2028more: 2 # b\x85most: 'x\u2029  y'\n"),
    ("what readers differ on", "a: yes\nb: 012\nc: 1:30\nd: 1_000\ne: 1e3\nf: y\ng: 0o14\n"),
    ("words that look odd", "a: '='\nb: '<<'\nc: ~\nd: ''\ne: .inf\nf: 2024-01-01 10:00:00Z\n"),
    ("a long line", "key: " + "word " * 2000 + "end\n"),
    ("a long key", "k" * 1000 + ": 1\n"),
    ("blank lines with spaces", "key: 1\n   \n \n  # c\n"),
    ("a comment of hashes", "key: 1\n########\n#\n# ## #\n"),
    ("aliases that unfold to billions",
     "a0: &a0 [x, x, x]\n" + "".join(
         f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 12))),
    ("merges that unfold to billions",
     "m0: &m0 {x: 1}\n" + "".join(
         f"m{i}: &m{i} {{<<: [{', '.join([f'*m{i - 1}'] * 9)}], k{i}: 1}}\n"
         for i in range(1, 12))),
]

BEFORE = [pytest.param(text, id=name) for name, text in SNIPPETS]
AFTER = [pytest.param(text, end, id=f"{name}{'' if end else ' without a final newline'}")
         for name, text in SNIPPETS for end in ("\n", "")]


@pytest.mark.parametrize("snippet", BEFORE)
def test_an_edit_below_it_changes_its_own_lines(snippet: str) -> None:
    outcome = read(snippet + SECTION).edit(EDITS).data.decode()
    assert outcome == snippet + "managed:\n  limit: 3\n  new: 4\n"


@pytest.mark.parametrize(("snippet", "end"), AFTER)
def test_an_edit_above_it_changes_its_own_lines(snippet: str, end: str) -> None:
    rest = snippet if end else snippet.rstrip("\n")
    outcome = read(SECTION + rest).edit(EDITS).data.decode()
    assert outcome == "managed:\n  limit: 3\n  new: 4\n" + rest


@pytest.mark.parametrize("snippet", BEFORE)
def test_a_section_that_is_made_below_it_goes_again_without_a_trace(snippet: str) -> None:
    made = read(snippet).edit([Set(("managed", "limit"), 1)]).data
    assert read(made).edit([Remove(("managed",))]).data.decode() == snippet


@pytest.mark.parametrize("head", ["---\n", "--- # c\n", "%YAML 1.1\n---\n", "# c\n---\n# d\n"])
@pytest.mark.parametrize("tail", ["", "...\n", "# c\n", "... # c\n# d\n"])
def test_markers_and_directives_stay(head: str, tail: str) -> None:
    outcome = read(head + SECTION + tail).edit([Set(("managed", "new"), 3)]).data.decode()
    assert outcome == f"{head}{SECTION}  new: 3\n{tail}"


def test_a_file_of_33_000_lines_is_edited() -> None:
    text = "".join(f"key{i}: value\n" for i in range(33_000)) + SECTION
    outcome = read(text).edit([Set(("managed", "limit"), 5)]).data.decode()
    assert outcome == text.replace("limit: 1", "limit: 5")
