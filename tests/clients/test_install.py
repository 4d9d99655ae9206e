"""The installed client programs are the real ones, at the versions that other tests name."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.clients import install

_EACH = pytest.mark.parametrize("client", install.CLIENTS, ids=lambda client: client.key)


def _npm_version(client: install.Client, root: Path) -> str:
    package = json.loads((root / "node_modules" / client.package / "package.json").read_text())
    return str(package["version"])


def _pip_version(client: install.Client, root: Path) -> str:
    stem = client.package.replace("-", "_")
    (info,) = root.glob(f"venv/lib/python3*/site-packages/{stem}-*.dist-info")
    return info.name.removeprefix(f"{stem}-").removesuffix(".dist-info")


_version_of_package = {"npm": _npm_version, "pip": _pip_version}


@_EACH
def test_an_installed_client_tells_its_version(client: install.Client, tmp_path: Path) -> None:
    done = subprocess.run(
        [*install.starting(client.name, client.version), "--version"],
        env={"HOME": str(tmp_path), "TMPDIR": str(tmp_path), "PATH": "/usr/bin:/bin"},
        cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120,
    )
    told = (done.stdout + done.stderr).split()
    assert (done.returncode, {client.version, f"v{client.version}"} & {*told} != set()) == (0, True)


@_EACH
def test_a_client_is_installed_from_its_lock(client: install.Client) -> None:
    root = install.installed(client.name, client.version)
    assert _version_of_package[client.kind](client, root) == client.version


def test_the_clients_run_on_the_node_they_are_tested_with() -> None:
    done = subprocess.run([install.node(), "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == "v24.19.0\n"


def test_a_client_that_is_not_installed_names_the_command_that_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(FileNotFoundError, match="run `make clients`"):
        install.installed("pi", "1.6.0")


def test_an_existing_installation_is_not_touched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    root = tmp_path / "fleetsync-clients" / "pi-1.6.0"
    root.mkdir(parents=True)
    install.install(install.CLIENTS[0])
    assert list(root.iterdir()) == []


def test_a_client_that_does_not_start_is_not_put_in_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setitem(install.INSTALLERS, "npm", lambda directory: None)
    with pytest.raises(RuntimeError, match=r"pi-1\.6\.0 does not start"):
        install.install(install.CLIENTS[0])
    assert not (tmp_path / "fleetsync-clients" / "pi-1.6.0").exists()
