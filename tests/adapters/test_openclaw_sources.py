"""Where the host itself finds OpenClaw's key, and what a process of OpenClaw is given."""

from __future__ import annotations

import json
import plistlib
from typing import Any

import pytest

from fleetsync.facts import Place, PlaceKind, Verdict
from tests.adapters.openclaw import CONFIG, HOME, NAME, config, file, target, wish
from tests.adapters.test_openclaw_credential import (
    DOTENV,
    GATEWAY_ENV,
    INTERACTIVE,
    JSON,
    KEY_FILE,
    KEY_JSON,
    LOGIN,
    MANAGER,
    PROFILE,
    RUNNING,
    SESSION,
    SINGLE,
    TEMPLATE,
    UNIT,
    UNIT_FILE,
    USED,
    gate,
    secret,
    unit,
)

UNIT_PATH = UNIT.replace("~", HOME)


def cut(place: object, text: str, path: str = CONFIG) -> str:
    """What the host would cut out of a file with this text."""
    assert isinstance(place, Place)
    assert (place.kind, place.where) == (PlaceKind.SPAN, path)
    offset, length, digest = place.name.split(",")
    data = text.encode()
    assert digest == file(path, text).sha256
    return data[int(offset) : int(offset) + int(length)].decode()


FOUND: list[tuple[str, object, Place, dict[str, Any]]] = [
    ("the ssh session", TEMPLATE, SESSION, {}),
    ("the login shell", f"${NAME}", LOGIN, {}),
    ("an interactive shell", TEMPLATE, INTERACTIVE, {"scope": "interactive"}),
    (".env", secret("env", NAME), DOTENV, {}),
    ("gateway.env", TEMPLATE, GATEWAY_ENV, {}),
    ("the gateway's EnvironmentFile", TEMPLATE, UNIT_FILE,
     {"service": unit("EnvironmentFile=-%h/.openclaw/gateway.systemd.env")}),
    ("the user manager", TEMPLATE, MANAGER, {"service": unit()}),
    ("the running gateway", TEMPLATE, RUNNING, {}),
]


@pytest.mark.parametrize(("what", "key", "place", "more"), FOUND, ids=[row[0] for row in FOUND])
def test_a_variables_place_is_the_keys_and_is_given_to_a_process(
    what: str, key: object, place: Place, more: dict[str, Any]
) -> None:
    credential = gate(key, {place: USED}, **more)
    assert credential.source == place
    assert credential.variables == ((NAME, place),)


def test_the_place_that_opens_is_the_one_and_no_later_one() -> None:
    assert gate(TEMPLATE, {LOGIN: USED, DOTENV: USED}).source == LOGIN


def test_a_key_inside_other_text_is_given_and_has_no_place_of_its_own() -> None:
    credential = gate(f"pre-{TEMPLATE}", {DOTENV: USED})
    assert credential.source is None
    assert credential.variables == ((NAME, DOTENV),)


@pytest.mark.parametrize(
    ("name", "place", "secrets"), [("value", KEY_FILE, SINGLE), ("/router/a~1b", KEY_JSON, JSON)]
)
def test_a_secret_refs_file_is_the_keys_place(
    name: str, place: Place, secrets: dict[str, Any]
) -> None:
    credential = gate(secret("file", name), {place: USED}, secrets=secrets)
    assert (credential.source, credential.variables) == (place, ())


WRITTEN = "// schlüssel\n{ models: { providers: { anvil: { apiKey: 'a-key-1', models: [] } } } }"


def test_a_key_in_the_file_is_cut_there_by_the_host() -> None:
    credential = target(wish(), {CONFIG: WRITTEN}).credential
    assert cut(credential.source, WRITTEN) == "a-key-1"
    marked = f"\N{BYTE ORDER MARK}{WRITTEN}"
    assert cut(target(wish(), {CONFIG: marked}).credential.source, marked) == "a-key-1"


def test_a_key_in_an_included_file_is_cut_there() -> None:
    root = '{ models: { providers: { $include: "./p.json5" } } }'
    part = "{ anvil: { apiKey: \"a-key-1\", models: [] } }"
    path = f"{HOME}/.openclaw/p.json5"
    credential = target(wish(), {CONFIG: root, path: part}).credential
    assert cut(credential.source, part, path) == "a-key-1"


@pytest.mark.parametrize("spelled", ["'a\\u002dkey'", "'$${A_NAME}'"])
def test_a_key_that_needs_unescaping_opens_the_gate_and_has_no_place(spelled: str) -> None:
    text = WRITTEN.replace("'a-key-1'", spelled)
    credential = target(wish(), {CONFIG: text}).credential
    assert credential.opens
    assert credential.source is None


def test_a_key_beside_an_auth_profile_may_not_be_the_one() -> None:
    assert gate("a-real-looking-key", {}, auth=PROFILE).source is None


def test_a_variable_of_the_configuration_is_cut_there() -> None:
    text = json.dumps(config(TEMPLATE, env={"vars": {NAME: "k-1234"}}))
    credential = target(wish(), {CONFIG: text}).credential
    assert cut(credential.source, text) == "k-1234"


@pytest.mark.parametrize("line", [
    f"Environment={NAME}=k-1234",
    f'Environment=A=1 "{NAME}=k-1234" B=2',
    f" Environment = {NAME}=k-1234",
])
def test_a_units_own_line_is_cut_in_the_unit(line: str) -> None:
    credential = gate(TEMPLATE, {}, service=unit(line))
    assert cut(credential.source, unit(line), UNIT_PATH) == "k-1234"
    assert credential.variables == ((NAME, credential.source),)


def test_a_drop_ins_line_is_cut_in_the_drop_in() -> None:
    text, path = f"[Service]\nEnvironment={NAME}=k-1234\n", f"{UNIT_PATH}.d/key.conf"
    files: dict[str, object] = {CONFIG: config(TEMPLATE), UNIT: unit(), path: text}
    assert cut(target(wish(), files).credential.source, text, path) == "k-1234"


def test_a_launch_agents_value_is_cut_in_its_file() -> None:
    path = f"{HOME}/Library/LaunchAgents/ai.openclaw.gateway.plist"
    table = {"ProgramArguments": ["node", "gateway"], "EnvironmentVariables": {NAME: "k-1234"}}
    text = plistlib.dumps(table).decode()
    files: dict[str, object] = {CONFIG: config(TEMPLATE), path: text}
    assert cut(target(wish(), files).credential.source, text, path) == "k-1234"


@pytest.mark.parametrize("lines", [
    (f"Environment={NAME}=k-1234", f"Environment={NAME}=k-1234"),
    (f"Environment={NAME}='a\\x20b'",),
])
def test_a_units_line_that_is_not_plain_has_no_place(lines: tuple[str, ...]) -> None:
    assert gate(TEMPLATE, {}, service=unit(*lines)).source is None


def verdicts(credential: Any) -> list[Verdict]:
    return [look.fact.verdict for look in credential.trace if look.opens]


def test_a_key_that_only_a_gateway_is_given_is_traced_as_such() -> None:
    service = unit(f"Environment={NAME}=k-1234")
    assert verdicts(gate(TEMPLATE, {}, service=service)) == [Verdict.SERVICE_ONLY]
    assert verdicts(gate(TEMPLATE, {MANAGER: USED}, service=unit())) == [Verdict.SERVICE_ONLY]
    assert verdicts(gate(TEMPLATE, {RUNNING: USED})) == [Verdict.SERVICE_ONLY]
    assert verdicts(gate(TEMPLATE, {DOTENV: USED}, service=service)) == [Verdict.RESOLVES]
