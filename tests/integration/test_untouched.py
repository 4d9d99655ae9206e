"""A preview and a refused apply leave a real host as it was, under each login shell."""

from __future__ import annotations

import json
import pwd
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests import standin
from tests.integration.sshd import RemoteHost, Sshd
from tests.listing import listing

START_UP = {
    "bash": (".bashrc", "export TMPDIR=$HOME/tmp\n"),
    "zsh": (".zshenv", "export TMPDIR=$HOME/tmp\n"),
    "fish": (".config/fish/config.fish", "set -gx TMPDIR $HOME/tmp\n"),
}
"""What a plain command of each shell reads: it gives the host a temporary directory of
its own, which is listed too."""


def prepare(host: RemoteHost, shell: str) -> None:
    """A user's home with Pi in it; then one plain login, for the shell's own first files."""
    standin.install(host.home)
    standin.write_models(host.home, standin.models())
    host.plant(*START_UP[shell])
    (host.home / "tmp").mkdir()
    owner = pwd.getpwnam(host.user)
    for path in (host.home, *host.home.rglob("*")):
        if not path.is_symlink():
            shutil.chown(path, owner.pw_uid, owner.pw_gid)
    subprocess.run(host.ssh("true"), check=True, timeout=60, stdin=subprocess.DEVNULL)


def fleetsync(host: RemoteHost, inventory: Path, *command: str) -> tuple[int, str]:
    inventory.mkdir(exist_ok=True)
    table = "\n".join(f"{k} = {json.dumps(v)}" for k, v in host.inventory_table().items())
    (inventory / "fleet.toml").write_text(
        '[router]\nprovider = "anvil"\nbase_url = "https://router.example.net/v1"\n'
        f'credential = "{standin.NAME}"\n[hosts.node]\n{table}\nclients = ["pi"]\n'
    )
    (inventory / "catalog.toml").write_text("\n".join(
        f'[aliases."{name}"]\ncontext_window = 393216\nmax_output_tokens = 4096'
        for name in standin.ALIASES
    ))
    done = subprocess.run(
        [sys.executable, "-m", "fleetsync", "--inventory", str(inventory), *command, "node"],
        capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL, check=False,
    )
    return done.returncode, done.stdout


@pytest.mark.parametrize("shell", START_UP)
def test_looking_and_refusing_leave_no_trace(
    shell: str, sshd_host: Sshd, tmp_path: Path
) -> None:
    host = sshd_host("node", login_shell=shell)
    prepare(host, shell)
    before = listing(host.home)

    code, told = fleetsync(host, tmp_path / "inventory", "preview")
    assert (code, "refused" in told) == (5, True), told
    assert listing(host.home) == before

    code, told = fleetsync(host, tmp_path / "inventory", "apply", "--yes", "--offline")
    assert (code, "refused" in told) == (5, True), told
    assert listing(host.home) == before

    code, told = fleetsync(host, tmp_path / "inventory", "doctor", "--offline")
    assert f"{standin.NAME} in the login shell's environment" in told
    assert listing(host.home) == before
