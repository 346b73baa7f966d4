"""Measure each page at 1, 10 and 100 times the demo's data: ``python -m tests.bench.growth [--postgres]``.

Pages are requested through the WSGI handler in one thread, and the processor time of the fastest of several rounds
counts, with that of PostgreSQL's process, so other programs on the machine disturb little. "Made" is a public page that
is not stored. Each page is measured with warm mirrors, and then with SQL alone, as while Redis is away. One reader's
shelves and follows grow too. The tasks that read all data are timed as well.
"""

import argparse
import math
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from demo import environment
from tests.bench.pages import JSON_TYPE, PAGES, READERS, Page, load_readers, run
from tests.support.servers import PostgresServer, RedisServer, temporary_folder

if TYPE_CHECKING:
    from django.core.handlers.wsgi import WSGIHandler

    from tests.bench.copies import Copies

STEPS: Final = (1, 10, 100)
GOAL: Final = 1.3  # the time of a page at the last step, as a multiple of that at the first one
# Rounds, requests of a round, and earlier requests that fill the caches.
LIMITS, SQL_LIMITS = (6, 20, 40), (2, 3, 2)
LOADING_SECONDS: Final = 600  # of the copy of the catalogue in the process
SETTLE_SECONDS: Final = 3  # until the relay and the row cache have done what they do once
VISITORS: Final = 20  # the readers who request the pages in turns
MADE: Final = "messages=none"  # with this cookie, a page may not come from the page cache
PERSON: Final = "/u/Bo%20Lindqvist"
JSON_PAGE: Final = (False, None, JSON_TYPE)
MORE: Final = (
    Page("books of a tag, made", "/books/?q=fiction", False, None),
    Page("books of a tag, JSON", "/books/?q=fiction", *JSON_PAGE),
    Page("book, JSON", "/books/1/", *JSON_PAGE),
    Page("names of tags, JSON", "/books/tags/?q=fa", *JSON_PAGE),
    Page("search, made", "/search/?q=river", False, None),
    Page("notifications", "/notifications/", True, None),
    Page("orders", "/shop/orders/", True, None),
    Page("own lists", "/lists/", True, None),
    Page("lists with a book", "/lists/with/29/", True, None),
    Page("reviews of a book", "/books/29/reviews/", True, None),
    Page("posts about a book", "/books/230/posts/", True, None),
    Page("post with replies", "/posts/497/", True, None),
    Page("post with likes", "/posts/261/", True, None),
    Page("hashtag", "/tags/fridayreads/", True, None),
    Page("mentions", "/mentions/", True, None),
    Page("readers", "/people/", True, None),
    Page("followers", "/u/Ximena%20Rojas/followers/", True, None),
    Page("lists of a reader", f"{PERSON}/lists/", True, None),
    Page("shelves of a reader", f"{PERSON}/shelves/", True, None),
    Page("reading statistics", "/shelves/statistics/", True, None),
    Page("Atom feed of a book, made", "/books/230/posts/feed/", False, None),
    Page("Atom feed of a reader, made", f"{PERSON}/feed/", False, None),
)
GROWN: Final = ("front page, reader", "home timeline", "own shelf", "reading statistics")  # with a reader who grows
ADMIN: Final = ("catalog/book", "catalog/author", "accounts/user", "shop/order", "shop/product", "social/post")


class Cost(NamedTuple):
    """The processor time of a page in ms, its round trips to Redis and its SQL statements."""

    milliseconds: float
    round_trips: int
    statements: int


class LargePostgresServer(PostgresServer):
    """A server with memory for all data, whose connections use one process each: its processor time is counted."""

    def command(self) -> list[str]:
        options = ("shared_buffers=2GB", "max_wal_size=8GB", "max_parallel_workers_per_gather=0")
        return [*super().command(), *(part for option in options for part in ("-c", option))]


class Row(NamedTuple):
    """A page, and the cookies of its requests."""

    page: Page
    cookies: Sequence[str]


def main() -> None:
    """Measure all pages at each step, and print the tables as Markdown."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.growth")
    parser.add_argument("--postgres", action="store_true", help="measure on PostgreSQL instead of SQLite")
    parser.add_argument("--only", default="", help="a word of a page's name")
    parser.add_argument("--steps", default=",".join(map(str, STEPS)), help="multiples of the demo's data")
    options = parser.parse_args()
    steps = [int(step) for step in options.steps.split(",")]
    with start_site(is_postgres=options.postgres) as (every, copies):
        rows = [row for row in every if options.only in row.page.name]
        found: list[tuple[list[Cost], list[Cost]]] = []
        for step in steps:
            grow(copies, step)
            with run("manage.py", "mirror", "run"), run("manage.py", "rowcache", "run"):
                time.sleep(SETTLE_SECONDS)
                found.append(([measure(row) for row in rows], [measure(row, is_sql_only=True) for row in rows]))
    for title, kind in (("With warm mirrors", 0), ("With SQL alone", 1)):
        print(f"\n{title}\n\n{render(rows, steps, [costs[kind] for costs in found])}")


@contextmanager
def start_site(*, is_postgres: bool) -> Iterator[tuple[list[Row], "Copies"]]:
    """Start the servers, load the demo's data, and yield the pages with their cookies."""
    os.environ.update({"DJANGO_SETTINGS_MODULE": "tests.bench.pages_settings", "BENCH_SERVER": "ours"})
    os.environ.update({"REDIS_PREFIX": "", "ALLOWED_HOSTS": "127.0.0.1,testserver"})
    os.environ.update(environment.generate_environment("http://127.0.0.1"))
    with ExitStack() as stack:
        os.environ["DATABASE_URL"] = f"sqlite:///{temporary_folder() / 'growth.sqlite3'}"
        if is_postgres:
            postgres = LargePostgresServer().start()
            stack.callback(postgres.stop)
            os.environ["DATABASE_URL"] = postgres.url("postgres")
        os.environ.update(stack.enter_context(RedisServer()).environment())
        cookies = load_readers()
        from tests.bench.copies import Copies

        yield list(_list_rows(cookies)), Copies()


