"""Golden cases of the Hermes adapter: a folder each, with the file before and after."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from fleetsync.adapter import Credential, Planned, Target, Wish
from fleetsync.catalog import Alias, Policy
from fleetsync.documents import Append, Dialect, Set, apply_splices, parse
from fleetsync.errors import DocumentError
from fleetsync.facts import FileFact, FileKind, Installation
from fleetsync.sealed import Sealed
from fleetsync_hermes import adapter
from fleetsync_hermes.catalog import sees, thinks
from fleetsync_hermes.profile import whole

CASES = sorted(path.parent for path in Path(__file__).parent.glob("cases/hermes/*/case.toml"))
AFTER = [folder for folder in CASES if (folder / "after.config.yaml").exists()]
_HERE = Path(__file__)
SHAPES = (_HERE.parent / "cases/hermes", _HERE.parents[3] / "shared/corpus/hermes")
"""Where users' files lie: those of the cases, and more beside the checkout where there are."""
URL = "https://router.example.net/v1"


def wish(case: dict[str, Any]) -> Wish:
    aliases = tuple(Alias(name=name, **table) for name, table in case["aliases"].items())
    known = frozenset({*case.get("known", ()), *(alias.name for alias in aliases)})
    policy = Policy(**case.get("policy", {}))
    provider, url = case.get("provider", "anvil"), case.get("url", URL)
    return Wish("hermes", provider, url, "ROUTER_API_KEY", aliases, known, policy)


def fact(name: str, data: bytes | None) -> FileFact:
    path = f"/home/u/.hermes/{name}"
    if data is None:
        return FileFact(path, FileKind.ABSENT)
    content = Sealed(data)
    return FileFact(
        path, FileKind.FILE, mode=0o600, size=len(content), sha256=content.sha256, content=content
    )


def read(folder: Path, name: str) -> FileFact:
    path = folder / name
    return fact(name, path.read_bytes() if path.exists() else None)


def installations(case: dict[str, Any]) -> tuple[Installation, ...]:
    return tuple(
        Installation((f"/opt/{v}/bin/hermes",), f"/opt/{v}/bin/hermes", f"/opt/{v}/bin/hermes",
                     "PATH", "hermes-agent", v, interpreter=f"/opt/{v}/bin/python")
        for v in case.get("versions", ["0.19.0"])
    )


def target(config: FileFact, case: dict[str, Any], cache: FileFact | None = None) -> Target:
    files = {"config": config, "cache": cache or fact("context_length_cache.yaml", None)}
    return Target("hermes", "default", wish(case), files, installations(case), Credential(()))


def given(folder: Path, case: dict[str, Any]) -> Target:
    return target(read(folder, "config.yaml"), case, read(folder, "context_length_cache.yaml"))


def load(folder: Path) -> dict[str, Any]:
    return tomllib.loads((folder / "case.toml").read_text())


def named(folders: Sequence[Path]) -> list[Any]:
    return [pytest.param(folder, id=folder.name) for folder in folders]


def after(planned: Planned) -> bytes | None:
    return planned.edits[0].after.reveal() if planned.edits else None


@pytest.mark.parametrize("folder", named(CASES))
def test_the_plan_is_exactly_the_golden_one(folder: Path) -> None:
    case = load(folder)
    if "error" in case:
        with pytest.raises(DocumentError, match=case["error"]) as caught:
            adapter.plan(given(folder, case))
        assert caught.value.line > 0
        return
    planned = adapter.plan(given(folder, case))
    shown = [[c.subject, c.key, c.before or "", c.after or ""] for c in planned.changes]
    assert shown == case["changes"]
    assert [refusal.reason for refusal in planned.refusals] == case.get("refusals", [])
    steps = [refusal.step for refusal in planned.refusals]
    assert steps == case.get("steps", steps)
    missing = [note for note in case.get("notes", []) if note not in planned.notes]
    assert missing == []
    golden = folder / "after.config.yaml"
    if not case.get("unwritten"):
        assert after(planned) == (golden.read_bytes() if golden.exists() else None)


@pytest.mark.parametrize("folder", named(AFTER))
def test_a_plan_for_the_outcome_is_empty(folder: Path) -> None:
    done = fact("config.yaml", (folder / "after.config.yaml").read_bytes())
    assert adapter.plan(target(done, load(folder))).edits == ()


@pytest.mark.parametrize("folder", named(AFTER))
def test_the_splices_alone_make_the_outcome(folder: Path) -> None:
    before = (folder / "config.yaml").read_bytes()
    (edit,) = adapter.plan(given(folder, load(folder))).edits
    assert apply_splices(before, edit.splices) == (folder / "after.config.yaml").read_bytes()


