"""Which bundles may go, how old they are told to be, and who wrote after us."""

from __future__ import annotations

import hashlib
import json

import pytest

from fleetsync.again import likely
from fleetsync.bundles import disposable
from fleetsync.cli.bundles import age
from fleetsync.facts import FileFact, FileKind
from fleetsync.job import Approved
from fleetsync.outcome import BundleFileRow, BundleRow
from fleetsync.sealed import Sealed

DAY = 86400


def row(
    identity: str, state: str = "done", days: int = 0, verdict: str = "intact", target: str = "pi"
) -> BundleRow:
    file = BundleFileRow(target, "/f", "/f", "a" * 64, "b" * 64, "0600", 1, verdict)
    return BundleRow(identity, state, days * DAY, "ada", "run", "", (), "/b", (file,))


def gone(*rows: BundleRow, keep: int = 0, days: int = 0) -> list[str]:
    return [one.identity for one in disposable(rows, keep=keep, seconds=days * DAY)]


def test_the_newest_stay_and_the_others_go() -> None:
    assert gone(row("c"), row("b"), row("a"), keep=2) == ["a"]


def test_of_the_others_only_old_ones_go() -> None:
    assert gone(row("c"), row("b", days=1), row("a", days=9), days=5) == ["a"]


def test_the_newest_good_one_stays_behind_damaged_and_undone_ones() -> None:
    rows = (row("d", "undone"), row("c", verdict="damaged"), row("b"), row("a"))
    assert gone(*rows) == ["d", "c", "a"]


def test_the_newest_good_one_of_every_target_stays() -> None:
    assert gone(row("b"), row("a", target="hermes/work")) == []


@pytest.mark.parametrize("state", ["prep", "commit", "undo"])
def test_an_interrupted_transaction_never_goes_and_counts_for_nothing(state: str) -> None:
    assert gone(row("c", state), row("b"), row("a"), keep=1) == ["a"]


@pytest.mark.parametrize(
    ("seconds", "told"),
    [(0, "0 s"), (119, "119 s"), (120, "2 min"), (7199, "119 min"), (7200, "2 h"),
     (2 * DAY, "2 d"), (400 * DAY, "400 d")],
)
def test_an_age_is_told_in_the_largest_fitting_unit(seconds: int, told: str) -> None:
    assert age(seconds) == told


# --- who wrote after us ----------------------------------------------------------------

FORMER = b"{ // mine\n}\n"
ROW = Approved("pi", "/h/models.json", hashlib.sha256(FORMER).hexdigest(), "b" * 64)


def fact(data: bytes, real: str = "/h/models.json") -> FileFact:
    return FileFact(
        "/h/models.json", FileKind.FILE, real, size=len(data),
        sha256=hashlib.sha256(data).hexdigest(), content=Sealed(data),
    )


@pytest.mark.parametrize(
    ("found", "told"),
    [
        (None, "somebody who removed it"),
        (FileFact("/h/models.json", FileKind.ABSENT), "somebody who removed it"),
        (fact(b"x", "/nix/store/abc/models.json"), "Nix or home-manager: the file is /nix"),
        (fact(b"x", "/h/.local/share/chezmoi/m.json"), "chezmoi: the file is"),
        (fact(b"x", "/h/dotfiles/m.json"), "a dotfile manager: the file is"),
        (fact(FORMER), "pi or a tool that put its own copy of the former file back"),
        (fact(b'{"models": [{"id": "x", "_launch": true}]}'), "`ollama launch`"),
        (fact(json.dumps({"a": [1]}, indent=2).encode() + b"\n"), "pi itself or a tool"),
        (fact(b'{"a":1} // by hand'), "another program"),
        (fact(b'{"_launch": false} // by hand'), "another program"),
        (fact(b"{ half"), "another program"),
    ],
)
def test_a_later_writer_is_told_by_what_the_file_looks_like(
    found: FileFact | None, told: str
) -> None:
    assert likely(found, ROW, "pi").startswith(told)
