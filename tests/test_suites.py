"""The suites of ``make test``: each test belongs to at least one, and a marker with unknown words is refused."""

from pathlib import Path
from unittest.mock import Mock

import pytest

from tests.support.suites import SERVERS_OF, belongs_to, find_suites, may_have_tests

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


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("test_a.py", "", {"sqlite", "postgres"}),
        ("test_a.py", "pytestmark = pytest.mark.django_db", {"postgres"}),
        ("test_a.py", "pytestmark = [\n    pytest.mark.django_db(transaction=True),\n]", {"postgres"}),
        ("test_a.py", "pytestmark = [pytest.mark.django_db, pytest.mark.also_on('sqlite')]", {"postgres"}),
        ("test_a.py", 'pytestmark = [pytest.mark.django_db, pytest.mark.also_on("sqlite")]', {"sqlite", "postgres"}),
        ("test_a.py", '@pytest.mark.only_on("cluster")', {"sqlite", "postgres", "cluster"}),
        ("browser/test_a.py", "pytestmark = pytest.mark.django_db", {"sqlite"}),
        ("conftest.py", "pytestmark = pytest.mark.django_db", set(SERVERS_OF)),
    ],
)
def test_a_suite_imports_the_modules_that_may_have_its_tests(
    tmp_path: Path, path: str, text: str, expected: set[str]
) -> None:
    module = tmp_path / path
    module.parent.mkdir(exist_ok=True)
    module.write_text(text)
    assert {name for name in SERVERS_OF if may_have_tests(module, name)} == expected


def test_a_test_that_its_suite_would_not_find_is_refused(tmp_path: Path) -> None:
    module = tmp_path / "test_a.py"
    module.write_text("from tests.test_b import pytestmark")
    item = Mock(path=module, fixturenames=["db"])
    item.iter_markers.return_value = [ALSO_EVERYWHERE.mark]
    with pytest.raises(pytest.UsageError, match="cluster does not import it"):
        belongs_to(item, "postgres")