def test_no_plan_is_made_without_a_config_file() -> None:
    case = {"aliases": {"llm.primary": {"context_window": 70000, "max_output_tokens": 4}}}
    with pytest.raises(DocumentError, match="absent"):
        adapter.plan(target(fact("config.yaml", None), case))


def test_models_behind_a_yaml_alias_are_refused_as_that() -> None:
    text = (
        b"model: {default: x, provider: anvil}\nkept: &m {x: {}}\nproviders:\n  anvil:\n"
        b"    base_url: https://router.example.net/v1\n    models: *m\n"
    )
    case: dict[str, Any] = {"aliases": {}, "url": "https://router.example.net/v1"}
    (refusal,) = adapter.plan(target(fact("config.yaml", text), case)).refusals
    assert "line 6, column 13: the models of providers.anvil are no mapping" in refusal.reason


def test_an_in_step_file_has_no_note_of_a_restart() -> None:
    folder = next(folder for folder in CASES if folder.name == "a_file_in_step_is_left")
    assert not [n for n in adapter.plan(given(folder, load(folder))).notes if "restart" in n]


@pytest.mark.parametrize(
    ("found", "number"),
    [(393216, 393216), ("393216", 393216), (393216.0, 393216), ("256K", None), (True, None),
     (0, None), (-1, None), ("", None), (None, None), ([1], None), (float("inf"), None)],
)
def test_a_limit_is_the_number_that_hermes_makes_of_it(found: object, number: int | None) -> None:
    assert whole(found) == number


@pytest.mark.parametrize(
    ("found", "takes_images"),
    [(True, True), ("yes", True), (1, True), (False, False), ("off", False), (None, False)],
)
def test_images_are_sent_where_hermes_reads_a_yes(found: object, takes_images: bool) -> None:
    assert sees(found) is takes_images


@pytest.mark.parametrize(
    ("found", "reasons"),
    [("high", True), ("none", False), (False, False), ("disabled", False), ("odd", None),
     (None, None), (True, None)],
)
def test_an_effort_is_read_as_hermes_reads_it(found: object, reasons: bool | None) -> None:
    assert thinks(found) is reasons


# --- users' files ------------------------------------------------------------------

PROMOTED = {
    name: {"context_window": 707070, "max_output_tokens": 4096, "input": ["text", "image"]}
    for name in ("llm.primary", "llm.secondary", "vision.general", "vision.ocr")
}
OLD = {"context_length": 808080, "timeout_seconds": 90}
ADDED = {"provider": "added", "url": "https://added.example.org/v1", "aliases": PROMOTED}
"""A router that none of the files knows."""


def with_router(data: bytes, *, listed: bool) -> bytes:
    """A user's file with a router of old limits put in, as a user would have had it."""
    entry: Any = {"base_url": ADDED["url"], "models": {name: dict(OLD) for name in PROMOTED}}
    path = ("custom_providers",) if listed else ("providers", "added")
    edit = Append(path, {"name": "added", **entry}) if listed else Set(path, entry)
    return parse(data, Dialect.YAML).edit([edit]).data


def users_files() -> list[Path]:
    files = [path for place in SHAPES for path in sorted(place.rglob("*.yaml"))]
    return [path for path in files if path.name != "context_length_cache.yaml"]


def hold_old_limits(path: Path, *, listed: bool) -> bytes | None:
    """The file with a router in it, None where it can't take one or a key stands twice."""
    try:
        before = with_router(path.read_bytes(), listed=listed)
    except DocumentError:
        return None
    return None if "duplicate_key" in parse(before, Dialect.YAML).features else before


@pytest.mark.parametrize("listed", [False, True], ids=["mapping", "list"])
def test_a_promotion_changes_nothing_else_in_users_files(listed: bool) -> None:
    befores = [hold_old_limits(path, listed=listed) for path in users_files()]
    edited = [before for before in befores if before is not None]
    for before in edited:
        planned = adapter.plan(target(fact("config.yaml", before), ADDED))
        (edit,) = planned.edits
        assert {before[one.start : one.end] for one in edit.splices} <= {b"", b"808080"}
        wanted = yaml.safe_load(before)
        entry = wanted["custom_providers"][-1] if listed else wanted["providers"]["added"]
        for row in entry["models"].values():
            row.update(context_length=707070, supports_vision=True)
        assert yaml.safe_load(edit.after.reveal()) == wanted
    assert len(edited) > 30
