"""Real hosts for every integration test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.integration.sshd import Sshd, throw_away_users


@pytest.fixture(scope="session")
def login_users() -> Iterator[None]:
    """Deletes, at the end, the system users that login shells needed."""
    with throw_away_users():
        yield


@pytest.fixture
def sshd_host(login_users: None) -> Iterator[Sshd]:
    """Starts real OpenSSH servers: `host = sshd_host("primary-node", login_shell="zsh")`."""
    with Sshd() as start:
        yield start
