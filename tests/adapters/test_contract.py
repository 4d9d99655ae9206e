"""Every adapter that is installed keeps the contract."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fleetsync.adapter import Wish
from fleetsync.catalog import Alias, Policy
from fleetsync.facts import Installation, Place, PlaceKind
from fleetsync.registry import discover
from fleetsync.testing import contract
from fleetsync.testing.contract import Rule, Sample
from tests import standin

NAME = standin.NAME
URL = "https://router.example.net/v1"
SECRET, COMMENTED = "other-secret-key-1", "sk-commented-4c0ffee5eed"
DEEP = b"[" * 100_000
LOGIN = Place(PlaceKind.LOGIN, "", NAME)


def wish(client: str) -> Wish:
    aliases = tuple(
        Alias(name=name, context_window=393216, max_output_tokens=4096, input=("text", "image"))
        for name in standin.ALIASES
    )
    return Wish(client, "anvil", URL, NAME, aliases, frozenset(standin.ALIASES), Policy())


def program(
    name: str, package: str = "", version: str = "", interpreter: str = "", of: str = ""
) -> Installation:
    path, root = f"/usr/bin/{name}", f"/opt/{name}"
    return Installation((path,), path, f"{root}/bin/{name}", "PATH", package, version, root,
                        interpreter=interpreter, interpreter_version=of)


def recorded(name: str) -> list[dict[str, Any]]:
    """What a real client printed in turns whose nonce was another. (Any: it is JSON.)"""
    file = Path(__file__).parent / "turns" / f"{name}.json"
    return list(json.loads(file.read_text("utf-8")).values())


NODE = ("/usr/bin/node", "24.19.0")
OPENCLAW = f"""{{
  // {COMMENTED}
  models: {{ providers: {{
    anvil: {{
      baseUrl: "{URL}", api: "openai-completions", apiKey: "${{{NAME}}}",
      models: [
        {{ id: "llm.primary", name: "Primary", contextWindow: 524288, maxTokens: 8192 }},
        {{ id: "llm.secondary", name: "Secondary", contextWindow: 524288, maxTokens: 8192 }},
      ],
    }},
    other: {{ baseUrl: "http://127.0.0.1:9/v1", apiKey: "{SECRET}", models: [] }},
  }} }},
}}
"""
HERMES = f"""\
model:
  default: llm.primary
  provider: custom:anvil
providers:
  other:
    base_url: http://127.0.0.1:9/v1
    api_key: {SECRET}   # {COMMENTED}
  anvil:
    base_url: {URL}
    key_env: {NAME}
    models:
      llm.primary: {{context_length: 524288, supports_vision: true}}
      llm.secondary: {{context_length: 524288}}
"""
SAMPLES: Mapping[str, Sample] = {
    "pi": Sample(
        wish("pi"),
        {
            "~/.pi/agent/models.json": standin.models().replace("mine", COMMENTED).encode(),
            "~/.pi/agent/settings.json": b'{ "theme": "dark" }\n',
        },
        (program("pi", "@earendil-works/pi-coding-agent", "1.6.0", *NODE),),
        LOGIN,
        frozenset({"contextWindow", "maxTokens", "input", "reasoning", "compat"}),
        (SECRET, COMMENTED),
        nearly=(
            b'{"id": "fleetsync", "success": true}',
            b'{"id": "fleetsync", "success": true, "data": {"models": [null, {"id": []}]}}',
            b'{"id": "fleetsync", "success": true, "data": {"models": [{"id": "llm.primary",'
            b' "provider": "anvil", "contextWindow": {}, "input": 1, "compat": []}]}}',
            b'{"id": "fleetsync", "success": true, "data": ' + DEEP,
        ),
        turned=tuple(
            "\n".join(json.dumps(event) for event in case["events"]).encode()
            for case in recorded("pi-1.6.0")
        ),
    ),
    "openclaw": Sample(
        wish("openclaw"),
        {"~/.openclaw/openclaw.json": OPENCLAW.encode()},
        (program("openclaw", "openclaw", "2026.9.6", *NODE),),
        Place(PlaceKind.DOTENV, "~/.openclaw/.env", NAME),
        frozenset({"contextWindow", "maxTokens", "input", "reasoning", "compat"}),
        (SECRET, COMMENTED),
        at_home=("status",),
        nearly=(
            b'{"valid": true}',
            b'{"valid": false, "issues": [null, {"path": 1, "message": []}]}',
            b'[null, {"id": "llm.primary", "contextWindow": {}, "input": 1}]',
        ),
        turned=tuple(json.dumps(case).encode() for case in recorded("openclaw")),
    ),
    "hermes": Sample(
        wish("hermes"),
        {"~/.hermes/config.yaml": HERMES.encode()},
        (program("hermes", "hermes-agent", "0.19.0", "/opt/hermes/bin/python", "3.11"),),
        LOGIN,
        frozenset({"context_length", "supports_vision"}),
        (SECRET, COMMENTED),
        nearly=(
            b"fleetsync {}",
            b'fleetsync {"aliases": [], "address": 1}',
            b'fleetsync {"aliases": {"llm.primary": {"context_length": [], "reasoning": 1}}}',
            b'fleetsync {"aliases": ' + DEEP,
        ),
        turned=(b'{"model": "llm.primary", "provider": 1}', b'{"messages": [null, {"role": []}]}'),
    ),
}
ADAPTERS = discover()


@pytest.mark.parametrize("name", ADAPTERS)
@pytest.mark.parametrize("rule", contract.RULES, ids=lambda rule: rule.__name__)
def test_an_adapter_keeps(rule: Rule, name: str) -> None:
    rule(ADAPTERS[name], SAMPLES[name])


@pytest.mark.parametrize("name", ADAPTERS)
@settings(max_examples=50)
@given(content=st.binary(max_size=200))
def test_an_adapter_survives_any_bytes(name: str, content: bytes) -> None:
    sample = SAMPLES[name]
    contract.survives(ADAPTERS[name], sample, next(iter(sample.files)), content)


WORDS = ("", "null", "[]", "{}", "1e999", "true", '"x"', "\n", "- ", "&a ", "*a", "<<: ", "\u00e9")


@pytest.mark.parametrize("name", ADAPTERS)
@settings(max_examples=50)
@given(data=st.data())
def test_an_adapter_survives_a_spoiled_file(name: str, data: st.DataObject) -> None:
    """A stretch of the sample's own file is replaced by something short."""
    sample = SAMPLES[name]
    path, content = next(iter(sample.files.items()))
    assert isinstance(content, bytes)
    text = content.decode()
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 80)))
    spoiled = text[:start] + data.draw(st.sampled_from(WORDS)) + text[end:]
    contract.survives(ADAPTERS[name], sample, path, spoiled.encode())


def test_there_is_a_sample_for_every_adapter() -> None:
    assert set(ADAPTERS) <= set(SAMPLES)
