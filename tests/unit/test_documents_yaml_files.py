"""Edits in files of the shapes that users have: one changed line for each changed scalar.

The fixtures are committed. The shapes of real users' files run as well where they exist
beside the repository; where they do not, there are no cases for them.
"""

from __future__ import annotations

from collections import Counter
from difflib import SequenceMatcher
from itertools import pairwise
from pathlib import Path as File

import pytest

from fleetsync.documents import (
    Append,
    Document,
    Edit,
    Item,
    Kind,
    Node,
    Path,
    Remove,
    Set,
    Value,
    Where,
)
from tests.matrix import FULL
from tests.unit.documents_yaml import applied, exact, load, paths, read

HERE = File(__file__).parent
FIXTURES = sorted((HERE / "fixtures" / "yaml").glob("*.yaml"))
CORPUS = sorted((HERE.parents[2] / "shared" / "corpus" / "hermes").glob("*.yaml"))


def variants(file: File) -> list[tuple[str, bytes]]:
    """The file as it is, with CRLF, with a BOM, and without its final newline."""
    data = file.read_bytes()
    found = [("as-is", data), ("crlf", data.replace(b"\n", b"\r\n")),
             ("bom", b"\xef\xbb\xbf" + data), ("no-end", data.rstrip(b"\n"))]
    return found if FULL or file in FIXTURES else found[:1]


CASES = [
    pytest.param(data, id=f"{file.stem}-{name}")
    for file in [*FIXTURES, *CORPUS]
    for name, data in variants(file)
]


def free(document: Document, *, whole: bool = False) -> list[tuple[Path, Node]]:
    """The nodes that an edit may touch: no alias speaks of them, no key on the way is there
    twice. With `whole`, an anchor in use within them bars them too, and so does a merge."""
    found = paths(document.root)
    used = {node.text for _, node in found if node.kind is Kind.ALIAS}
    shared = [path for path, node in found if node.anchor and node.anchor in used]
    barred = {*shared, *(path for path, node in found if node.kind is Kind.ALIAS)}
    within = {path[:i] for path in shared for i in range(len(path))} if whole else set[Path]()
    if whole:
        barred |= {path for path, node in found
                   if any(key.tag == "merge" for key, _ in node.entries)}
    times = Counter(path for path, _ in found)
    return [(path, node) for path, node in found if path and path not in within
            and all(path[:i] not in barred and times[path[:i]] < 2
                    for i in range(1, len(path) + 1))]


def one_line(document: Document) -> list[tuple[Path, Node]]:
    """The free scalars that stand on one line."""
    return [(path, node) for path, node in free(document) if node.kind is Kind.SCALAR
            and node.start < node.end and "\n" not in document.text[node.start : node.end]]


