"""What counts as the version number of a client."""

from __future__ import annotations

import pytest

from fleetsync.releases import Number, number


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1.6.0", (1, 6, 0)),
        ("v24.19.0", (24, 19, 0)),
        ("2026.9.6-beta.1", (2026, 9, 6)),
        ("1.6", None),
        ("", None),
        ("٣.1.1", None),
        ("9" * 5000 + ".1.1", None),
        ("1.1." + "9" * 5000, None),
    ],
)
def test_a_version_is_three_numbers_of_a_sane_length(text: str, expected: Number | None) -> None:
    assert number(text) == expected
