"""Compare the first request after Redis hangs, including its time-out, with the promised second."""

import os
import signal
import time
from collections.abc import Iterator
from functools import partial

from django.core.management import call_command
from django.test import Client

from mirror.redis.clients import breaker, relay_client
from mirror.relay import send
from mirror.relay.drains import drain_all
from mirror.upkeep.rebuild import rebuild
from shop.pagecache import store
from tests.bench.table import Comparison
from tests.support.shop.make import make_product

PROMISE_SECONDS = 1.0


def comparisons() -> Iterator[Comparison]:
    """Yield comparisons for pages that read much from Redis and now fall back to SQL."""
    call_command("collectstatic", interactive=False, verbosity=0)
    product = make_product("The Book of Sand", stock=7)
    rebuild()
    drain_all()
    client, pid = Client(SERVER_NAME="localhost"), int(relay_client().info("server")["process_id"])
    for path in ("/", "/books/", f"/books/{product.pk}/", "/global/", "/shop/sale/", "/accounts/leaderboard/"):
        client.get(path, secure=True)
        yield Comparison(
            f"{path} while Redis hangs",
            "a second",
            "one request, its time-out included",
            partial(_get_while_hung, client, path, pid),
            partial(time.sleep, PROMISE_SECONDS),
            target=1.0,
            before=_forget_failures,
        )


def _get_while_hung(client: Client, path: str, pid: int) -> None:
    os.kill(pid, signal.SIGSTOP)
    try:
        status = client.get(path, secure=True).status_code
    finally:
        os.kill(pid, signal.SIGCONT)
    if status != 200:
        raise RuntimeError(f"{path} answered {status}")


def _forget_failures() -> None:
    """Reset the breakers, so that the next request pays its time-out like the first request of a process."""
    for one in (breaker, send.broker, store.breaker):
        one.reset()
