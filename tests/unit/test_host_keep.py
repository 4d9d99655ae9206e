"""A host puts a key into a store: one value changes, and every other byte stays."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from fleetsync.adapter import Keep
from fleetsync.facts import Place, PlaceKind
from fleetsync.new_key import NewKey
from fleetsync.remote import library
from fleetsync.sealed import Sealed
from tests.integration.faults.host import shell

SHELLS = tuple(
    name for name in ("dash", "bash", "zsh", "busybox", "mksh", "ksh93") if shutil.which(name)
)
AWKS = tuple(
    name for name in ("mawk", "gawk", "original-awk", "busybox") if shutil.which(name)
)
LIBRARIES = ("frame.sh", "bytes.sh", "json.sh", "veil.sh", "keep.sh")
KEY = "sk-new-0123456789"
BOM = b"\xef\xbb\xbf"
DOTENV = {
    "the last of several": (
        b"ROUTER=a\nOTHER=b\nROUTER=c\nLAST=d\n",
        b"ROUTER=a\nOTHER=b\nROUTER=sk-new-0123456789\nLAST=d\n",
    ),
    "a file without it": (b"A=1\n", b"A=1\nROUTER=sk-new-0123456789\n"),
    "no final line end": (b"A=1", b"A=1\nROUTER=sk-new-0123456789\n"),
    "an unfinished last line": (b"A=1\nROUTER=x", b"A=1\nROUTER=sk-new-0123456789"),
    "an empty file": (b"", b"ROUTER=sk-new-0123456789\n"),
    "CR LF": (b"A=1\r\nROUTER=x\r\nB=2\r\n", b"A=1\r\nROUTER=sk-new-0123456789\r\nB=2\r\n"),
    "CR LF, appended": (b"A=1\r\n", b"A=1\r\nROUTER=sk-new-0123456789\r\n"),
    "CR LF, no final one": (b"A=1\r\nB=2", b"A=1\r\nB=2\r\nROUTER=sk-new-0123456789\r\n"),
    "export": (b"export ROUTER=x\n", b"export ROUTER=sk-new-0123456789\n"),
    "blanks": (b"  ROUTER = x  \n", b"  ROUTER = sk-new-0123456789  \n"),
    "quotes": (b"ROUTER=\"x y\"\n", b"ROUTER=sk-new-0123456789\n"),
    "single quotes": (b"ROUTER='x # y'\n", b"ROUTER=sk-new-0123456789\n"),
    "an escaped quote": (b'ROUTER="x\\"y" # z\n', b"ROUTER=sk-new-0123456789 # z\n"),
    "a comment behind": (b"ROUTER=x # mine\n", b"ROUTER=sk-new-0123456789 # mine\n"),
    "a value that is only a comment": (b"ROUTER= # x\n", b"ROUTER=sk-new-0123456789 # x\n"),
    "an empty value": (b"ROUTER=\nB=1\n", b"ROUTER=sk-new-0123456789\nB=1\n"),
    "a comment that names it": (b"# ROUTER=x\n", b"# ROUTER=x\nROUTER=sk-new-0123456789\n"),
    "a name that begins alike": (b"ROUTER2=x\n", b"ROUTER2=x\nROUTER=sk-new-0123456789\n"),
    "a value over several lines": (
        b'PEM="a\nROUTER=no\nb"\nROUTER=x\nZ="c\nROUTER=no\n"\n',
        b'PEM="a\nROUTER=no\nb"\nROUTER=sk-new-0123456789\nZ="c\nROUTER=no\n"\n',
    ),
    "odd bytes": (b"A=\0\xff%s\\n\nROUTER=x\n", b"A=\0\xff%s\\n\nROUTER=sk-new-0123456789\n"),
    "a BOM": (BOM + b"ROUTER=x\n", BOM + b"ROUTER=x\nROUTER=sk-new-0123456789\n"),
}
JSON = {
    "a string": (b'{"a": {"k": "old", "z": 1}}\n', b'{"a": {"k": "KEY", "z": 1}}\n'),
    "another kind of value": (b'{"a":{"k":{"x":[1,"]"]}}}', b'{"a":{"k":"KEY"}}'),
    "a number at the end": (b'{"a":{"z":0,"k":1.5e3 } }', b'{"a":{"z":0,"k":"KEY" } }'),
    "a missing entry": (
        b'{\n  "b": 1\n}\n', b'{\n  "a": {"k": "KEY"},\n  "b": 1\n}\n',
    ),
    "a missing entry below": (
        b'{\n\t"a": {\n\t\t"z": 1\n\t}\n}', b'{\n\t"a": {\n\t\t"k": "KEY",\n\t\t"z": 1\n\t}\n}',
    ),
    "CR LF": (
        b'{\r\n  "b": 1\r\n}\r\n', b'{\r\n  "a": {"k": "KEY"},\r\n  "b": 1\r\n}\r\n',
    ),
    "an empty object": (b"{}", b'{"a": {"k": "KEY"}}'),
    "an empty object below": (b'{"a": { }, "b": {}}', b'{"a": {"k": "KEY" }, "b": {}}'),
    "one line": (b'{"b":1}', b'{"a": {"k": "KEY"},"b":1}'),
    "the same names elsewhere": (
        b'{"b":{"k":"no"},"a":{"a":{"k":"no"},"k":"old"},"k":"no"}',
        b'{"b":{"k":"no"},"a":{"a":{"k":"no"},"k":"KEY"},"k":"no"}',
    ),
    "twins beside the way": (
        b'{"b":1,"b":2,"a":{"z":1,"z":2,"k":""}}', b'{"b":1,"b":2,"a":{"z":1,"z":2,"k":"KEY"}}',
    ),
    "letters beyond ASCII": (
        '{"é":"ü","a":{"k":"ö"},"z":"€"}'.encode(), '{"é":"ü","a":{"k":"KEY"},"z":"€"}'.encode(),
    ),
    "escapes": (rb'{"\u0061":{"\u006b":"\"}"}}', rb'{"\u0061":{"\u006b":"KEY"}}'),
    "a long line": (
        b'{"z":"' + b"x" * 5000 + b'","a":{"k":"old"}}',
        b'{"z":"' + b"x" * 5000 + b'","a":{"k":"KEY"}}',
    ),
}
REFUSED = {
    "not JSON": (b'{"a": 1,}', "syntax"),
    "comments": (b'{"a": {"k": "x"}} // y', "syntax"),
    "nothing": (b"", "syntax"),
    "a BOM": (BOM + b'{"a": {"k": "x"}}', "syntax"),
    "twins": (b'{"a": {"k": "x", "k": "y"}}', "twice"),
    "twins above": (b'{"a": {}, "a": {"k": "y"}}', "twice"),
    "a string on the way": (b'{"a": "x"}', "blocked"),
    "a list on the way": (b'{"a": ["x"]}', "blocked"),
    "a list at the root": (b'["a"]', "blocked"),
    "two documents": (b'{"a": {"k": "x"}} {}', "syntax"),
}


class Host:
    """A shell, and the awk that it finds."""

    def __init__(self, folder: Path, name: str, awk: str = "") -> None:
        self.folder = folder
        self.sh, self.path = shell(name, folder / "tools")
        if awk:
            self.path = f"{folder / 'awks'}:{self.path}"
            (folder / "awks").mkdir()
            (folder / "awks/awk").symlink_to(shutil.which(awk) or awk)

    def put(self, new: NewKey, old: bytes | None) -> tuple[bytes, str]:
        """What the new store is, and why it is not made."""
        (self.folder / "old").unlink(missing_ok=True)
        (self.folder / "new").unlink(missing_ok=True)
        if old is not None:
            (self.folder / "old").write_bytes(old)
        ours = "".join(map(library, LIBRARIES))
        script = (
            f'{ours}\neval "$fs_define_put"\nfs_newline="\n"\nfs_from=old\nfs_out=new\n:>new\n'
            f'{new.call(exists=old is not None).render()}\nprintf %s "$fs_refused$fs_broken"\n'
        )
        done = subprocess.run(
            [self.sh], input=script.encode(), cwd=self.folder, check=True,
            stdout=subprocess.PIPE, env={"PATH": self.path, "LC_ALL": "C"},
        )
        return (self.folder / "new").read_bytes(), done.stdout.decode()


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(tmp_path, "dash")


def json_key(text: str = "KEY", **more: str) -> NewKey:
    place = Place(PlaceKind.JSON, "/h/auth.json", "a\x1fk")
    return NewKey(Sealed(text.encode()), Keep(place, **more))


def dotenv_key(text: str = KEY) -> NewKey:
    return NewKey(Sealed(text.encode()), Keep(Place(PlaceKind.DOTENV, "/h/.env", "ROUTER")))


def file_key(text: str = KEY) -> NewKey:
    return NewKey(Sealed(text.encode()), Keep(Place(PlaceKind.FILE, "/h/key", "")))


@pytest.mark.parametrize("case", DOTENV)
def test_one_assignment_gets_the_key(host: Host, case: str) -> None:
    old, new = DOTENV[case]
    assert host.put(dotenv_key(), old) == (new, "")


@pytest.mark.parametrize("old", [b'ROUTER="x\n', b"A=1\nB='\n"])
def test_a_quote_that_is_not_closed_is_refused(host: Host, old: bytes) -> None:
    assert host.put(dotenv_key(), old) == (b"", "quoterefused")


def test_a_key_that_a_reader_would_cut_is_quoted(host: Host) -> None:
    assert host.put(dotenv_key("a#b&c"), b"") == (b"ROUTER='a#b&c'\n", "")


@pytest.mark.parametrize("case", JSON)
def test_one_value_becomes_the_key(host: Host, case: str) -> None:
    old, new = JSON[case]
    assert host.put(json_key(), old) == (new, "")


@pytest.mark.parametrize("case", REFUSED)
def test_a_document_that_is_not_clearly_ours_to_change_is_refused(host: Host, case: str) -> None:
    old, why = REFUSED[case]
    assert host.put(json_key(), old) == (b"", f"{why}refused")


def test_a_value_around_the_key_is_written_with_it(host: Host) -> None:
    new = json_key('k\\"', before='{"type": "api_key", "key": ', after="}")
    assert host.put(new, b'{"a":{"k":null}}') == (
        b'{"a":{"k":{"type": "api_key", "key": "k\\\\\\""}}}', "",
    )


def test_a_deep_place_in_a_small_document_is_made_from_where_it_ends(host: Host) -> None:
    place = Place(PlaceKind.JSON, "/h/s.json", "providers\x1fa b\x1fx\x1fkey")
    new = NewKey(Sealed(b"KEY"), Keep(place))
    assert host.put(new, b'{"providers":{"z":1}}') == (
        b'{"providers":{"a b": {"x": {"key": "KEY"}},"z":1}}', "",
    )


def test_an_absent_store_is_a_whole_small_one(host: Host) -> None:
    assert host.put(json_key(), None) == (b'{\n  "a": {\n    "k": "KEY"\n  }\n}\n', "")
    assert host.put(dotenv_key(), None) == (f"ROUTER={KEY}\n".encode(), "")
    assert host.put(file_key(), None) == (KEY.encode(), "")


@pytest.mark.parametrize(
    ("old", "end"), [(b"x", b""), (b"x\n", b"\n"), (b"x\r\n", b"\r\n"), (b"", b""), (b"\n", b"\n")]
)
def test_a_file_that_is_a_key_keeps_its_final_line_end(host: Host, old: bytes, end: bytes) -> None:
    assert host.put(file_key(), old) == (KEY.encode() + end, "")


def makes_them_all(host: Host) -> None:
    for old, new in DOTENV.values():
        assert host.put(dotenv_key(), old) == (new, "")
    for old, new in JSON.values():
        assert host.put(json_key(), old) == (new, "")
    for old, why in REFUSED.values():
        assert host.put(json_key(), old) == (b"", f"{why}refused")
    assert host.put(file_key(), b"x\r\n") == (KEY.encode() + b"\r\n", "")


@pytest.mark.parametrize("name", SHELLS)
def test_every_shell_makes_the_same_stores(tmp_path: Path, name: str) -> None:
    makes_them_all(Host(tmp_path, name))


@pytest.mark.parametrize("name", AWKS)
def test_every_awk_makes_the_same_stores(tmp_path: Path, name: str) -> None:
    makes_them_all(Host(tmp_path, "dash", name))


def test_a_host_without_awk_refuses(tmp_path: Path) -> None:
    host = Host(tmp_path, "dash")
    tools = tmp_path / "few"
    tools.mkdir()
    for tool in ("head", "tail", "tr"):
        (tools / tool).symlink_to(shutil.which(tool) or tool)
    host.path = str(tools)
    assert host.put(json_key(), b'{"a":{"k":"x"}}') == (b"", "toolrefused")
    assert host.put(dotenv_key(), b"ROUTER=x\n") == (b"", "toolrefused")
