"""Where OpenClaw keeps a key of its own."""

from __future__ import annotations

from typing import Any

import pytest

from fleetsync.adapter import Keep, KeepsKeys
from fleetsync.facts import Place, Verdict
from fleetsync_openclaw import adapter
from tests.adapters.openclaw import CONFIG, NAME, config, target, wish
from tests.adapters.test_openclaw_credential import (
    DOTENV,
    EMPTY,
    JSON,
    KEY_FILE,
    KEY_JSON,
    LOGIN,
    PROFILE,
    RUNNING,
    SINGLE,
    TEMPLATE,
    UNIT,
    UNIT_FILE,
    USED,
    secret,
    unit,
)


def kept(
    api_key: object, held: dict[Place, Verdict] | None = None, service: str | None = None,
    **top: Any,
) -> Keep:
    files: dict[str, object] = {CONFIG: config(api_key, **top)}
    if service is not None:
        files[UNIT] = service
    return adapter.keep(target(wish(), files, held=held or {}))


def test_the_adapter_keeps_keys() -> None:
    assert isinstance(adapter, KeepsKeys)


@pytest.mark.parametrize("key", [TEMPLATE, f"${NAME}", secret("env", NAME)])
def test_a_variables_new_value_goes_into_the_state_directorys_dotenv(key: object) -> None:
    assert kept(key) == Keep(DOTENV)
    assert kept(key, {DOTENV: USED}) == Keep(DOTENV)


def test_another_variable_keeps_its_own_name() -> None:
    place = kept("${OTHER_KEY}").place
    assert place is not None
    assert (place.where, place.name) == ("~/.openclaw/.env", "OTHER_KEY")


def test_a_secret_refs_file_takes_the_new_key() -> None:
    assert kept(secret("file", "value"), secrets=SINGLE) == Keep(KEY_FILE)
    assert kept(secret("file", "/router/a~1b"), secrets=JSON) == Keep(KEY_JSON)


def test_a_key_that_the_running_gateway_alone_has_does_not_shadow_the_dotenv() -> None:
    assert kept(TEMPLATE, {RUNNING: USED}) == Keep(DOTENV)


@pytest.mark.parametrize(
    ("held", "service", "told"),
    [
        ({LOGIN: USED}, None, f"{NAME} in the login shell's environment has a value"),
        ({LOGIN: EMPTY}, None, f"{NAME} in the login shell's environment is no key"),
        ({}, unit(f"Environment={NAME}=k-1234"), "openclaw-gateway.service has a value"),
        ({}, unit(f"Environment={NAME}="), "openclaw-gateway.service is no key"),
        ({UNIT_FILE: USED}, unit("EnvironmentFile=-%h/.openclaw/gateway.systemd.env"),
         "~/.openclaw/gateway.systemd.env has a value"),
    ],
)
def test_what_comes_before_the_dotenv_is_named_instead(
    held: dict[Place, Verdict], service: str | None, told: str
) -> None:
    keep = kept(TEMPLATE, held, service)
    assert keep.place is None
    assert told in keep.lines
    assert "which comes before ~/.openclaw/.env: put the new key there" in keep.lines


@pytest.mark.parametrize(
    ("key", "top", "told"),
    [
        ("a-real-looking-key", {}, "holds the key itself"),
        (NAME, {}, "a bare name"),
        (None, {}, "has no apiKey of its own"),
        ("", {}, "has no apiKey of its own"),
        (f"pre-{TEMPLATE}", {}, "makes its key up of several texts"),
        ("${A_KEY}${B_KEY}", {}, "makes its key up of several texts"),
        ("anvil:manual", {"auth": PROFILE}, "an auth profile's name"),
        (secret("exec", "k"), {}, "takes its key from a command"),
        (secret("store", NAME), {}, "takes its key from OpenClaw's own secret store"),
        (secret("file", "value"), {}, "cannot be followed"),
    ],
)
def test_where_no_place_takes_a_key_the_line_to_add_is_told(
    key: object, top: dict[str, Any], told: str
) -> None:
    keep = kept(key, **top)
    assert keep.place is None
    assert told in keep.lines
    assert keep.lines.endswith(f'then set the key again:\n"apiKey": "{TEMPLATE}"')
    assert "real-looking" not in keep.lines
