"""What OpenClaw's own answers mean for one target."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator

from fleetsync.adapter import Done, Loaded, Planned, Target
from fleetsync.catalog import Alias
from fleetsync.documents import MISSING
from fleetsync.draft import spell
from fleetsync.rows import same

from . import loader
from .catalog import fields_of, known_compat
from .config import CONFIG, at
from .loader import Question
from .versions import Version, parse

_SAFE = re.compile(
    r'(?:Unrecognized keys?: (?:"[\w.$-]+"(?:, )?)+'
    r"|unknown channel id: [\w-]+"
    r"|Invalid input(?:: expected [\w|]+(?:, received \w+)?)?(?: \([a-z0-9 ]+\))?"
    r"|Too (?:small|big): expected \w+ to (?:be|have) [<>=]*\d+[a-z ]*(?: \([a-z0-9 ]+\))?"
    r"|file not found)",
    re.ASCII,
)
"""Messages that hold names of keys and types, and no value."""
_PATH = re.compile(r"[\w.<>$@/-]{1,120}", re.ASCII)
_OLD_KEYS = re.compile(r'"(?:lastTouchedAt|reserveTokens(?:Floor)?)"')
_NO_GATEWAY = re.compile("ECONNREFUSED")


def judge(target: Target, planned: Planned, done: tuple[Done, ...]) -> Loaded:
    """Whether every installation sees exactly the wish, in a file that was valid before
    and that the service reads."""
    asked = tuple(zip(loader.questions(target, planned), done, strict=True))
    if broken := next(_baseline(asked), ""):
        return Loaded(False, broken)
    reasons = [reason for pair in asked if (reason := _why(target, *pair))]
    if planned.edits or reasons:
        return Loaded(not reasons, "; ".join(reasons))
    return _applied(asked)


def _baseline(asked: Iterable[tuple[Question, Done]]) -> Iterator[str]:
    """Why the file was invalid before anything was changed."""
    for question, answer in asked:
        told = _json(answer)
        if question.kind != loader.BASELINE or at(told, "valid") is not False:
            continue
        issues = "; ".join(_issues(told))
        cause = (
            " (keys of an older version: OpenClaw was updated and its gateway not started since; "
            "its start brings the file up to date)"
        )
        yield (
            f"OpenClaw {question.installation.version} rejects the file as it already stands: "
            f"{issues}{cause if _OLD_KEYS.search(issues) else ''}"
        )


def _why(target: Target, question: Question, answer: Done) -> str:
    """Why this answer speaks against the candidate; "" when it does not."""
    name = f"OpenClaw {question.installation.version} ({question.installation.path})"
    match question.kind:
        case loader.CANDIDATE:
            why = _invalid(answer)
        case loader.ROWS:
            why = _rows(target, parse(question.installation.version), answer)
        case loader.SERVICE:
            why = _service(target, answer)
        case loader.APPLIED:
            read = at(_json(answer), "path")
            elsewhere = isinstance(read, str) and read != target.files[CONFIG].path
            why = "its running gateway reads another configuration file" if elsewhere else ""
        case _:
            why = ""
    return f"{name}: {why}" if why else ""


def _invalid(answer: Done) -> str:
    """Why `config validate` does not accept the candidate."""
    told = _json(answer)
    if at(told, "valid") is True:
        return ""
    if at(told, "valid") is False:
        return f"it would reject the file: {'; '.join(_issues(told))}"
    return _no_answer(answer, "validate")


def _issues(told: object) -> Iterator[str]:
    found = at(told, "issues")
    for issue in found if isinstance(found, list) else ():
        path, message = str(at(issue, "path") or ""), str(at(issue, "message") or "")
        where = path if _PATH.fullmatch(path) else "somewhere"
        yield f"{where}: {message}" if _SAFE.fullmatch(message) else where


def _no_answer(answer: Done, what: str) -> str:
    if not answer.started:
        return answer.problem or "it could not be started"
    if answer.timed_out:
        return f"config {what} gave no answer in {loader.SECONDS} s"
    ended = f"signal {answer.signal}" if answer.signal else f"exit status {answer.status}"
    return f"config {what} gave no answer ({ended})"


def _rows(target: Target, version: Version | None, answer: Done) -> str:
    """How the rows that it sees differ from the wish."""
    told = _json(answer)
    if not isinstance(told, list):
        return _no_answer(answer, "get")
    seen = {str(row.get("id")): row for row in reversed(told) if isinstance(row, dict)}
    known = known_compat(filter(None, (parse(one.version) for one in target.installations)))
    return ", ".join(
        difference for alias in target.wish.aliases
        for difference in _differences(alias, seen.get(alias.name), known)
    )


def _differences(alias: Alias, row: object, known: frozenset[str]) -> Iterator[str]:
    if not isinstance(row, dict):
        yield f"{alias.name} is missing"
        return
    for key, wanted in fields_of(alias, known).items():
        found = row.get(key, MISSING)
        if isinstance(wanted, dict):
            yield from (
                f"{alias.name} {key}.{name} is not {spell(value)}"
                for name, value in wanted.items() if at(found, name) != value
            )
        elif not same(key, found, wanted):
            shown = spell(found) if isinstance(found, int | float) else "something else"
            yield f"{alias.name} {key} is {shown}, not {spell(wanted)}"


def _service(target: Target, answer: Done) -> str:
    """Whether the installed service reads another file than we planned for."""
    told = _json(answer)
    read, ours = at(told, "config", "daemon", "path"), target.files[CONFIG].path
    if at(told, "service", "command") is None or not isinstance(read, str):
        return ""
    if read.endswith(f"/{loader.NO_STATE}/openclaw.json"):
        read = target.context["default"]
    return "" if read == ours else "its service reads another configuration file"


def _applied(asked: Iterable[tuple[Question, Done]]) -> Loaded:
    """Whether a running gateway uses the file, whose rows are as wished."""
    for question, answer in asked:
        if question.kind != loader.APPLIED:
            continue
        told = _json(answer)
        revision, applied = at(told, "configRevisionHash"), at(told, "appliedConfigHash")
        if isinstance(revision, str) and isinstance(applied, str):
            same_one = revision == applied
            pending = "" if same_one else "the running gateway has not applied the file yet"
            return Loaded(True, pending=pending, applied=same_one)
        if not _NO_GATEWAY.search(str(at(told, "error", "message") or "")):
            return Loaded(True, notes=("no gateway answered whether it uses the file",))
    return Loaded(True)


def _json(answer: Done) -> object:
    """The JSON that it printed, None where it printed none."""
    try:
        return json.loads(answer.stdout.reveal())
    except (ValueError, RecursionError):
        return None
