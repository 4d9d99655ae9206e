"""What is shipped, what is found once it is installed, and what the repository may not hold."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from importlib.metadata import entry_points
from pathlib import Path

import pytest

import fleetsync

ROOT = Path(__file__).parents[2]
LOCKS = sorted((ROOT / "tests" / "clients" / "locks").glob("*/package-lock.json"))
PINS = (ROOT / "requirements.lock", *sorted(
    (ROOT / "tests" / "clients" / "locks").glob("*/requirements.lock")
))
_ADAPTERS = ("hermes", "openclaw", "pi")
_PACKAGES = ("fleetsync", *(f"adapters/fleetsync_{name}" for name in _ADAPTERS))

# Spelled in two halves, so that this file does not hold what it looks for.
_REGISTRIES = re.compile("|".join((r"pypi\.or" "g", r"pythonhoste" "d", r"registry\.npmj" "s",
                                   r"npmjs\.co" "m", r"yarnpkg\.co" "m", r"deb\.debia" "n")))
_MACHINE = re.compile(r"(?<![\w.~/@-])/(?:roo" r"t|wor" r"k|far" r"m)/")


def _tracked(*paths: str) -> list[str]:
    command = ["git", "ls-files", "-z", "--", *paths]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return [name for name in done.stdout.split("\0") if name and (ROOT / name).is_file()]


def _lines_that_hold(pattern: re.Pattern[str]) -> list[str]:
    return [
        f"{name}:{number}"
        for name in _tracked()
        for number, line in enumerate((ROOT / name).read_text("latin-1").splitlines(), 1)
        if pattern.search(line)
    ]


def _build(kind: str, source: Path, into: Path) -> Path:
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", into],
        cwd=source, check=True, capture_output=True,
    )
    (built,) = into.iterdir()
    return built


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built as a user's pip would: from the source archive."""
    archive = _build("sdist", ROOT, tmp_path_factory.mktemp("sdist"))
    unpacked = tmp_path_factory.mktemp("unpacked")
    with tarfile.open(archive) as tar:
        tar.extractall(unpacked, filter="data")
    (source,) = unpacked.iterdir()
    return _build("wheel", source, tmp_path_factory.mktemp("wheel"))


def test_the_wheel_holds_our_packages_and_nothing_beside_them(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        tops = {name.partition("/")[0] for name in archive.namelist()}
    packages = {name.removeprefix("adapters/") for name in _PACKAGES}
    assert tops == {*packages, f"fleetsync-{fleetsync.__version__}.dist-info"}


def test_the_wheel_holds_every_tracked_file_of_our_packages(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        held = set(archive.namelist())
    assert {name.removeprefix("adapters/") for name in _tracked(*_PACKAGES)} <= held


def test_the_wheel_says_that_its_packages_are_typed(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        held = set(archive.namelist())
    assert {f"{name.removeprefix('adapters/')}/py.typed" for name in _PACKAGES} <= held


def test_the_adapters_are_found_through_their_entry_points() -> None:
    found = {entry.name for entry in entry_points(group="fleetsync.adapters")}
    assert found == set(_ADAPTERS)


@pytest.mark.parametrize("name", _ADAPTERS)
def test_an_adapter_has_the_name_it_is_found_under(name: str) -> None:
    (point,) = entry_points(group="fleetsync.adapters", name=name)
    assert point.load().name == name


def test_the_version_is_that_of_the_installed_package() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+", fleetsync.__version__)


def test_an_unknown_attribute_of_the_package_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        getattr(fleetsync, "nothing")  # noqa: B009 - the type checker knows that it is not there


def test_help_imports_no_library_that_only_work_on_hosts_needs() -> None:
    probe = (
        "import sys, runpy; sys.argv = ['fleetsync', '--help']\n"
        "try: runpy.run_module('fleetsync', run_name='__main__')\n"
        "except SystemExit as end: status = end.code or 0\n"
        "print(status, sorted({'fabric', 'paramiko', 'pydantic', 'rich'} & {*sys.modules}))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", probe], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "0 []"


def test_no_tracked_file_names_a_package_registry() -> None:
    assert _lines_that_hold(_REGISTRIES) == []


def test_no_tracked_file_holds_a_path_of_one_machine() -> None:
    assert _lines_that_hold(_MACHINE) == []


def test_no_tracked_file_is_a_lock_that_records_addresses() -> None:
    names = {Path(name).name for name in _tracked()}
    assert names.isdisjoint({"uv.lock", "poetry.lock", "Pipfile.lock", "yarn.lock", "pdm.lock"})


@pytest.mark.parametrize("lock", PINS, ids=lambda lock: lock.parent.name)
def test_every_pinned_requirement_has_a_digest(lock: Path) -> None:
    text = lock.read_text().replace("\\\n", "")
    pins = [line for line in text.splitlines() if line and not line.lstrip().startswith("#")]
    assert [pin for pin in pins if "==" not in pin or "--hash=sha256:" not in pin] == []


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.parent.name)
def test_every_locked_client_dependency_has_a_digest_and_no_address(lock: Path) -> None:
    packages = json.loads(lock.read_text())["packages"]
    del packages[""]
    # What came bundled inside a package is covered by that package's digest.
    covered = {n for n, p in packages.items() if "integrity" in p or p.get("inBundle")}
    faulty = [n for n, p in packages.items() if n not in covered or "resolved" in p]
    assert (len(packages) > 1, faulty) == (True, [])


def test_ci_runs_what_developers_run() -> None:
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    assert script.read_text().splitlines()[-1] == "make test"
