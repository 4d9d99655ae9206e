"""catalog.toml: what it accepts, and how each fault of it is told."""

from __future__ import annotations

import hashlib
import pickle
from pathlib import Path

import pytest
from pydantic import ValidationError

from fleetsync.catalog import Alias, Catalog, Policy, load_catalog
from fleetsync.errors import ConfigError

GOOD = """\
[aliases."llm.primary"]
context_window    = 393216
max_output_tokens = 4096
"""


def catalog(tmp_path: Path, text: str) -> Catalog:
    (tmp_path / "catalog.toml").write_text(text, encoding="utf-8")
    return load_catalog(tmp_path)


def problems(tmp_path: Path, text: str) -> list[str]:
    with pytest.raises(ConfigError) as error:
        catalog(tmp_path, text)
    return [line.removeprefix(f"{tmp_path}/") for line in error.value.problems]


def test_an_alias_has_its_limits_and_safe_defaults(tmp_path: Path) -> None:
    assert catalog(tmp_path, GOOD).aliases == (
        Alias(
            name="llm.primary",
            context_window=393216,
            max_output_tokens=4096,
            input=("text",),
            reasoning=False,
            compat={},
            served_as=(),
        ),
    )


def test_every_key_of_an_alias_is_read(tmp_path: Path) -> None:
    text = GOOD + (
        'input = ["text", "image"]\nreasoning = true\nserved_as = ["glm-393k"]\n'
        'hold = "backend down on purpose"\n[aliases."llm.primary".compat]\n'
        'stream = true\nfield = "max_tokens"\nlevels = ["low", "high"]\nretries = 2\n'
    )
    alias = catalog(tmp_path, text).aliases[0]
    assert (alias.input, alias.reasoning, alias.served_as, alias.hold, alias.compat) == (
        ("text", "image"),
        True,
        ("glm-393k",),
        "backend down on purpose",
        {"stream": True, "field": "max_tokens", "levels": ("low", "high"), "retries": 2},
    )


def test_aliases_keep_the_order_of_the_file(tmp_path: Path) -> None:
    text = "".join(GOOD.replace("llm.primary", name) for name in ("z", "a", "m"))
    assert catalog(tmp_path, text).names == ("z", "a", "m")


def test_a_maximum_output_equal_to_the_context_is_accepted(tmp_path: Path) -> None:
    alias = catalog(tmp_path, GOOD.replace("4096", "393216")).aliases[0]
    assert alias.max_output_tokens == alias.context_window


def test_the_generation_ignores_comments_order_and_spelled_out_defaults(tmp_path: Path) -> None:
    other = GOOD.replace("llm.primary", "vision.ocr")
    plain = catalog(tmp_path, GOOD + other).generation
    assert catalog(tmp_path, f"# turned\n{other}reasoning = false\n{GOOD}").generation == plain


@pytest.mark.parametrize(
    "changed",
    [
        GOOD.replace("4096", "4097"),
        GOOD.replace("393216", "393215"),
        GOOD.replace("primary", "secondary"),
        GOOD + 'served_as = ["x"]\n',
        GOOD + "compat = {stream = true}\n",
        GOOD + 'hold = "down"\n',
    ],
)
def test_the_generation_changes_with_the_contract(tmp_path: Path, changed: str) -> None:
    assert catalog(tmp_path, changed).generation != catalog(tmp_path, GOOD).generation


def test_the_generation_tells_true_from_one(tmp_path: Path) -> None:
    one = catalog(tmp_path, GOOD + "compat = {stream = 1}\n").generation
    assert catalog(tmp_path, GOOD + "compat = {stream = true}\n").generation != one


def test_the_generation_is_the_digest_of_the_sorted_aliases_without_defaults(
    tmp_path: Path,
) -> None:
    canonical = b'{"llm.primary":{"context_window":393216,"max_output_tokens":4096}}'
    expected = hashlib.sha256(canonical).hexdigest()
    assert catalog(tmp_path, GOOD).generation == expected


def test_an_alias_and_a_policy_travel_by_pickle() -> None:
    alias = Alias(name="a", context_window=2, max_output_tokens=1, compat={"x": ("y",)})
    assert pickle.loads(pickle.dumps((alias, Policy(prune=True)))) == (alias, Policy(prune=True))


def test_an_alias_does_not_change() -> None:
    alias = Alias(name="a", context_window=2, max_output_tokens=1)
    with pytest.raises(ValidationError, match="frozen"):
        alias.context_window = 3


LIMIT = "an unknown limit is refused, never guessed"


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ("4096", "393217", 3, "found 393217, expected at most the context_window, which is 393216"),
        ("4096", "0", 3, "found 0, expected the most tokens of one answer, a whole number from 1"),
        ("4096", "-1", 3, "found -1, expected the most tokens of one answer"),
        ("4096", "true", 3, "found true, expected the most tokens of one answer"),
        ("4096", "4096.0", 3, "found 4096.0, expected the most tokens of one answer"),
        ("4096", '"4096"', 3, 'found "4096", expected the most tokens of one answer'),
        ("393216", "0", 2, "found 0, expected the context window in tokens, a whole number from 1"),
        ("393216", "false", 2, "found false, expected the context window in tokens"),
        ("393216", "nan", 2, "found nan, expected the context window in tokens"),
        ("393216", "1979-05-27", 2, "found 1979-05-27, expected the context window"),
        ("393216", "9007199254740993", 2, "found a number beyond 2^53, expected the context"),
        ("393216", "0x" + "f" * 5000, 2, "found a number beyond 2^53, expected the context"),
        ("393216", "[1]", 2, "found a list of 1, expected the context window"),
        ("393216", "{a = 1}", 2, "found a table, expected the context window"),
    ],
)
def test_an_impossible_limit_is_refused(
    tmp_path: Path, old: str, new: str, line: int, words: str
) -> None:
    key = "max_output_tokens" if line == 3 else "context_window"
    [problem] = problems(tmp_path, GOOD.replace(old, new))
    assert problem.startswith(f'catalog.toml:{line}: aliases."llm.primary".{key}: {words}')


