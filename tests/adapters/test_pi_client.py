"""What the Pi adapter asks of a host, and what it makes of the answers."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from fleetsync.adapter import SCRATCH, Done, Planned, Target, Wish
from fleetsync.catalog import Alias, Policy
from fleetsync.facts import (
    Answer,
    Facts,
    FileFact,
    FileKind,
    Installation,
    Locate,
    Place,
    PlaceFact,
    PlaceKind,
    Question,
    Read,
    Resolve,
    Variable,
    VariableFact,
    Verdict,
)
from fleetsync.sealed import Sealed
from fleetsync_pi import adapter

NAME = "ROUTER_API_KEY"
PRIMARY = Alias(name="llm.primary", context_window=393216, max_output_tokens=4096)
WISH = Wish(
    "pi", "anvil", "https://r.example/v1", NAME, (PRIMARY,), frozenset({"llm.primary"}), Policy()
)
DIR = Variable("PI_CODING_AGENT_DIR")
PI = Installation(
    ("/usr/bin/pi",), "/usr/bin/pi", "/opt/pi/dist/bundle/cli.js", "PATH",
    "@earendil-works/pi-coding-agent", "1.6.0", "/opt/pi", interpreter="/usr/bin/node",
    interpreter_version="24.19.0",
)
OLD_PI = replace(
    PI, argv=("/old/pi",), path="/old/pi", real="/old/dist/cli.js", version="0.73.1",
    package="@mariozechner/pi-coding-agent", interpreter_version="",
)


def models(api_key: str | None = f"${NAME}", **row: object) -> str:
    provider: dict[str, Any] = {
        "baseUrl": "https://r.example/v1",
        "api": "openai-completions",
        "models": [{"id": "llm.primary", "contextWindow": 393216, "maxTokens": 4096, **row}],
    }
    if api_key is not None:
        provider["apiKey"] = api_key
    return json.dumps({"providers": {"anvil": provider}})


def read(question: Read, text: str | None) -> FileFact:
    path = question.pattern.replace("~", "/home/u")
    if text is None:
        return FileFact(path, FileKind.ABSENT)
    content = Sealed(text.encode())
    return FileFact(path, FileKind.FILE, path, size=len(content), content=content)


def answered(
    wish: Wish = WISH,
    text: str | None = None,
    *,
    settings: str | None = None,
    installations: tuple[Installation, ...] = (PI,),
    directory: str | None = None,
    held: frozenset[str] = frozenset({NAME}),
) -> Facts:
    """Answer the adapter's questions until it has none left."""
    facts = Facts()
    files = {"models.json": models() if text is None else text, "settings.json": settings}

    def answer(question: Question) -> Answer:
        match question:
            case Read():
                return (read(question, files[question.pattern.rpartition("/")[2]]),)
            case Locate():
                return installations
            case Variable():
                return VariableFact(None, directory)
            case Place(PlaceKind.JSON):
                return PlaceFact(Verdict.ABSENT)
            case Place(PlaceKind.SPAN):
                return PlaceFact(Verdict.RESOLVES, "f" * 12)
            case Place():
                return PlaceFact(Verdict.RESOLVES if question.name in held else Verdict.ABSENT)
        raise AssertionError(question)

    for _ in range(12):
        missing = facts.missing(adapter.questions(wish, facts))
        if not missing:
            return facts
        facts = Facts(None, {**facts.answers, **{q: answer(q) for q in missing}})
    raise AssertionError("the adapter's questions never end")


def target(wish: Wish = WISH, **known: Any) -> Target:
    (only,) = adapter.targets(wish, answered(wish, **known))
    return only


def test_the_ordinary_host_is_asked_once() -> None:
    first = adapter.questions(WISH, Facts())
    assert {q for q in first if isinstance(q, Read)} == {
        Read("~/.pi/agent/models.json"), Read("~/.pi/agent/settings.json"),
    }
    assert answered().missing(first) == frozenset()
    assert set(answered().answers) == set(first)


def test_another_variable_in_the_file_is_asked_for() -> None:
    facts = answered(text=models("$OTHER_KEY"))
    assert Place(PlaceKind.LOGIN, "", "OTHER_KEY") in facts.answers


