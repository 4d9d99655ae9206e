"""Where a host has no awk, an interpreter reads JSON with the same result."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from fleetsync.facts import Locate, Place, PlaceFact, PlaceKind, Verdict
from fleetsync.remote import library
from tests.unit.host_read import Host
from tests.unit.test_host_read_files import without
from tests.unit.test_host_read_json import OTHERS, SUITE, VALID
from tests.unit.test_host_read_places import AUTH, CANARY, argvs, fingerprint

READERS = tuple(
    name for name in ("python3", "node") if shutil.which(name, path="/usr/bin:/bin")
)
MORE = (
    (rb'{"k":"a\u0000\u007f\u00e9\ud83d\ude00' + "é".encode() + b'\xff"}', ("k",)),
    ('{"é":"x"}'.encode(), ("é",)),
    (rb'{"\u00e9":"x"}', ("é",)),
    (rb'{"a\"\\":"x"}', ('a"\\',)),
    (b'{"k":NaN}', ("k",)), (b'{"k":Infinity}', ("k",)), (b'{"k":-0}', ("k",)),
    (b'{"k":' + b"9" * 5000 + b"}", ("k",)), (b'{"k":01}', ("k",)),
    (b'{"k":"\\x"}', ("k",)), (b'{"k":"\\u12g4"}', ("k",)), (b'\x0c{"k":"v"}', ("k",)),
    (b'{"a":{"length":"x"},"b":[]}', ("b", "length")), (b'"text"', ()), (b"[]", ()),
    (b'{"constructor":1}', ("toString",)), (b'{"__proto__":"x"}', ("__proto__",)),
    (b'{"a":null}', ("a", "k")), (b'["x"]', ("-1",)), (b'["x"]', ("0",)),
)
_LOOP = 'for case in "$@"; do fs_parse k <"$case"; echo; done'


def read(reader: str, script: str, *words: str, data: bytes = b"") -> bytes:
    """What `script` prints, where `reader` is what there is."""
    program = shutil.which(reader, path="/usr/bin:/bin") or reader
    found = "fs_parser=${0##*/}; fs_reader=$0\n"
    return subprocess.run(
        ["/bin/sh", "-c", library("json.sh") + library("parse.sh") + found + script,
         program, *words],
        input=data, stdout=subprocess.PIPE, env={"PATH": os.environ["PATH"], "LC_ALL": "C"},
        check=True,
    ).stdout


@pytest.mark.parametrize(
    ("data", "keys"), [*(row[:2] for row in VALID), *(row[:2] for row in OTHERS), *MORE]
)
def test_every_reader_finds_the_same(data: bytes, keys: tuple[str, ...]) -> None:
    script = 'fs_parse "$1"'
    found = {one: read(one, script, "\x1f".join(keys), data=data) for one in (*READERS, "awk")}
    assert set(found.values()) == {found["awk"]}


@pytest.mark.parametrize("reader", READERS)
def test_the_suites_verdict_is_the_interpreters_too(reader: str) -> None:
    found = read(reader, _LOOP, *map(str, SUITE)).split(b"\n")
    wrong = [
        case.name for case, answer in zip(SUITE, found, strict=False)
        if (answer == b"invalid") != case.name.startswith("n_")
    ]
    assert (wrong, len(found)) == ([], len(SUITE) + 1)


def host_without(folder: Path, *hidden: str) -> Host:
    host = Host(folder, within=without("awk", *hidden))
    host.write("auth.json", json.dumps({"router": {"key": f"{CANARY}\\"}}))
    return host


@pytest.mark.parametrize("hidden", [(), ("python3",)])
def test_a_host_without_awk_judges_a_store_all_the_same(
    tmp_path: Path, hidden: tuple[str, ...]
) -> None:
    host = host_without(tmp_path, *hidden)
    with argvs() as seen:
        fact = host.place(PlaceKind.JSON, *AUTH)
    assert fact == PlaceFact(Verdict.RESOLVES, fingerprint(f"{CANARY}\\"))
    assert CANARY.encode() not in seen


def test_a_host_without_any_reader_cannot_judge_a_store(tmp_path: Path) -> None:
    host = host_without(tmp_path, "python3", "node")
    assert host.place(PlaceKind.JSON, *AUTH) == PlaceFact(
        Verdict.UNKNOWN, "", "no awk, python3 or node on this host to read it"
    )


def test_the_interpreter_of_a_client_reads_where_no_other_is(tmp_path: Path) -> None:
    host = host_without(tmp_path, "python3", "node")
    python = host.write("venv/bin/python3", "#!/bin/sh\n", 0o755)
    python.unlink()
    shutil.copy2(shutil.which("python3", path="/usr/bin") or "python3", python)
    host.write(".local/bin/agent", f"#!{python}\n", 0o755)
    question = Locate(("agent",), ("agent-py",))
    place = Place(PlaceKind.JSON, *AUTH)
    _, answers = host.ask(question, place)
    assert answers[place] == PlaceFact(Verdict.RESOLVES, fingerprint(f"{CANARY}\\"))


def test_a_package_is_told_without_awk(tmp_path: Path) -> None:
    host = host_without(tmp_path)
    host.write(".local/lib/agent/package.json", '{"name":"agent","version":"1.2.3"}')
    cli = host.write(".local/lib/agent/run.js", "#!/usr/bin/env node\n", 0o755)
    host.write(".local/bin/x")
    (host.home / ".local/bin/agent").symlink_to(cli)
    (found,) = host.installations(Locate(("agent",), ("agent",)))
    assert (found.package, found.version) == ("agent", "1.2.3")
