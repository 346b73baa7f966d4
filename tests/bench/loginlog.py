"""Compare the login log with SQL and bitmapist.

Usage: ``python -m tests.bench.loginlog [--users N ...] [--bitmapist] [--json]``. The SQL side is a table (user, day) on
PostgreSQL with one index per question. bitmapist needs an older redis-py than Celery, so ``--bitmapist`` installs it
into its own virtual environment under ``var/``.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final

import numpy as np
from redis import Redis

from demo import environment
from tests.bench.login_table import LoginTable
from tests.bench.table import Comparison, Row, measure, render
from tests.support.servers import PostgresServer, find_postgres, temporary_folder
from tests.support.servers.redis import RedisServer

DAYS: Final = 31
MARKED: Final = 20_000  # users with marks on five days each
MONTHS: Final = 100_000  # keys for the measurement of memory
LAST: Final = datetime.now(UTC).date()
FIRST: Final = LAST - timedelta(days=DAYS - 1)  # recent enough that nothing has expired
MOST_MS: Final = 1.0  # limit for one Redis command
AIM: Final = 0.010  # target in seconds for the distinct users of a month, up to MOST_USERS
MOST_USERS: Final = 10_000_000


def main() -> int:
    """Run the benchmarks and print the table. Return 1 if a target is missed."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.loginlog")
    parser.add_argument("--users", type=int, nargs="+", default=[1_000_000, 10_000_000], metavar="N")
    parser.add_argument("--bitmapist", action="store_true", help="measure it too: installs it into var/bitmapist")
    parser.add_argument("--json", action="store_true", help="print the rows as JSON")
    options = parser.parse_args()
    folder = temporary_folder()
    os.environ["DATABASE_URL"] = f"sqlite:///{folder / 'bench.sqlite3'}"
    os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"
    os.environ["REDIS_PREFIX"] = ""
    os.environ.update(environment.generate_environment("http://127.0.0.1"))
    notes: list[str] = []
    with RedisServer() as server:
        os.environ.update(server.environment())
        import django

        django.setup()
        rows = [row.as_dict() for row in _rows(server, options.users, options.bitmapist, notes)]
    print(json.dumps(rows) if options.json else render(rows))
    print(*notes, sep="\n", file=sys.stderr)
    return 1 if any(row["met"] == "NO" for row in rows) else 0


def _rows(server: RedisServer, sizes: list[int], bitmapist: bool, notes: list[str]) -> Iterator[Row]:
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    redis = server.client()
    postgres = PostgresServer().start() if find_postgres() else None
    if postgres is None:
        notes.append("beside SQL: not run, PostgreSQL is not installed")
    if not bitmapist:
        notes.append("beside bitmapist: not run, ask for it with --bitmapist")
    for users in sizes:
        _load(redis, users)
        yield from _aim(redis, users, notes)
        if postgres is not None:
            with LoginTable(postgres, FIRST, DAYS, users) as table:
                yield from _beside_sql(redis, table, users)
        if bitmapist:
            yield from _beside_bitmapist(server, users, notes)
    redis.flushdb()
    yield from _marks(redis)
    notes += _memory(redis, sizes[-1])
    if postgres is not None:
        postgres.stop()


def active_on(day: int, users: int) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """Return the users of day 0 to 30 as bits: a tenth of all, and 60% within the month, as in ``LoginTable``."""
    bits = np.zeros(users + 1, dtype=np.uint8)
    bits[(-day * day) % 10 :: 10] = 1
    bits[0] = 0
    return bits


def _load(redis: Redis, users: int) -> None:
    """Write the bitmaps of the month's days, as marks would have."""
    from loginlog import keys

    _empty(redis)
    for n in range(DAYS):
        redis.set(keys.day(FIRST + timedelta(days=n), "client"), np.packbits(active_on(n, users)).tobytes())


def _empty(redis: Redis) -> None:
    """Empty Redis and rebuild the log, so that Redis counts as complete."""
    from django.core.management import call_command

    redis.flushdb()
    call_command("mirror", "rebuild", "login_month", stdout=sys.stderr)


def _aim(redis: Redis, users: int, notes: list[str]) -> Iterator[Row]:
    """Measure the distinct count against its target, and note its longest Redis command."""
    from loginlog import selectors

    def ours() -> int:
        return selectors.count_active("client", FIRST, LAST)

    sizes = _sizes(users)
    _, seconds = _best(ours)
    notes.append(_commands(redis, f"distinct users in 31 days, {sizes}", ours))
    if users <= MOST_USERS:
        yield Row("distinct users in 31 days", f"the aim: {AIM * 1000:.0f} ms", sizes, seconds, AIM, AIM / seconds, 1.0)


def _sizes(users: int) -> str:
    return f"{users:,} users, {DAYS} days, 10% a day"


def _beside_sql(redis: Redis, table: LoginTable, users: int) -> Iterator[Row]:
    from loginlog import keys, selectors

    def ours() -> int:
        return selectors.count_active("client", FIRST, LAST)

    assert ours() == table.distinct()
    rounds = 5 if users <= 1_000_000 else 2
    sizes = _sizes(users)
    yield measure(Comparison("distinct users in 31 days", "COUNT(DISTINCT)", sizes, ours, table.distinct), rounds)
    for user in range(1, 101):
        for day in table.of_user(user):
            redis.setbit(keys.month(day, "client", user), day.day, 1)

    def months() -> list[list[date]]:
        return [selectors.find_login_days(user, FIRST, LAST) for user in range(1, 101)]

    def sql_months() -> list[list[date]]:
        return [table.of_user(user) for user in range(1, 101)]

    assert months() == sql_months()
    yield measure(Comparison("the month of one user, 100 times", "SELECT day", sizes, months, sql_months))


