"""What the Hermes adapter asks of a host, and what it makes of the answers."""

from __future__ import annotations

import gc
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any

import pytest

from fleetsync.adapter import SCRATCH, Done, Planned, Target, Wish
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
    PlaceKind,
    Question,
    Read,
    Variable,
    VariableFact,
    Verdict,
)
from fleetsync.sealed import Sealed
from fleetsync_hermes import adapter, files

NAME = "ROUTER_API_KEY"
URL = "https://router.example.net/v1"
PRIMARY = Alias(
    name="llm.primary", context_window=393216, max_output_tokens=4096, input=("text", "image")
)
WISH = Wish("hermes", "anvil", URL, NAME, (PRIMARY,), frozenset({"llm.primary"}), Policy())
HOST = HostFacts(PurePosixPath("/home/u"), "u", 1000, "/bin/sh", "Linux", "/usr/bin")
HERMES = Installation(
    ("/home/u/.local/bin/hermes",), "/home/u/.local/bin/hermes", "/opt/h/venv/bin/hermes",
    "known place", "hermes-agent", "0.19.0", "/opt/h/venv/lib/python3.11/site-packages",
    interpreter="/opt/h/venv/bin/python", interpreter_version="3.11",
)
OLD = replace(
    HERMES, argv=("/old/hermes",), path="/old/hermes", real="/old/bin/hermes", version="0.18.2",
    interpreter="/old/bin/python",
)


def config(window: int = 393216, *more: str, vision: str = "true") -> str:
    rows = "".join(f"{line}\n" for line in more)
    return (
        f"model:\n  default: llm.primary\n  provider: custom:anvil\n{rows}"
        f"providers:\n  anvil:\n    base_url: {URL}\n    key_env: {NAME}\n    models:\n"
        f"      llm.primary: {{context_length: {window}, supports_vision: {vision}}}\n"
    )


def fact(path: str, text: str | None) -> FileFact:
    if text is None:
        return FileFact(path, FileKind.ABSENT)
    content = Sealed(text.encode())
    return FileFact(path, FileKind.FILE, path, size=len(content), content=content)


def answered(
    wish: Wish = WISH,
    files: Mapping[str, str] | None = None,
    *,
    profiles: tuple[str, ...] = (),
    installations: tuple[Installation, ...] = (HERMES,),
    variables: Mapping[str, str] | None = None,
    held: frozenset[str] = frozenset({NAME}),
) -> Facts:
    """Answer the adapter's questions until it has none left. `files` are by absolute path;
    those named are all there are, beside the default profile's config.yaml."""
    there = {"/home/u/.hermes/config.yaml": config(), **(files or {})}

    def answer(question: Question) -> Answer:
        match question:
            case Read():
                path = question.pattern.replace("~", "/home/u")
                if path.endswith("/profiles/*"):
                    base = path.removesuffix("*")
                    return tuple(FileFact(base + name, FileKind.DIRECTORY) for name in profiles)
                return (fact(path, there.get(path)),)
            case Locate():
                return installations
            case Variable():
                return VariableFact(None, (variables or {}).get(question.name))
            case Place(PlaceKind.LOGIN):
                return PlaceFact(Verdict.RESOLVES if question.name in held else Verdict.ABSENT)
            case Place():
                return PlaceFact(Verdict.ABSENT)
        raise AssertionError(question)

    facts = Facts()
    for _ in range(12):
        missing = facts.missing(adapter.questions(wish, facts))
        if not missing:
            return facts
        facts = facts.with_answers(HOST, {q: answer(q) for q in missing})
    raise AssertionError("the adapter's questions never end")


def targets(wish: Wish = WISH, **known: Any) -> tuple[Target, ...]:
    return adapter.targets(wish, answered(wish, **known))


def target(wish: Wish = WISH, **known: Any) -> Target:
    (only,) = targets(wish, **known)
    return only


def reasons(found: Target) -> list[str]:
    return [refusal.reason for refusal in found.refusals]


# --- profiles ------------------------------------------------------------------------


def test_a_host_with_the_default_profile_alone_is_asked_once() -> None:
    first = adapter.questions(WISH, Facts())
    assert Read("~/.hermes/config.yaml") in first
    assert Read("~/.hermes/profiles/*", content=False) in first
    assert answered().missing(first) == frozenset()
    assert set(answered().answers) == set(first)


