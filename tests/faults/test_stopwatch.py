"""What the tests of faults measure with."""

from pathlib import Path

import pytest

from tests.support.faults import stopwatch
from tests.support.faults.stopwatch import Stopwatch


def test_what_has_ended_meanwhile_does_not_count_as_time_that_was_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread that had waited for an hour in all ends while the watch runs."""
    threads = {"quick": 0, "ends": 3600 * 10**9}
    monkeypatch.setattr(stopwatch, "_tasks", lambda pid: [Path(name) for name in threads])
    monkeypatch.setattr(stopwatch, "_read", lambda path: f"1 {threads[path.parts[0]]} 1")
    monkeypatch.setattr("tests.support.faults.stopwatch.time.monotonic", lambda: 100.0)
    watch = Stopwatch()
    del threads["ends"]
    threads["quick"] += 5 * 10**9
    assert watch.seconds() == -5.0


def test_a_process_that_is_gone_takes_no_time() -> None:
    assert Stopwatch(2**22 + 1).seconds() < 3600
