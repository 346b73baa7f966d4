"""Rerun failed tests of real processes, servers and browsers once, report each rerun, and fail a run with four reruns.

Such a test has the marker ``real``: by one of the fixtures below, by its folder, or by ``pytestmark``. No other test
runs twice.
"""

import os
from typing import Final

import pytest

# Fixtures that start, kill or freeze a process, or that wait for a browser.
FIXTURES: Final = frozenset({"broker_server", "browser", "crew", "environment", "live_server", "redis_server"})
FOLDERS: Final = ("browser/", "faults/")
MAX_RERUNS: Final = 3  # for all tests in one run of ``make test``
RERUNS_BEFORE: Final = "DIPTYCH_TESTS_RERUNS"  # environment: reruns in earlier parts of the same run


def mark(items: list[pytest.Item]) -> None:
    """Let each real test run a second time if it fails."""
    for item in items:
        in_folder = item.nodeid.removeprefix("tests/").startswith(FOLDERS)
        if in_folder or not FIXTURES.isdisjoint(getattr(item, "fixturenames", ())):
            item.add_marker("real")
        if item.get_closest_marker("real"):
            item.add_marker(pytest.mark.flaky(reruns=1))


def report(session: pytest.Session) -> None:
    """Print each test that ran twice, with its first error, and fail the run if more than ``MAX_RERUNS`` did."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None or hasattr(session.config, "workerinput"):
        return
    rerun = {found.nodeid: found for found in reporter.stats.get("rerun", [])}
    for name, found in sorted(rerun.items()):
        reporter.write_line(f"\n{found.longreprtext}\nran twice: {name}", yellow=True)
    count = len(rerun) + int(os.environ.get(RERUNS_BEFORE, "0"))
    if rerun and count > MAX_RERUNS:
        reporter.write_line(f"{count} tests ran twice, at most {MAX_RERUNS} may", red=True)
        if session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
