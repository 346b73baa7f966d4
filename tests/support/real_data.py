"""Deselect the tests of the real data where the data is missing, as in a plain clone.

A test of the real data has the marker ``real_data``. Without the folder these tests are deselected, and one
line at the end of the run gives their number. Samples (``tests.support.samples``) cover the same code where possible.
"""

from pathlib import Path
from typing import Any, Final

import pytest

FOLDER: Final = Path(__file__).resolve().parents[3] / "shared" / "data"
GOODBOOKS: Final = FOLDER / "goodbooks"
COLLEGEMSG: Final = FOLDER / "collegemsg" / "CollegeMsg.txt"
COUNT: Final = "real_data_deselected"  # the key of the number in a worker's output


class Plugin:
    """Pytest plugin that deselects the tests of the real data. Every worker counts the same tests."""

    def __init__(self) -> None:
        self.deselected = 0

    @pytest.hookimpl(trylast=True)  # runs last, so that tests that another option deselects are not counted
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        if FOLDER.is_dir():
            return
        left_out = [item for item in items if item.get_closest_marker("real_data")]
        items[:] = [item for item in items if item not in left_out]
        config.hook.pytest_deselected(items=left_out)
        self.deselected = len(left_out)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if output := getattr(session.config, "workeroutput", None):
            output[COUNT] = self.deselected

    @pytest.hookimpl(optionalhook=True)  # a hook of pytest-xdist
    def pytest_testnodedown(self, node: Any) -> None:
        self.deselected = max(self.deselected, getattr(node, "workeroutput", {}).get(COUNT, 0))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.deselected:
            tests = "1 test" if self.deselected == 1 else f"{self.deselected} tests"
            terminalreporter.write_line(f"not run: {tests} on the real data (../shared/data is not there)")