def test_every_directory_that_can_be_a_profile_is_a_target() -> None:
    odd = ("work", "a-2_b", "default", "Bad", "-x", "x" * 65)
    assert [found.name for found in targets(profiles=odd)] == ["default", "work", "a-2_b"]


def test_a_file_among_the_profiles_is_none() -> None:
    facts = answered(profiles=("work",))
    listing = Read("~/.hermes/profiles/*", content=False)
    rows = (FileFact("/home/u/.hermes/profiles/notes", FileKind.FILE),)
    found = adapter.targets(WISH, facts.with_answers(HOST, {listing: rows}))
    assert [one.name for one in found] == ["default"]


def test_a_profile_has_its_own_file_and_its_own_gate() -> None:
    path = "/home/u/.hermes/profiles/work/config.yaml"
    text = config().replace(NAME, "WORK_KEY")
    default, work = targets(profiles=("work",), files={path: text})
    assert work.files["config"].path == path
    assert default.credential.opens
    assert "WORK_KEY" in work.credential.cause


def test_the_inventory_may_name_the_profiles() -> None:
    wish = replace(WISH, options={"profiles": ("work",)})
    path = "/home/u/.hermes/profiles/work/config.yaml"
    (work,) = targets(wish, profiles=("work", "play"), files={path: config()})
    assert (work.name, work.refusals) == ("work", ())


def test_a_profile_that_the_host_lacks_is_refused() -> None:
    wish = replace(WISH, options={"profiles": ("default", "work")})
    default, work = targets(wish, profiles=("play",))
    assert default.refusals == ()
    assert reasons(work) == ["the host has no profile work (it has default, play)"]


def test_a_profile_without_a_file_is_refused_with_the_stanza() -> None:
    _, work = targets(profiles=("work",))
    (refusal,) = work.refusals
    assert "/home/u/.hermes/profiles/work/config.yaml is absent" in refusal.reason
    assert "key_env: ROUTER_API_KEY" in refusal.step


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ("/opt/data", "/opt/data/config.yaml"),
        ("/opt/data/profiles/work/", "/opt/data/config.yaml"),
        ("/home/u/.hermes/profiles/work", "/home/u/.hermes/config.yaml"),
        ("/home/u/.hermes", "/home/u/.hermes/config.yaml"),
    ],
)
def test_the_root_is_where_hermes_home_leads(value: str, path: str) -> None:
    only = target(variables={"HERMES_HOME": value}, files={path: config()})
    assert only.files["config"].path == path
    assert only.refusals == ()
    assert f"HERMES_HOME is {value}" in only.notes[0]


def test_a_hermes_home_that_reads_like_a_pattern_is_refused() -> None:
    told = reasons(target(variables={"HERMES_HOME": "/srv/h[1]"}))[0]
    assert "could be taken for another directory" in told


def test_a_relative_hermes_home_is_refused() -> None:
    assert "relative path data" in reasons(target(variables={"HERMES_HOME": "data"}))[0]


# --- who else decides ----------------------------------------------------------------


def test_a_package_managers_marker_is_refused() -> None:
    assert "a package manager owns" in reasons(target(files={"/home/u/.hermes/.managed": ""}))[0]


def test_a_package_managers_variable_is_refused() -> None:
    assert "HERMES_MANAGED is nixos" in reasons(target(variables={"HERMES_MANAGED": "nixos"}))[0]


@pytest.mark.parametrize("text", ["model: {default: x}\n", "custom_providers: []", "providers:"])
def test_an_administrators_file_that_pins_our_keys_is_refused(text: str) -> None:
    (reason,) = reasons(target(files={"/etc/hermes/config.yaml": text}))
    assert f"/etc/hermes/config.yaml pins {text.partition(':')[0]}" in reason


def test_an_administrators_file_elsewhere_is_found() -> None:
    files = {"/srv/policy/config.yaml": "providers: {}", "/etc/hermes/config.yaml": "model: x"}
    only = target(variables={"HERMES_MANAGED_DIR": "/srv/policy/"}, files=files)
    assert ["/srv/policy/config.yaml pins providers" in one for one in reasons(only)] == [True]


def test_an_administrators_file_of_other_keys_is_none_of_ours() -> None:
    assert target(files={"/etc/hermes/config.yaml": "approvals: {mode: manual}\n"}).refusals == ()


def test_an_administrators_file_that_cannot_be_read_is_refused() -> None:
    (reason,) = reasons(target(files={"/etc/hermes/config.yaml": "a: [\n"}))
    assert "what it pins is unknown" in reason


