"""Ask the router from a host, with that host's own key, and say what it makes of it.

The host does it (`host/router.sh`): it takes the key from its place, asks for the list of
models and answers how that went. The key stays there, and of the answer only the names of
our own aliases are ever shown.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence

from fleetsync.facts import Place, Resolve
from fleetsync.outcome import RouterRow, RouterVerdict
from fleetsync.probe import Salts, opening
from fleetsync.questions import place, unaskable
from fleetsync.remote import Call, Prover, Record, Runner

SECONDS = 10
"""The whole request may take that long."""
CAP = 1024 * 1024
"""Bytes of an answer beyond which it is no list of models."""
_TLS = frozenset({35, 51, 53, 54, 58, 59, 60, 64, 66, 77, 80, 82, 83, 90, 91})
_TIMEOUTS = frozenset({28, 142, 270})
"""curl's number, and an alarm as shells tell it"""
_AT_APPLY = "the command that gives this key is run at apply"
_NO_ASKER = "no curl, python3 or node on this host"


def prove(
    prover: Prover | Runner,
    source: Place | Resolve,
    url: str,
    aliases: Collection[str],
    salts: Salts,
    interpreters: Sequence[str] = (),
) -> RouterRow:
    """What the router at `url` (its base address) answers to the key at `source`.

    `aliases` are those that it must list. `interpreters` are paths on the host that may
    ask where it has neither curl nor python3 nor node on its PATH. A command is run only by
    a Runner; else the verdict is `not checked`. Raises HostError.
    """
    where = source.place if isinstance(source, Resolve) else source
    if isinstance(source, Resolve) and isinstance(prover, Prover):
        return RouterRow(RouterVerdict.NOT_CHECKED, url, _AT_APPLY)
    if unaskable(where) is not None:
        return RouterRow(RouterVerdict.NOT_CHECKED, url, f"{where.told} cannot be asked for")
    taken = Call("fs_judge_place", place(where))
    if isinstance(source, Resolve):
        taken = Call("fs_judge_printed", (str(source.seconds), *place(where)))
    asked = Call("fs_prove", (f"{url.rstrip('/')}/models", str(SECONDS), str(CAP), *interpreters))
    calls = (*opening(salts, (where,)), taken, asked)
    send = prover.call if isinstance(prover, Prover) else prover.with_keys
    return _row(send(calls), where, url, frozenset(aliases))


def _row(
    records: Sequence[Record], where: Place, url: str, aliases: frozenset[str]
) -> RouterRow:
    for record in records:
        match record.tag:
            case "nokey":
                why = ", ".join(filter(None, record.fields))
                return RouterRow(RouterVerdict.NOT_CHECKED, url, f"{where.told}: {why}")
            case "noasker":
                return RouterRow(RouterVerdict.NOT_CHECKED, url, _NO_ASKER)
            case "reply":
                ended, status, proxies = record.fields
                verdict, detail, missing = _judged(ended, status, record.body, aliases)
                return RouterRow(verdict, url, detail, missing, tuple(proxies.split()))
    return RouterRow(RouterVerdict.NOT_CHECKED, url, "the host gave no answer")


_Judged = tuple[RouterVerdict, str, tuple[str, ...]]


def _judged(ended: str, status: str, body: bytes | None, aliases: frozenset[str]) -> _Judged:
    number = int(ended) if ended.isdecimal() else -1
    if number:
        return *_unanswered(number), ()
    if status != "200":
        return *_refused(status), ()
    names = _names(body or b"")
    if names is None:
        page = (body or b"").lstrip().startswith(b"<")
        detail = "a web page" if page else "an answer that is no list of models"
        return RouterVerdict.NOT_A_ROUTER, detail, ()
    missing = tuple(sorted(aliases - names))
    return RouterVerdict.ALIAS_MISSING if missing else RouterVerdict.ACCEPTED, "", missing


def _unanswered(number: int) -> tuple[RouterVerdict, str]:
    """Why there was no answer, by curl's numbers."""
    match number:
        case 1 | 8:
            return RouterVerdict.NOT_A_ROUTER, "it does not speak HTTP"
        case 6:
            return RouterVerdict.UNREACHABLE, "its name does not resolve"
        case 7:
            return RouterVerdict.UNREACHABLE, "connection refused, or no way there"
        case 63 | -1:
            return RouterVerdict.NOT_A_ROUTER, f"an answer larger than {CAP // 1024} KiB"
    if number in _TIMEOUTS:
        return RouterVerdict.UNREACHABLE, f"no answer in {SECONDS} s"
    if number in _TLS:
        return RouterVerdict.UNREACHABLE, "TLS failed: its certificate or protocol is not accepted"
    return RouterVerdict.UNREACHABLE, "the connection broke off"


def _refused(status: str) -> tuple[RouterVerdict, str]:
    match status:
        case "401" | "403":
            return RouterVerdict.REJECTED, status
        case "429":
            return RouterVerdict.UNREACHABLE, f"router error {status}"
        case "":
            return RouterVerdict.NOT_A_ROUTER, "an answer without a status"
        case "echo":
            return RouterVerdict.NOT_A_ROUTER, "its answer holds the key"
    match status[:1]:
        case "3":
            return RouterVerdict.NOT_A_ROUTER, f"redirects ({status})"
        case "5":
            return RouterVerdict.UNREACHABLE, f"router error {status}"
    return RouterVerdict.NOT_A_ROUTER, f"it answers {status}"


def _names(body: bytes) -> frozenset[str] | None:
    """The names in a list of models as OpenAI's API gives it; None where it is none."""
    try:
        data = json.loads(body)["data"]
        return frozenset(str(one["id"]) for one in data)
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
