"""Years of publication: from antiquity to the next year."""

from datetime import UTC, datetime

import pytest
from django.test import Client
from pytest_django.fixtures import Settings

from accounts.models import User
from catalog.importer import clean
from catalog.models import Book
from tests.support.catalog.make import NO_DETAILS

pytestmark = pytest.mark.django_db
POSSIBLE = [-4000, -350, -1, 1, 1605, 1999, 2030, 2031]
IMPOSSIBLE = [-4001, 0, 2032, 2100, 20300, 9999]


@pytest.fixture(autouse=True)
def moment(settings: Settings) -> None:
    settings.CLOCK = lambda: datetime(2030, 6, 1, tzinfo=UTC)


def _add(client: Client, year: int) -> str:
    client.force_login(User.objects.create_superuser("carol"))
    form = {"title": "Salt", "popularity": "0", "year": str(year)}
    form |= {"tagging_set-TOTAL_FORMS": "0", "tagging_set-INITIAL_FORMS": "0"} | NO_DETAILS
    return client.post("/admin/catalog/book/add/", form, follow=True).content.decode()


@pytest.mark.parametrize("year", POSSIBLE)
def test_staff_and_imports_store_a_possible_year(client: Client, year: int) -> None:
    _add(client, year)
    assert Book.objects.get().year == year
    assert clean.parse_year(f"{year}.0") == year


@pytest.mark.parametrize("year", IMPOSSIBLE)
def test_an_impossible_year_is_refused(client: Client, year: int) -> None:
    assert "Enter a year from -4000 to 2031." in _add(client, year)
    assert not Book.objects.exists()
    assert clean.parse_year(f"{year}.0") is None
