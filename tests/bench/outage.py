"""A day without Redis, compressed: many changes are pending on PostgreSQL, then Redis returns.

    python -m tests.bench.outage [--changes 1000000] [--books 50000]

It prints a row for docs/performance.md: time and sizes of the outbox, of the drain and of the verification. It is not
part of ``make bench``, because a million changes take many minutes.
"""

import argparse
import os
import resource
import time

from demo import environment
from tests.support.servers import PostgresServer
from tests.support.servers.redis import RedisServer

BATCH = 5_000  # rows of one statement


def main() -> None:
    """Run the outage with its own servers, and print the table."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench.outage", description="A day without Redis, compressed."
    )
    parser.add_argument("--changes", type=int, default=1_000_000)
    parser.add_argument("--books", type=int, default=50_000)
    options = parser.parse_args()
    with PostgresServer() as postgres, RedisServer() as redis:
        os.environ.update(redis.environment(), DATABASE_URL=postgres.url("postgres"), REDIS_PREFIX="")
        os.environ.update(environment.generate_environment("http://127.0.0.1"))
        os.environ["DJANGO_SETTINGS_MODULE"] = "tests.bench.settings"
        import django

        django.setup()
        _run(redis, options.changes, options.books)


def _run(redis: RedisServer, changes: int, books: int) -> None:
    from django.core.management import call_command
    from django.db import connection

    from catalog.models import Book
    from mirror.models import Change
    from mirror.redis.clients import breaker
    from mirror.relay import drains
    from mirror.upkeep import rebuild
    from mirror.verify import runs

    def ask(statement: str, *parameters: int) -> int:
        with connection.cursor() as cursor:
            cursor.execute(statement, parameters)
            return int(cursor.fetchone()[0]) if cursor.description else 0

    call_command("migrate", run_syncdb=True, verbosity=0)
    Book.objects.bulk_create((Book(title=f"Book {n}") for n in range(books)), batch_size=BATCH)
    drains.drain_all()
    rebuild.rebuild([])
    Change.objects.all()._raw_delete(Change.objects.db)
    memory, first = (
        redis.client().info("memory")["used_memory"],
        Book.objects.order_by("pk").values_list("pk", flat=True)[0],
    )
    redis.kill()

    began, done = time.monotonic(), 0
    while ask("SELECT count(*) FROM mirror_change") < changes:
        start = first + done % books
        size = min(BATCH, books - done % books)
        ask("UPDATE catalog_book SET title = title || '.' WHERE id >= %s AND id < %s", start, start + size)
        done += size
    writing = time.monotonic() - began
    pending, table = Change.objects.pending().count(), ask("SELECT pg_total_relation_size('mirror_change')")

    redis.start()
    breaker.reset()
    began = time.monotonic()
    drains.drain_all()
    draining = time.monotonic() - began
    began = time.monotonic()
    differences = len(list(runs.verify([])))
    verifying = time.monotonic() - began
    left = Change.objects.pending().count()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    after = redis.client().info("memory")["used_memory"]
    found = {
        "pending changes": f"{pending:,}",
        "updates": f"{done:,} of {books:,} rows",
        "written in": f"{writing:.0f} s",
        "outbox": f"{table / 1e6:.0f} MB",
        "drained in": f"{draining:.0f} s",
        "changes a second": f"{pending / draining:,.0f}",
        "verified in": f"{verifying:.0f} s",
        "differences, pending": f"{differences}, {left}",
        "memory of the drain": f"{peak} MB",
        "Redis before, after": f"{memory / 1e6:.0f} MB, {after / 1e6:.0f} MB",
    }
    print(*(f"| {name} | {value} |" for name, value in found.items()), sep="\n")


if __name__ == "__main__":
    main()
