"""Ask Pi itself what it makes of a models.json: its RPC `get_available_models`.

Measured on 0.73.1, 0.84.4 and 1.6.0: one answer in the same JSON from all, no network
request, exit at end of input. `--list-models` rounds its numbers and cannot be used.
The question runs on a copy in a scratch agent directory: any ordinary start of Pi writes
into its directory. A stub in auth.json makes the aliases visible without the real key.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fleetsync.adapter import Command, Done, Loaded, Planned, ScratchFile, Target, Wish
from fleetsync.catalog import Alias
from fleetsync.documents import Document, Value
from fleetsync.documents import parse as parse_document
from fleetsync.draft import spell
from fleetsync.facts import Installation
from fleetsync.rows import same, wished

from .catalog import overrides
from .files import DIALECTS, MODELS, document
from .launch import QUIET, environment, start
from .versions import Version, parse

_Rows = Mapping[str, Sequence[Mapping[str, Any]]]
"""All rows of one provider, by id: a second row of one id must say the same."""
_ASK = b'{"id":"fleetsync","type":"get_available_models"}\n'
_FLAGS = ("--mode", "rpc", *QUIET)
_SECONDS = 60
"""Pi answers in under a second; under load 10 to 20 s were seen."""


def command(target: Target, installation: Installation) -> Command:
    """The question to one installation about the candidate models.json."""
    stub = {target.wish.provider: {"type": "api_key", "key": "fleetsync-asks-without-a-key"}}
    return Command(
        argv=(*start(installation), *_FLAGS),
        env=environment(installation),
        files=(
            ScratchFile("models.json", source=target.files[MODELS].path),
            ScratchFile("auth.json", content=json.dumps(stub).encode()),
        ),
        stdin=_ASK,
        until='"id":"fleetsync"',
        seconds=_SECONDS,
    )


def judge(target: Target, planned: Planned, done: tuple[Done, ...]) -> Loaded:
    """Whether every installation sees exactly the wish in the candidate."""
    found = _candidate(target, planned)
    pairs = zip(target.installations, done, strict=True)
    reasons = [
        f"Pi {installation.version} ({installation.path}): {reason}"
        for installation, answer in pairs
        if (reason := _why(target.wish, found, parse(installation.version), answer))
    ]
    return Loaded(not reasons, "; ".join(reasons))


def _candidate(target: Target, planned: Planned) -> Document | None:
    file = target.files[MODELS]
    for edit in planned.edits:
        if edit.file.path == file.path:
            return parse_document(edit.after.reveal(), DIALECTS[MODELS])
    return document(file, MODELS)


def _why(wish: Wish, found: Document | None, version: Version | None, done: Done) -> str:
    """Why this installation does not agree; "" when it does."""
    if not done.started:
        return done.problem or "it could not be started"
    if done.timed_out:
        return f"its loader gave no answer in {_SECONDS} s"
    rows = _rows(done.stdout.reveal(), wish.provider)
    if rows is None:
        ended = f"signal {done.signal}" if done.signal else f"exit status {done.status}"
        return f"its loader gave no model list ({ended})"
    if not rows and wish.aliases:
        return (
            f"it sees no model of provider {wish.provider}: it rejects models.json as a whole, "
            "perhaps for a fault in another provider (run `pi --list-models` there)"
        )
    return ", ".join(_differences(wish, found, version, rows))


def _rows(output: bytes, provider: str) -> _Rows | None:
    """The provider's rows by id; None where no answer stands in `output`."""
    for line in output.splitlines():
        try:
            answer = json.loads(line)
            if answer["id"] == "fleetsync" and answer["success"]:
                rows: dict[str, list[Mapping[str, Any]]] = {}
                for row in answer["data"]["models"]:
                    if row["provider"] == provider:
                        rows.setdefault(row["id"], []).append(row)
                return rows
        except (ValueError, KeyError, TypeError, RecursionError):
            continue
    return None


def _differences(
    wish: Wish, found: Document | None, version: Version | None, rows: _Rows
) -> Iterator[str]:
    for alias in wish.aliases:
        if alias.name not in rows:
            yield f"{alias.name} is missing"
            continue
        expected = _expected(found, wish, version, alias)
        for row, (key, wanted) in itertools.product(rows[alias.name], expected.items()):
            seen = row.get(key)
            if isinstance(wanted, dict):
                own = seen if isinstance(seen, dict) else {}
                yield from (
                    f"{alias.name} {key}.{name} is not {spell(value)}"
                    for name, value in wanted.items()
                    if own.get(name) != value
                )
            elif not same(key, seen, wanted):
                shown = spell(seen) if isinstance(seen, int | float) else "something else"
                yield f"{alias.name} {key} is {shown}, not {spell(wanted)}"


def _expected(
    found: Document | None, wish: Wish, version: Version | None, alias: Alias
) -> dict[str, Value]:
    """The wish, with the user's modelOverrides over it where this version applies them."""
    fields = wished(alias)
    if found is None or version is None or not version.overrides_apply:
        return fields
    for key, value in overrides(found, wish, alias).items():
        mine = fields[key]
        merged = isinstance(mine, dict) and isinstance(value, dict)
        fields[key] = {**mine, **value} if merged else value  # type: ignore[dict-item]
    return fields
