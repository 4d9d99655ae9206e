"""`demo`: play the story, and end as its claims say."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Sequence

from fleetsync.cli.output import Output, Problem, Report
from fleetsync.demo import Claim, find, take, tell


def demo(main: Callable[[Sequence[str]], int], output: Output, *, turn: bool = False) -> Report:
    """Play the story by `main`, or take one real `turn`; 0 only if every claim held.

    With `--json` nothing is shown of it, and the envelope's notices are the claims. Raises
    UsageError and FleetsyncError where there is no real client for a turn.
    """
    pi = find(output.say) if turn else None
    with contextlib.ExitStack() as stack:
        if output.as_json:
            stack.enter_context(contextlib.redirect_stdout(io.StringIO()))
        claims = take(main, output.answer, pi) if pi else tell(main, output.answer)
    return _report(claims, told=not output.as_json)


def _report(claims: Sequence[Claim], *, told: bool) -> Report:
    broken = [claim for claim in claims if not claim.held]
    return Report(
        command="demo",
        status="failed" if broken else "ok",
        exit_code=1 if broken else 0,
        errors=() if told else tuple(Problem("demo", f"not so: {c.text}") for c in broken),
        notices=() if told else tuple(claim.text for claim in claims),
    )
