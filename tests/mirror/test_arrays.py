"""Tables, lists and conditions of arrays have one form in SQL for both databases."""

from datetime import UTC, datetime
from typing import Any

import pytest
from django.db import connection

from mirror.models import Change
from mirror.utils import arrays

pytestmark = [pytest.mark.django_db, pytest.mark.also_on("sqlite")]

TYPES = {"name": "text", "number": "bigint", "at": "timestamptz"}


def select(sql: str, values: list[Any]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        return cursor.fetchall()


def test_a_table_has_the_rows_in_their_order() -> None:
    rows = [("b'\"", 2**62, None), ("", None, None), ("作者", -1, None), ("NULL", 0, None), ("\\{a,\n} ", 1, None)]
    source, values = arrays.make_table(TYPES, rows)
    assert select(f"SELECT given.name, given.number, given.at FROM {source}", values) == rows


def test_a_table_without_rows_is_empty() -> None:
    source, values = arrays.make_table(TYPES, [])
    assert select(f"SELECT * FROM {source}", values) == []


@pytest.mark.parametrize("micros", [0, 1])
def test_times_equal_those_that_the_orm_stores(micros: int) -> None:
    at = datetime(2026, 3, 1, 12, 0, 0, micros, UTC)
    change = Change.objects.create(mirror="titem", key="1", created_at=at)
    Change.objects.filter(pk=change.pk).update(created_at=at)
    source, values = arrays.make_table({"at": "timestamptz"}, [(at,)])
    assert select(f"SELECT id FROM mirror_change JOIN {source} ON created_at = given.at", values) == [(change.pk,)]


def test_a_condition_matches_any_of_the_values() -> None:
    pks = [Change.objects.create(mirror="titem", key=key).pk for key in "abc"]
    condition, values = arrays.match_any(pks[1:])
    assert select(f"SELECT id FROM mirror_change WHERE id {condition} ORDER BY id", values) == [(pk,) for pk in pks[1:]]
    condition, values = arrays.match_any("b", "text")
    assert select(f"SELECT id FROM mirror_change WHERE key {condition}", values) == [(pks[1],)]


def test_each_value_is_joined_with_the_rows_that_are_found_for_it() -> None:
    pks = [Change.objects.create(mirror="titem", key=key).pk for key in "aaabc"]
    source, values = arrays.list_values(["a", "b", "z"], "text")
    newest = "FROM mirror_change p WHERE p.key = k.value ORDER BY p.id DESC LIMIT %s"
    joined = arrays.join_found("mirror_change", newest, "c")
    found = select(f"SELECT k.value, c.id FROM {source} {joined} ORDER BY c.id", [*values, 2])
    assert found == [("a", pks[1]), ("a", pks[2]), ("b", pks[3])]
