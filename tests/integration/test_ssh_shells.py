"""The whole protocol through real login shells, whatever their start-up files do."""

from __future__ import annotations

import secrets

import pytest

from fleetsync.errors import HostUnusable
from fleetsync.remote import Call, Record, parse, script
from tests.integration.sshd import RemoteHost, Sshd

SHELLS = ("bash", "zsh", "fish", "tcsh", "dash")
EVERY_BYTE = bytes(range(256)) * 8
START_UP = {
    "bash": ".bashrc", "zsh": ".zshenv", "fish": ".config/fish/config.fish", "tcsh": ".cshrc",
}
NOISE = {
    "bash": "printf 'hello \\033[1mbold'; stty -echo; echo oops >&2\n",
    "zsh": "printf 'hello \\033[1mbold'; stty -echo; echo oops >&2\n",
    "fish": "printf 'hello \\033[1mbold'; stty -echo; echo oops >&2\n",
    "tcsh": "echo -n hello; stty -echo; no-such-command\n",
}
SWALLOWS_A_LINE = {
    "bash": "read x\n", "zsh": "read x\n", "fish": "read x\n", "tcsh": "set x = $<\n",
}
EXPORTS_A_CAT = "cat() { echo pwned; }; export -f cat\n"


def ask(host: RemoteHost, seconds: float = 15) -> tuple[Record, ...]:
    """What every step does: a script in, records out."""
    nonce = secrets.token_hex(16)
    calls = (
        Call("fs_say", ("HELLO", "it's", 'a "word"', "ünï", "$HOME")),
        Call("fs_raw", ("command", "cat", str(host.home / "every byte"))),
        Call("fs_say", ("SHELL",)),
        Call("fs_raw", ("printenv", "SHELL")),
    )
    remote = host.remote()
    try:
        output = remote.exchange(
            f"sh -c 'FS={nonce}; unset -f cat; eval \"$(cat)\"'",
            script(("frame.sh",), calls, nonce),
            f"@@{nonce} END".encode(),
            seconds=seconds,
        )
    finally:
        remote.close()
    return parse(output, nonce)


def answers(host: RemoteHost, shell: str, seconds: float = 15) -> bool:
    hello, of_shell = ask(host, seconds)
    return (
        hello == Record("HELLO", ("it's", 'a "word"', "ünï", "$HOME"), EVERY_BYTE)
        and of_shell.body is not None
        and of_shell.body.decode().strip().endswith(f"/{shell}")
    )


def make(sshd_host: Sshd, shell: str, start_up: str = "", *, forced: bool = False) -> RemoteHost:
    host = sshd_host(login_shell=shell, forced_shell=forced)
    (host.home / "every byte").write_bytes(EVERY_BYTE)
    if start_up:
        host.plant(START_UP[shell], start_up)
    return host


@pytest.mark.parametrize("forced", [False, True], ids=["login shell", "forced shell"])
@pytest.mark.parametrize("shell", SHELLS)
def test_every_login_shell_passes_the_script_and_the_answer_exactly(
    sshd_host: Sshd, shell: str, forced: bool
) -> None:
    assert answers(make(sshd_host, shell, forced=forced), shell)


@pytest.mark.parametrize("shell", START_UP)
def test_start_up_files_are_really_read(sshd_host: Sshd, shell: str) -> None:
    host = make(sshd_host, shell, "echo was here\n")
    remote = host.remote()
    assert remote.exchange("echo @@", b"", b"@@", seconds=5) == b"was here\n@@\n"
    remote.close()


@pytest.mark.parametrize("shell", START_UP)
def test_noise_without_a_line_end_stays_outside_the_answer(sshd_host: Sshd, shell: str) -> None:
    assert answers(make(sshd_host, shell, NOISE[shell]), shell)


@pytest.mark.parametrize("shell", START_UP)
def test_a_start_up_file_that_swallows_a_line_does_no_harm(sshd_host: Sshd, shell: str) -> None:
    assert answers(make(sshd_host, shell, SWALLOWS_A_LINE[shell]), shell)


@pytest.mark.parametrize("shell", START_UP)
def test_a_background_job_does_not_delay_the_answer(sshd_host: Sshd, shell: str) -> None:
    # The job holds the channel open for longer than the exchange may take.
    assert answers(make(sshd_host, shell, "sleep 6 &\n"), shell, seconds=5)


def test_an_exported_function_does_not_replace_our_cat(sshd_host: Sshd) -> None:
    assert answers(make(sshd_host, "bash", EXPORTS_A_CAT), "bash")


@pytest.mark.parametrize("shell", START_UP)
def test_a_start_up_file_that_swallows_everything_makes_the_host_unusable(
    sshd_host: Sshd, shell: str
) -> None:
    with pytest.raises(HostUnusable, match="swallowed the script"):
        ask(make(sshd_host, shell, "cat >/dev/null\n"))


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_a_start_up_file_that_exits_makes_the_host_unusable(
    sshd_host: Sshd, shell: str
) -> None:
    with pytest.raises(HostUnusable):
        ask(make(sshd_host, shell, "exit 3\n"))


@pytest.mark.parametrize(("shell", "other"), [
    ("bash", "zsh"), ("zsh", "bash"), ("fish", "zsh"), ("tcsh", "bash"), ("bash", "fish"),
])
def test_a_shell_that_another_one_replaced_runs_nothing_of_the_script(
    sshd_host: Sshd, shell: str, other: str
) -> None:
    with pytest.raises(HostUnusable):
        ask(make(sshd_host, shell, f"exec {other}\n"))


def test_an_account_that_is_closed_is_unusable_in_its_own_words(sshd_host: Sshd) -> None:
    host = make(sshd_host, "nologin")
    with pytest.raises(HostUnusable, match="did not run our script"):
        ask(host)
