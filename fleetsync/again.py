"""Look again some time after a write: who changed the file since?"""

from __future__ import annotations

import json
from collections.abc import Iterator

from fleetsync.documents import Dialect, Node, parse
from fleetsync.errors import Unreadable
from fleetsync.facts import FileFact, Read
from fleetsync.job import Approved
from fleetsync.look import Session, host_result, look
from fleetsync.outcome import HostResult, Outcome, TargetResult, label
from fleetsync.plan import Plan
from fleetsync.probe import ask
from fleetsync.redact import printable

_TREES = {
    "/nix/store/": "Nix or home-manager",
    "/.local/share/chezmoi/": "chezmoi",
    "/yadm/": "yadm",
    "dotfiles": "a dotfile manager",
    "/stow/": "GNU Stow",
}
"""Directories from which a manager lays its files, by what a link into them contains."""
_TRACES = {"~/.cc-switch/*": "cc-switch", "~/.ollama/backup/*": "ollama launch"}
"""What programs leave that write the clients' files too (cc-switch 3.20, ollama fb30760)."""
_LAUNCH = "_launch"
"""What `ollama launch` marks Pi's entries with that it writes (commit fb30760, 2026)."""


def look_again(session: Session) -> HostResult:
    """Each target of which something was written, by newly read bytes: in step where the
    files are still what was written, failed with the likely writer where not."""
    seen = look(session)
    used = ", ".join(others(session))
    told = f" (used on this host: {used})" if used else ""
    plans = {label(plan.target.client, plan.target.name): plan for plan in seen.plans}
    written = session.job.approved or ()
    targets = tuple(
        _target(session, plans[name], [r for r in written if r.target == name], told)
        for name in dict.fromkeys(row.target for row in written)
        if name in plans
    )
    return host_result(session, seen, targets)


def others(session: Session) -> tuple[str, ...]:
    """The programs used on this host that are known to write the same files."""
    questions = {Read(pattern, cap=0, content=False): name for pattern, name in _TRACES.items()}
    _, answers = ask(session.reader, questions.keys(), session.salts)
    return tuple(sorted({name for question, name in questions.items() if answers[question]}))


def _target(session: Session, plan: Plan, rows: list[Approved], others: str) -> TargetResult:
    host = session.job.host.name
    client, name = plan.target.client, plan.target.name
    facts = {fact.path: fact for fact in plan.target.files.values()}
    told = [
        f"{row.path} was changed since by {likely(facts.get(row.path), row, client)}{others}"
        for row in rows
        if _digest(facts.get(row.path)) != row.after
    ]
    if not told:
        return TargetResult(host, client, name, Outcome.IN_STEP)
    return TargetResult(
        host, client, name, Outcome.FAILED, printable("; ".join(told)),
        "stop that writer, or tell it the new values, then apply again",
    )


def _digest(fact: FileFact | None) -> str:
    return fact.sha256 if fact else ""


def likely(fact: FileFact | None, row: Approved, client: str) -> str:
    """Who most likely wrote a file that is not what we wrote, by what it looks like."""
    if fact is None or not fact.exists:
        return "somebody who removed it"
    for part, manager in _TREES.items():
        if fact.is_link and part in fact.real:
            return f"{manager}: the file is {fact.real}"
    if fact.sha256 == row.before:
        return f"{client} or a tool that put its own copy of the former file back"
    data = b"" if fact.content is None else fact.content.reveal()
    if _is_launched(data):
        return "`ollama launch`: entries carry its mark"
    if _is_plain(data):
        return f"{client} itself or a tool that rewrites the whole file"
    return "another program"


def _is_launched(data: bytes) -> bool:
    try:
        root = parse(data, Dialect.JSON5).root
    except Unreadable:
        return False
    return root is not None and any(
        key.text == _LAUNCH and value.text == "true" for key, value in _entries(root)
    )


def _entries(root: Node) -> Iterator[tuple[Node, Node]]:
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield from node.entries
        waiting += (*(value for _, value in node.entries), *node.items)


def _is_plain(data: bytes) -> bool:
    """Whether it is as programs write JSON: two or four blanks, no comment."""
    try:
        text = data.decode("utf-8")
        value = json.loads(text)
    except ValueError:
        return False
    forms = (json.dumps(value, indent=n, ensure_ascii=False) for n in (2, 4))
    return text.rstrip("\n") in forms
