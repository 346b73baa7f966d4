"""Tests leave nothing behind: ``tests.support.flush``."""

import pytest
from django.contrib.auth.models import Permission
from django.db import connection

from accounts.models import User
from mirror.models import Change
from tests.support import flush

pytestmark = pytest.mark.on_sqlite


def rows(table: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT count(*) FROM {connection.ops.quote_name(table)}")
        return int(cursor.fetchone()[0])


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("people", [1, 1500])  # a table that has grown is emptied in another way
def test_nothing_is_left_but_what_migrations_wrote(people: int) -> None:
    User.objects.bulk_create(User(username=f"reader {n}") for n in range(people))
    user = User.objects.all()[0]
    user.user_permissions.add(Permission.objects.all()[0])
    assert Change.objects.exists()
    flush.empty()
    tables = set(connection.introspection.table_names())
    assert {table for table in tables if rows(table)} == flush.KEPT
