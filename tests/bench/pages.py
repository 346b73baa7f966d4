"""Measure requests a second of every kind of page, as a part of those of a bare view: ``python -m tests.bench.pages``.

Two servers as in the Procfile, each with two workers: the site, and a view that returns "ok" without middleware. They
are measured one at a time, in turns, by ``wrk`` with eight connections, while the relay runs. Pages of readers are
requested by a hundred different ones. The data are those of the demo, on SQLite.
"""

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from demo import environment
from tests.support.servers import RedisServer, die_with_parent, free_port, temporary_folder, wait_until

WEB: Final = "granian --interface rsgi --no-ws --http 1 --workers 2 --log-level warning config.rsgi:application"
READERS: Final = 100
ROUNDS: Final = 3
SECONDS: Final = 2  # of each measurement
CONNECTIONS: Final = 8
RATE: Final = re.compile(r"Requests/sec:\s+([\d.]+)")
FAILED: Final = re.compile(r"Non-2xx or 3xx responses: (\d+)|Socket errors: (.+)")
JSON_TYPE: Final = "application/json"
# Sends the cookies in turns.
SCRIPT: Final = """
local cookies, n = {{{cookies}}}, 0
request = function()
  n = n % #cookies + 1
  return wrk.format("GET", nil, {{["Cookie"] = cookies[n], ["Accept"] = "{accept}", ["Accept-Language"] = "en"}})
end
"""


class Page(NamedTuple):
    """A page. goal: the asked part of the bare view's rate, or None."""

    name: str
    path: str
    is_for_reader: bool
    goal: float | None
    accept: str = "text/html"


PAGES: Final = (
    Page('"ok" through the stack, visitor', "/ok/", False, 0.60),
    Page('"ok" through the stack, reader', "/ok/", True, 0.25),
    Page("book, visitor", "/books/1/", False, 0.45),
    Page("book, reader", "/books/1/", True, 0.12),
    Page("book that is not stored, visitor", "/books/40/", False, 0.08),
    Page("list, visitor", "/books/", False, 0.35),
    Page("list, reader", "/books/", True, None),
    Page("list, JSON", "/books/", False, 0.20, JSON_TYPE),
    Page("front page, visitor", "/", False, 0.45),
    Page("front page, reader", "/", True, 0.10),
    Page("home timeline", "/home/", True, 0.12),
    Page("home timeline, JSON", "/home/", True, 0.15, JSON_TYPE),
    Page("global timeline, visitor", "/global/", False, 0.45),
    Page("sale, visitor", "/shop/sale/", False, 0.30),
    Page("cart", "/shop/cart/", True, 0.12),
    Page("leaderboard", "/accounts/leaderboard/", True, 0.12),
    Page("login calendar", "/loginlog/", True, 0.06),
    Page("author, reader", "/authors/1/", True, 0.10),
    Page("search, reader", "/search/?q=river", True, 0.10),
    Page("profile, reader", "/u/Bo%20Lindqvist/", True, 0.10),
    Page("own shelf", "/shelves/read/", True, 0.10),
)


