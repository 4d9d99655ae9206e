"""The gate of the OpenClaw adapter: what it makes of each way to hold a key."""

from __future__ import annotations

from typing import Any

import pytest

from fleetsync.adapter import Credential
from fleetsync.facts import FileFact, Place, PlaceFact, PlaceKind, Verdict
from fleetsync_openclaw import adapter
from tests.adapters.openclaw import CONFIG, HOST, NAME, answered, config, file, target, wish

USED, EMPTY = Verdict.RESOLVES, Verdict.EMPTY
SESSION, LOGIN = Place(PlaceKind.SESSION, "", NAME), Place(PlaceKind.LOGIN, "", NAME)
INTERACTIVE = Place(PlaceKind.INTERACTIVE, "", NAME)
RUNNING = Place(PlaceKind.SERVICE, "openclaw-gateway", NAME)
MANAGER = Place(PlaceKind.USER_MANAGER, "", NAME)
DOTENV = Place(PlaceKind.DOTENV, "~/.openclaw/.env", NAME)
GATEWAY_ENV = Place(PlaceKind.DOTENV, "~/.config/openclaw/gateway.env", NAME)
UNIT_FILE = Place(PlaceKind.DOTENV, "~/.openclaw/gateway.systemd.env", NAME)
UNIT = "~/.config/systemd/user/openclaw-gateway.service"
KEY_FILE = Place(PlaceKind.FILE, "~/.secrets/router", "")
KEY_JSON = Place(PlaceKind.JSON, "~/.secrets/all.json", "router\x1fa/b")
PROFILE = {"profiles": {"anvil:manual": {"provider": "anvil", "mode": "api_key"}}}


def secret(source: str, name: str) -> dict[str, str]:
    return {"source": source, "provider": "lab", "id": name}


SINGLE = {"providers": {"lab": {"source": "file", "path": "~/.secrets/router",
                                "mode": "singleValue"}}}
JSON = {"providers": {"lab": {"source": "file", "path": "~/.secrets/all.json"}}}


def unit(*lines: str) -> str:
    start = "ExecStart=/usr/bin/node /opt/openclaw/dist/index.js gateway --port 18789"
    return "\n".join(("[Unit]", "Environment=IGNORED=1", "[Service]", start, *lines, ""))


def gate(
    api_key: object,
    held: dict[Place, Verdict],
    *,
    service: str | None = None,
    scope: str = "persistent",
    **top: Any,
) -> Credential:
    files: dict[str, object] = {CONFIG: config(api_key, **top)}
    if service is not None:
        files[UNIT] = service
    return target(wish(credential_scope=scope), files, held=held).credential


TEMPLATE = f"${{{NAME}}}"
OPEN: list[tuple[str, object, dict[Place, Verdict], dict[str, Any]]] = [
    ("a key in the file", "a-real-looking-key", {}, {}),
    ("a variable of the ssh session", TEMPLATE, {SESSION: USED}, {}),
    ("a variable of the login shell", f"${NAME}", {LOGIN: USED}, {}),
    ("a variable in .env", TEMPLATE, {DOTENV: USED}, {}),
    ("a variable in gateway.env", TEMPLATE, {GATEWAY_ENV: USED}, {}),
    ("a variable of the configuration", TEMPLATE, {}, {"env": {"vars": {NAME: "k-1234"}}}),
    ("a variable of an older configuration", TEMPLATE, {}, {"env": {NAME: "k-1234"}}),
    ("interactive shells by policy", TEMPLATE, {INTERACTIVE: USED}, {"scope": "interactive"}),
    ("a variable inside other text", f"pre-{TEMPLATE}", {DOTENV: USED}, {}),
    ("an escaped template", f"$${{{NAME}}}", {}, {}),
    ("a SecretRef to a variable", secret("env", NAME), {DOTENV: USED}, {}),
    ("a SecretRef to a file", secret("file", "value"), {KEY_FILE: USED}, {"secrets": SINGLE}),
    ("a SecretRef into JSON", secret("file", "/router/a~1b"), {KEY_JSON: USED}, {"secrets": JSON}),
    ("the unit's own line", TEMPLATE, {}, {"service": unit(f"Environment={NAME}=k-1234")}),
    ("the unit's environment file", TEMPLATE, {UNIT_FILE: USED},
     {"service": unit("EnvironmentFile=-%h/.openclaw/gateway.systemd.env")}),
    ("the user manager", TEMPLATE, {MANAGER: USED}, {"service": unit()}),
    ("a gateway started by hand", TEMPLATE, {RUNNING: USED}, {}),
    ("a running gateway and a silent unit", TEMPLATE, {RUNNING: USED}, {"service": unit()}),
    (".env under a gateway", TEMPLATE, {DOTENV: USED}, {"service": unit()}),
]

