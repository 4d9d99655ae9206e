"""Every test here runs real client programs, and says so to `-m "not clients"`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.clients.command import Commands, Fleetsync, command
from tests.integration.conftest import login_users, sshd_host
from tests.integration.sshd import RemoteHost

__all__ = ["login_users", "sshd_host"]

_HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(_HERE):
            item.add_marker(pytest.mark.clients)


@pytest.fixture
def fleetsync(tmp_path: Path) -> Commands:
    """Runs the command line against one host, which is called node."""

    def of(host: RemoteHost, *clients: str, **more: Any) -> Fleetsync:
        return command(tmp_path, {"node": host}, clients, **more)    # Any: as command has it

    return of
