"""How hypothesis runs, and the count of faults at the end."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import settings

# The same examples each time, and no verdict by the clock.
settings.register_profile("fleetsync", deadline=None, derandomize=True)
settings.load_profile("fleetsync")


@pytest.fixture
def count_faults(record_property: Callable[[str, object], None]) -> Callable[[int, int], None]:
    """Tells the summary how many faults were injected, and how many files they harmed."""
    return lambda cases, wrong: record_property("faults", [cases, wrong])


def pytest_unconfigure(config: pytest.Config) -> None:
    """The last line: the sum over all tests, those of xdist's workers included, because
    reports carry the numbers."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if not isinstance(reporter, pytest.TerminalReporter):
        return    # a worker
    counts = [
        value
        for reports in reporter.stats.values()
        for report in reports
        if getattr(report, "when", "") == "call"
        for name, value in report.user_properties
        if name == "faults"
    ]
    if counts:
        cases, wrong = map(sum, zip(*counts, strict=True))
        reporter.write_line(f"faults injected: {cases}  files torn or lost: {wrong}")