CLOSED: list[tuple[str, object, dict[Place, Verdict], dict[str, Any], str]] = [
    ("an unset variable", TEMPLATE, {}, {}, "would send the text itself as the key"),
    ("an empty variable hides .env", TEMPLATE, {SESSION: EMPTY, DOTENV: USED}, {}, "has no value"),
    ("interactive shells", TEMPLATE, {INTERACTIVE: USED}, {}, "has no value where OpenClaw"),
    ("a reference in .env", TEMPLATE, {DOTENV: Verdict.REFERENCE}, {}, "has no value"),
    ("a bare name", NAME, {LOGIN: USED}, {}, f"a bare name is sent as the key: write {TEMPLATE}"),
    ("another bare name", "SOME_OTHER_KEY", {}, {}, "a bare name is sent as the key"),
    ("a placeholder", "<your key>", {}, {}, "placeholder"),
    ("what OpenClaw shows for a key", "__OPENCLAW_REDACTED__", {}, {}, "placeholder"),
    ("no apiKey", None, {LOGIN: USED}, {}, "has no apiKey: it finds none"),
    ("an empty apiKey", "", {}, {}, "has no apiKey"),
    ("a SecretRef to nothing", secret("env", NAME), {}, {}, "has no value"),
    ("a SecretRef to no name", secret("env", "no-name"), {}, {}, "unknown"),
    ("a loose file", secret("file", "value"), {KEY_FILE: Verdict.LOOSE}, {"secrets": SINGLE},
     "readable by others, and OpenClaw reads no secret from such a file"),
    ("an absent file", secret("file", "value"), {}, {"secrets": SINGLE}, "router is absent"),
    ("a file that nothing names", secret("file", "value"), {}, {}, "secrets.providers does not"),
    ("a SecretRef of no kind", secret("nowhere", "router"), {}, {}, "is unknown"),
    ("a secret store that is not there", secret("store", "router"), {}, {}, "no such database"),
    ("a profile that is not there", "anvil:manual", {}, {"auth": PROFILE}, "no such database"),
    ("a profile and no apiKey", None, {}, {"auth": PROFILE}, "no such database"),
    ("the login shell under a gateway", TEMPLATE, {LOGIN: USED}, {"service": unit()},
     "where the gateway (openclaw-gateway.service) would see it"),
    ("a placeholder in the unit", TEMPLATE, {},
     {"service": unit(f'"Environment={NAME}=changeme"', f"Environment={NAME}=changeme")},
     "has no value"),
    ("an empty unit line hides .env", TEMPLATE, {DOTENV: USED},
     {"service": unit(f"Environment={NAME}=")}, "has no value"),
]


@pytest.mark.parametrize(("what", "key", "held", "more"), OPEN, ids=[row[0] for row in OPEN])
def test_the_gate_opens_where_openclaw_finds_its_key(
    what: str, key: object, held: dict[Place, Verdict], more: dict[str, Any]
) -> None:
    credential = gate(key, held, **more)
    assert credential.opens, credential.cause
    assert any(look.opens for look in credential.trace)


@pytest.mark.parametrize(
    ("what", "key", "held", "more", "cause"), CLOSED, ids=[row[0] for row in CLOSED]
)
def test_the_gate_stays_closed_and_says_why(
    what: str, key: object, held: dict[Place, Verdict], more: dict[str, Any], cause: str
) -> None:
    credential = gate(key, held, **more)
    assert cause in credential.cause
    assert credential.step
    assert not any(look.opens for look in credential.trace)


def test_a_router_on_the_host_itself_is_sent_no_key_at_all() -> None:
    table = config(None)
    table["models"]["providers"]["anvil"]["baseUrl"] = "http://127.0.0.1:8000/v1"
    assert "it would send no key at all" in target(wish(), {CONFIG: table}).credential.cause


def test_the_trace_is_in_openclaws_own_order() -> None:
    places = [look.place for look in gate(TEMPLATE, {}, env={"vars": {NAME: ""}}).trace]
    assert places == [
        "~/.openclaw/openclaw.json models.providers.anvil.apiKey",
        f"{NAME} in the environment of an ssh command",
        f"{NAME} in the login shell's environment",
        f"{NAME} in the environment of the running openclaw-gateway",
        f"{NAME} in ~/.openclaw/.env",
        f"{NAME} in ~/.config/openclaw/gateway.env",
        f"~/.openclaw/openclaw.json env.vars.{NAME}",
    ]


