"""Request a book's page from many threads at once: ``python -m tests.shop.stampede PATH THREADS``.

The process counts in Redis how often it rendered the page, and prints how many of its threads received it.
"""

import sys
import threading
import time
from typing import Any, Final
from unittest.mock import patch

import django

PATIENCE: Final = 600.0  # seconds; generous, because other tests use the processors too
MADE, READY, GO = "stampede:made", "stampede:ready", "stampede:go"  # the keys by which processes and test synchronise


def main(path: str, threads: int) -> None:
    """Start all threads, wait for the key ``GO``, and let them request the page at the same moment."""
    from django.conf import settings
    from django.test import Client
    from django_redis import get_redis_connection

    from mirror.outbox.identity import database_identity
    from mirror.redis.clients import client, relay_client
    from shop.pagecache import rendering

    redis = relay_client()
    make, shown, barrier = rendering.render_page, list[bool](), threading.Barrier(threads + 1)
    pools = [redis.connection_pool for redis in (client(), get_redis_connection("default"))]
    for pool in pools:
        pool.max_connections = 2 * threads  # a process of the site has only a few threads
    opened, connecting = threading.Barrier(threads), threading.Lock()
    settings.SHOP_PAGE_WAIT_SECONDS = PATIENCE
    settings.SHOP_PAGE_LOCK_SECONDS = PATIENCE  # the rendering thread competes with hundreds of others
    settings.SHOP_PAGE_SECONDS = PATIENCE  # otherwise the page expires and the last threads render it again
    sys.setswitchinterval(0.05)  # otherwise hundreds of waiting threads spend the time on switching
    database_identity()  # cached per process, so that the first visitors do not all read it

    def counted(*given: Any) -> Any:
        redis.incr(MADE)
        time.sleep(0.5)  # all others arrive before the page is ready
        return make(*given)

    def visit() -> None:
        visitor = Client(headers={"Host": "localhost", "User-Agent": "a bot"})
        with connecting:  # a server accepts only a limited number of new connections at once
            held = [pool.get_connection() for pool in pools]
        opened.wait(PATIENCE)
        for pool, connection in zip(pools, held, strict=True):
            pool.release(connection)
        barrier.wait(PATIENCE)
        shown.append(b"The Book of Sand" in visitor.get(path).content)

    workers = [threading.Thread(target=visit) for _ in range(threads)]
    with patch.object(rendering, "render_page", counted):
        for worker in workers:
            worker.start()
        redis.incr(READY)
        while not redis.exists(GO):
            time.sleep(0.01)
        barrier.wait(PATIENCE)
        for worker in workers:
            worker.join()
    print(sum(shown))


if __name__ == "__main__":
    django.setup()
    main(sys.argv[1], int(sys.argv[2]))