@pytest.mark.parametrize(("api_key", "spans"), [(f"${NAME}", 0), ("a-real-looking-key", 1)])
def test_a_key_in_the_file_is_judged_on_the_host(api_key: str, spans: int) -> None:
    facts = answered(text=models(api_key))
    asked = [q for q in facts.answers if isinstance(q, Place) and q.kind is PlaceKind.SPAN]
    assert len(asked) == spans
    assert target(text=models(api_key)).credential.opens


def test_a_command_in_the_file_is_left_to_a_runner() -> None:
    credential = target(text=models("!pass show router")).credential
    (asked,) = credential.asks
    assert isinstance(asked, Resolve)
    assert asked.place.where == "/home/u/.pi/agent/models.json"


def test_another_agent_directory_is_read_and_said() -> None:
    only = target(directory="/srv/pi/")
    assert only.files["models"].path == "/srv/pi/models.json"
    assert only.notes[0] == "agent directory /srv/pi (PI_CODING_AGENT_DIR)"


@pytest.mark.parametrize("home", ["~", "~/"])
def test_an_agent_directory_may_be_the_home(home: str) -> None:
    only = target(directory=home)
    assert (only.files["models"].path, only.refusals) == ("/home/u/models.json", ())


@pytest.mark.parametrize("relative", ["pi", "~root/pi", "file:///srv/pi"])
def test_a_relative_agent_directory_is_refused(relative: str) -> None:
    only = target(directory=relative)
    (refusal,) = only.refusals
    assert f"relative path {relative}" in refusal.reason
    assert only.notes == ()


def test_an_agent_directory_is_not_taken_for_a_pattern() -> None:
    only = target(directory="/srv/*/pi")
    (refusal,) = only.refusals
    assert "would stand for any name" in refusal.reason
    assert only.files["models"].path == "/home/u/.pi/agent/models.json"


def test_a_settings_file_of_no_byte_is_none() -> None:
    assert target(settings="").refusals == ()
    (refusal,) = target(settings="\n").refusals
    assert "holds no value" in refusal.reason


def test_a_host_without_pi_is_absent() -> None:
    assert target(installations=()).absent
    stranger = replace(PI, package="", version="")
    assert "is not Pi" in target(installations=(stranger,)).absent


def test_an_explicit_launcher_that_leads_nowhere_is_refused() -> None:
    wish = replace(WISH, options={"commands": [["/opt/node", "/opt/pi"]]})
    broken = replace(PI, argv=("/opt/node", "/opt/pi"), found="inventory", package="",
                     version="", problem="/opt/pi: no such file")
    (refusal,) = target(wish, installations=(broken,)).refusals
    assert refusal.reason == "/opt/node /opt/pi: /opt/pi: no such file"


def test_two_installations_are_both_named_and_the_gate_must_hold_for_each() -> None:
    only = target(installations=(PI, OLD_PI))
    assert "2 installations share this agent directory" in only.notes[0]
    assert "/usr/bin/pi (1.6.0), /old/pi (0.73.1)" in only.notes[0]
    assert "Pi 0.73.1" in only.credential.cause


def test_a_node_too_old_is_named() -> None:
    (refusal,) = target(installations=(replace(PI, interpreter_version="20.20.2"),)).refusals
    assert refusal.reason == "/usr/bin/node is Node 20.20.2; Pi 1.6.0 needs 22.19.0"


def test_a_version_newer_than_tested_is_noticed() -> None:
    (note,) = target(installations=(replace(PI, version="2.0.0"),)).notes
    assert note.startswith("Pi 2.0.0 is newer than any tested")


def test_an_absent_models_file_is_refused_with_the_stanza() -> None:
    facts = answered()
    question = Read("~/.pi/agent/models.json")
    facts = Facts(None, {**facts.answers, question: (read(question, None),)})
    (only,) = adapter.targets(WISH, facts)
    (refusal,) = only.refusals
    assert "/home/u/.pi/agent/models.json is absent" in refusal.reason
    assert '"apiKey": "$ROUTER_API_KEY"' in refusal.step