@pytest.mark.parametrize("key", ["context_window", "max_output_tokens"])
def test_a_missing_limit_is_refused_and_never_guessed(tmp_path: Path, key: str) -> None:
    text = "".join(line for line in GOOD.splitlines(keepends=True) if not line.startswith(key))
    [problem] = problems(tmp_path, text)
    assert problem.startswith(f'catalog.toml:1: aliases."llm.primary".{key}: found nothing')
    assert problem.endswith(LIMIT)


@pytest.mark.parametrize("text", ["", "# nothing yet\n", "[aliases]\n", "aliases = []\n"])
def test_a_catalog_without_any_alias_is_refused(tmp_path: Path, text: str) -> None:
    [problem] = problems(tmp_path, text)
    assert problem.endswith("expected at least one table [aliases.NAME]")


@pytest.mark.parametrize(
    ("line", "key", "words"),
    [
        ('input = ["image"]', "input", 'found a list of 1, expected ["text"] or ["text", "image"]'),
        ("input = []", "input", 'found a list of 0, expected ["text"] or ["text", "image"]'),
        ('input = ["text", "text"]', "input", "found a list of 2, expected"),
        ('input = ["text", "audio"]', "input[1]", 'found "audio", expected "text" or "image"'),
        ('input = "text"', "input", 'found "text", expected ["text"] or ["text", "image"]'),
        ('reasoning = "yes"', "reasoning", 'found "yes", expected true or false'),
        ("reasoning = 1", "reasoning", "found 1, expected true or false"),
        ('hold = ""', "hold", 'found "", expected why turns are held'),
        ('hold = " "', "hold", 'found " ", expected why turns are held'),
        ("hold = true", "hold", "found true, expected why turns are held"),
        ('hold = "a\\nb"', "hold", 'found "a\\nb", expected why turns are held'),
        ('served_as = ["a b"]', "served_as[0]", 'found "a b", expected a name without spaces'),
        ('served_as = "a"', "served_as", 'found "a", expected a list of the model names'),
        ("compat = {a = 1.5}", "compat.a", "found 1.5, expected true, false, a whole number"),
        ("compat = {a = {b = 1}}", "compat.a", "found a table, expected true, false"),
        ("compat = {a = [1]}", "compat.a", "found a list of 1, expected true, false"),
        ("compat = {a = 1979-05-27}", "compat.a", "found 1979-05-27, expected true, false"),
        ("compat = {a-b = 1}", "compat.a-b", "found this name, expected a name of letters"),
        ("compat = true", "compat", "found true, expected a table of what the alias's API"),
        ("contextWindow = 1", "contextWindow", "found an unknown key, expected a known one"),
    ],
)
def test_a_wrong_value_is_told_with_place_found_and_expected(
    tmp_path: Path, line: str, key: str, words: str
) -> None:
    [problem] = problems(tmp_path, f"{GOOD}{line}\n")
    assert problem.startswith(f'catalog.toml:4: aliases."llm.primary".{key}: {words}')


@pytest.mark.parametrize(
    "name", ["", "-x", "a b", "a\\nb", "a\\u0000b", "a\\u009bb", "a\\u202eb", "a\\u200bb", " a"]
)
def test_an_alias_name_that_could_mislead_is_refused(tmp_path: Path, name: str) -> None:
    [problem] = problems(tmp_path, GOOD.replace("llm.primary", name))
    assert "found this name, expected a name without spaces and control characters" in problem
    assert problem.isprintable()


def test_an_unknown_key_is_told_with_the_nearest_known_one(tmp_path: Path) -> None:
    [problem] = problems(tmp_path, f"{GOOD}inputs = []\n")
    assert problem.endswith('expected a known one; did you mean "input"?')


def test_a_table_beside_the_aliases_is_refused(tmp_path: Path) -> None:
    [problem] = problems(tmp_path, f"{GOOD}[alias.x]\n")
    assert problem == (
        'catalog.toml:4: alias: found an unknown key, expected a known one; did you mean "aliases"?'
    )


def test_all_problems_come_at_once_in_the_order_of_the_file(tmp_path: Path) -> None:
    text = GOOD.replace("4096", "0") + 'inputs = []\n[aliases.b]\ncontext_window = "1"\n'
    lines = [problem.split(":")[1] for problem in problems(tmp_path, text)]
    assert lines == ["3", "4", "5", "6"]


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as error:
        load_catalog(tmp_path)
    path = tmp_path / "catalog.toml"
    assert error.value.problems == (f"{path}: cannot be read: No such file or directory",)
