"""Bundles are listed and pruned on a host, under every shell."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from fleetsync.bundles import prune, read, rows
from fleetsync.documents import Dialect
from fleetsync.remote import Reader, Writer
from fleetsync.transaction import Reason
from tests.unit.host_read import SHELLS, Host

STATE = ".local/state/fleetsync"
ORIGINAL = b"\0 original\n"
OLD, NEW = hashlib.sha256(ORIGINAL).hexdigest(), "b" * 64


@pytest.fixture(params=SHELLS)
def host(request: pytest.FixtureRequest, tmp_path: Path) -> Host:
    return Host(tmp_path, request.param)


def bundle(host: Host, name: str, age: int = 0, more: str = "") -> Path:
    path = host.write(
        f"{STATE}/txn/{name}/manifest",
        f"M\trun\t7 of us\nM\tdialect.2\tJSON_COMMENTS\n{more}"
        f"F\t1\t-\t{NEW}\t/a b/c.yaml\t/a b/c.yaml\t600\t3\t-\thermes/work\n"
        f"F\t2\t{OLD}\t-\t/h/x\t/r/x\t640:0:0\t3\t/h/x.lock\tpi\nEND\n",
    )
    os.utime(path, (1_000_000_000 - age, 1_000_000_000 - age))
    return path.parent


def test_bundles_are_listed_with_the_newest_first(host: Host) -> None:
    for name, age in (("zzz.done", 100), ("aaa.undone", 5), ("mmm.commit", 50)):
        bundle(host, name, age)
    found = read(Reader(host.remote))
    assert [(one.transaction, one.state, one.written) for one in found.every] == [
        ("aaa", "undone", 999_999_995),
        ("mmm", "commit", 999_999_950),
        ("zzz", "done", 999_999_900),
    ]
    assert [one.transaction for one in found.done()] == ["zzz"]
    assert found.clock > 1_700_000_000


def test_what_takes_another_back_is_newer_within_one_second(host: Host) -> None:
    bundle(host, "zzz.done", more="M\tundoes\tmmm\n")
    bundle(host, "mmm.done")
    found = read(Reader(host.remote))
    assert [one.transaction for one in found.every] == ["zzz", "mmm"]


def test_originals_are_hashed_where_they_are(host: Host) -> None:
    directory = bundle(host, "abc.done")
    reader = Reader(host.remote)

    def verdicts() -> list[str]:
        found = read(reader)
        (row,) = rows(reader, found, found.every, digests=True)
        return [file.verdict for file in row.files]

    assert verdicts() == ["", "missing"]
    (directory / "old.2").write_bytes(b"other")
    assert verdicts() == ["", "damaged"]
    (directory / "old.2").write_bytes(ORIGINAL)
    assert verdicts() == ["", "intact"]


def test_a_bundle_tells_its_files_and_where_their_originals_are(host: Host) -> None:
    directory = bundle(host, "abc.done")
    (one,) = read(Reader(host.remote)).every
    created, removed = one.files
    assert (created.before, created.after, created.mode) == ("", NEW, 0o600)
    assert (created.target, created.path) == ("hermes/work", "/a b/c.yaml")
    assert (removed.before, removed.after, removed.mode) == (OLD, "", 0o640)
    assert (removed.path, removed.real, removed.companion) == ("/h/x", "/r/x", "/h/x.lock")
    assert [file.dialect for file in one.files] == [Dialect.YAML, Dialect.JSON_COMMENTS]
    assert one.original(removed) == str(directory / "old.2")
    assert one.told("run") == "7 of us"


def test_a_rollback_tells_what_it_took_back(host: Host) -> None:
    bundle(host, "abc.done", more="M\tundoes\tdef ghi\n")
    assert read(Reader(host.remote)).every[0].undoes == ("def", "ghi")


def test_a_host_without_our_state_has_no_bundle_and_none_is_made(host: Host) -> None:
    assert read(Reader(host.remote)).every == ()
    assert prune(Writer(host.remote), ("abc",)).gone == ()
    assert list(host.home.iterdir()) == []


def test_finished_bundles_go_whole_and_others_stay(host: Host) -> None:
    for name in ("aaa.done", "bbb.undone", "ccc.done", "ddd.commit"):
        bundle(host, name)
    (host.home / STATE / "txn/old.gone").mkdir()
    pruned = prune(Writer(host.remote), ("aaa", "bbb", "ddd", "nothere"))
    assert (pruned.gone, pruned.problems) == (("aaa", "bbb"), ())
    left = {path.name for path in (host.home / STATE / "txn").iterdir()}
    assert left == {"ccc.done", "ddd.commit"}


def test_nothing_goes_while_somebody_writes(tmp_path: Path) -> None:
    host = Host(tmp_path)
    directory = bundle(host, "aaa.done")
    (host.home / STATE / "lock.7").symlink_to("1:2:boot:nonce:another-host:4")
    pruned = prune(Writer(host.remote), ("aaa",))
    assert (pruned.gone, [problem.reason for problem in pruned.problems]) == (
        (), [Reason.LOCKED],
    )
    assert directory.is_dir()