@pytest.mark.parametrize("kind", [FileKind.DIRECTORY, FileKind.DANGLING, FileKind.UNREADABLE])
def test_what_is_no_readable_file_is_refused(kind: FileKind) -> None:
    question = Read("~/.pi/agent/settings.json")
    facts = answered()
    facts = Facts(None, {**facts.answers, question: (FileFact("/s.json", kind),)})
    (only,) = adapter.targets(WISH, facts)
    assert [refusal.reason for refusal in only.refusals] == [f"/s.json: {kind.value}"]


def test_broken_files_are_refused_with_line_and_column() -> None:
    only = target(text='{"providers": {},\n  oops}', settings="{,}")
    reasons = [refusal.reason for refusal in only.refusals]
    assert reasons[0].startswith("/home/u/.pi/agent/models.json: line 2, column 3:")
    assert reasons[1].startswith("/home/u/.pi/agent/settings.json: line 1, column 2:")


def test_a_byte_order_mark_is_refused_for_a_pi_that_cannot_read_it() -> None:
    text = "\ufeff" + models(NAME)
    assert target(text=text, installations=(PI,)).refusals == ()
    (refusal,) = target(text=text, installations=(OLD_PI,)).refusals
    assert "byte order mark" in refusal.reason


def reply(*rows: dict[str, Any]) -> Done:
    line = json.dumps(
        {"id": "fleetsync", "type": "response", "success": True, "data": {"models": list(rows)}}
    )
    return Done(True, stdout=Sealed(f"noise\n{line}\n".encode()))


def row(**fields: object) -> dict[str, Any]:
    return {
        "id": "llm.primary", "provider": "anvil", "contextWindow": 393216, "maxTokens": 4096,
        "input": ["text"], "reasoning": False, **fields,
    }


def judged(*done: Done, text: str | None = None) -> tuple[bool, str]:
    installations = (PI, OLD_PI)[: len(done)]
    loaded = adapter.loaded(target(text=text, installations=installations), Planned(), done)
    return loaded.agrees, loaded.reason


def test_the_loader_is_asked_about_a_copy_and_without_a_key() -> None:
    (command,) = adapter.loaders(target(), Planned())
    assert command.argv[:4] == ("/usr/bin/node", PI.real, "--mode", "rpc")
    assert ("PI_CODING_AGENT_DIR", SCRATCH) in command.env
    assert ("HOME", SCRATCH) in command.env
    assert command.files[0].source == "/home/u/.pi/agent/models.json"


def test_the_loader_agrees_with_exactly_the_wish() -> None:
    stranger = row(provider="openai", contextWindow=1)
    assert judged(reply(row(), stranger)) == (True, "")
    assert judged(reply(row()), reply(row())) == (True, "")


@pytest.mark.parametrize(
    ("done", "why"),
    [
        (reply(row(contextWindow=524288)), "llm.primary contextWindow is 524288, not 393216"),
        (reply(row(input=["text", "image"])), "input is something else, not text"),
        (reply(row(id="llm.other")), "llm.primary is missing"),
        (reply(row(maxTokens=1), row()), "llm.primary maxTokens is 1, not 4096"),
        (reply(), "it sees no model of provider anvil"),
        (Done(True, stdout=Sealed(b"[" * 90_000)), "exit status 0"),
        (Done(True, status=1, stdout=Sealed(b"SyntaxError: sk-secret")), "exit status 1"),
        (Done(True, signal=9), "signal 9"),
        (Done(True, timed_out=True), "no answer in 60 s"),
        (Done(False, problem="no such program"), "no such program"),
    ],
)
def test_the_loader_disagrees_and_says_why(done: Done, why: str) -> None:
    agrees, reason = judged(done)
    assert not agrees
    assert why in reason
    assert "sk-secret" not in reason


def test_one_disagreeing_installation_is_enough() -> None:
    agrees, reason = judged(reply(row()), reply(row(maxTokens=8192)))
    assert not agrees
    assert reason == "Pi 0.73.1 (/old/pi): llm.primary maxTokens is 8192, not 4096"


def test_the_loader_may_show_the_users_override() -> None:
    provider = json.loads(models())
    provider["providers"]["anvil"]["modelOverrides"] = {"llm.primary": {"contextWindow": 5000}}
    assert judged(reply(row(contextWindow=5000)), text=json.dumps(provider)) == (True, "")
    assert judged(reply(row()), text=json.dumps(provider))[0] is False
