"""Golden cases of the Pi adapter: a folder each, with the files before and after."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from fleetsync import diff
from fleetsync.adapter import Credential, Planned, Target, Wish
from fleetsync.catalog import Alias, Policy
from fleetsync.documents import apply_splices
from fleetsync.errors import DocumentError
from fleetsync.facts import FileFact, FileKind, Installation
from fleetsync.sealed import Sealed
from fleetsync_pi import adapter

CASES = sorted(path.parent for path in Path(__file__).parent.glob("cases/pi/*/case.toml"))


def wish(case: dict[str, Any]) -> Wish:
    aliases = tuple(Alias(name=name, **table) for name, table in case["aliases"].items())
    known = frozenset({*case.get("known", ()), *(alias.name for alias in aliases)})
    policy = Policy(**case.get("policy", {}))
    url = "https://router.example.net/v1"
    return Wish("pi", "anvil", url, "ROUTER_API_KEY", aliases, known, policy)


def file(folder: Path, name: str) -> FileFact:
    path = folder / name
    if not path.exists():
        return FileFact(f"/home/u/.pi/agent/{name}", FileKind.ABSENT)
    content = Sealed(path.read_bytes())
    return FileFact(
        f"/home/u/.pi/agent/{name}", FileKind.FILE, mode=0o600, size=len(content),
        sha256=content.sha256, content=content,
    )


def target(folder: Path, case: dict[str, Any]) -> Target:
    files = {"models": file(folder, "models.json"), "settings": file(folder, "settings.json")}
    return Target("pi", "pi", wish(case), files, installations(case), Credential(()))


def installations(case: dict[str, Any]) -> tuple[Installation, ...]:
    return tuple(
        Installation((f"/opt/{v}/pi",), f"/opt/{v}/pi", f"/opt/{v}/cli.js", "PATH",
                     "@earendil-works/pi-coding-agent", v)
        for v in case.get("versions", ["1.6.0"])
    )


def load(folder: Path) -> dict[str, Any]:
    return tomllib.loads((folder / "case.toml").read_text())


def named(folders: Sequence[Path]) -> list[Any]:
    return [pytest.param(folder, id=folder.name) for folder in folders]


def after(folder: Path, planned: Planned) -> dict[str, bytes]:
    return {Path(edit.file.path).name: edit.after.reveal() for edit in planned.edits}


@pytest.mark.parametrize("folder", named(CASES))
def test_the_plan_is_exactly_the_golden_one(folder: Path) -> None:
    case = load(folder)
    if "error" in case:
        with pytest.raises(DocumentError, match=case["error"]) as caught:
            adapter.plan(target(folder, case))
        where = r"/home/u/\.pi/agent/(models|settings)\.json: line \d+, column \d+: "
        assert re.match(where, caught.value.message)
        return
    planned = adapter.plan(target(folder, case))
    shown = [[c.subject, c.key, c.before or "", c.after or ""] for c in planned.changes]
    assert len(shown) == case.get("count", len(case.get("changes", shown)))
    assert shown == case.get("changes", shown)
    assert list(planned.notes) == case.get("notes", [])
    assert [refusal.reason for refusal in planned.refusals] == case.get("refusals", [])
    steps = [refusal.step for refusal in planned.refusals]
    assert steps == case.get("steps", steps)
    if case.get("unwritten"):
        return
    golden = {
        path.name.removeprefix("after."): path.read_bytes() for path in folder.glob("after.*")
    }
    assert after(folder, planned) == golden


@pytest.mark.parametrize("folder", named([f for f in CASES if (f / "after.models.json").exists()]))
def test_a_plan_for_the_outcome_is_empty(folder: Path, tmp_path: Path) -> None:
    case = load(folder)
    planned = adapter.plan(target(folder, case))
    for name in ("models.json", "settings.json"):
        if (folder / name).exists():
            (tmp_path / name).write_bytes((folder / name).read_bytes())
    for name, data in after(folder, planned).items():
        (tmp_path / name).write_bytes(data)
    assert adapter.plan(target(tmp_path, case)).edits == ()


@pytest.mark.parametrize("folder", named(CASES))
def test_the_splices_alone_make_the_outcome(folder: Path) -> None:
    case = load(folder)
    if "error" in case:
        return
    for edit in adapter.plan(target(folder, case)).edits:
        assert edit.file.content is not None
        assert apply_splices(edit.file.content.reveal(), edit.splices) == edit.after.reveal()


def test_no_plan_is_made_without_a_models_file(tmp_path: Path) -> None:
    case = {"aliases": {"llm.primary": {"context_window": 8, "max_output_tokens": 4}}}
    with pytest.raises(DocumentError, match="absent"):
        adapter.plan(target(tmp_path, case))


SECRET = {"headers": {"X-Auth": "hunter2"}, "name": "hunter2"}


@pytest.mark.parametrize(
    "row",
    [
        {"id": "llm.gone", "contextWindow": 8, "compat": {"odd": "hunter2"}, **SECRET},
        {"id": "llm.gone", "contextWindow": {"odd": "hunter2"}, "input": [{"odd": "hunter2"}]},
        {"id": "llm.primary", "contextWindow": {"odd": "hunter2"}, "maxTokens": ["hunter2", []]},
        {"id": "llm.primary", "contextWindow": [["hunter2"]], "input": [{"odd": "hunter2"}]},
    ],
)
def test_only_plain_managed_values_of_an_entry_are_shown(
    row: dict[str, Any], tmp_path: Path
) -> None:
    provider = {"baseUrl": "https://router.example.net/v1", "api": "a", "models": [row]}
    (tmp_path / "models.json").write_text(json.dumps({"providers": {"anvil": provider}}))
    case = {
        "aliases": {"llm.primary": {"context_window": 8, "max_output_tokens": 4}},
        "policy": {"prune": True},
    }
    planned = adapter.plan(target(tmp_path, case))
    assert planned.edits
    assert "hunter2" not in repr((diff.rows(planned), diff.diffs(planned, {"llm.primary"})))