def test_the_trace_of_a_gateway_begins_with_what_its_unit_gives_it() -> None:
    service = unit("EnvironmentFile=%h/a.env", "EnvironmentFile=%h/b.env")
    places = [look.place for look in gate(TEMPLATE, {}, service=service).trace]
    assert places[1:7] == [
        f"{NAME} in ~/b.env",
        f"{NAME} in ~/a.env",
        f"{NAME} in Environment= of /home/u/.config/systemd/user/openclaw-gateway.service",
        f"{NAME} in the systemd user manager's environment",
        f"{NAME} in the environment of the running openclaw-gateway",
        f"{NAME} in ~/.openclaw/.env",
    ]


def test_a_key_of_the_unit_alone_is_warned_about() -> None:
    credential = gate(TEMPLATE, {}, service=unit(f"Environment={NAME}=k-1234"))
    assert credential.warnings == (
        f"{NAME} is set for the gateway's unit only: `openclaw` in a shell there does not see it",
    )


def test_a_key_of_the_running_gateway_alone_is_warned_about() -> None:
    credential = gate(TEMPLATE, {RUNNING: USED})
    assert credential.warnings == (
        f"{NAME} is known to the running gateway, and stands nowhere that lasts",
    )


def test_a_running_gateway_counts_only_where_it_can_be_no_other_profiles() -> None:
    files: dict[str, object] = {
        CONFIG: config(TEMPLATE), UNIT.replace("gateway", "gateway-lab"): unit(),
    }
    assert not target(wish(), files, held={RUNNING: USED}).credential.opens


def test_a_readable_dotenv_is_warned_about() -> None:
    credential = gate(TEMPLATE, {DOTENV: Verdict.LOOSE})
    assert credential.warnings == (f"{NAME} in ~/.openclaw/.env is readable by others",)


@pytest.mark.parametrize("note", ["readable by others (644)", "writable by others (622)"])
def test_what_a_host_notes_of_a_file_counts(note: str) -> None:
    files: dict[str, object] = {CONFIG: config(secret("file", "value"), secrets=SINGLE)}
    known = answered(wish(), files, held={KEY_FILE: USED})
    noted = known.with_answers(HOST, {KEY_FILE: PlaceFact(USED, "f" * 12, note)})
    (only,) = adapter.targets(wish(), noted)
    assert "OpenClaw reads no secret from such a file" in only.credential.cause
    assert only.credential.step == "chmod 600 ~/.secrets/router"


def test_an_auth_profile_beside_a_key_is_warned_about() -> None:
    credential = gate("a-real-looking-key", {}, auth=PROFILE)
    assert credential.opens
    assert "anvil:manual in OpenClaw's database may come first" in credential.warnings[0]


def test_a_drop_in_is_laid_over_its_unit() -> None:
    files: dict[str, object] = {
        CONFIG: config(TEMPLATE),
        UNIT: unit(f"Environment={NAME}=k-1234"),
        f"{UNIT}.d/override.conf": f"[Service]\nEnvironment=\nEnvironment={NAME}=\n",
    }
    assert not target(wish(), files).credential.opens


def test_the_key_file_of_a_node_host_is_no_gateways() -> None:
    service = f"[Service]\nExecStart=openclaw node run\nEnvironment={NAME}=k-1234\n"
    assert not gate(TEMPLATE, {}, service=service).opens


KEYS = ["sk-0123456789abcdef", "Abc$Def", "lowercaseword", "mixed_Word1", "$lower", "k" * 200]


@pytest.mark.parametrize("key", KEYS)
def test_no_key_is_ever_told(key: str) -> None:
    service = unit(f"Environment=OTHER={key}")
    files: dict[str, object] = {CONFIG: config(key), UNIT: service}
    seen = target(wish(), files)
    assert key not in repr(seen.credential)
    assert key not in repr((seen.notes, seen.refusals, seen.context))


def test_the_secret_store_of_the_state_directory_is_never_read() -> None:
    held = {f"/home/u/.openclaw/{name}": file("/x", "k-1234") for name in (".env", "credentials")}
    facts: dict[str, FileFact] = {CONFIG: file(CONFIG, "{}"), **held}
    assert [fact.path for fact in target(wish(), facts).files.values()] == [CONFIG]
