"""The real clients judge what our documents read and write.

Beside our own parser stand Pi's and Hermes' own: a text is readable in Pi's dialect
exactly if Pi reads it, and golden outcomes are files that they load. OpenClaw's
`config validate` judges every candidate of test_openclaw.py.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from fleetsync.documents import Dialect, parse
from fleetsync.errors import Unreadable
from tests.clients.install import launcher, node, starting

CASES = Path(__file__).parents[1] / "adapters" / "cases"
PROVIDER = (
    '"p": {"baseUrl": "http://127.0.0.1:9/v1", "api": "openai-completions", "apiKey": "k",'
    ' "models": [{"id": "m"}]}'
)
TEXTS = {
    "plain": '{"providers": {%s}}',
    "line comment": '{"providers": { // why\n%s}}',
    "comment at the end": '{"providers": {%s}} // done',
    "trailing commas": '{"providers": {%s,},}',
    "block comment": '{"providers": { /* why */ %s}}',
    "single quotes": "{'providers': {%s}}",
    "bare key": '{providers: {%s}}',
    "plus sign": '{"x": +1, "providers": {%s}}',
    "hexadecimal": '{"x": 0x10, "providers": {%s}}',
    "leading point": '{"x": .5, "providers": {%s}}',
    "infinity": '{"x": Infinity, "providers": {%s}}',
    "windows line ends": '{"providers":\r\n {%s}}\r\n',
    "a comment with a windows line end": '{"providers": { // why\r\n%s}}',
    "a lone carriage return in space": '{"providers":\r {%s}}',
    "a lone carriage return in a comment": '{"providers": { // why\r%s}}',
    "byte order mark": '\ufeff{"providers": {%s}}',
    "comment shapes in a string": '{"x": "// no /* no */ ,]", "providers": {%s}}',
    "two commas": '{"providers": {%s,,}}',
    "cut off": '{"providers": {%s}',
    "tab in a string": '{"x": "a\tb", "providers": {%s}}',
    "empty": "",
}


def ask_pi(home: Path, data: bytes) -> dict[str, dict[str, Any]]:
    """All rows that Pi 1.6.0 makes of a models.json, by provider and id."""
    (home / "models.json").write_bytes(data)
    with subprocess.Popen(
        [str(node()), str(launcher("pi", "1.6.0")), "--mode", "rpc", "--no-session",
         "--no-extensions", "--offline"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=home,
        env={"HOME": str(home), "PI_CODING_AGENT_DIR": str(home), "PI_OFFLINE": "1",
             "PATH": f"{node().parent}:/usr/bin:/bin"},
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write('{"id":"q","type":"get_available_models"}\n')
        process.stdin.flush()
        answers = (json.loads(line) for line in process.stdout if line.startswith("{"))
        answer = next(row for row in answers if row.get("id") == "q")
        process.stdin.close()
    return {f"{row['provider']}/{row['id']}": row for row in answer["data"]["models"]}


def is_readable(data: bytes, dialect: Dialect) -> bool:
    try:
        parse(data, dialect)
    except Unreadable:
        return False
    return True


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_pi_reads_a_models_file_exactly_if_we_do(text: str, tmp_path: Path) -> None:
    data = text.replace("%s", PROVIDER).encode()
    seen = "p/m" in ask_pi(tmp_path, data)
    assert is_readable(data, Dialect.JSON_COMMENTS) == seen


def golden(client: str, name: str) -> list[Any]:
    found = sorted(CASES.glob(f"{client}/*/{name}"))
    return [pytest.param(file, id=file.parent.name) for file in found]


@pytest.mark.parametrize("file", golden("pi", "after.models.json"))
def test_pi_loads_every_golden_outcome(file: Path, tmp_path: Path) -> None:
    (tmp_path / "auth.json").write_text('{"anvil":{"type":"api_key","key":"x"}}')
    seen = ask_pi(tmp_path, file.read_bytes())
    held = parse(file.read_bytes(), Dialect.JSON_COMMENTS).value(("providers", "anvil", "models"))
    assert isinstance(held, list)
    rows = [row for row in held if isinstance(row, dict)]
    assert {row["id"]: seen[f"anvil/{row['id']}"]["contextWindow"] for row in rows} == {
        row["id"]: row["contextWindow"] for row in rows
    }


HERMES = (
    "import json\nfrom hermes_cli.config import load_config\n"
    "print(json.dumps(load_config(), default=str))\n"
)


@pytest.mark.parametrize("file", golden("hermes", "after.config.yaml")[::4])
def test_hermes_loads_golden_outcomes_as_we_read_them(file: Path, tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_bytes(file.read_bytes())
    python, _ = starting("hermes", "0.19.0")
    done = subprocess.run(
        [python, "-I", "-B", "-c", HERMES], capture_output=True, text=True, check=True, timeout=120,
        env={"HOME": str(tmp_path), "HERMES_HOME": str(tmp_path), "PATH": "/usr/bin:/bin"},
    )
    loaded = json.loads(done.stdout.splitlines()[-1])
    for key in ("providers", "custom_providers"):
        ours = parse(file.read_bytes(), Dialect.YAML).value((key,))
        if isinstance(ours, dict | list):
            assert loaded[key] == json.loads(json.dumps(ours))
    assert list(tmp_path.glob("*.corrupt.*")) == []
