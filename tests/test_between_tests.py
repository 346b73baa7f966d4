"""What tests leave behind, and how long they wait: ``tests.support.flush`` and ``tests.support.patience``."""

from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.db import connection

from accounts.models import User
from mirror.models import Change
from mirror.redis import client
from tests.support import flush, patience
from tests.support.servers import RedisServer


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


def test_a_server_that_is_well_is_waited_for_and_a_hung_one_is_not(redis_server: RedisServer) -> None:
    def waits() -> float | None:
        connection: Any = client().connection_pool.get_connection()
        try:
            return float(connection._sock.gettimeout())
        finally:
            client().connection_pool.release(connection)

    assert waits() == patience.SECONDS
    redis_server.freeze()
    assert waits() == 0.3
    redis_server.thaw()
    assert waits() == patience.SECONDS


def test_a_server_is_killed_while_others_close_their_connections(redis_server: RedisServer) -> None:
    """Between the look at a connection and the word to it, its own thread may have closed it."""
    pool = client().connection_pool
    connection: Any = pool.get_connection()
    try:
        connection._sock.close()
        redis_server.kill()
        redis_server.start()
    finally:
        connection.disconnect()
        pool.release(connection)
    assert client().ping()
