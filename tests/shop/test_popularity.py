"""The popularity of books: halved once per period by any number of workers, and equal to the formula over SQL after any
loss.
"""

import random
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import pytest
from django.conf import settings
from django.core.management import call_command
from django.db import connections
from django.utils import timezone
from pytest_django.fixtures import Settings
from redis import Redis

from catalog.models import Book
from mirror.redis.clients import relay_client
from mirror.redis.recorder import record
from mirror.relay.sql_only import sql_only
from mirror.upkeep.rebuild import rebuild as rebuild_mirrors
from shop import keys, tasks
from shop.book_views import decay, popularity
from shop.models import View
from tests.support.catalog.make import make_book
from tests.support.servers import RedisServer
from tests.support.shop.book_views import PERIOD, consume_views, expected_scores, read_period, read_scores, views_in_sql

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.also_on("cluster")]
WORKERS, PERIODS, MISSED = 8, 20, {5: 2, 12: 1}  # missed periods, by the period before them


@pytest.fixture
def visitors() -> Iterator[str]:
    """Distinct visitors."""
    return (f"{n:064}" for n in count())


def later(redis: Redis, periods: int = 1) -> None:
    """Let periods pass."""
    redis.decrby(keys.popularity_period(), periods)


def rescale_at_once(workers: int = WORKERS) -> int:
    """Rescale from several workers at the same time. Return the number of halvings."""

    def one(_: int) -> int:
        return decay.rescale_popularity().periods

    with ThreadPoolExecutor(workers) as pool:
        return sum(pool.map(one, range(workers)))


def test_eight_workers_halving_twenty_periods_match_the_formula(redis: Redis, visitors: Iterator[str]) -> None:
    chance, looks, period = random.Random(6), list[tuple[int, int]](), 0

    def look(times: int) -> None:
        for _ in range(times):
            looks.append((chance.randrange(1, 30), period))
            popularity.count_view(next(visitors), looks[-1][0])

    look(40)
    for step in range(1, PERIODS + 1):
        gone = 1 + MISSED.get(step, 0)
        period += gone
        later(redis, gone)
        look(chance.randrange(10))  # before the first halving
        assert rescale_at_once() == gone
        look(chance.randrange(10))
    assert period == 23
    assert read_scores(redis) == expected_scores(looks, period)


def test_views_during_a_halving_are_all_counted(redis: Redis, visitors: Iterator[str]) -> None:
    def look(who: str) -> None:
        popularity.count_view(who, 7)

    popularity.count_view(next(visitors), 7)
    for _ in range(5):
        later(redis)
        with ThreadPoolExecutor(WORKERS) as pool:
            done: list[Future[Any]] = [pool.submit(decay.rescale_popularity) for _ in range(WORKERS)]
            done += [pool.submit(look, next(visitors)) for _ in range(16)]
            for each in done:
                each.result()
    assert read_scores(redis) == expected_scores(
        [(7, 0), *((7, period) for period in range(1, 6) for _ in range(16))], 5
    )


def test_surplus_books_are_trimmed_in_slices_before_the_halving(redis: Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decay, "MAX_RANKED_BOOKS", 100)
    monkeypatch.setattr(decay, "BOOKS_PER_TRIM", 30)
    redis.zadd(keys.popularity(), {str(n): -n for n in range(1, 1001)})
    redis.set(keys.popularity_period(), 1)
    later(redis)
    with record() as seen:
        done = decay.rescale_popularity()
    assert done == (1, 900)
    assert seen.round_trips == 30  # the last call trims 30 and halves
    assert read_scores(redis) == {n: n / 2 for n in range(901, 1001)}


def test_a_crash_between_slices_never_halves_twice(redis: Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decay, "MAX_RANKED_BOOKS", 10)
    monkeypatch.setattr(decay, "BOOKS_PER_TRIM", 20)
    redis.zadd(keys.popularity(), {str(n): -n for n in range(1, 101)})
    redis.set(keys.popularity_period(), 1)
    later(redis)
    names, arguments = [keys.popularity(), keys.popularity_period()], [10**9, 10, 20, "1e-9"]
    assert decay._rescale_script(relay_client(), names, arguments) == [0, 20, 1]  # killed at this point
    assert redis.zcard(keys.popularity()) == 80
    assert decay.rescale_popularity().periods == 1
    assert decay.rescale_popularity() == (0, 0)
    assert read_scores(redis) == {n: n / 2 for n in range(91, 101)}


