"""Places that the whole host shares are judged on it, and give no value away."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from fleetsync.facts import Place, PlaceFact, PlaceKind, Verdict
from fleetsync.probe import ask
from fleetsync.remote import ANSWER_CAP, Reader
from tests.integration.faults.host import ShellRemote
from tests.unit.host_read import Host, alone
from tests.unit.test_host_read_places import CANARY, KEY, argvs, fingerprint

VALUE = f"{CANARY}-of-the-host"
_TABLE = Path(__file__).with_name("situations_hostwide.toml")
SITUATIONS = tomllib.loads(_TABLE.read_text("utf-8"))
_HANGS = "sleep 600"
_WSL = "/proc/sys/fs/binfmt_misc/WSLInterop"
_BUS = {"DBUS_SESSION_BUS_ADDRESS": "unix:path=/nowhere/bus"}
_ITEM = "([objectpath '/org/freedesktop/secrets/collection/login/3'], @ao [])"
_NONE = "(@ao [], @ao [])"


class Heard(ShellRemote):
    """Keeps what it answered."""

    said = b""

    def exchange(
        self, command: str, stdin: bytes, end: bytes, *, seconds: float, cap: int = ANSWER_CAP,
        hold: bool = False,
    ) -> bytes:
        self.said += super().exchange(command, stdin, end, seconds=seconds)
        return self.said


class Given:
    """A host, and how each situation furnishes it."""

    def __init__(self, folder: Path) -> None:
        self.host = Host(folder, login="bash", within=alone('"$@"'))
        self.replaced: tuple[tuple[str, str], ...] = ()
        self.environment: dict[str, str] = {}

    def program(self, name: str, body: str) -> None:
        """A program on the host's PATH."""
        (self.host.tools / name).write_text(f"#!/bin/sh\n{body}\n")
        (self.host.tools / name).chmod(0o755)

    def nothing(self) -> None: ...

    def no_keyring(self) -> None:
        self.replaced = (("command -v gdbus", "command -v no-gdbus"),)

    def manager(self) -> None:
        self.program("systemctl", f"echo A=1; echo {KEY}={VALUE}; echo Z=2")

    def manager_of_others(self) -> None:
        self.program("systemctl", f"echo OTHER_{KEY}={VALUE}")

    def manager_without_bus(self) -> None:
        self.program("systemctl", "echo 'Failed to connect to user scope bus' >&2; exit 1")

    def manager_that_hangs(self) -> None:
        self.program("systemctl", _HANGS)

    def launchd(self) -> None:
        self.program("launchctl", f'[ "$*" = "getenv {KEY}" ] && echo {VALUE}')

    def launchd_of_another_domain(self) -> None:
        self.program("launchctl", "exit 0")

    def keyring(self, service: str, username: str = _NONE) -> None:
        self.environment = _BUS
        self.program("gdbus", f"""
            [ "$DBUS_SESSION_BUS_ADDRESS" = "{_BUS['DBUS_SESSION_BUS_ADDRESS']}" ] || exit 1
            case "$*" in
            *NameHasOwner*) echo '(true,)' ;;
            *SearchItems*"{{'service': '{KEY}'}}") echo "{service}" ;;
            *SearchItems*"{{'username': '{KEY}'}}") echo "{username}" ;;
            esac""")

    def keyring_unlocked(self) -> None:
        self.keyring(_ITEM)

    def keyring_by_username(self) -> None:
        self.keyring(_NONE, _ITEM)

    def keyring_locked(self) -> None:
        self.keyring("(@ao [], [objectpath '/org/freedesktop/secrets/collection/login/3'])")

    def keyring_empty(self) -> None:
        self.keyring(_NONE)

    def keyring_not_running(self) -> None:
        self.environment = _BUS
        self.program("gdbus", "echo '(false,)'")

    def keyring_that_hangs(self) -> None:
        self.environment = _BUS
        self.program("gdbus", f"case \"$*\" in *Has*) echo '(true,)' ;; *) {_HANGS} ;; esac")

    def keyring_without_bus(self) -> None:
        self.program("gdbus", "echo '(true,)'")

    def keychain(self) -> None:
        self.program("security", "echo 'keychain: \"/Users/op/Library/login.keychain-db\"'")

    def interop(self, body: str) -> None:
        self.replaced = ((_WSL, str(self.host.write("WSLInterop"))),)
        self.program("reg.exe", body)

    def windows(self) -> None:
        self.interop(f"printf '\\r\\nHKEY_CURRENT_USER\\\\Environment\\r\\n"
                     f"    TEMP    REG_EXPAND_SZ    x\\r\\n    {KEY}    REG_SZ    {VALUE}\\r\\n'")

    def windows_of_others(self) -> None:
        self.interop(f"printf '\\r\\nHKEY_CURRENT_USER\\\\Environment\\r\\n"
                     f"    OTHER_{KEY}    REG_SZ    {VALUE}\\r\\n'")

    def windows_that_hangs(self) -> None:
        self.interop(_HANGS)

    def credentials_directory(self) -> None:
        self.host.write(f"credentials/{KEY}", VALUE + "\n")
        self.credentials_directory_without()

    def credentials_directory_without(self) -> None:
        self.environment = {"CREDENTIALS_DIRECTORY": str(self.host.home / "credentials")}

    def environment_d(self) -> None:
        self.host.write(".config/environment.d/10-router.conf", f"{KEY}={VALUE}\n")

    def session(self) -> None:
        self.environment = {KEY: VALUE}

    def login_shell(self) -> None:
        self.host.write(".profile", f"export {KEY}={VALUE}\n")

    def judged(self, place: Place) -> PlaceFact:
        """The verdict of this host; all that it answered is `said`."""
        inner = self.host.remote
        remote = Heard(
            self.host.tools / "sh", inner.environment["PATH"], self.host.home,
            replaced=self.replaced, within=inner.within,
            environment={"SHELL": inner.shell, **self.environment},
        )
        _, answers = ask(Reader(remote), (place,), self.host.salts, patience=2)
        self.said = remote.said
        fact = answers[place]
        assert isinstance(fact, PlaceFact)
        return fact


@pytest.mark.parametrize("name", SITUATIONS)
def test_a_place_of_the_host_is_judged_as_expected(
    tmp_path: Path, name: str, count_situation: Callable[[bool, int], None]
) -> None:
    expected, given = SITUATIONS[name], Given(tmp_path)
    getattr(given, expected["given"])()
    place = Place(PlaceKind(expected["kind"]), expected.get("where", ""), KEY)
    with argvs() as seen:
        fact = given.judged(place)
    wished = PlaceFact(
        Verdict(expected["verdict"]), fingerprint(VALUE) if "key" in expected else "",
        expected.get("detail", ""),
    )
    leaks = (given.said + bytes(seen)).count(CANARY.encode())
    count_situation(fact == wished, leaks)
    assert (fact, leaks) == (wished, 0)