def _beside_bitmapist(server: RedisServer, users: int, notes: list[str]) -> Iterator[Row]:
    from loginlog import keys, selectors
    from tests.bench import bitmapist_side

    redis = server.client()
    for n in range(DAYS):
        day = FIRST + timedelta(days=n)
        redis.copy(keys.day(day, "client"), bitmapist_side.key(day))
    said = bitmapist_side.run(str(server.socket), users, FIRST, DAYS)
    if isinstance(said, str):
        notes.append(f"beside bitmapist: not run, {said}")
        return
    count, seconds = _best(lambda: selectors.count_active("client", FIRST, LAST))
    assert count == said["count"]
    sizes = _sizes(users)
    yield Row(
        "distinct users in 31 days", "bitmapist", sizes, seconds, said["distinct"], said["distinct"] / seconds, None
    )
    notes.append(f"bitmapist marks {said['marks']:,.0f} logins a second, pipelined (month, week and day)")


def _marks(redis: Redis) -> Iterator[Row]:
    from django.db import transaction

    from accounts.models import User
    from loginlog import services
    from loginlog.models import LoginMonth, Number

    User.objects.bulk_create(
        [User(username=f"u{n}", name_key=f"u{n}", password="!") for n in range(MARKED)], batch_size=1000
    )
    ids = list(User.objects.order_by("pk").values_list("pk", flat=True))
    logins = [(pk, "client", FIRST + timedelta(days=n)) for n in range(5) for pk in ids]

    def ours() -> None:
        assert services.mark_logins(logins) == len(logins)

    def orm() -> None:
        for at in range(0, len(ids), 1000):
            with transaction.atomic():
                made = Number.objects.bulk_create([Number(user_id=pk) for pk in ids[at : at + 1000]])
                LoginMonth.objects.bulk_create([make_month(number) for number in made])

    def make_month(number: Number) -> LoginMonth:
        pk, first = number.user_id, FIRST.replace(day=1)
        assert pk is not None
        return LoginMonth(name=f"x{pk}", user_id=pk, number=number, month=first, user_type="client", bits=31)

    def forget() -> None:
        LoginMonth.objects.all()._raw_delete("default")
        Number.objects.all()._raw_delete("default")

    sizes = f"{len(logins):,} logins of {len(ids):,} users"
    yield measure(
        Comparison(
            "importing logins to SQL", "bulk_create of users' numbers and months", sizes, ours, orm, before=forget
        )
    )
    forget()
    ours()

    def rebuilt() -> None:
        _empty(redis)

    def bare() -> None:
        for at in range(0, len(logins), 5000):
            pipe = redis.pipeline(transaction=False)
            for pk, kind, day in logins[at : at + 5000]:
                pipe.setbit(f"m:{day:%Y-%m}:{kind}:{pk}", day.day, 1)
                pipe.setbit(f"d:{day}:{kind}", pk, 1)
            pipe.execute()

    what = "rebuilding the login log"
    yield measure(Comparison(what, "two bare SETBITs, pipelined", sizes, rebuilt, bare, before=redis.flushdb))


def _memory(redis: Redis, users: int) -> Iterator[str]:
    """Yield the memory of a million user-months in both layouts."""
    from loginlog import keys

    def used() -> int:
        return int(redis.info("memory")["used_memory"])

    redis.flushdb()
    before = used()
    for at in range(0, MONTHS, 5000):
        pipe = redis.pipeline(transaction=False)
        for user in range(at, at + 5000):
            pipe.set(keys.month(FIRST, "client", 1_000_000 + user), b"\1\0\0\1")
        pipe.execute()
    month = (used() - before) / MONTHS
    redis.flushdb()
    before = used()
    for n in range(DAYS):
        redis.setbit(keys.day(FIRST + timedelta(days=n), "client"), users, 0)
    day = (used() - before) / users
    yield f"memory of a million user-months: {month:.0f} MB as months of users, {day:.1f} MB as days of all users"


def _commands(redis: Redis, what: str, call: Callable[[], object]) -> str:
    """Return the number of Redis commands of a call and the duration of the longest, by the clock of the server."""
    redis.config_set("slowlog-max-len", 10_000)
    redis.config_set("slowlog-log-slower-than", 0)
    redis.slowlog_reset()
    call()
    redis.config_set("slowlog-log-slower-than", 10_000)
    found = [(int(e["duration"]), e["command"].split()[0].decode()) for e in redis.slowlog_get(10_000)]
    longest, name = max(found)
    verdict = "" if longest / 1000 <= MOST_MS else f" (MORE than {MOST_MS} ms)"
    return f"{what}: {len(found)} commands, the longest {longest / 1000:.2f} ms ({name}){verdict}"


def _best(call: Callable[[], int]) -> tuple[int, float]:
    """Return the result of a call and the median of its seconds."""
    seconds, said = [], 0
    for _ in range(7):
        start = time.perf_counter()
        said = call()
        seconds.append(time.perf_counter() - start)
    return said, sorted(seconds)[3]


if __name__ == "__main__":
    sys.exit(main())
