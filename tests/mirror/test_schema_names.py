"""Unusual names of tables and columns: their rows are captured and equal in Redis."""

import pytest
from django.db import models

from mirror import Count, checks
from tests.mirror.schemas import Create, Declare, Sample, assert_equal

pytestmark = [
    pytest.mark.usefixtures("own_registry", "committed", "no_hints", "isolated"),
    pytest.mark.also_on("sqlite"),
]


@pytest.mark.parametrize("letter", ["x", "é", "书"])
def test_names_longer_than_those_of_the_database_are_captured(tables: Create, declare: Declare, letter: str) -> None:
    long = letter * 70  # PostgreSQL keeps 63 bytes, and may cut in the middle of a letter

    class Stall(Sample):
        name = models.TextField(db_column=f"name_{long}")
        city = models.TextField(db_column=f"city_{long}")

        class Meta(Sample.Meta):
            db_table = f"mirrortest_{long}"

    class Offer(Sample):
        stall = models.ForeignKey(Stall, models.CASCADE, related_name="offers", db_column=f"stall_{long}")

    tables(Stall, Offer)
    row = Stall._base_manager.create(name="a", city="b")
    mirror = declare(Stall, fields=["name", Count("offers")])
    assert checks.check_triggers(databases=["default"]) == []
    Stall._base_manager.filter(pk=row.pk).update(name="c")
    assert assert_equal(mirror) == {str(row.pk): {"name": "c", "offers_count": 0}}
    Offer._base_manager.create(stall_id=row.pk)
    assert assert_equal(mirror) == {str(row.pk): {"name": "c", "offers_count": 1}}
    Offer._base_manager.all().delete()
    Stall._base_manager.create(name="d", city="e")
    assert [record["offers_count"] for record in assert_equal(mirror).values()] == [0, 0]


@pytest.mark.parametrize("name", ["found", "new", "old", "tg_op", "key", "o"])
def test_columns_with_the_name_of_a_variable_in_a_trigger_are_captured(
    tables: Create, declare: Declare, name: str
) -> None:
    class Shelf(Sample):
        id = models.IntegerField(primary_key=True, db_column=name)

    class Loan(Sample):
        shelf = models.ForeignKey(Shelf, models.CASCADE, related_name="loans", db_column=name)

    tables(Shelf, Loan)
    mirror = declare(Shelf, fields=[Count("loans")])
    Shelf._base_manager.bulk_create([Shelf(id=1), Shelf(id=2)])
    Loan._base_manager.bulk_create([Loan(shelf_id=1), Loan(shelf_id=1)])
    assert assert_equal(mirror) == {"1": {"loans_count": 2}, "2": {"loans_count": 0}}
    Loan._base_manager.filter(pk=Loan._base_manager.earliest("id").pk).update(shelf=2)
    assert assert_equal(mirror) == {"1": {"loans_count": 1}, "2": {"loans_count": 1}}
    Loan._base_manager.all().delete()
    Shelf._base_manager.filter(pk=2).delete()
    assert assert_equal(mirror) == {"1": {"loans_count": 0}}