def test_books_below_the_smallest_score_are_removed(redis: Redis, visitors: Iterator[str]) -> None:
    popularity.count_view(next(visitors), 1)
    later(redis, popularity.MAX_AGE_PERIODS)
    decay.rescale_popularity()
    assert read_scores(redis) == {1: popularity.MIN_SCORE}
    popularity.count_view(next(visitors), 2)
    later(redis)
    assert decay.rescale_popularity() == (1, 1)
    assert read_scores(redis) == {2: 0.5}


def test_a_newcomer_overtakes_thousands_of_older_books(redis: Redis, visitors: Iterator[str]) -> None:
    """Books with equal scores are ordered by their ids; a period later the newest views decide."""
    redis.zadd(keys.popularity(), {str(n): -1 for n in range(1, popularity.MAX_RANKED_BOOKS + 1)})
    redis.set(keys.popularity_period(), 1)
    newcomer = 99_999_999
    popularity.count_view(next(visitors), newcomer)
    assert popularity.get_rank(newcomer) == popularity.MAX_RANKED_BOOKS == 20_000
    later(redis)
    decay.rescale_popularity()
    assert popularity.get_rank(newcomer) is None
    popularity.count_view(next(visitors), newcomer)
    assert popularity.get_rank(newcomer) == 0


def test_the_rank_decides_whether_a_page_is_cached(redis: Redis, visitors: Iterator[str]) -> None:
    for book, looks in ((1, 3), (2, 1), (3, 2)):
        for _ in range(looks):
            popularity.count_view(next(visitors), book)
    assert [popularity.get_rank(book) for book in (1, 3, 2, 4)] == [0, 1, 2, None]
    assert [popularity.is_popular(rank) for rank in (0, 9_999, 10_000, None)] == [True, True, False, False]


def make_views(*looks: tuple[Book, int, int]) -> None:
    """Create views: a number for each number of periods ago."""
    now, who, period = timezone.now(), count(), timedelta(seconds=settings.SHOP_VIEW_PERIOD_SECONDS)
    View.objects.bulk_create(
        View(visitor=f"v{next(who)}", book=book, seen_at=now - period * ago)
        for book, times, ago in looks
        for _ in range(times)
    )


def exact(redis: Redis) -> None:
    """Check that Redis equals the formula over SQL in Redis' period."""
    assert read_scores(redis) == pytest.approx(expected_scores(views_in_sql(), read_period(redis)), rel=1e-12)


def test_lost_counts_are_rebuilt_from_sql_and_new_views(redis: Redis, visitors: Iterator[str]) -> None:
    old, new, gone = make_book("Old"), make_book("New"), make_book("Long ago")
    make_views((old, 5, 3), (new, 2, 0), (old, 1, 29), (gone, 9, 60))
    redis.flushdb()
    popularity.count_view(next(visitors), new.pk)  # the first view that the empty Redis receives
    assert decay.rebuild_popularity()
    popularity.count_view(next(visitors), old.pk)
    consume_views()
    exact(redis)
    assert gone.pk not in read_scores(redis)
    assert decay.is_complete(relay_client())


def test_counts_of_an_older_redis_are_replaced(redis: Redis, visitors: Iterator[str]) -> None:
    book = make_book()
    for _ in range(3):
        popularity.count_view(next(visitors), book.pk)
    consume_views()
    assert decay.rebuild_popularity()
    assert decay.rebuild_popularity()
    exact(redis)
    redis.zadd(keys.popularity(), {str(book.pk): -1, "12345": -7})  # as restored from an older file
    redis.delete(keys.popularity_marker())
    tasks.rescale_views()
    exact(redis)


