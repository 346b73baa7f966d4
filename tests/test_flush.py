"""The flush between transactional tests (``tests.support.flush``)."""

import pytest
from django.contrib.auth.models import Permission
from django.db import connection

from accounts.models import User
from mirror.models import Change
from tests.support import flush

pytestmark = pytest.mark.also_on("sqlite")


def rows(table: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT count(*) FROM {connection.ops.quote_name(table)}")
        return int(cursor.fetchone()[0])


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("people", [1, 1500])  # large tables are truncated instead
def test_flush_keeps_only_rows_of_migrations(people: int) -> None:
    User.objects.bulk_create(User(username=f"reader {n}") for n in range(people))
    user = User.objects.all()[0]
    user.user_permissions.add(Permission.objects.all()[0])
    assert Change.objects.exists()
    flush.empty()
    tables = set(connection.introspection.table_names())
    assert {table for table in tables if rows(table)} == flush.KEPT
