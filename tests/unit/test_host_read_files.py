"""What stands under a path is told exactly, and nothing on the host changes by it."""

from __future__ import annotations

import hashlib
import os
import pwd
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from fleetsync.errors import HostUnusable
from fleetsync.facts import FileKind
from tests.integration.faults.host import namespace
from tests.unit.host_read import SHELLS, Host

BYTES = bytes(range(256)) + b"\n@@x END\n\n"
_BSD_STAT = """#!/bin/sh
[ "$1" = -f ] || exit 1
case $2 in
%OLp) exec /usr/bin/stat -c %a "$3" ;;
*) exec /usr/bin/stat -c '%a %u %g %s %Y %h' "$3" ;;
esac
"""


@pytest.fixture(params=SHELLS)
def host(request: pytest.FixtureRequest, tmp_path: Path) -> Host:
    return Host(tmp_path, request.param)


def without(*programs: str) -> tuple[str, ...]:
    """Runs a command line where these programs are not."""
    hide = (
        "for p in $0; do for d in /usr/bin /bin; do"
        ' [ ! -x $d/$p ] || mount --bind /dev/null $d/$p; done; done; exec "$@"'
    )
    return (*namespace("--mount"), "/bin/sh", "-c", hide, " ".join(programs))


@pytest.fixture
def unprivileged() -> Iterator[Host]:
    """An account for which permissions count, also where the tests run as root."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        host = Host(folder, "dash", user=65534 if os.geteuid() == 0 else None)
        yield host
        for path in (host.home, *host.home.rglob("*")):
            path.chmod(0o755)


def test_the_account_tells_who_it_is(host: Host) -> None:
    facts, _ = host.ask()
    assert (str(facts.home), facts.uid, facts.system, facts.path) == (
        str(host.home), os.getuid(), os.uname().sysname, host.remote.environment["PATH"],
    )


def test_without_a_home_variable_the_home_is_that_of_the_account(tmp_path: Path) -> None:
    facts, _ = Host(tmp_path, environment={"HOME": ""}).ask()
    assert str(facts.home) == pwd.getpwuid(os.getuid()).pw_dir


@pytest.mark.parametrize("odd", ["a\tb", "a\nb"])
def test_a_home_that_cannot_be_told_is_unusable(odd: str, tmp_path: Path) -> None:
    with pytest.raises(HostUnusable, match="home directory"):
        Host(tmp_path, environment={"HOME": f"{tmp_path}/{odd}"}).ask()


def test_start_up_files_that_print_are_noticed(tmp_path: Path) -> None:
    host = Host(tmp_path, login="bash", environment={"BASH_ENV": str(tmp_path / "noise")})
    (tmp_path / "noise").write_text("printf 'no line end'")
    facts, _ = host.ask()
    assert facts.interactive_noise


def test_a_quiet_start_is_told_as_quiet(tmp_path: Path) -> None:
    facts, _ = Host(tmp_path).ask()
    assert not facts.interactive_noise


def test_a_program_called_print_is_not_tried_out(host: Host) -> None:
    program = host.write("bin/print", '#!/bin/sh\n: >"$HOME/printed"\n', 0o700)
    path = f"{program.parent}:{host.remote.environment['PATH']}"
    host.remote.environment = {**host.remote.environment, "PATH": path}
    host.variable("SOMETHING")
    assert not (host.home / "printed").exists()


@pytest.mark.parametrize(
    ("hidden", "named"),
    [(("wc",), "wc"), (("id",), "id"), (("stat",), "stat"), (("sed", "grep"), "grep, sed")],
)
def test_a_host_that_lacks_a_program_is_told_which(
    hidden: tuple[str, ...], named: str, tmp_path: Path
) -> None:
    host = Host(tmp_path, within=without(*hidden))
    with pytest.raises(HostUnusable) as caught:
        host.ask()
    assert caught.value.message == f"the host has no {named}"


def test_a_file_comes_with_its_exact_bytes(host: Host) -> None:
    host.write("file", BYTES)
    content = host.file("~/file").content
    assert content is not None and content.reveal() == BYTES


def test_an_empty_file_has_empty_content(host: Host) -> None:
    host.write("file")
    content = host.file("~/file").content
    assert content is not None and content.reveal() == b""


def test_a_file_comes_with_its_status_and_digest(host: Host) -> None:
    path = host.write("file", BYTES, 0o640)
    (host.home / "other name").hardlink_to(path)
    found, fact = path.stat(), host.file("~/file")
    assert (fact.mode, fact.uid, fact.gid, fact.size, fact.mtime, fact.links, fact.sha256) == (
        0o640, found.st_uid, found.st_gid, len(BYTES), int(found.st_mtime), 2,
        hashlib.sha256(BYTES).hexdigest(),
    )


def test_a_stat_of_bsd_tells_the_same(tmp_path: Path) -> None:
    host = Host(tmp_path)
    (host.tools / "stat").write_text(_BSD_STAT)
    (host.tools / "stat").chmod(0o755)
    host.write("file", BYTES, 0o640)
    fact = host.file("~/file")
    assert (fact.mode, fact.size, fact.links) == (0o640, len(BYTES), 1)


@pytest.mark.parametrize(
    "name", ["a b", "it's", 'say "x"', "$HOME", "-n", "ümläut", "a?b", "[ab]", "back\\slash", "~"]
)
def test_a_name_of_any_characters_is_only_a_name(host: Host, name: str) -> None:
    host.write(f"{name}/{name}", "here")
    fact = host.file(f"~/{name}/{name}")
    assert fact.path == f"{host.home}/{name}/{name}" and fact.exists


@pytest.mark.parametrize("pattern", ["/a\nb", "/a\tb", "relative", "~other/file", ""])
def test_what_cannot_be_a_path_is_answered_without_the_host(tmp_path: Path, pattern: str) -> None:
    assert Host(tmp_path).file(pattern).kind is FileKind.OTHER


def test_an_asterisk_matches_names_but_no_leading_dot(host: Host) -> None:
    for name in ("b x", "a", ".hidden"):
        host.write(f"profiles/{name}/config", name)
    found = [fact.path for fact in host.files("~/profiles/*/config")]
    assert found == [f"{host.home}/profiles/{name}/config" for name in ("a", "b x")]


def test_an_asterisk_without_a_match_gives_no_file(host: Host) -> None:
    assert host.files("~/profiles/*/config") == ()


def test_absence_is_an_answer(host: Host) -> None:
    fact = host.file("~/no/such")
    assert (fact.kind, fact.real) == (FileKind.ABSENT, f"{host.home}/no/such")


def test_a_directory_is_told_apart(host: Host) -> None:
    (host.home / "folder").mkdir()
    assert host.file("~/folder").kind is FileKind.DIRECTORY


def test_a_pipe_is_told_apart_and_not_read(host: Host) -> None:
    os.mkfifo(host.home / "pipe")
    assert host.file("~/pipe").kind is FileKind.OTHER


def test_a_link_is_followed_to_its_end(host: Host) -> None:
    real = host.write("dotfiles/real", "here")
    (host.home / "one").symlink_to("dotfiles/two")
    (host.home / "dotfiles/two").symlink_to(real)
    fact = host.file("~/one")
    assert (fact.real, fact.is_link, fact.exists) == (str(real.resolve()), True, True)


def test_a_linked_directory_is_followed(host: Host) -> None:
    real = host.write("dotfiles/pi/file", "here")
    (host.home / ".pi").symlink_to("dotfiles/pi")
    assert host.file("~/.pi/file").real == str(real.resolve())


def test_a_link_that_leads_nowhere_is_dangling(host: Host) -> None:
    (host.home / "link").symlink_to("gone")
    fact = host.file("~/link")
    assert (fact.kind, fact.real) == (FileKind.DANGLING, f"{host.home}/gone")


def test_a_path_below_a_dangling_directory_is_dangling(host: Host) -> None:
    (host.home / ".pi").symlink_to("gone")
    assert host.file("~/.pi/file").kind is FileKind.DANGLING


def test_links_in_a_circle_are_dangling(host: Host) -> None:
    (host.home / "one").symlink_to("two")
    (host.home / "two").symlink_to("one")
    assert host.file("~/one").kind is FileKind.DANGLING


def test_a_file_beyond_the_cap_comes_without_content(host: Host) -> None:
    host.write("file", b"x" * 101)
    fact = host.file("~/file", cap=100)
    assert (fact.over_cap, fact.content, fact.size) == (True, None, 101)


def test_a_file_at_the_cap_is_read(host: Host) -> None:
    host.write("file", b"x" * 100)
    assert host.file("~/file", cap=100).content is not None


def test_content_is_left_out_on_request(host: Host) -> None:
    host.write("file", BYTES)
    fact = host.file("~/file", content=False)
    assert (fact.content, fact.sha256) == (None, hashlib.sha256(BYTES).hexdigest())


def test_a_file_that_may_not_be_read_is_unreadable(unprivileged: Host) -> None:
    unprivileged.write("file", "here", 0o000)
    assert unprivileged.file("~/file").kind is FileKind.UNREADABLE


def test_a_file_in_a_closed_directory_is_unreadable_and_not_absent(unprivileged: Host) -> None:
    unprivileged.write("closed/file", "here").parent.chmod(0o000)
    assert unprivileged.file("~/closed/file").kind is FileKind.UNREADABLE


def test_a_directory_that_may_not_be_written_is_told(unprivileged: Host) -> None:
    unprivileged.write("folder/file", "here", 0o644).parent.chmod(0o555)
    assert not unprivileged.file("~/folder/file").writable


def test_a_file_that_is_writable_with_its_directory_is_told(host: Host) -> None:
    host.write("folder/file", "here")
    assert host.file("~/folder/file").writable


def test_an_absent_file_tells_whether_it_could_be_made(unprivileged: Host) -> None:
    unprivileged.home.chmod(0o555)
    assert not unprivileged.file("~/folder/file").writable