def test_a_corrected_clock_causes_a_rebuild(redis: Redis, visitors: Iterator[str]) -> None:
    book = make_book()
    popularity.count_view(next(visitors), book.pk)
    assert decay.rebuild_popularity()
    redis.incrby(keys.popularity_period(), 5000)  # a period in seventeen days ...
    redis.delete(keys.popularity())  # ... up to which all scores were halved away
    popularity.count_view(next(visitors), book.pk)
    assert read_scores(redis) == {book.pk: 0}, "what is seen now counts nothing then"
    tasks.rescale_views()
    assert read_scores(redis)[book.pk] > 0
    exact(redis)


def test_a_small_step_of_the_clock_has_no_effect(redis: Redis, visitors: Iterator[str]) -> None:
    popularity.count_view(next(visitors), make_book().pk)
    assert decay.rebuild_popularity()
    redis.incr(keys.popularity_period())
    before = read_scores(redis)
    assert tasks.rescale_views() == 0
    assert read_scores(redis) == before


def test_views_during_a_rebuild_count_once(redis: Redis, visitors: Iterator[str]) -> None:
    book, whole = make_book(), list[bool]()
    make_views((book, 4, 1))

    def look(who: str) -> None:
        popularity.count_view(who, book.pk)

    def make_anew(_: int) -> None:
        whole.append(decay.rebuild_popularity())
        connections.close_all()

    with ThreadPoolExecutor(4) as pool:
        done = [pool.submit(look, next(visitors)) for _ in range(50)]
        done += [pool.submit(make_anew, n) for n in range(2)]
        done += [pool.submit(look, next(visitors)) for _ in range(50)]
        for each in done:
            each.result()
    assert True in whole
    consume_views()
    assert View.objects.count() == 104
    exact(redis)


def get_most_viewed_titles(count: int) -> list[str]:
    return [book["title"] for book in popularity.get_popular_books(count).books]


def test_incomplete_counts_are_not_shown(redis: Redis, visitors: Iterator[str]) -> None:
    quiet, loud = make_book("Quiet"), make_book("Loud")
    rebuild_mirrors(["book", "product"])
    make_views((quiet, 1, 2), (loud, 3, 2))
    redis.flushdb()
    popularity.count_view(next(visitors), quiet.pk)
    rebuild_mirrors(["book", "product"])
    assert get_most_viewed_titles(5) == ["Loud", "Quiet"]  # SQL answers
    tasks.rescale_views()
    with record() as seen:
        assert get_most_viewed_titles(5) == ["Quiet", "Loud"]
    assert seen.sql == []


def test_sql_has_the_most_viewed_books_and_a_quiet_site_shows_the_most_read(redis_server: RedisServer) -> None:
    first, second = make_book("First", popularity=10), make_book("Second", popularity=20)
    with sql_only():
        assert popularity.get_popular_books(5)[1] is False
        assert get_most_viewed_titles(1) == ["Second"]
        make_views((first, 2, 0), (second, 3, 3))
        assert get_most_viewed_titles(5) == ["First", "Second"]
    redis_server.kill()
    assert get_most_viewed_titles(5) == ["First", "Second"]
    assert popularity.get_rank(first.pk) is None


def test_the_command_reports_its_result(redis: Redis, capsys: pytest.CaptureFixture[str]) -> None:
    redis.zadd(keys.popularity(), {"1": -1})
    call_command("views", "rescale")
    assert capsys.readouterr().out == "nothing is due\n"
    later(redis, 2)
    call_command("views", "rescale")
    assert capsys.readouterr().out == "halved for 2 periods, 0 books removed\n"
    later(redis)
    call_command("views", "rescale", "--json")
    assert '"periods": 1' in capsys.readouterr().out


def test_scores_from_sql_are_those_of_the_given_moment(settings: Settings) -> None:
    settings.SHOP_VIEW_PERIOD_SECONDS = PERIOD
    book = make_book()
    moment = datetime(2026, 11, 20, 12, 5, 1, tzinfo=UTC)  # one second into a period
    for seconds in (-2, -1, 0, 1):
        View.objects.create(visitor=str(seconds), book=book, seen_at=moment + timedelta(seconds=seconds))
    assert decay.compute_scores_from_sql(moment) == {book.pk: 1 + 0.5}
