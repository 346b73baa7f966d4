"""Redis is killed or emptied while books are viewed: SQL gets the views that Redis kept, and the ranking equals SQL."""

from functools import partial
from itertools import count

import pytest
from redis import Redis

from mirror.redis import naming
from mirror.redis.clients import breaker, relay_client
from mirror.visits.sweep import sweep
from shop import tasks
from shop.book_views import decay, popularity
from shop.models import View
from tests.support.catalog.make import make_book
from tests.support.faults.tools import again_and_again
from tests.support.servers import RedisServer, wait_until
from tests.support.shop.book_views import count_unsaved_views, expected_scores, read_period, read_scores, views_in_sql

pytestmark = pytest.mark.django_db(transaction=True)


class Readers:
    """Readers that view one book after another."""

    def __init__(self) -> None:
        self.books = [make_book(f"Book {n}") for n in range(5)]
        self.taken = self.refused = 0
        self.numbers = count()

    def look(self) -> None:
        """View one book, and count whether Redis accepted the view."""
        number = next(self.numbers)
        breaker.reset()
        if popularity.count_view(f"{number:064}", self.books[number % 5 if number % 2 else 0].pk):
            self.taken += 1
        else:
            self.refused += 1

    def take_more(self, looks: int) -> None:
        """Wait until Redis has accepted so many more views."""
        wanted = self.taken + looks
        wait_until(lambda: self.taken >= wanted, "some looks")

    def are_refused(self) -> None:
        """Wait until Redis has refused a view."""
        before = self.refused
        wait_until(lambda: self.refused > before, "a look that nobody takes")


def let_go(state: Redis) -> None:
    """Delete the leases of tasks that were running when Redis was killed, instead of waiting for their end."""
    for name in state.scan_iter(naming.lease("*")):
        state.delete(name)


def keep_up() -> None:
    """Run beat's tasks."""
    sweep()
    tasks.rescale_views()


def has_come_to_rest(state: Redis) -> bool:
    """Return whether SQL has all views and the ranking is complete."""
    keep_up()
    return count_unsaved_views(state) == 0 and decay.is_complete(relay_client())


def assert_comes_to_rest(state: Redis) -> None:
    """Wait for rest, and check that the ranking equals the formula applied to SQL."""
    wait_until(partial(has_come_to_rest, state), "coming to rest")
    assert read_scores(state) == pytest.approx(expected_scores(views_in_sql(), read_period(state)), rel=1e-12)


def test_redis_killed_under_load_loses_no_acknowledged_view(redis_server: RedisServer, state: Redis) -> None:
    """With ``appendfsync always``, Redis keeps everything that it acknowledged."""
    redis_server.options["appendfsync"] = "always"
    redis_server.restart()
    readers = Readers()
    with again_and_again(readers.look, keep_up):
        for _ in range(2):
            readers.take_more(50)
            wait_until(View.objects.exists, "views in SQL")
            redis_server.kill()
            readers.are_refused()
            redis_server.start()
            let_go(state)
        readers.take_more(1)
    assert_comes_to_rest(state)
    assert readers.taken <= View.objects.count() <= readers.taken + readers.refused


def test_emptied_redis_loses_only_views_that_sql_did_not_have_yet(redis_server: RedisServer, state: Redis) -> None:
    readers = Readers()
    with again_and_again(readers.look, keep_up):
        readers.take_more(50)
        wait_until(View.objects.exists, "views in SQL")
        in_sql = View.objects.count()
        state.flushdb()
        after = readers.taken
        readers.take_more(50)
        last = readers.taken
    assert_comes_to_rest(state)
    assert in_sql + last - after - 1 <= View.objects.count() <= readers.taken
    assert len(read_scores(state)) == len(readers.books)