def main() -> int:
    """Run the benchmark and print the table. Return 1 if a goal is missed."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.pages")
    parser.add_argument("--only", default="", help="a word of a page's name")
    parser.add_argument("--json", action="store_true", help="print the rows as JSON")
    options = parser.parse_args()
    if shutil.which("wrk") is None:
        sys.exit("The program wrk is missing: install the package of that name")
    os.environ["DATABASE_URL"] = f"sqlite:///{temporary_folder() / 'pages.sqlite3'}"
    os.environ.update({"DJANGO_SETTINGS_MODULE": "tests.bench.pages_settings", "BENCH_SERVER": "ours"})
    os.environ.update({"REDIS_PREFIX": "", "ALLOWED_HOSTS": "127.0.0.1,testserver"})
    os.environ.update(environment.generate_environment("http://127.0.0.1"))
    with RedisServer() as redis:
        os.environ.update(redis.environment())
        cookies = load_readers()
        pages = [page for page in PAGES if options.only in page.name]
        # Without the relay's heartbeat every page would ask SQL what is pending.
        with run("manage.py", "mirror", "run"), run("manage.py", "rowcache", "run"):
            rows = [measure(page, cookies) for page in pages]
    print(json.dumps(rows) if options.json else render(rows))
    return 1 if any(row["met"] == "NO" for row in rows) else 0


def load_readers() -> list[str]:
    """Load the data, and return the cookies of the readers."""
    import django

    django.setup()
    from django.core.management import call_command
    from django.test import Client

    from accounts.models import User
    from mirror.relay.drains import drain_all
    from mirror.upkeep.rebuild import rebuild
    from shop.book_views import decay
    from tests.bench.demo_data import load_demo
    from tests.support.social.timelines import warm_up

    call_command("migrate", verbosity=0)
    load_demo()
    found = []
    readers = list(User.objects.filter(is_active=True, is_staff=False).order_by("pk")[:READERS])
    for user in readers:
        client = Client()
        client.force_login(user)
        found.append("; ".join(f"{name}={morsel.value}" for name, morsel in client.cookies.items()))
    rebuild()
    drain_all()
    # What the workers of a site do: without it, SQL answers.
    decay.rebuild_popularity()
    warm_up(*readers)
    return found


@contextmanager
def serve(kind: str) -> Iterator[int]:
    """Start a server with ``pages_settings`` and yield its port."""
    port = free_port()
    with run("-m", *WEB.split(), "--port", str(port), kind=kind):
        wait_until(lambda: _answers(port), f"the server {kind}", 60)
        yield port


@contextmanager
def run(*command: str, kind: str = "ours") -> Iterator[None]:
    """Run a Python program in the block."""
    child = subprocess.Popen(
        [sys.executable, *command],
        env={**os.environ, "BENCH_SERVER": kind},
        stdout=sys.stderr,
        preexec_fn=die_with_parent(),
    )
    try:
        yield
    finally:
        child.terminate()
        child.wait()


def _answers(port: int) -> bool:
    try:
        with urlopen(Request(f"http://127.0.0.1:{port}/ok/"), timeout=10) as answer:
            return bool(answer.status == 200)
    except HTTPError:
        raise
    except OSError:
        return False


def measure(page: Page, cookies: Sequence[str]) -> dict[str, Any]:
    """Return the row of a page: its rate, that of the bare view, and their ratio."""
    rates: dict[str, list[float]] = {"ours": [], "bare": []}
    sent = cookies if page.is_for_reader else [""]
    with ExitStack() as stack:
        ports = {kind: stack.enter_context(serve(kind)) for kind in rates}
        # Each worker fills its caches.
        request(ports["ours"], page.path, sent, page.accept)
        for _ in range(ROUNDS):
            rates["bare"].append(request(ports["bare"], "/ok/", [""], "text/html"))
            rates["ours"].append(request(ports["ours"], page.path, sent, page.accept))
    ours, bare = (statistics.median(rates[kind]) for kind in ("ours", "bare"))
    met = "" if page.goal is None else "yes" if ours / bare >= page.goal else "NO"
    return {"page": page.name, "rate": ours, "bare": bare, "ratio": ours / bare, "goal": page.goal, "met": met}


def request(port: int, path: str, cookies: Sequence[str], accept: str) -> float:
    """Request a page for SECONDS. Return the requests a second. Raises RuntimeError if one fails."""
    folder = temporary_folder()
    script = Path(folder) / "requests.lua"
    listed = ", ".join(f'"{cookie}"' for cookie in cookies)
    script.write_text(SCRIPT.format(cookies=listed, accept=accept))
    command = ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{SECONDS}s", "-s", str(script), f"http://127.0.0.1:{port}{path}"]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    if FAILED.search(output):
        raise RuntimeError(f"{path}: {output}")
    found = RATE.search(output)
    assert found, output
    return float(found[1])


def render(rows: Sequence[dict[str, Any]]) -> str:
    """Return the table as Markdown."""
    lines = ["| page | requests a second | bare | of bare | goal | met |", "|" + "---|" * 6]
    for row in rows:
        goal = "" if row["goal"] is None else f"{row['goal']:.2f}"
        rates = f"{row['rate']:,.0f} | {row['bare']:,.0f} | {row['ratio']:.3f}"
        lines.append(f"| {row['page']} | {rates} | {goal} | {row['met']} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
