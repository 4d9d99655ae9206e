"""The host's own JSON reader is as strict as JSON.parse, in every awk."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from fleetsync.remote import library

AWKS = tuple(
    name for name in ("mawk", "gawk", "original-awk", "busybox") if shutil.which(name)
)
_OWN = Path(__file__).parent / "fixtures/suite"
_SUITE = Path(__file__).parents[3] / "shared/suites/JSONTestSuite/test_parsing"
SUITE = tuple(sorted((*_OWN.glob("[yn]_*.json"), *_SUITE.glob("[yn]_*.json"))))
VALID = (
    (b'{"a":{"k":"v"}}', ("a", "k"), "v"),
    (b'{"a":{"k":"x"},"a":{"k":"last"}}', ("a", "k"), "last"),
    (b'{"k":1,"k":"string"}', ("k",), "string"),
    (b'{"0":"right","00":"wrong"}', ("0",), "right"),
    (b'{"b":{"k":"wrong"},"a":{"k":"right"}}', ("a", "k"), "right"),
    (b'{"a":{"a":{"k":"wrong"},"k":"right"}}', ("a", "k"), "right"),
    (b'\r\n{\r\n\t"k" :\t"v"\r\n}\r\n', ("k",), "v"),
    (rb'{"k":"q\"\\\/\b\f\n\r\t"}', ("k",), 'q"\\/\b\f\n\r\t'),
    (rb'{"\u006b":"\u0041"}', ("k",), "A"),
    (b'{"k":"#\'$`!%s&\\\\1"}', ("k",), "#'$`!%s&\\1"),
    ('{"é":"ü"}'.encode(), ("é",), "ü"),
    (b'{"k":""}', ("k",), ""),
    (b'{"a":[{"k":"right"},{"k":"wrong"}]}', ("a", "0", "k"), "right"),
    (b'{"a":[["x"],[1,"right"],["x"]],"b":["x","y"]}', ("a", "1", "1"), "right"),
    (b'{"b":["x","y"],"a":[{"k":["wrong"],"z":"right"}]}', ("a", "0", "z"), "right"),
    (b'{"k":"' + b"x" * 5000 + b'"}', ("k",), "x" * 5000),
    (b'{"a":[' + b"1234567.5e10," * 900 + b'null],"k":"after"}', ("k",), "after"),
)
OTHERS = (
    (b"{}", ("k",), b"absent"),
    (b'{"a":{"k":"x"},"a":{}}', ("a", "k"), b"absent"),
    (b'{"a":[{"k":"x"}]}', ("a", "k"), b"absent"),
    (b'{"a":"k"}', ("a", "k"), b"absent"),
    (b'{"a":["x"]}', ("a", "1"), b"absent"),
    (b'{"a":[]}', ("a", "0"), b"absent"),
    (b'{"a":[{}]}', ("a", "0"), b"other"),
    (b'{"a":["x"]}', ("a", "00"), b"absent"),
    (b'{"k":null}', ("k",), b"other"),
    (b'{"k":"x","k":{}}', ("k",), b"other"),
    (b"", ("k",), b"invalid"),
    (b'{"k":"v"', ("k",), b"invalid"),
    (b'{"k":"v"}{', ("k",), b"invalid"),
    (b'{"k":"v"}\0', ("k",), b"invalid"),
    (b'\xef\xbb\xbf{"k":"v"}', ("k",), b"invalid"),
    (b'{"k":"v",}', ("k",), b"invalid"),
    (b'{"k":"v"} // comment', ("k",), b"invalid"),
    (b'{"k":"a\nb"}', ("k",), b"invalid"),
)


@pytest.fixture(params=AWKS)
def awk(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    program = shutil.which(request.param)
    assert program is not None
    (tmp_path / "awk").symlink_to(program)
    return f"{tmp_path}:/usr/bin:/bin"


def read(path: str, data: bytes, keys: tuple[str, ...] = ()) -> bytes:
    return subprocess.run(
        ["/bin/sh", "-c", library("json.sh") + 'fs_json "$1"', "sh", "\x1f".join(keys)],
        input=data, stdout=subprocess.PIPE, env={"PATH": path, "LC_ALL": "C"}, check=True,
    ).stdout


@pytest.mark.parametrize(("data", "keys", "value"), VALID)
def test_a_string_is_found_under_its_path(
    awk: str, data: bytes, keys: tuple[str, ...], value: str
) -> None:
    assert read(awk, data, keys) == b"string\n" + value.encode() + b"."


@pytest.mark.parametrize(("data", "keys", "answer"), OTHERS)
def test_what_is_no_string_there_is_told_by_its_class(
    awk: str, data: bytes, keys: tuple[str, ...], answer: bytes
) -> None:
    assert read(awk, data, keys) == answer


@pytest.mark.parametrize(
    ("escape", "value"), [(rb"\u0000", b"\x01"), (rb"\u00e9", b"\xff"), (rb"\ud83d", b"\xff")]
)
def test_an_escape_that_no_credential_holds_comes_as_a_byte_that_none_holds(
    awk: str, escape: bytes, value: bytes
) -> None:
    assert read(awk, b'{"k":"' + escape + b'"}', ("k",)) == b"string\n" + value + b"."


@pytest.mark.parametrize("case", SUITE, ids=lambda path: path.stem)
def test_the_suites_verdict_is_ours(tmp_path: Path, case: Path) -> None:
    found = read("/usr/bin:/bin", case.read_bytes(), ("k",))
    assert (found == b"invalid") == case.name.startswith("n_")


def test_nesting_is_followed_to_any_depth(awk: str) -> None:
    keys = tuple(f"k{at}" for at in range(60))
    text = "".join(f'{{"{key}":' for key in keys) + '"deep"' + "}" * 60
    assert read(awk, text.encode(), keys) == b"string\ndeep."


def test_the_reader_is_at_most_sixty_lines() -> None:
    program = library("json.sh").partition("fs_json_reader='\n")[2].partition("'\n")[0]
    assert program.count("\n") < 60
