"""How the model behind a stand-in router behaves: it reads one file when it can. Pure.

A request for chat completions or responses becomes one `Asked`, and the model's answer is
one `Said`; `router_wire` spells it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

NONCE = r"nonce-[0-9a-f]+"
"""How a nonce looks, unless the router was told another pattern."""
_READERS = ("read", "read_file", "Read")
_PATHS = ("path", "file_path", "filePath")
_ABSOLUTE = r"(/[^\s\"'`<>|]*[^\s\"'`<>|.,;:!?)\]}])"
_NAMED = (
    re.compile(r"READ:?\s*[\"'`](/[^\"'`\n]+)[\"'`]"),
    re.compile(rf"READ:?\s*{_ABSOLUTE}"),
    re.compile(rf"(?<![\w/:.~-]){_ABSOLUTE}"),
)
_NUMBERED = re.compile(r"^\s*\d+[|\t\N{RIGHTWARDS ARROW}]", re.MULTILINE)
_TEXT_PARTS = frozenset({"text", "input_text", "output_text"})
_IMAGE_PARTS = frozenset({"image_url", "input_image", "image"})


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that the request offers, with the names of its parameters."""

    name: str
    parameters: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Asked:
    """A request for an answer: what both forms of it say."""

    model: str
    stream: bool = False
    include_usage: bool = False
    prompts: tuple[str, ...] = ()
    """the texts of the user's messages"""
    results: tuple[str, ...] = ()
    """what tools gave, in order"""
    images: int = 0
    tools: tuple[Tool, ...] = ()


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a tool."""

    tool: str
    arguments: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Said:
    """The model's answer: calls, or a text. `cut` says that it ended for its length."""

    model: str
    text: str = ""
    calls: tuple[Call, ...] = ()
    cut: bool = False


@dataclass(frozen=True, slots=True)
class Model:
    """What the model knows: how a nonce looks, and what it sees in every image."""

    nonce: re.Pattern[str]
    image_text: str

    def say(self, asked: Asked) -> Said:
        """The text of an image that is there; else the nonce of what a tool read; else a
        call of the reading tool for the file that the user names; else "ok"."""
        if asked.images:
            return Said(asked.model, self.image_text)
        if asked.results:
            return Said(asked.model, self._read(asked.results[-1]))
        path, reader = named_file(asked.prompts), reading_tool(asked.tools)
        if path and reader:
            return Said(asked.model, calls=(call_of(reader, path),))
        return Said(asked.model, "ok")

    def peek(self, asked: Asked) -> str:
        """The nonce in the file that the user names, read by the router itself: the right
        text by the wrong way. "" where there is none."""
        try:
            text = Path(named_file(asked.prompts)).read_text("utf-8", "replace")
        except OSError:
            return ""
        return self._read(text)

    def _read(self, result: str) -> str:
        found = self.nonce.search(result)
        return found.group() if found else payload(result)


def payload(result: str) -> str:
    """The text of a file in what a tool gave, without the numbers of its lines."""
    try:
        value = json.loads(result)
    except ValueError:
        value = result
    content = value.get("content", result) if isinstance(value, dict) else result
    lines = _NUMBERED.sub("", str(content)).splitlines()
    return "\n".join(lines).strip()


def named_file(prompts: Iterable[str]) -> str:
    """The absolute path that the user says to read, "" where none does.

    A path after READ counts before any other, in whichever message it stands: OpenClaw
    2026.9.6 adds a message with paths of its own.
    """
    texts = tuple(prompts)
    for pattern in _NAMED:
        for text in texts:
            if found := pattern.search(text):
                return found.group(1)
    return ""


def reading_tool(tools: Iterable[Tool]) -> Tool | None:
    """The tool that reads a file, of those offered."""
    return next((tool for tool in tools if tool.name in _READERS), None)


def call_of(tool: Tool, path: str) -> Call:
    """A call of `tool` for `path`, under the name that its schema gives that parameter."""
    name = next((name for name in _PATHS if name in tool.parameters), _PATHS[0])
    return Call(tool.name, {name: path})


def chat(body: Mapping[str, object]) -> Asked:
    """A request for chat completions."""
    messages = tuple(_mappings(body.get("messages")))
    users = [message for message in messages if message.get("role") == "user"]
    gave = [message.get("content") for message in messages if message.get("role") == "tool"]
    options = body.get("stream_options")
    return Asked(
        model=str(body.get("model", "")),
        stream=body.get("stream") is True,
        include_usage=isinstance(options, Mapping) and options.get("include_usage") is True,
        prompts=tuple(_text(user.get("content")) for user in users),
        results=tuple(map(_text, gave)),
        images=sum(map(_images, [*(user.get("content") for user in users), *gave])),
        tools=tuple(_tools(tool.get("function") for tool in _mappings(body.get("tools")))),
    )


def responses(body: Mapping[str, object]) -> Asked:
    """A request for responses."""
    given = body.get("input")
    items = ({"role": "user", "content": given},) if isinstance(given, str) else given
    messages = tuple(_mappings(items))
    users = [message for message in messages if message.get("role") == "user"]
    gave = [m.get("output") for m in messages if m.get("type") == "function_call_output"]
    return Asked(
        model=str(body.get("model", "")),
        stream=body.get("stream") is True,
        include_usage=True,
        prompts=tuple(_text(user.get("content")) for user in users),
        results=tuple(map(_text, gave)),
        images=sum(map(_images, [*(user.get("content") for user in users), *gave])),
        tools=tuple(_tools(_mappings(body.get("tools")))),
    )


def _tools(functions: Iterable[object]) -> Iterator[Tool]:
    for function in functions:
        if isinstance(function, Mapping) and isinstance(function.get("name"), str):
            schema = function.get("parameters")
            properties = schema.get("properties") if isinstance(schema, Mapping) else None
            names = properties if isinstance(properties, Mapping) else ()
            yield Tool(function["name"], tuple(str(name) for name in names))


def _mappings(value: object) -> Iterator[Mapping[str, object]]:
    for item in value if isinstance(value, list | tuple) else ():
        if isinstance(item, Mapping):
            yield item


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    parts = (part for part in _mappings(content) if part.get("type") in _TEXT_PARTS)
    return "\n".join(str(part.get("text", "")) for part in parts)


def _images(content: object) -> int:
    return sum(part.get("type") in _IMAGE_PARTS for part in _mappings(content))
