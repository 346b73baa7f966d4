"""Public names do not change by accident."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from tests import names
from tests.names import answers, code, redis_values, reports

CODE: Final[dict[str, Callable[[], list[str]]]] = {
    "Mirrors and visits": code.collect_declared,
    "Addresses": code.collect_addresses,
    "Commands": code.collect_commands,
    "Settings": code.collect_settings,
    "Environment variables": code.collect_variables,
    "Celery": code.collect_tasks,
}
DATABASE: Final[dict[str, Callable[[], list[str]]]] = {
    "JSON answers": answers.collect,
    "Fields of Redis values": redis_values.collect,
}
REPORTS: Final = "JSON reports of commands"
TITLES: Final = {*CODE, *DATABASE, REPORTS}


def _check(section: str, found: list[str]) -> None:
    changes = names.compare(section, found, TITLES)
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
def test_fields_of_reports_are_unchanged(tmp_path: Path) -> None:
    _check(REPORTS, reports.collect(tmp_path))


def test_file_has_exactly_the_compared_sections() -> None:
    assert set(names.read()) == TITLES
