"""Show what a planned edit does: rows key by key, and a masked unified diff. Pure."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterator, Sequence

from fleetsync.adapter import FileEdit, Planned
from fleetsync.documents import parse
from fleetsync.outcome import ChangeRow, FileDiff
from fleetsync.redact import mask, printable, words

CONTEXT = 3
"""Lines shown around each change."""


def rows(planned: Planned) -> tuple[ChangeRow, ...]:
    """The managed values that change. Each value is the operator's or a managed one."""
    return tuple(
        ChangeRow(c.file, printable(c.subject), printable(c.key), _value(c.before), _value(c.after))
        for c in planned.changes
    )


def _value(text: str | None) -> str | None:
    return None if text is None else words(text, limit=80)


def diffs(planned: Planned, known: Collection[str]) -> tuple[FileDiff, ...]:
    """One masked diff for each edited file; `known` words (aliases) may be shown."""
    return tuple(_file_diff(edit, known) for edit in planned.edits)


def _file_diff(edit: FileEdit, known: Collection[str]) -> FileDiff:
    old = b"" if edit.file.content is None else edit.file.content.reveal()
    before, after = (_masked(data, edit, known) for data in (old, edit.after.reveal()))
    text = "".join(unified(before, after, printable(edit.file.path)))
    return FileDiff(
        edit.file.path, edit.file.real, text, edit.file.sha256, edit.after.sha256
    )


def _masked(data: bytes, edit: FileEdit, known: Collection[str]) -> list[str]:
    if not data:
        return []
    document = parse(data, edit.dialect)
    return printable(mask(document.text, document.secret_spans(edit.managed, known))).splitlines()


def unified(before: Sequence[str], after: Sequence[str], name: str) -> Iterator[str]:
    """The unified diff of two lists of lines.

    What both begin and end with is cut off first: comparing is quadratic, and an edit
    is small beside its file.
    """
    head = _common(before, after)
    tail = _common(before[head:][::-1], after[head:][::-1])
    skip = max(0, head - CONTEXT)
    keep = max(0, tail - CONTEXT)
    old, new = before[skip : len(before) - keep], after[skip : len(after) - keep]
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    groups = list(matcher.get_grouped_opcodes(CONTEXT))
    if groups:
        yield f"--- {name}\n+++ {name} (planned)\n"
    for group in groups:
        yield _header(group, skip)
        for tag, i1, i2, j1, j2 in group:
            if tag == "equal":
                yield from (f" {line}\n" for line in old[i1:i2])
                continue
            yield from (f"-{line}\n" for line in old[i1:i2])
            yield from (f"+{line}\n" for line in new[j1:j2])


def _header(group: Sequence[tuple[str, int, int, int, int]], skip: int) -> str:
    first, last = group[0], group[-1]
    return (
        f"@@ -{_extent(first[1] + skip, last[2] + skip)} "
        f"+{_extent(first[3] + skip, last[4] + skip)} @@\n"
    )


def _extent(start: int, end: int) -> str:
    length = end - start
    return f"{start + 1 if length else start},{length}"


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    count = 0
    for mine, theirs in zip(one, other, strict=False):
        if mine != theirs:
            break
        count += 1
    return count
