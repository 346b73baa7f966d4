"""Notifications on PostgreSQL: a reader with many of them, and a post that gets many likes a second.

    python -m tests.bench.notifications [--likes 100000] [--rate 500] [--seconds 20]

It prints rows for docs/performance.md. Likes come one by one at the rate, as from readers, while a relay sweeps. Every
half second another reader likes another post, and the time until Redis has that like is the delay of other mirrors.
"""

import argparse
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from statistics import median

from demo import environment
from tests.support.servers import PostgresServer
from tests.support.servers.redis import RedisServer

OWN = 5_000  # notifications of one reader
TIMES = 20  # measurements of a page


def main() -> None:
    """Run with own servers, and print the table."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench.notifications", description="Notifications under load."
    )
    parser.add_argument("--likes", type=int, default=100_000)
    parser.add_argument("--rate", type=int, default=500)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--without", action="store_true", help="measure the likes alone, for comparison")
    options = parser.parse_args()
    with PostgresServer() as postgres, RedisServer() as redis:
        os.environ.update(redis.environment(), DATABASE_URL=postgres.url("postgres"), REDIS_PREFIX="")
        os.environ.update(environment.generate_environment("http://127.0.0.1"))
        os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"
        import django

        django.setup()
        from mirror import registry

        if options.without:
            registry.unregister("notified_like")
        _run(options.likes, options.rate, options.seconds, is_alone=options.without)


def _run(likes: int, rate: int, seconds: float, *, is_alone: bool) -> None:
    from django.core.management import call_command

    from accounts.models import User
    from mirror.relay import drains
    from mirror.upkeep import rebuild
    from social.models import Like, Post

    call_command("migrate", verbosity=0)
    User.objects.bulk_create((User(username=f"r{n}") for n in range(likes + OWN)), batch_size=5000)
    readers = list(User.objects.order_by("pk").values_list("pk", flat=True))
    author, others = readers[0], readers[1:]
    Post.objects.bulk_create((Post(user_id=author, text=f"Book {n}") for n in range(OWN + 1)), batch_size=5000)
    viral, *posts = Post.objects.order_by("pk").values_list("pk", flat=True)
    Like.objects.bulk_create((Like(user_id=others[n], post_id=pk) for n, pk in enumerate(posts)), batch_size=5000)
    rebuild.rebuild([])
    drains.drain_all()
    if not is_alone:
        _measure_reader(author)
    used = int(rate * seconds)
    old = others[: likes - used]
    began = time.perf_counter()
    Like.objects.bulk_create((Like(user_id=pk, post_id=viral) for pk in old), batch_size=5000)
    drains.drain_all()
    print(f"{len(old):,} likes at once, written and drained | {time.perf_counter() - began:.1f} s")
    if not is_alone:
        _measure_key(str(viral))
    _measure_rate(viral, posts, others[likes - used : likes], rate, others[-1])


def _measure_reader(author: int) -> None:
    """Measure the page of a reader with ``OWN`` notifications, and marking all as read."""
    from accounts.notifications import selectors, services
    from common import clock
    from mirror.redis.recorder import record
    from mirror.relay import drains
    from mirror.relay.sql_only import sql_only

    with record() as seen:
        page = selectors.get_page(author)
    assert page.unread == OWN
    print(f"page of {OWN:,} notifications | {_time(lambda: selectors.get_page(author)):.2f} ms")
    print(f"its round trips and statements | {seen.round_trips} + {len(seen.sql)}")
    print(f"the number in the header | {_time(lambda: selectors.count_unread(author)):.2f} ms")
    with sql_only():
        print(f"the page from SQL | {_time(lambda: selectors.get_page(author)):.2f} ms")
        print(f"the number from SQL | {_time(lambda: selectors.count_unread(author)):.2f} ms")
    began = time.perf_counter()
    assert services.mark_all_read(author, clock.now()) == OWN
    marked = time.perf_counter() - began
    drains.drain_all()
    print(f"mark all as read, and drain | {marked:.2f} s + {time.perf_counter() - began - marked:.2f} s")


def _time(work: Callable[[], object]) -> float:
    """Return the median of the milliseconds that ``work`` takes."""
    found = []
    for _ in range(TIMES):
        began = time.perf_counter()
        work()
        found.append((time.perf_counter() - began) * 1000)
    return median(found)


def _measure_key(key: str) -> None:
    """Measure one computation of the notification of a post with many likes."""
    from mirror import registry
    from mirror.kinds import kind_of

    kind = kind_of(registry.get("notified_like"))
    print(f"notification of the post with all likes | {_time(lambda: kind.replace_rows([key])):.1f} ms")


@contextmanager
def _relay() -> Iterator[None]:
    """Sweep twice a second in a thread."""
    from django.db import connections

    from mirror.relay import drains

    end = threading.Event()

    def sweep() -> None:
        while not end.wait(0.5):
            drains.drain_all(5.0)
        connections.close_all()

    thread = threading.Thread(target=sweep)
    thread.start()
    try:
        yield
    finally:
        end.set()
        thread.join()


def _measure_rate(viral: int, posts: list[int], likers: list[int], rate: int, other: int) -> None:
    """Write likes one by one at the rate, and measure the sweeps and the delay of other rows."""
    from mirror.models import Change
    from mirror.redis.clients import relay_client
    from mirror.relay import drains, hints
    from social import keys
    from social.models import Like

    redis, delays, waiting = relay_client(), list[float](), list[tuple[float, int]]()
    # Likers' own processes drain the mirror of likes; here the relay has to do that as well.
    hints.flush = lambda: hints._due.take_all() and None  # type: ignore[assignment]
    with _relay():
        began = time.perf_counter()
        for number, liker in enumerate(likers):
            Like.objects.bulk_create([Like(user_id=liker, post_id=viral)])
            if number % (rate // 2) == 0:
                post = posts[number // (rate // 2) % len(posts)]
                Like.objects.bulk_create([Like(user_id=other, post_id=post)], ignore_conflicts=True)
                waiting.append((time.perf_counter(), post))
            if waiting and number % 10 == 0 and redis.sismember(keys.likers(waiting[0][1]), str(other)):
                delays.append(time.perf_counter() - waiting.pop(0)[0])
            time.sleep(max(0.0, began + number / rate - time.perf_counter()))
        seconds = time.perf_counter() - began
    print(f"likes a second | {len(likers) / seconds:.0f}")
    if delays:
        print(f"delay of another like | {median(delays):.2f} s, at most {max(delays):.2f} s")
    began = time.perf_counter()
    drains.drain_all()
    print(f"drain of the rest | {time.perf_counter() - began:.2f} s")
    assert not Change.objects.pending().exists()


if __name__ == "__main__":
    main()
