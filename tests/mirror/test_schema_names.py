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
