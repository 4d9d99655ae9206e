"""Where `credential set` puts a new key for a Hermes profile."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import PurePosixPath

import pytest

from fleetsync.adapter import Keep, KeepsKeys, Wish
from fleetsync.catalog import Alias, Policy
from fleetsync.facts import (
    Answer,
    Facts,
    FileFact,
    FileKind,
    HostFacts,
    Installation,
    Locate,
    Place,
    PlaceFact,
    PlaceKind,
    Question,
    Read,
    Variable,
    VariableFact,
    Verdict,
)
from fleetsync.sealed import Sealed
from fleetsync_hermes import adapter

NAME = "ROUTER_API_KEY"
URL = "https://router.example.net/v1"
ALIAS = Alias(name="llm.primary", context_window=393216, max_output_tokens=4096)
WISH = Wish("hermes", "anvil", URL, NAME, (ALIAS,), frozenset({"llm.primary"}), Policy())
HOST = HostFacts(PurePosixPath("/home/u"), "u", 1000, "/bin/sh", "Linux", "/usr/bin")
HERMES = Installation(
    ("/opt/hermes",), "/opt/hermes", "/opt/h/bin/hermes", "known place", "hermes-agent", "0.19.0",
    interpreter="/opt/h/bin/python",
)
WORK = "/home/u/.hermes/profiles/work"


def config(*lines: str) -> str:
    rows = "".join(f"    {line}\n" for line in lines)
    return (
        "model: {default: llm.primary, provider: custom:anvil}\n"
        f"providers:\n  anvil:\n    base_url: {URL}\n{rows}"
    )


def keep(
    text: str | None,
    held: Mapping[Place, Verdict] | None = None,
    *,
    version: str = "0.19.0",
    managed: str = "",
    profile: str = "work",
) -> Keep:
    """What the adapter says of one profile whose config.yaml holds `text`."""

    def answer(question: Question) -> Answer:
        match question:
            case Read():
                path = question.pattern.replace("~", "/home/u")
                if path.endswith("/profiles/*"):
                    return (FileFact(WORK, FileKind.DIRECTORY),)
                if text is None or not path.endswith("config.yaml") or "/home/u" not in path:
                    return (FileFact(path, FileKind.ABSENT),)
                return (FileFact(path, FileKind.FILE, path, content=Sealed(text.encode())),)
            case Locate():
                return (replace(HERMES, version=version),)
            case Variable():
                value = managed if question.name == "HERMES_MANAGED_DIR" else None
                return VariableFact(None, value)
            case Place():
                return PlaceFact((held or {}).get(question, Verdict.ABSENT))
        raise AssertionError(question)

    facts = Facts()
    while missing := facts.missing(adapter.questions(WISH, facts)):
        facts = facts.with_answers(HOST, {q: answer(q) for q in missing})
    (target,) = [one for one in adapter.targets(WISH, facts) if one.name == profile]
    assert isinstance(adapter, KeepsKeys)
    return adapter.keep(target)


def in_env(name: str = NAME, directory: str = WORK) -> Keep:
    return Keep(Place(PlaceKind.DOTENV, f"{directory}/.env", name))


def pooled(directory: str, index: int = 0) -> Place:
    keys = "\x1f".join(("credential_pool", "custom:anvil", str(index), "access_token"))
    return Place(PlaceKind.JSON, f"{directory}/auth.json", keys)


@pytest.mark.parametrize(
    ("lines", "name"),
    [
        ((f"key_env: {NAME}",), NAME),
        (("key_env: WORK_KEY",), "WORK_KEY"),
        (("api_key: ${WORK_KEY}",), "WORK_KEY"),
        (("api_key: ${WORK_KEY}", "key_env: OTHER_KEY"), "WORK_KEY"),
    ],
)
def test_a_key_goes_under_the_variable_that_the_entry_names(
    lines: tuple[str, ...], name: str
) -> None:
    assert keep(config(*lines)) == in_env(name)


def test_the_default_profile_has_an_env_of_its_own() -> None:
    text = config(f"key_env: {NAME}")
    assert keep(text, profile="default") == in_env(NAME, "/home/u/.hermes")


def test_without_a_pool_the_variable_comes_before_the_key_in_the_file() -> None:
    text = config("api_key: a-literal-key", f"key_env: {NAME}") + "custom_providers: []\n"
    assert keep(text) == in_env()


@pytest.mark.parametrize(
    "line", ["api_key: a-literal-key", "api_key: x-${A}", "api_key: ${A}${B}", "models: {}",
             "key_env: deadbeefcafe0123"],
)
def test_an_entry_that_names_no_single_variable_is_to_be_changed_by_hand(line: str) -> None:
    found = keep(config(line))
    assert found.place is None
    assert found.lines.endswith(f"\n    key_env: {NAME}")
    assert "a-literal-key" not in found.lines
    assert "deadbeefcafe0123" not in found.lines


def test_an_entry_that_is_missing_is_to_be_added_by_hand() -> None:
    bare = f"model: {{provider: custom, base_url: {URL}, default: llm.primary}}\n"
    for text in (bare, None):
        found = keep(text)
        assert found.place is None
        assert f"key_env: {NAME}" in found.lines


def test_a_profile_that_the_host_lacks_keeps_nothing() -> None:
    wish = replace(WISH, options={"profiles": ("play",)})
    facts = Facts(HOST, {Locate(("hermes",)): ()})
    (target,) = adapter.targets(wish, facts)
    assert adapter.keep(target) == Keep()


@pytest.mark.parametrize("verdict", [Verdict.RESOLVES, Verdict.EMPTY, Verdict.PLACEHOLDER])
def test_an_administrators_assignment_would_hide_a_new_key(verdict: Verdict) -> None:
    place = Place(PlaceKind.DOTENV, "/srv/policy/.env", NAME)
    found = keep(config(f"key_env: {NAME}"), {place: verdict}, managed="/srv/policy")
    assert found.place is None
    assert found.lines.endswith(f"\n{NAME}=…")
    assert "the administrator's /srv/policy/.env" in found.lines


@pytest.mark.parametrize(
    ("directory", "index", "gone"), [(WORK, 0, "1"), (WORK, 1, "2"), ("~/.hermes", 0, "")]
)
def test_a_pool_is_changed_by_hermes_itself(directory: str, index: int, gone: str) -> None:
    found = keep(config(f"key_env: {NAME}"), {pooled(directory, index): Verdict.RESOLVES})
    assert found.place is None
    assert "hermes -p work auth add custom:anvil --type api-key" in found.lines
    assert (f"hermes -p work auth remove custom:anvil {gone}" in found.lines) is bool(gone)


def test_a_command_decides_only_where_the_version_runs_it() -> None:
    text = config(f"key_env: {NAME}", "key_cmd: pass router")
    assert keep(text) == in_env()
    found = keep(text, version="0.20.1")
    assert "in the place of its key_cmd" in found.lines
