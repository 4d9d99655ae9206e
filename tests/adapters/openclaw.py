"""Hosts with OpenClaw as facts alone: what its adapter would be answered."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from fnmatch import fnmatch
from pathlib import PurePosixPath
from typing import Any

from fleetsync.adapter import Target, Wish
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
    Question,
    Read,
    Variable,
    VariableFact,
    Verdict,
)
from fleetsync.sealed import Sealed
from fleetsync_openclaw import adapter

NAME = "ROUTER_API_KEY"
HOME = "/home/u"
CONFIG = f"{HOME}/.openclaw/openclaw.json"
URL = "https://router.example.net/v1"
HOST = HostFacts(PurePosixPath(HOME), "u", 1000, "/bin/bash", "Linux", "/usr/bin")
OPENCLAW = Installation(
    ("/usr/bin/openclaw",), "/usr/bin/openclaw", "/opt/openclaw/openclaw.mjs", "PATH", "openclaw",
    "2026.9.6", "/opt/openclaw", interpreter="/usr/bin/node", interpreter_version="24.19.0",
)
OLD = replace(
    OPENCLAW, argv=("/old/openclaw",), path="/old/openclaw", real="/old/openclaw.mjs",
    version="2026.6.11",
)


def alias(name: str = "llm.primary", **fields: Any) -> Alias:
    limits = {"context_window": 393216, "max_output_tokens": 4096}
    return Alias(name=name, **{**limits, **fields})


def wish(*aliases: Alias, **policy: Any) -> Wish:
    chosen = aliases or (alias(),)
    known = frozenset(one.name for one in chosen)
    return Wish("openclaw", "anvil", URL, NAME, chosen, known, Policy(**policy))


def config(api_key: object = f"${{{NAME}}}", **top: Any) -> dict[str, Any]:
    """An openclaw.json in step, whose other top-level keys are `top`."""
    row = {"id": "llm.primary", "name": "P", "contextWindow": 393216, "maxTokens": 4096}
    provider: dict[str, Any] = {"baseUrl": URL, "api": "openai-completions", "models": [row]}
    if api_key is not None:
        provider["apiKey"] = api_key
    return {"models": {"providers": {"anvil": provider}}, **top}


def file(path: str, text: str) -> FileFact:
    content = Sealed(text.encode())
    return FileFact(
        path, FileKind.FILE, path, mode=0o600, size=len(content), sha256=content.sha256,
        content=content,
    )


def answered(
    asked: Wish,
    files: Mapping[str, object],
    *,
    held: Mapping[Place, Verdict] | None = None,
    variables: Mapping[str, str] | None = None,
    running: Mapping[str, str] | None = None,
    installations: tuple[Installation, ...] = (OPENCLAW,),
) -> Facts:
    """Answer the adapter's questions until it has none left. `files` are texts, tables
    (written as JSON) or whole facts, by path; `~` is the home."""
    facts = Facts(HOST)
    told = {_full(path): _fact(_full(path), content) for path, content in files.items()}

    def answer(question: Question) -> Answer:
        match question:
            case Read(pattern):
                full = _full(pattern)
                if "*" in full:
                    return tuple(fact for path, fact in told.items() if fnmatch(path, full))
                return (told.get(full, FileFact(full, FileKind.ABSENT)),)
            case Locate():
                return installations
            case Variable(name, program) if program:
                return VariableFact(None, None, (running or {}).get(name))
            case Variable(name):
                return VariableFact(None, (variables or {}).get(name))
            case Place():
                return PlaceFact((held or {}).get(question, Verdict.ABSENT))
        raise AssertionError(question)

    for _ in range(12):
        missing = facts.missing(adapter.questions(asked, facts))
        if not missing:
            return facts
        facts = facts.with_answers(HOST, {question: answer(question) for question in missing})
    raise AssertionError("the adapter's questions never end")


def target(asked: Wish, files: Mapping[str, object], **known: Any) -> Target:
    (only,) = adapter.targets(asked, answered(asked, files, **known))
    return only


def _full(path: str) -> str:
    return HOME + path[1:] if path.startswith("~") else path


def _fact(path: str, content: object) -> FileFact:
    if isinstance(content, FileFact):
        return content
    return file(path, content if isinstance(content, str) else json.dumps(content))
