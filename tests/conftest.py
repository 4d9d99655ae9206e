"""How hypothesis runs, and the counts of faults, situations and turns at the end."""

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


@pytest.fixture
def count_situation(record_property: Callable[[str, object], None]) -> Callable[[bool, int], None]:
    """Tells the summary of one situation of a credential: whether all came as expected,
    and in how many places a key was that holds none. To be called before any assertion."""
    return lambda right, leaks: record_property("situation", [1, int(right), leaks])


@pytest.fixture
def count_turn(record_property: Callable[[str, object], None]) -> Callable[[bool, bool], None]:
    """Tells the summary of one real turn: whether it was accepted, and whether its verdict
    is the expected one. To be called before any assertion."""
    return lambda accepted, right: record_property("turn", [1, int(accepted), int(right)])


def pytest_unconfigure(config: pytest.Config) -> None:
    """The last lines: sums over all tests, those of xdist's workers included, because
    reports carry the numbers."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if not isinstance(reporter, pytest.TerminalReporter):
        return    # a worker
    if counts := _sums(reporter, "faults"):
        cases, wrong = counts
        reporter.write_line(f"faults injected: {cases}  files torn or lost: {wrong}")
    if counts := _sums(reporter, "situation"):
        cases, right, leaks = counts
        reporter.write_line(f"situations: {cases} right: {right}  leaks: {leaks}")
    if counts := _sums(reporter, "turn"):
        cases, accepted, right = counts
        reporter.write_line(f"turns: {cases}  accepted: {accepted}  graded right: {right}/{cases}")


def _sums(reporter: pytest.TerminalReporter, name: str) -> list[int]:
    """The numbers that tests recorded as `name`, added up; empty where none did."""
    rows = [
        value
        for reports in reporter.stats.values()
        for report in reports
        if getattr(report, "when", "") == "call"
        for key, value in report.user_properties
        if key == name
    ]
    return [sum(column) for column in zip(*rows, strict=True)]