def _list_rows(cookies: Sequence[str]) -> Iterator[Row]:
    from tests.bench.copies import log_in_staff

    for page in (*PAGES, *MORE):
        if page.is_for_reader:
            yield Row(page, cookies[1 : 1 + VISITORS])
        elif page.name.endswith(", made"):
            yield Row(page, [MADE])
        else:
            yield Row(page, [""])
            if page.name.endswith(", visitor"):
                yield Row(page._replace(name=page.name.replace("visitor", "made")), [MADE])
    for page in (*PAGES, *MORE):
        if page.name in GROWN:
            yield Row(page._replace(name=f"{page.name}, grown"), cookies[:1])
    staff = log_in_staff()
    for path in ADMIN:
        yield Row(Page(f"admin: {path}", f"/admin/{path}/", True, None), [staff])


def grow(copies: "Copies", step: int) -> None:
    """Grow the site to a multiple of the demo's data, and do what its workers do."""
    from accounts.models import User
    from catalog.local.index import local_copy
    from mirror.relay.drains import drain_all
    from mirror.upkeep.rebuild import rebuild
    from mirror.verify.runs import verify
    from shop.book_views import decay
    from shop.recommend.build import rebuild_recommendations
    from social.profiles.similar import rebuild_similar_readers
    from tests.support.social.timelines import warm_up

    readers = User.objects.filter(is_active=True, is_staff=False).order_by("pk")[:READERS]
    tasks: Mapping[str, Callable[[], object]] = {
        "copies": lambda: copies.grow_to(step),
        "recommendations": rebuild_recommendations,
        "similar readers": rebuild_similar_readers,
        "rebuild": rebuild,
        "drain": drain_all,
        "popularity": decay.rebuild_popularity,
        "timelines": lambda: warm_up(*readers),
        "local copy": lambda: local_copy.ensure_loaded(LOADING_SECONDS),
        "verify": verify,
    }
    for name, task in tasks.items():
        began, own = time.monotonic(), time.process_time()
        task()
        seconds, own_seconds = time.monotonic() - began, time.process_time() - own
        print(f"{step} times the data: {name}: {seconds:.1f} s, {own_seconds:.1f} s of the process", file=sys.stderr)


def measure(row: Row, *, is_sql_only: bool = False) -> Cost:
    """Return the costs of a page, with SQL alone on request."""
    from django.core.handlers.wsgi import WSGIHandler

    from mirror.redis.recorder import record
    from mirror.relay.sql_only import sql_only

    app, best, number = WSGIHandler(), math.inf, 0
    rounds, requests, warm_requests = SQL_LIMITS if is_sql_only or row.page.path.startswith("/admin/") else LIMITS
    with sql_only() if is_sql_only else nullcontext():
        for number in range(warm_requests):
            _request(app, row, number)
        with record() as seen:
            _request(app, row, number)
        for _ in range(rounds):
            start = _get_processor_seconds()
            for number in range(requests):
                _request(app, row, number)
            best = min(best, (_get_processor_seconds() - start) / requests)
    cost = Cost(best * 1000, seen.round_trips, len(seen.sql))
    print(f"{row.page.name}: {cost}", file=sys.stderr)
    return cost


def _get_processor_seconds() -> float:
    """Return the processor time of this process and of PostgreSQL's process for its connection."""
    from django.db import connection

    own = time.process_time()
    if connection.vendor != "postgresql":
        return own
    connection.ensure_connection()
    schedule = Path(f"/proc/{connection.connection.info.backend_pid}/schedstat").read_text()
    return own + int(schedule.split()[0]) / 1e9


def _request(app: "WSGIHandler", row: Row, number: int) -> None:
    from django.test import RequestFactory

    page, cookie = row.page, row.cookies[number % len(row.cookies)]
    headers = {"cookie": cookie, "accept": page.accept, "accept-language": "en", "host": "127.0.0.1"}
    lines: list[str] = []

    def note_status(line: str, headers: Any, error: Any = None, /) -> Callable[[bytes], object]:
        lines.append(line)
        return len  # for a response that is written piece by piece, which Django's is not

    response = app(RequestFactory().get(page.path, headers=headers).environ, note_status)
    for _ in response:
        pass
    response.close()
    if not lines[0].startswith("200"):
        raise RuntimeError(f"{page.path}: {lines[0]}")


def render(rows: Sequence[Row], steps: Sequence[int], found: Sequence[Sequence[Cost]]) -> str:
    """Return the table: the time of each page at each step, the growth, and the counts at the last step."""
    titles = " | ".join(f"{step}x, ms" for step in steps)
    lines = [f"| page | {titles} | growth | round trips | statements |", "|" + "---|" * (len(steps) + 4)]
    for row, costs in zip(rows, zip(*found, strict=True), strict=True):
        growth = costs[-1].milliseconds / costs[0].milliseconds
        times = " | ".join(f"{cost.milliseconds:.2f}" for cost in costs)
        mark = "**" if growth > GOAL else ""
        counts = f"{costs[-1].round_trips} | {costs[-1].statements}"
        lines.append(f"| {row.page.name} | {times} | {mark}{growth:.2f}{mark} | {counts} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
