"""Nib's adapter keeps the contract: the test that an adapter's author writes."""

from __future__ import annotations

import pytest

from fleetsync.adapter import Wish
from fleetsync.catalog import Alias, Policy
from fleetsync.facts import Installation, Place, PlaceKind
from fleetsync.testing import contract
from tests.adapters.fourth.fleetsync_nib import adapter

URL = "https://router.example.net/v1"
ALIAS = Alias(name="llm.primary", context_window=393216, max_output_tokens=4096)
FILE = b"""{
  "router": "https://router.example.net/v1",
  "note": "a-secret-of-the-user-1",
  "models": { "llm.primary": { "window": 524288, "output": 8192 } }
}
"""
SAMPLE = contract.Sample(
    wish=Wish("nib", "anvil", URL, "KEY", (ALIAS,), frozenset({"llm.primary"}), Policy()),
    files={"~/.config/nib/catalog.json": FILE},
    installations=(Installation(("/usr/bin/nib",), "/usr/bin/nib", "/usr/bin/nib", "PATH"),),
    key=Place(PlaceKind.LOGIN, "", "KEY"),
    managed=frozenset({"window", "output"}),
    secrets=("a-secret-of-the-user-1",),
    nearly=(b"llm.primary 393216", b"llm.primary 524288 8192\n"),
)


@pytest.mark.parametrize("rule", contract.RULES, ids=lambda rule: rule.__name__)
def test_the_adapter_keeps(rule: contract.Rule) -> None:
    rule(adapter, SAMPLE)
