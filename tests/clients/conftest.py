"""Every test here runs real client programs, and says so to `-m "not clients"`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.conftest import login_users, sshd_host

__all__ = ["login_users", "sshd_host"]

_HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(_HERE):
            item.add_marker(pytest.mark.clients)
