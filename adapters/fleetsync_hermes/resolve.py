"""Runs on a host, under Hermes' own interpreter: what Hermes makes of a config.yaml.

fleetsync sends this file and never imports it. HERMES_HOME is a scratch directory that
holds the candidate. The one argument is JSON: {"provider": name, "url": address,
"aliases": [name], "reasoning": bool}; the answer is one line of JSON behind our name. No
key is printed and no connection opened. The functions are Hermes' own, private ones among
them (0.18.2, 0.19.0): where a later version has moved one, the answer says so.
"""

from __future__ import annotations

import json
import sys
from importlib import import_module
from typing import Any


def no_connection(event: str, _: tuple[Any, ...]) -> None:
    """An audit hook: Hermes may ask a router for what a configuration leaves open."""
    if event in {"socket.connect", "socket.getaddrinfo", "socket.sendto"}:
        raise OSError("no connection is made while a configuration is judged")


def window(config: Any, alias: str, url: str) -> Any:
    """The context window that the configuration gives `alias` behind `url`."""
    hermes = import_module("hermes_cli.config")
    providers = hermes.get_compatible_custom_providers(config)
    return hermes.get_custom_provider_context_length(alias, url, providers)


def vision(config: Any, alias: str, provider: str) -> Any:
    """Whether the configuration says that `alias` takes images."""
    model = config["model"] if isinstance(config["model"], dict) else {}
    own = str(model.get("provider") or "").strip().lower()
    ours = own.removeprefix("custom:") == provider.lower()
    named = "custom" if ours else provider
    return import_module("agent.image_routing")._supports_vision_override(config, named, alias)


def reasoning(config: Any, alias: str) -> Any:
    """What effort a turn with `alias` asks for."""
    return import_module("hermes_constants").resolve_reasoning_config(config, alias)


def address(provider: str) -> Any:
    """Where a turn with `provider` goes; the error's name where it goes nowhere."""
    resolver = import_module("hermes_cli.runtime_provider")
    try:
        return resolver.resolve_runtime_provider(requested=f"custom:{provider}").get("base_url")
    except (RuntimeError, ValueError) as error:
        return f"!{type(error).__name__}"


def answer(asked: Any) -> dict[str, Any]:
    """All that is asked for."""
    config = import_module("hermes_cli.config").load_config()
    aliases = {
        alias: {
            "context_length": window(config, alias, asked["url"]),
            "supports_vision": vision(config, alias, asked["provider"]),
            "reasoning": reasoning(config, alias) if asked["reasoning"] else None,
        }
        for alias in asked["aliases"]
    }
    model = config["model"] if isinstance(config["model"], dict) else {}
    told = {"address": address(asked["provider"]), "max_tokens": model.get("max_tokens")}
    return {**told, "aliases": aliases}


def main() -> None:
    """Answer on standard output."""
    sys.addaudithook(no_connection)
    try:
        told = answer(json.loads(sys.argv[1]))
    except (ImportError, AttributeError, TypeError, KeyError) as error:
        told = {"moved": type(error).__name__}
    sys.stdout.write(f"\nfleetsync {json.dumps(told)}\n")


if __name__ == "__main__":
    main()
