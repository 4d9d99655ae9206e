"""Golden cases of the OpenClaw adapter: a folder each, with the files before and after."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fleetsync.adapter import Planned, Target, Wish
from fleetsync.catalog import Policy
from fleetsync.documents import Dialect, apply_splices, parse
from fleetsync.errors import DocumentError
from fleetsync.facts import FileFact, Place, PlaceKind, Verdict
from fleetsync.sealed import Sealed
from fleetsync_openclaw import adapter
from fleetsync_openclaw.config import at
from tests.adapters.openclaw import NAME, OPENCLAW, URL, alias, config, file, target, wish

CASES = sorted(path.parent for path in Path(__file__).parent.glob("cases/openclaw/*/case.toml"))
SHAPES = [
    *(
        folder / "before" / "openclaw.json" for folder in CASES
        if "error" not in (folder / "case.toml").read_text()
    ),
    *sorted(Path(__file__).parents[3].glob("shared/corpus/openclaw/*.json")),
]
MANAGED = ("contextWindow", "maxTokens", "input", "reasoning")
DIR = "/home/u/.openclaw"
KEYED = {Place(PlaceKind.DOTENV, "~/.openclaw/.env", NAME): Verdict.RESOLVES}


def wished(case: dict[str, Any]) -> Wish:
    aliases = tuple(alias(name, **table) for name, table in case["aliases"].items())
    known = frozenset({*case.get("known", ()), *(one.name for one in aliases)})
    policy = Policy(**case.get("policy", {}))
    return Wish("openclaw", "anvil", URL, NAME, aliases, known, policy)


def files(root: Path) -> dict[str, FileFact]:
    """Each file below `root` as it lies in the state directory."""
    found = (path for path in root.rglob("*") if path.is_file())
    facts = ((f"{DIR}/{path.relative_to(root)}", path.read_bytes()) for path in found)
    return {path: of_bytes(path, data) for path, data in facts}


def of_bytes(path: str, data: bytes) -> FileFact:
    content = Sealed(data)
    return replace(file(path, ""), size=len(data), sha256=content.sha256, content=content)


def looked_at(case: dict[str, Any], held: Mapping[str, FileFact]) -> Target:
    installations = tuple(
        replace(OPENCLAW, version=version) for version in case.get("versions", ["2026.9.6"])
    )
    return target(wished(case), held, held=KEYED, installations=installations)


def load(folder: Path) -> dict[str, Any]:
    return tomllib.loads((folder / "case.toml").read_text())


def named(folders: Sequence[Path]) -> list[Any]:
    return [pytest.param(folder, id=folder.name) for folder in folders]


def after(planned: Planned) -> dict[str, bytes]:
    return {edit.file.path.removeprefix(f"{DIR}/"): edit.after.reveal() for edit in planned.edits}


def golden(folder: Path) -> dict[str, bytes]:
    root = folder / "after"
    return {str(p.relative_to(root)): p.read_bytes() for p in root.rglob("*") if p.is_file()}


@pytest.mark.parametrize("folder", named(CASES))
def test_the_plan_is_exactly_the_golden_one(folder: Path) -> None:
    case = load(folder)
    seen = looked_at(case, files(folder / "before"))
    assert [refusal.reason for refusal in seen.refusals] == case.get("refused", [])
    if "refused" in case:
        return
    if "error" in case:
        with pytest.raises(DocumentError) as caught:
            adapter.plan(seen)
        assert case["error"] in caught.value.message
        return
    planned = adapter.plan(seen)
    shown = [[c.subject, c.key, c.before or "", c.after or ""] for c in planned.changes]
    assert len(shown) == case.get("count", len(case.get("changes", shown)))
    assert shown == case.get("changes", shown)
    assert list(planned.notes) == case.get("notes", [])
    assert [refusal.reason for refusal in planned.refusals] == case.get("refusals", [])
    steps = [refusal.step for refusal in planned.refusals]
    assert steps == case.get("steps", steps)
    assert after(planned) == golden(folder)


@pytest.mark.parametrize("folder", named([f for f in CASES if (f / "after").exists()]))
def test_a_plan_for_the_outcome_is_empty(folder: Path) -> None:
    case, held = load(folder), files(folder / "before")
    new = {f"{DIR}/{name}": data for name, data in golden(folder).items()}
    held |= {path: of_bytes(path, data) for path, data in new.items()}
    assert adapter.plan(looked_at(case, held)).edits == ()


@pytest.mark.parametrize("folder", named([f for f in CASES if (f / "after").exists()]))
def test_the_splices_alone_make_the_outcome(folder: Path) -> None:
    (edit,) = adapter.plan(looked_at(load(folder), files(folder / "before"))).edits
    assert edit.file.content is not None
    assert apply_splices(edit.file.content.reveal(), edit.splices) == edit.after.reveal()


def test_a_circle_of_includes_is_refused() -> None:
    circle = '{ $include: "a.json" }'
    held = {f"{DIR}/openclaw.json": circle, f"{DIR}/a.json": circle}
    (refusal,) = target(wish(), held, held=KEYED).refusals
    assert "more than 10 levels of $include (or a circle)" in refusal.reason


def test_an_edit_keeps_every_other_byte_of_an_own_file() -> None:
    text = json.dumps(config(gateway={"port": 1.0, "auth": {"token": "x"}}), indent="\t")
    text = text.replace("393216", "524288")
    (edit,) = adapter.plan(target(wish(), {f"{DIR}/openclaw.json": text}, held=KEYED)).edits
    assert edit.after.reveal().decode() == text.replace("524288", "393216")


def owned(path: Path) -> list[Any]:
    """Each provider of a file as others write them, whose models a router could own."""
    try:
        root = parse(path.read_bytes(), Dialect.JSON5).value(())
    except DocumentError:
        return []
    providers = at(root, "models", "providers")
    return [
        pytest.param(path, name, id=f"{path.parents[1].name}-{path.stem}-{name}")
        for name, table in (providers.items() if isinstance(providers, dict) else ())
        if ids(table) and isinstance(at(table, "baseUrl"), str)
    ]


def ids(provider: object) -> list[str]:
    rows = at(provider, "models")
    found = [str(at(row, "id")) for row in rows] if isinstance(rows, list) else []
    return found if len({*found, "None"}) == len(found) + 1 else []


def stripped(root: Any, provider: str) -> Any:
    """All but the managed fields of one provider's rows."""
    rows = root["models"]["providers"][provider]["models"]
    kept = [{k: v for k, v in row.items() if k not in MANAGED} for row in rows]
    root["models"]["providers"][provider]["models"] = kept
    return root


@pytest.mark.parametrize(("path", "provider"), [one for path in SHAPES for one in owned(path)])
def test_a_promotion_changes_the_managed_fields_of_a_file_of_any_shape(
    path: Path, provider: str
) -> None:
    data = path.read_bytes()
    table = at(parse(data, Dialect.JSON5).value(()), "models", "providers", provider)
    aliases = tuple(
        alias(name, context_window=777777, max_output_tokens=777) for name in ids(table)
    )
    asked = replace(wish(*aliases), provider=provider, base_url=str(at(table, "baseUrl")))
    seen = target(asked, {f"{DIR}/openclaw.json": of_bytes(f"{DIR}/openclaw.json", data)})
    (edit,) = adapter.plan(seen).edits
    after = parse(edit.after.reveal(), Dialect.JSON5).value(())
    rows = at(after, "models", "providers", provider, "models")
    assert isinstance(rows, list)
    assert {(at(row, "contextWindow"), at(row, "maxTokens")) for row in rows} == {(777777, 777)}
    assert stripped(after, provider) == stripped(parse(data, Dialect.JSON5).value(()), provider)
    new = of_bytes(f"{DIR}/openclaw.json", edit.after.reveal())
    assert adapter.plan(target(asked, {new.path: new})).edits == ()