def test_a_managed_effort_is_refused_where_efforts_are_ours() -> None:
    files = {"/etc/hermes/config.yaml": "agent: {reasoning_effort: none}\n"}
    assert target(files=files).refusals == ()
    wish = replace(WISH, policy=Policy(manage_reasoning=True))
    assert "pins agent" in reasons(target(wish, files=files))[0]


# --- the file, the installations ----------------------------------------------------


@pytest.mark.parametrize("kind", [FileKind.DIRECTORY, FileKind.DANGLING, FileKind.UNREADABLE])
def test_what_is_no_readable_file_is_refused(kind: FileKind) -> None:
    question = Read("~/.hermes/config.yaml")
    facts = answered().with_answers(HOST, {question: (FileFact("/c.yaml", kind),)})
    (only,) = adapter.targets(WISH, facts)
    assert reasons(only) == [f"/c.yaml: {kind.value}"]


def test_a_file_over_the_cap_is_refused() -> None:
    question = Read("~/.hermes/config.yaml")
    huge = FileFact("/c.yaml", FileKind.FILE, size=9, over_cap=True)
    (only,) = adapter.targets(WISH, answered().with_answers(HOST, {question: (huge,)}))
    assert reasons(only) == ["/c.yaml has 9 bytes, more than we read"]


def test_a_broken_file_is_refused_with_line_and_column() -> None:
    files = {"/home/u/.hermes/config.yaml": "model:\n\tprovider: x\n"}
    assert "config.yaml: line 2, column 1:" in reasons(target(files=files))[0]


def test_a_link_is_said() -> None:
    question = Read("~/.hermes/config.yaml")
    link = replace(fact("/home/u/.hermes/config.yaml", config()), real="/home/u/dots/h.yaml")
    (only,) = adapter.targets(WISH, answered().with_answers(HOST, {question: (link,)}))
    assert "/home/u/dots/h.yaml is edited and the link kept" in only.notes[0]


def test_a_host_without_hermes_is_absent() -> None:
    only = target(installations=())
    assert (only.name, bool(only.absent)) == ("hermes", True)
    stranger = replace(HERMES, package="", version="")
    assert "is not Hermes Agent" in target(installations=(stranger,)).absent


def test_an_explicit_launcher_that_leads_nowhere_is_refused() -> None:
    wish = replace(WISH, options={"commands": (("/opt/hermes",),)})
    broken = replace(HERMES, argv=("/opt/hermes",), found="inventory", package="", version="",
                     problem="/opt/hermes does not exist")
    only = target(wish, installations=(broken,))
    assert reasons(only) == ["/opt/hermes: /opt/hermes does not exist"]


def test_the_npm_bridge_is_named() -> None:
    bridge = replace(HERMES, interpreter="/usr/bin/node", version="0.21.5")
    assert "npm bridge" in reasons(target(installations=(bridge,)))[0]


def test_two_installations_are_both_named() -> None:
    notes = target(installations=(HERMES, OLD)).notes
    assert "/home/u/.local/bin/hermes (0.19.0), /old/hermes (0.18.2)" in notes[0]


@pytest.mark.parametrize(("version", "noticed"), [("0.19.0", 0), ("0.18.2", 0), ("0.20.0", 1)])
def test_a_version_that_was_not_tested_is_noticed(version: str, noticed: int) -> None:
    notes = target(installations=(replace(HERMES, version=version),)).notes
    assert len([note for note in notes if "newer than any tested" in note]) == noticed


# --- the loader ----------------------------------------------------------------------


def reply(address: object = URL, max_tokens: object = None, **row: object) -> Done:
    told = {"context_length": 393216, "supports_vision": True, "reasoning": None, **row}
    answer = {"address": address, "max_tokens": max_tokens, "aliases": {"llm.primary": told}}
    return Done(True, stdout=Sealed(f"noise\n\nfleetsync {json.dumps(answer)}\n".encode()))


def judged(*done: Done, wish: Wish = WISH, text: str | None = None) -> tuple[bool, str]:
    installations = (HERMES, OLD)[: len(done)]
    files = {"/home/u/.hermes/config.yaml": text or config()}
    only = target(wish, installations=installations, files=files)
    loaded = adapter.loaded(only, Planned(), done)
    return loaded.agrees, loaded.reason


