"""What must become of one file so that it is as before: decided from bytes alone."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import pytest

from fleetsync.documents import Dialect, apply_splices
from fleetsync.facts import FileFact, FileKind
from fleetsync.restore import Past, restored, subjects
from fleetsync.sealed import Sealed

OLD = b'{ // mine\n  "models": [{"id": "a", "window": 500}], "theme": "dark"\n}\n'
NEW = OLD.replace(b"500", b"300")
PATH = "/h/models.json"


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest() if data else ""


def past(old: bytes = OLD, new: bytes = NEW, dialect: Dialect = Dialect.JSON_COMMENTS) -> Past:
    return Past(
        "pi", PATH, PATH, digest(old), digest(new), 0o640, "/h/lock", dialect, ("abcd1234", 2),
        Sealed(old) if old else None, Sealed(new) if new else None,
    )


def live(data: bytes = b"", kind: FileKind = FileKind.FILE, real: str = PATH) -> FileFact:
    content = Sealed(data) if kind is FileKind.FILE else None
    return FileFact(PATH, kind, real, size=len(data), sha256=digest(data), content=content)


GONE = live(kind=FileKind.ABSENT)
KEPT = ("abcd1234", 2)


def test_what_we_wrote_goes_back_whole_from_where_it_is_kept() -> None:
    found = restored(past(), live(NEW), force=False)
    assert found.job is not None
    assert (found.job.old, found.job.new, found.job.origin) == (digest(NEW), digest(OLD), KEPT)
    assert (found.job.mode, found.job.companion) == (0o640, "/h/lock")
    assert [(c.subject, c.key, c.before, c.after) for c in found.changes] == [
        ("a", "window", "300", "500")
    ]
    assert subjects([found]) == {"a"}


def test_what_was_edited_since_goes_back_by_splices_of_what_is_there() -> None:
    edited = NEW.replace(b"dark", b"light")
    found = restored(past(), live(edited), force=False)
    assert found.job is not None
    assert found.job.origin is None
    assert apply_splices(edited, found.job.splices) == OLD.replace(b"dark", b"light")
    assert found.job.new == digest(OLD.replace(b"dark", b"light"))


@pytest.mark.parametrize(
    ("before", "now"),
    [
        pytest.param(past(), live(OLD), id="back already"),
        pytest.param(past(), live(OLD.replace(b"dark", b"light")), id="our value back already"),
        pytest.param(past(old=b""), GONE, id="created, and gone already"),
        pytest.param(past(new=b""), live(OLD), id="taken away, and back already"),
    ],
)
def test_nothing_is_written_where_it_is_as_before(before: Past, now: FileFact) -> None:
    found = restored(before, now, force=False)
    assert (found.job, found.conflicts, found.refusal) == (None, (), "")


def test_what_we_created_goes() -> None:
    found = restored(past(old=b""), live(NEW), force=False)
    assert found.job is not None
    assert (found.job.old, found.job.new, found.job.origin) == (digest(NEW), "", None)


def test_what_we_took_away_comes_back_with_its_mode() -> None:
    found = restored(past(new=b""), GONE, force=False)
    assert found.job is not None
    assert (found.job.old, found.job.new, found.job.origin) == ("", digest(OLD), KEPT)
    assert (found.job.mode, found.job.companion) == (0o640, "")


CONFLICTS = [
    pytest.param(past(), live(NEW.replace(b"300", b"301")), "changed by both", id="our key"),
    pytest.param(
        past(), live(NEW.replace(b', "window": 300', b"")), "changed by both", id="key gone"
    ),
    pytest.param(past(), GONE, "somebody removed it", id="file gone"),
    pytest.param(past(), live(NEW, real="/d/models.json"), "its links lead to /d", id="a link now"),
    pytest.param(past(), live(b"{ half"), "line 1, column", id="does not parse"),
    pytest.param(past(old=b""), live(OLD), "created by that change", id="created and edited"),
    pytest.param(past(new=b""), live(NEW), "taken away by that change", id="another one there"),
]


@pytest.mark.parametrize(("before", "now", "told"), CONFLICTS)
def test_what_others_changed_too_is_a_conflict(before: Past, now: FileFact, told: str) -> None:
    found = restored(before, now, force=False)
    assert found.job is None
    assert [told in conflict for conflict in found.conflicts] == [True]


@pytest.mark.parametrize(("before", "now", "told"), CONFLICTS)
def test_force_writes_the_original_over_it(before: Past, now: FileFact, told: str) -> None:
    found = restored(before, now, force=True)
    assert found.conflicts == ()
    assert found.job is not None
    assert (found.job.old, found.job.new) == (now.sha256, before.before)


@pytest.mark.parametrize(
    "now",
    [live(kind=FileKind.DIRECTORY), live(kind=FileKind.DANGLING), live(kind=FileKind.OTHER),
     live(kind=FileKind.UNREADABLE), replace(live(NEW), over_cap=True)],
)
def test_what_is_no_readable_file_is_refused_even_by_force(now: FileFact) -> None:
    found = restored(past(), now, force=True)
    assert (found.job, found.refusal.startswith(PATH)) == (None, True)


@pytest.mark.parametrize("lost", [{"old": None}, {"old": Sealed(b"x")}, {"new": Sealed(b"x")}])
def test_a_damaged_bundle_is_refused(lost: dict[str, Sealed | None]) -> None:
    found = restored(replace(past(), **lost), live(NEW), force=True)  # type: ignore[arg-type]
    assert (found.job, "damaged" in found.refusal) == (None, True)


def test_a_conflict_shows_no_token() -> None:
    old = b'{"a": "one"}'
    found = restored(
        past(old, b'{"a": "two"}', Dialect.JSON),
        live(b'{"a": "sk-abcdefghijklmnop1234"}'), force=False,
    )
    assert "sk-abcdefghijklmnop1234" not in found.conflicts[0]


def test_a_value_inside_an_entrys_own_value_is_told_with_the_entrys_name() -> None:
    old = b'{"models": [{"id": "a", "input": ["text"], "compat": {"x": false}}]}\n'
    new = b'{"models": [{"id": "a", "input": ["text", "image"], "compat": {"x": true}}]}\n'
    found = restored(past(old, new), live(new), force=False)
    assert {(one.subject, one.key) for one in found.changes} == {
        ("a", "input.entry"), ("a", "compat.x"),
    }
