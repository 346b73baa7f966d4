"""Long commands report progress on stderr: a bar on a terminal, plain lines elsewhere."""

import io

import pytest
from pytest_django.fixtures import Settings

from mirror.management import progress
from mirror.relay import drains
from tests.projects.mirrortest.models import Odd
from tests.support.mirror.command import Terminal, run
from tests.support.timings import Timings

pytestmark = pytest.mark.usefixtures("committed", "no_hints")


@pytest.fixture
def rows(settings: Settings) -> None:
    settings.MIRROR = {**settings.MIRROR, "CHUNK": 5}  # a verification reads four rows at a time
    Odd.objects.bulk_create(Odd(code=f"c{n:03}") for n in range(40))


@pytest.mark.parametrize("action", ["rebuild", "verify", "repair"])
def test_terminal_gets_a_bar_with_rate_and_remaining_time(action: str, rows: None) -> None:
    found = run(action, "t'odd", err=Terminal())
    assert "40/40" in found.err
    assert "rows/s" in found.err
    assert "t'odd" in found.err


@pytest.mark.parametrize("action", ["rebuild", "verify", "repair"])
@pytest.mark.parametrize("form", ["--json", "plain"])
def test_other_streams_get_plain_lines_and_stdout_the_report_only(
    form: str, action: str, rows: None, timings: Timings
) -> None:
    timings(PROGRESS_SECONDS=0.0)
    if action != "rebuild":
        drains.drain_all()
    found = run(action, "t'odd", *(["--json"] if form == "--json" else []))
    assert found.code == 0
    lines = found.err.splitlines()
    assert any(line.startswith("t'odd: 20 of 40 rows ") and line.endswith(" s left") for line in lines)
    assert "\r" not in found.err
    if form == "--json":
        assert isinstance(found.said, list)
    else:
        assert len(found.out.splitlines()) == 1


def test_progress_without_a_total_has_no_remaining_time(timings: Timings) -> None:
    timings(PROGRESS_SECONDS=0.0)
    err = io.StringIO()
    with progress.Progress(err, "read") as told:
        told("books", 7)
    assert err.getvalue().startswith("books: 7 rows read, ")
    assert "left" not in err.getvalue()


def test_short_command_prints_no_progress(rows: None) -> None:
    assert run("rebuild", "t'odd").err == ""
