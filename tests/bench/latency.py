"""Measure how long pages and writes take at half of their highest rate: ``python -m tests.bench.latency``.

The site runs as in ``tests.bench.pages``, on PostgreSQL. First eight connections send requests without a pause, which
gives the highest rate. Then 32 connections with random pauses, like readers, send about half as many. Each page and
write is measured twice: while nothing else happens, and while 100,000 books are updated and the relay applies that.
``wrk``, the servers, PostgreSQL and Redis share the machine.
"""

import argparse
import os
import re
import subprocess
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final, NamedTuple

from demo import environment
from tests.bench.pages import CONNECTIONS, FAILED, JSON_TYPE, load_readers, run, serve
from tests.support.servers import PostgresServer, RedisServer, temporary_folder

READERS: Final = 32  # connections with pauses
# A request takes about a fifth of the mean time between two requests of a reader.
PAUSE_SHARE: Final = 0.8
SECONDS: Final = 5  # of each measurement
BOOKS: Final = 100_000
TITLE: Final = "Volume"  # with a number: a book that is updated
RESULT: Final = re.compile(r"found ([\d.]+) ([\d.]+) ([\d.]+) ([\d.]+)")
# ``round`` counts how often each reader has sent a request, so that every write changes something.
SCRIPT: Final = """
local cookies, n, round, pause = {{{cookies}}}, 0, 0, {pause}
local headers = {{["Accept"] = "{accept}", ["Accept-Language"] = "en", ["Origin"] = "http://127.0.0.1:{port}",
  ["Sec-Fetch-Site"] = "same-origin", ["Content-Type"] = "application/x-www-form-urlencoded"}}
request = function()
  n = n + 1
  round = math.floor(n / #cookies)
  headers["Cookie"] = cookies[n % #cookies + 1]
  return wrk.format("{method}", {path}, headers, {body})
end
if pause > 0 then
  delay = function() return math.floor(0.5 - pause * math.log(1 - math.random())) end
end
done = function(summary, latency)
  local percentiles = {{latency:percentile(50) / 1000, latency:percentile(95) / 1000, latency:percentile(99) / 1000}}
  print(string.format("found %f %f %f %f", summary.requests * 1e6 / summary.duration, unpack(percentiles)))
end
"""


class Action(NamedTuple):
    """A page or a write. path, body: expressions in Lua, which may use ``n`` and ``round``."""

    name: str
    path: str
    body: str = "nil"
    is_for_reader: bool = True
    accept: str = "text/html"


class Latency(NamedTuple):
    """What was measured. rate: requests a second. p50, p95, p99: percentiles of the latency in ms."""

    rate: float
    p50: float
    p95: float
    p99: float


ACTIONS: Final = (
    Action("front page, visitor", '"/"', is_for_reader=False),
    Action("book, visitor", '"/books/1/"', is_for_reader=False),
    Action("list, JSON, visitor", '"/books/"', is_for_reader=False, accept=JSON_TYPE),
    Action("front page", '"/"'),
    Action("book", '"/books/" .. n % 300 + 1 .. "/"'),
    Action("list", '"/books/"'),
    Action("home timeline", '"/home/"'),
    Action("search", '"/search/?q=river"'),
    Action("own shelf", '"/shelves/read/"'),
    Action("cart", '"/shop/cart/"'),
    Action("write to the cart", '"/shop/cart/"', '"product=1&quantity=" .. round % 2 + 1', accept=JSON_TYPE),
    Action("like", '"/posts/1/" .. (round % 2 == 0 and "like" or "unlike") .. "/"', '""', accept=JSON_TYPE),
    Action("post", '"/posts/"', '"text=A+note+" .. n .. "+" .. os.time()'),
    Action(
        "move to a shelf",
        '"/books/" .. n % 100 + 101 .. "/shelf/"',
        '"action=shelf&shelf=" .. (round % 2 == 0 and "reading" or "read")',
    ),
)


def main() -> None:
    """Measure all actions, and print the table as Markdown."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.latency")
    parser.add_argument("--only", default="", help="a word of an action's name")
    parser.add_argument("--update", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.update:
        _update_books()
    os.environ.update({"DJANGO_SETTINGS_MODULE": "tests.bench.pages_settings", "BENCH_SERVER": "ours"})
    os.environ.update({"REDIS_PREFIX": "", "ALLOWED_HOSTS": "127.0.0.1,testserver"})
    os.environ.update(environment.generate_environment("http://127.0.0.1"))
    actions = [action for action in ACTIONS if options.only in action.name]
    postgres = PostgresServer().start()
    os.environ["DATABASE_URL"] = postgres.url("postgres")
    with RedisServer() as redis, ExitStack() as stack:
        os.environ.update(redis.environment())
        cookies = load_readers()
        _make_books()
        stack.enter_context(run("manage.py", "mirror", "run"))
        stack.enter_context(run("manage.py", "rowcache", "run"))
        port = stack.enter_context(serve("ours"))
        for action in actions:
            # Each worker fills its caches.
            send(port, action, cookies)
        rates = {action: send(port, action, cookies).rate for action in actions}
        quiet = {action: send(port, action, cookies, rates[action] / 2) for action in actions}
        with run("-m", "tests.bench.latency", "--update"):
            busy = {action: send(port, action, cookies, rates[action] / 2) for action in actions}
    postgres.stop()
    print("| | highest rate | rate | p50 | p95 | p99 | rate | p50 | p95 | p99 |", "|" + "---|" * 10, sep="\n")
    for action in actions:
        figures = " | ".join(map(_render, (quiet[action], busy[action])))
        print(f"| {action.name} | {rates[action]:,.0f} | {figures} |")


def _render(found: Latency) -> str:
    return f"{found.rate:,.0f} | {found.p50:.1f} | {found.p95:.1f} | {found.p99:.1f}"


def send(port: int, action: Action, cookies: Sequence[str], rate: float = 0) -> Latency:
    """Send requests for SECONDS. rate: about how many a second; 0: as many as possible. RuntimeError: some failed."""
    pause = 1000 * PAUSE_SHARE * READERS / rate if rate else 0
    listed = ", ".join(f'"{cookie}"' for cookie in (cookies if action.is_for_reader else [""]))
    method = "GET" if action.body == "nil" else "POST"
    script = Path(temporary_folder()) / "requests.lua"
    script.write_text(
        SCRIPT.format(
            cookies=listed,
            pause=pause,
            accept=action.accept,
            port=port,
            method=method,
            path=action.path,
            body=action.body,
        )
    )
    connections = READERS if rate else CONNECTIONS
    limits = [f"-c{connections}", f"-d{SECONDS}s", "--timeout", "30s"]
    command = ["wrk", "-t1", *limits, "-s", str(script), f"http://127.0.0.1:{port}"]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found = RESULT.search(output)
    if FAILED.search(output) or not found:
        raise RuntimeError(f"{action.name}: {output}")
    return Latency(*map(float, found.groups()))


def _make_books() -> None:
    from catalog.models import Book
    from mirror.relay.drains import drain_all

    Book.objects.bulk_create((Book(title=f"{TITLE} {n}", year=1900) for n in range(BOOKS)), batch_size=5000)
    drain_all()


def _update_books() -> None:
    """Update the books until the process is ended, again when the relay has applied the changes."""
    import django

    django.setup()

    from django.db.models import F

    from catalog.models import Book
    from mirror.models import Change

    while True:
        Book.objects.filter(title__startswith=TITLE).update(year=F("year") + 1)
        while Change.objects.pending().exists():
            time.sleep(0.1)


if __name__ == "__main__":
    main()
