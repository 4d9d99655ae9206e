"""What is said where a transaction did not write."""

from __future__ import annotations

import pytest

from fleetsync.transaction import Applied, End, Problem, Reason
from fleetsync.unwritten import unwritten


@pytest.mark.parametrize("reason", Reason)
def test_every_reason_not_to_write_comes_with_a_next_step(reason: Reason) -> None:
    applied = Applied("t", End.REFUSED, (Problem(reason, "~/f"),))
    told = unwritten(applied)
    assert reason.value in str(told["reason"])
    assert told["step"]
