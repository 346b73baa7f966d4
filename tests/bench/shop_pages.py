"""Compare a book's page from the page cache with a minimal view, Django's cache middleware, and no cache.

Each side is a separate server as in the Procfile, with two workers. The servers are measured one at a time.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from urllib.request import Request, urlopen

from django.test import Client

from accounts.models import User
from mirror.redis.clients import relay_client
from mirror.relay.drains import drain_all
from mirror.upkeep.rebuild import rebuild
from shop import keys
from shop.models import Product
from social.models import Post
from tests.bench.load import request_page
from tests.bench.table import Comparison
from tests.support.servers import die_with_parent, free_port, wait_until
from tests.support.shop.make import make_product

REQUESTS = 1_000
WEB = "granian --interface rsgi --no-ws --http 1 --workers 2 --log-level warning config.rsgi:application"


@contextmanager
def server(kind: str) -> Iterator[int]:
    """Start a server with ``pages_settings`` and yield its port."""
    port = free_port()
    child = subprocess.Popen(
        [sys.executable, "-m", *WEB.split(), "--port", str(port)],
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "tests.bench.pages_settings", "BENCH_SERVER": kind},
        stdout=sys.stderr,
        preexec_fn=die_with_parent(),
    )
    try:
        wait_until(lambda: _answers(port), f"the server {kind}", 60)
        yield port
    finally:
        child.terminate()
        child.wait()


def _answers(port: int) -> bool:
    try:
        with urlopen(Request(f"http://127.0.0.1:{port}/ok/"), timeout=10) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def comparisons() -> Iterator[Comparison]:
    """Yield the comparisons for anonymous and logged-in visitors."""
    product = _book()
    path = f"/books/{product.pk}/"
    who = {
        "a stranger": {"Cookie": f"csrftoken={'a' * 32}"},  # a returning visitor
        "who is logged in": {"Cookie": f"csrftoken={'a' * 32}; sessionid={_session()}"},
    }
    rebuild()
    drain_all()
    with ExitStack() as stack:
        ports = {kind: stack.enter_context(server(kind)) for kind in ("bare", "ours", "plain", "django")}
        for name, headers in who.items():
            asked = {kind: partial(request_page, port, path, REQUESTS, headers) for kind, port in ports.items()}
            for kind in ("ours", "django"):
                request_page(ports[kind], path, 200, headers)
            relay_client().zadd(keys.popularity(), {str(product.pk): -1e6})
            sizes = f"{REQUESTS:,} requests on 8 connections, 2 workers"
            page = f"a book's page from the cache, for {name}"
            bare = partial(request_page, ports["bare"], "/ok/", REQUESTS, {})
            yield Comparison(page, 'a bare "ok"', sizes, asked["ours"], bare)
            yield Comparison(page, "Django's cache middleware", sizes, asked["ours"], asked["django"])
            yield Comparison(page, "no page cache", sizes, asked["ours"], asked["plain"])


def _book() -> Product:
    """Create a product with everything that its page shows: tags, price and posts."""
    product = make_product("The Book of Sand", stock=1000)
    for number in range(30):
        product.book.tags.create(name=f"tag {number}")
    bob = User.objects.create_user("bench bob")
    Post.objects.bulk_create(Post(user=bob, book=product.book, text=f"Page {n} is endless.") for n in range(5))
    relay_client().zadd(keys.popularity(), {**{f"other {n}": -n for n in range(9_000)}, str(product.pk): -1e6})
    return product


def _session() -> str:
    client = Client()
    client.force_login(User.objects.create_user("bench alice"))
    return client.cookies["sessionid"].value