def changed_lines(before: bytes, after: bytes) -> tuple[int, int]:
    """How many lines went and how many came."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    codes = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    return (sum(b - a for tag, a, b, _, _ in codes if tag != "equal"),
            sum(d - c for tag, _, _, c, d in codes if tag != "equal"))


def fresh(node: Node) -> Value:
    """Another value than `node` holds."""
    return 7654321 if node.tag == "int" else "changed.value"


def spread(found: list[tuple[Path, Node]], n: int) -> list[tuple[Path, Node]]:
    """About `n` of `found`, from all parts of the file."""
    return found[:: max(1, len(found) // n)]


@pytest.mark.parametrize("data", CASES)
def test_each_changed_scalar_changes_one_line(data: bytes) -> None:
    document = read(data)
    counts = {path: changed_lines(data, document.edit([Set(path, fresh(node))]).data)
              for path, node in spread(one_line(document), 6)}
    assert set(counts.values()) == {(1, 1)}


@pytest.mark.parametrize("data", CASES)
def test_many_scalars_can_change_at_once_and_nothing_between_them(data: bytes) -> None:
    document = read(data)
    known = spread(one_line(document), 60)
    outcome = document.edit([Set(path, fresh(node)) for path, node in known])
    spans = sorted((node.start, node.end) for _, node in known)
    between = [document.text[a:b] for (_, a), (b, _) in pairwise(spans)]
    rest, at = outcome.data.decode("utf-8-sig"), 0
    for piece in between:
        at = rest.find(piece, at) + len(piece)
        assert at >= len(piece)


@pytest.mark.parametrize("data", CASES)
def test_a_set_scalar_is_what_pyyaml_reads(data: bytes) -> None:
    document, edits = read(data), list[Edit]()
    wanted = load(data)
    for path, node in spread(one_line(document), 40):
        edits.append(Set(path, fresh(node)))
        wanted = applied(wanted, edits[-1])
    assert exact(load(document.edit(edits).data)) == exact(wanted)


@pytest.mark.parametrize("data", CASES)
def test_an_inserted_entry_adds_its_lines_and_goes_again_without_a_trace(data: bytes) -> None:
    document = read(data)
    found = [(path, node) for path, node in free(document) if node.kind is Kind.MAPPING
             and node.entries and not any(key.tag == "merge" for key, _ in node.entries)]
    for path, _ in spread(found, 5):
        place = (*path, "llm.new")
        outcome = document.edit([Set(place, {"context_length": 131072})]).data
        assert read(outcome).edit([Remove(place)]).data == data


@pytest.mark.parametrize("data", CASES)
def test_an_appended_item_goes_again_without_a_trace(data: bytes) -> None:
    document = read(data)
    found = [(path, node) for path, node in free(document)
             if node.kind is Kind.SEQUENCE and node.items]
    for path, _ in spread(found, 5):
        outcome = document.edit([Append(path, "new item")]).data
        assert read(outcome).edit([Remove((*path, Item("new item")))]).data == data


@pytest.mark.parametrize("data", CASES)
def test_a_removed_entry_is_gone_and_nothing_else(data: bytes) -> None:
    document, plain = read(data), load(data)
    for path, _ in spread(free(document, whole=True), 6):
        outcome = document.edit([Remove(path)])
        assert exact(load(outcome.data)) == exact(applied(plain, Remove(path)))


@pytest.mark.parametrize("data", CASES)
def test_a_new_provider_is_written_as_lines_of_its_own(data: bytes) -> None:
    document = read(data)
    entry: Value = {"base_url": "https://router.example.net/v1",
                    "models": {"llm.primary": {"context_length": 393216}}}
    outcome = document.edit([Set(("providers", "router.new"), entry)]).data
    went, came = changed_lines(data, outcome)
    held = document.node(("providers",))
    assert (went, came) in {(0, 5 + (held is None)), (1, 6 + (held is None))}


GOLDEN: list[tuple[str, list[Edit], str]] = [
    ("dump", [
        Set(("providers", "anvil", "models", "llm.primary", "context_length"), 393216),
        Set(("providers", "anvil", "models", "llm.primary", "supports_vision"), True),
        Set(("providers", "anvil", "models", "vision.ocr"), {"context_length": 32768}),
        Append(("fallback_providers",), {"provider": "custom:anvil", "model": "llm.secondary"}),
        Append(("providers", "other", "models"), "on"),
        Set(("agent", "reasoning_overrides", "llm.primary"), "high"),
     ], """\
@@
-        context_length: 131072
-        supports_vision: false
+        context_length: 393216
+        supports_vision: true
@@
+      vision.ocr:
+        context_length: 32768
@@
-fallback_providers: []
+    - 'on'
+fallback_providers:
+- provider: custom:anvil
+  model: llm.secondary
@@
-  reasoning_overrides: {}
+  reasoning_overrides:
+    llm.primary: high
"""),
    ("commented", [
        Set(("providers", "anvil", "models", "llm.primary", "supports_vision"), True),
        Set(("providers", "anvil", "models", "llm.secondary"), {"context_length": 65536}),
        Set(("providers", "anvil", "models", "vision.general", "context_length"), 65536),
        Set(("model", "max_tokens"), 4096),
        Append(("terminal", "volumes"), "/srv/new:/new"),
        Set(("agent", "reasoning_overrides", "llm.primary"), "low"),
     ], """\
