"""Public names do not change by accident."""

from pathlib import Path

import pytest

from tests.support import names
from tests.support.names.sections import CODE, DATABASE, REPORTS


def _check(section: str, found: list[str]) -> None:
    changes = names.compare(section, found)
    if changes:
        pytest.fail(f"{changes}\n\nIf this change is meant: {names.COMMAND}", pytrace=False)


@pytest.mark.parametrize("section", CODE)
@pytest.mark.only_on("single")  # it looks at the marks or keys of one Redis by name
def test_names_in_the_code_are_unchanged(section: str) -> None:
    _check(section, CODE[section]())


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("section", DATABASE)
def test_names_in_responses_and_redis_are_unchanged(section: str) -> None:
    _check(section, DATABASE[section]())


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("section", REPORTS)
def test_fields_of_reports_are_unchanged(section: str, tmp_path: Path) -> None:
    _check(section, REPORTS[section](tmp_path))


def test_file_has_exactly_the_compared_sections() -> None:
    assert set(names.read()) == {*CODE, *DATABASE, *REPORTS}
