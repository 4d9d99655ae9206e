"""The alias that a bare Pi uses: what the adapter says, and what the real Pi says."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from fleetsync_pi import adapter
from tests.adapters.test_pi_turns import DEFAULTS, OURS, WISH, target
from tests.clients.install import launcher, node


def whole(models: Any) -> dict[str, Any]:
    """The providers with all that the real Pi wants of one."""
    entry = {"baseUrl": WISH.base_url, "api": "openai-completions"}
    return {
        name: {**entry, **({"apiKey": "k"} if name == "anvil" else {}), **row}
        for name, row in (models or {"anvil": OURS}).items()
    }


def ask_pi(version: str, directory: Path) -> str:
    """What `get_state` gives for the agent directory."""
    with subprocess.Popen(
        [str(node()), str(launcher("pi", version)), "--mode", "rpc", "--no-session", "--offline"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=directory,
        env={"HOME": str(directory), "PI_CODING_AGENT_DIR": str(directory), "PI_OFFLINE": "1",
             "PATH": f"{node().parent}:/usr/bin:/bin"},
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write('{"id":"q","type":"get_state"}\n')
        process.stdin.flush()
        answers: list[Mapping[str, Any]] = []
        while not answers:
            line = json.loads(process.stdout.readline())
            answers += [line] if line.get("id") == "q" else []
        process.stdin.close()
    model = answers[0]["data"]["model"]
    return f"{model['provider']}/{model['id']}"


@pytest.mark.parametrize("row", DEFAULTS, ids=lambda row: json.dumps(row[:2]))
def test_the_default_alias_is_the_real_pis(row: tuple[Any, Any, str], tmp_path: Path) -> None:
    settings, models, alias = row
    providers = whole(models)
    only = target(settings=settings, models=providers)
    (tmp_path / "models.json").write_text(json.dumps({"providers": providers}))
    for edit in adapter.plan(only).edits:
        (tmp_path / f"{Path(edit.file.path).name}").write_bytes(edit.after.reveal())
    if settings is not None:
        (tmp_path / "settings.json").write_text(json.dumps(settings))
    ours = {f"anvil/{one.name}": one.name for one in WISH.aliases}
    assert adapter.default_alias(only) == ours.get(ask_pi("1.6.0", tmp_path), "") == alias