@@
+  max_tokens: 4096
@@
-        supports_vision: false
-      "vision.general": {context_length: 32768, supports_vision: true}
+        supports_vision: true
+      "vision.general": {context_length: 65536, supports_vision: true}
+      llm.secondary:
+        context_length: 65536
@@
-    "/srv/out:/out"
+    "/srv/out:/out",
+    "/srv/new:/new"
@@
+  reasoning_overrides:
+    llm.primary: low
"""),
    ("list", [
        Set(("custom_providers", Where("name", "anvil"), "models", "llm.primary",
             "context_length"), 393216),
        Set(("custom_providers", Where("name", "spare"), "models", "1.5"), {"context_length": 1}),
        Append(("custom_providers",), {"name": "third", "models": {"llm.primary": {}}}),
        Append(("fallback_model",), {"provider": "custom:third", "model": "yes"}),
        Remove(("custom_providers", Where("name", "anvil"), "models", "llm.secondary")),
     ], """\
@@
-      context_length: 131072
-    llm.secondary:
-      context_length: 65536
+      context_length: 393216
@@
+    '1.5':
+      context_length: 1
+- name: third
+  models:
+    llm.primary: {}
@@
+- {provider: 'custom:third', model: 'yes'}
"""),
    ("indented", [
        Set(("custom_providers", Where("name", "anvil"), "models", "llm.secondary"),
            {"context_length": 65536}),
        Set(("custom_providers", Where("name", "spare"), "models"), {"llm.primary": {}}),
        Append(("toolsets",), "web"),
        Remove(("toolsets", Item("hermes-cli"))),
        Set(("agent", "max_turns"), 60),
     ], """\
@@
+          'llm.secondary':
+              context_length: 65536
@@
+      models:
+          llm.primary: {}
@@
-    - 'hermes-cli'
@@
+    - 'web'
+agent:
+    max_turns: 60
"""),
    ("spacing", [
        Set(("providers", "anvil", "models", "llm.primary", "context_length"), 393216),
        Set(("providers", "anvil", "models", "llm.secondary"), {"context_length": 1}),
        Set(("model", "provider"), "custom:anvil"),
        Append(("custom_providers",), {"name": "anvil"}),
        Set(("mcp_servers", "notes", "command"), "notes"),
     ], """\
@@
-  anvil : {"base_url": "https://router.example.net/v1", "models": {"llm.primary": \
{"context_length": 131072}}}
+  anvil : {"base_url": "https://router.example.net/v1", "models": {"llm.primary": \
{"context_length": 393216}, "llm.secondary": {"context_length": 1}}}
@@
-model :  {default: llm.primary}
+model :  {default: llm.primary, provider: custom:anvil}
@@
+  - name: anvil
@@
-  notes: ~
+  notes:
+    command: notes
"""),
    ("bare-end", [
        Set(("providers", "anvil", "models", "llm.primary", "context_length"), 393216),
        Set(("providers", "anvil", "models", "vision.ocr", "context_length"), 32768),
     ], """\
@@
-        context_length: 131072
+        context_length: 393216
+      vision.ocr:
+        context_length: 32768
"""),
    ("anchors", [
        Set(("model", "spare"), "llm.third"),
        Set(("auxiliary", "vision", "model"), "vision.ocr"),
        Set(("agent", "max_turns"), 90),
     ], """\
@@
-  spare: &unused llm.secondary
+  spare: &unused llm.third
@@
-    model: vision.general
+    model: vision.ocr
@@
-  max_turns: 60
+  max_turns: 90
"""),
]


def diff(before: str, after: str) -> str:
    """The lines that go and come, without their surroundings."""
    old, new = before.splitlines(), after.splitlines()
    lines: list[str] = []
    for tag, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal":
            lines += ["@@", *(f"-{line}" for line in old[a:b]), *(f"+{line}" for line in new[c:d])]
    return "\n".join([*lines, ""])


@pytest.mark.parametrize(("name", "edits", "expected"), GOLDEN, ids=[case[0] for case in GOLDEN])
def test_the_edits_of_a_catalog_look_as_their_user_would_write_them(
    name: str, edits: list[Edit], expected: str
) -> None:
    before = (HERE / "fixtures" / "yaml" / f"{name}.yaml").read_text("utf-8")
    assert diff(before, read(before).edit(edits).data.decode()) == expected
