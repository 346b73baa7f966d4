"""Logins as a plain table on PostgreSQL, the SQL side of the benchmark of the login log."""

from datetime import date, timedelta
from types import TracebackType
from typing import Any, LiteralString, Self

import psycopg

from tests.support.servers import PostgresServer


class LoginTable:
    """A table (user, day) with one index per question, which exists during a ``with`` block. Sorting may use 256 MB."""

    def __init__(self, server: PostgresServer, first: date, days: int, users: int) -> None:
        self.first, self.last = first, first + timedelta(days=days - 1)
        self.connection = psycopg.connect(server.url("postgres"), autocommit=True)
        self._run("SET work_mem = '256MB'")
        self._run("SET maintenance_work_mem = '256MB'")
        self._run("CREATE TABLE login (user_id bigint NOT NULL, day date NOT NULL)")
        for n in range(days):
            start = -n * n % 10 or 10  # the same users as in ``tests.bench.loginlog.active_on``
            self._run(
                "INSERT INTO login SELECT u, %s FROM generate_series(%s::bigint, %s::bigint, 10) u",
                first + timedelta(days=n),
                start,
                users,
            )
        self._run("ALTER TABLE login ADD PRIMARY KEY (day, user_id)")
        self._run("CREATE INDEX ON login (user_id, day)")
        self._run("VACUUM ANALYZE login")

    def distinct(self) -> int:
        """Return the number of distinct users in all days."""
        sql = "SELECT COUNT(DISTINCT user_id) FROM login WHERE day BETWEEN %s AND %s"
        return int(self._run(sql, self.first, self.last).fetchall()[0][0])

    def of_user(self, user: int) -> list[date]:
        """Return the days of one user."""
        sql = "SELECT day FROM login WHERE user_id = %s AND day BETWEEN %s AND %s ORDER BY day"
        return [row[0] for row in self._run(sql, user, self.first, self.last).fetchall()]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._run("DROP TABLE login")
        self.connection.close()

    def _run(self, sql: LiteralString, *values: object) -> psycopg.Cursor[tuple[Any, ...]]:
        return self.connection.execute(sql, values)
