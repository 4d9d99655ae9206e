"""The README says what the code does."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from fleetsync.cli.main import fleetsync
from fleetsync.cli.options import CommonOption
from fleetsync.outcome import HostResult, Outcome, exit_code

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")


def block(name: str) -> str:
    """The fenced block between a pair of markers."""
    found = re.search(rf"<!-- {name}: begin -->\n```\n(.*?)```\n<!-- {name}: end -->", README, re.S)
    assert found
    return found[1]


def test_the_help_in_the_readme_is_the_help() -> None:
    shown = subprocess.run(
        [sys.executable, "-m", "fleetsync", "--help"],
        cwd=ROOT, env={**os.environ, "COLUMNS": "100"}, capture_output=True, text=True, check=True,
    )
    assert block("help") == shown.stdout


def codes_in_the_readme() -> dict[int, str]:
    rows = re.findall(r"^\| (\d+) \| (.*) \|$", README, re.M)
    return {int(code): text for code, text in rows}


def test_the_exit_codes_stand_in_the_order_in_which_they_apply() -> None:
    assert list(codes_in_the_readme()) == [130, 70, 2, 1, 5, 4, 3, 0]


def test_every_outcome_stands_beside_its_exit_code() -> None:
    told = codes_in_the_readme()
    words = {Outcome.CHANGED: "done"}
    for outcome in Outcome:
        code = exit_code([HostResult("one", outcome=outcome)], drift_is_3=True)
        assert words.get(outcome, outcome.value) in told[code], outcome


def test_an_earlier_code_wins() -> None:
    order = (Outcome.FAILED, Outcome.REFUSED, Outcome.AWAY, Outcome.DRIFT, Outcome.IN_STEP)
    found = [
        exit_code([HostResult("x", outcome=o) for o in order[start:]], drift_is_3=True)
        for start in range(len(order))
    ]
    assert found == [1, 5, 4, 3, 0]


def test_every_command_and_option_stands_in_the_readme_or_its_help() -> None:
    options = [
        option
        for command in (fleetsync, *fleetsync.commands.values())
        for parameter in command.params
        if not isinstance(parameter, CommonOption)
        for option in parameter.opts
        if option.startswith("--")
    ]
    names = (*fleetsync.commands, *options)
    assert [name for name in names if name not in README] == []


def test_every_file_that_the_readme_links_to_exists() -> None:
    links = re.findall(r"\]\(([^)#:]+)\)", README)
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_no_text_names_a_command_that_does_not_exist() -> None:
    files = [ROOT / "README.md", ROOT / "backups" / "README.md", ROOT / "CHANGELOG.md"]
    files += (ROOT / "fleetsync" / "cli").glob("*.py")
    texts = [path.read_text("utf-8") for path in files]
    named = {word for text in texts for word in re.findall(r"`fleetsync (?:-\S+ )*([a-z]+)", text)}
    assert named - set(fleetsync.commands) == set()