def test_the_loader_is_asked_about_a_copy_in_a_scratch_home() -> None:
    (command,) = adapter.loaders(target(), Planned())
    assert command.argv[:4] == ("/opt/h/venv/bin/python", "-I", "-B", f"{SCRATCH}/resolve.py")
    assert json.loads(command.argv[4])["aliases"] == ["llm.primary"]
    assert dict(command.env)["HERMES_HOME"] == f"{SCRATCH}/home"
    assert dict(command.env)["HOME"] == SCRATCH
    script, candidate = command.files
    assert b"def main() -> None:" in script.content
    assert (candidate.name, candidate.source) == (
        "home/config.yaml", "/home/u/.hermes/config.yaml",
    )


def test_an_interpreter_that_is_no_python_is_looked_for_beside_the_program() -> None:
    wrapped = replace(HERMES, interpreter="")
    (command,) = adapter.loaders(target(installations=(wrapped,)), Planned())
    assert command.argv[0] == "/opt/h/venv/bin/python"


def test_the_loader_agrees_with_exactly_the_wish() -> None:
    assert judged(reply()) == (True, "")
    assert judged(reply(), reply(address=URL + "/")) == (True, "")


@pytest.mark.parametrize(
    ("done", "why"),
    [
        (reply(context_length=524288), "llm.primary context_length is 524288, not 393216"),
        (reply(context_length=None), "llm.primary context_length is not set, not 393216"),
        (reply(context_length="odd"), "llm.primary context_length is something else"),
        (reply(supports_vision=False), "llm.primary supports_vision is false, not true"),
        (reply(address="https://other/v1"), "turns of anvil to another address"),
        (reply(address="!AuthError"), "it cannot resolve the provider anvil (AuthError)"),
        (Done(True, stdout=Sealed(b'fleetsync {"moved": "ImportError"}')), "not those tested"),
        (Done(True, stdout=Sealed(b'fleetsync {"aliases": {}}')), "llm.primary is missing"),
        (Done(True, stdout=Sealed(b"fleetsync {oops")), "gave no answer (exit status 0)"),
        (Done(True, status=1, stdout=Sealed(b"Traceback: sk-secret")), "exit status 1"),
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
    agrees, reason = judged(reply(), reply(context_length=1))
    assert not agrees
    assert reason == "Hermes 0.18.2 (/old/hermes): llm.primary context_length is 1, not 393216"


def test_the_loader_may_show_the_users_shadowing_switch() -> None:
    text = config(393216, "  supports_vision: false")
    assert judged(reply(supports_vision=False), text=text) == (True, "")
    assert judged(reply(), text=text)[0] is False


def test_a_disabled_provider_need_not_resolve() -> None:
    text = config().replace("    key_env", "    enabled: false\n    key_env")
    assert judged(reply(address="!AuthError"), text=text) == (True, "")


def test_a_managed_output_limit_must_be_seen() -> None:
    wish = replace(WISH, policy=Policy(manage_max_output=True))
    assert judged(reply(max_tokens=4096), wish=wish) == (True, "")
    reason = judged(reply(), wish=wish)[1]
    assert "model.max_tokens is not set, not 4096" in reason


def test_managed_reasoning_must_be_seen_where_the_version_has_it() -> None:
    wish = replace(WISH, policy=Policy(manage_reasoning=True))
    thinks = reply(reasoning={"enabled": True, "effort": "medium"})
    assert "reasoning is not false" in judged(thinks, wish=wish)[1]
    assert judged(reply(reasoning={"enabled": False}), reply(), wish=wish) == (True, "")
    (new, old) = adapter.loaders(target(wish, installations=(HERMES, OLD)), Planned())
    assert [json.loads(one.argv[4])["reasoning"] for one in (new, old)] == [True, False]


def test_the_candidate_is_judged_where_one_is_planned() -> None:
    only = target(files={"/home/u/.hermes/config.yaml": config(524288)})
    planned = adapter.plan(only)
    assert len(planned.edits) == 1
    assert adapter.loaded(only, planned, (reply(),)).agrees


def test_a_parsed_file_is_kept_no_longer_than_its_bytes() -> None:
    content = Sealed(b"model: x\n")
    held = FileFact("/c.yaml", FileKind.FILE, content=content)
    before = len(files._PARSED)
    assert files.document(held) is files.document(held)
    assert len(files._PARSED) == before + 1
    del held, content
    gc.collect()
    assert len(files._PARSED) == before
