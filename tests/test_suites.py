"""The suites of ``make test``: each test belongs to at least one, and a marker with unknown words is refused."""

import pytest

from tests.support.suites import SERVERS_OF, find_suites

ALSO_SQLITE = pytest.mark.also_on("sqlite")
ALSO_EVERYWHERE = pytest.mark.also_on("sqlite", "cluster")


def suites(*marks: pytest.MarkDecorator, uses_database: bool = True) -> set[str]:
    return set(find_suites([mark.mark for mark in marks], uses_database=uses_database))


def test_a_test_without_markers_runs_once() -> None:
    assert suites() == {"postgres"}
    assert suites(uses_database=False) == {"sqlite"}
    assert suites(pytest.mark.browser) == {"sqlite"}


def test_also_on_adds_suites() -> None:
    assert suites(ALSO_SQLITE) == {"postgres", "sqlite"}
    assert suites(ALSO_EVERYWHERE) == set(SERVERS_OF)
    assert suites(ALSO_SQLITE, uses_database=False) == {"sqlite"}


def test_a_test_runs_only_where_it_applies() -> None:
    assert suites(pytest.mark.only_on("sqlite")) == {"sqlite"}
    assert suites(pytest.mark.only_on("cluster")) == {"cluster"}
    assert suites(pytest.mark.only_on("postgres"), uses_database=False) == {"postgres"}
    assert suites(ALSO_EVERYWHERE, pytest.mark.only_on("single")) == {"postgres", "sqlite"}
    assert suites(ALSO_EVERYWHERE, pytest.mark.only_on("sqlite")) == {"sqlite", "cluster"}
    assert suites(ALSO_EVERYWHERE, pytest.mark.only_on("sqlite"), pytest.mark.only_on("single")) == {"sqlite"}


@pytest.mark.parametrize(
    "mark",
    [
        pytest.mark.also_on("mysql"),
        pytest.mark.also_on("single"),
        pytest.mark.also_on(),
        pytest.mark.only_on("sqllite"),
        pytest.mark.only_on(),
        pytest.mark.only_on("sqlite", "postgres"),
        pytest.mark.only_on("postgres", "cluster"),
    ],
)
def test_an_impossible_marker_is_refused(mark: pytest.MarkDecorator) -> None:
    with pytest.raises(pytest.UsageError):
        suites(mark)
