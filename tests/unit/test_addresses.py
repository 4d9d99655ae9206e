"""Addresses: which are one router's, and what of them may be shown."""

from __future__ import annotations

import pytest

from fleetsync.addresses import public_url, same_url

ONE = "https://router.example.net/v1"


@pytest.mark.parametrize(
    "other",
    [ONE, ONE + "/", "HTTPS://Router.Example.NET/v1", "https://router.example.net:443/v1"],
)
def test_spellings_of_one_address_are_one_router(other: str) -> None:
    assert same_url(ONE, other)


@pytest.mark.parametrize(
    "other",
    ["http://router.example.net/v1", "https://router.example.net/V1", "https://router.example.net",
     "https://router.example.net:8443/v1", "https://router.example.net/v1?x=1",
     "https://router.example.net:bad/v1", ""],
)
def test_other_addresses_are_not(other: str) -> None:
    assert not same_url(ONE, other)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        (
            "https://me:hunter2@r.example:8443/v1?key=hunter2#hunter2",
            "https://r.example:8443/v1?…",
        ),
        ("https://r.example/hunter2hunter2hunter2/v1", "https://r.example/…/v1"),
        ("hunter2", "(not a URL)"),
        ("https://r:hunter2/", "(not a URL)"),
    ],
)
def test_no_secret_part_of_an_address_is_shown(url: str, shown: str) -> None:
    assert public_url(url) == shown
