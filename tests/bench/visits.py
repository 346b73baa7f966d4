"""Compare the consumer of visits with the promised number of views a second, and with the ORM's inserts."""

import time
from collections.abc import Iterator

from django.utils import timezone

from accounts.models import User
from catalog.models import Book
from mirror.redis.clients import relay_client
from mirror.visits import consume
from shop.book_views import popularity
from shop.models import View
from shop.visits import views
from tests.bench.table import Comparison
from tests.support.accounts.digests import digest

VIEWS, BOOKS, PIPE = 20_000, 100, 1000
PROMISED = 20_000


def comparisons() -> Iterator[Comparison]:
    """Yield the comparisons of the way from the stream to SQL."""
    user = User.objects.create_user("bench-viewer")
    books = [book.pk for book in Book.objects.bulk_create(Book(title=f"viewed {n}") for n in range(BOOKS))]
    visitors = [digest(number) for number in range(VIEWS)]
    sizes = f"{VIEWS:,} views of {BOOKS} books"
    yield Comparison(
        "views from the stream to SQL",
        f"{PROMISED:,} a second",
        sizes,
        ours=lambda: consume(views),
        theirs=lambda: time.sleep(VIEWS / PROMISED),
        target=1.0,
        before=lambda: _fill(visitors, books, user.pk),
    )
    now = timezone.now()
    yield Comparison(
        "the same",
        "bulk_create of the same rows",
        sizes,
        ours=lambda: consume(views),
        theirs=lambda: View.objects.bulk_create(
            [
                View(visitor=visitor, book_id=books[n % BOOKS], user_id=user.pk, seen_at=now, pk=n + 1)
                for n, visitor in enumerate(visitors)
            ],
            batch_size=PIPE,
        ),
        before=lambda: _fill(visitors, books, user.pk),
    )
    _clear()
    user.delete()
    Book.objects.filter(pk__in=books).delete()


def _fill(visitors: list[str], books: list[int], user: int) -> None:
    """Count a view of each visitor, and let all of them wait in the stream."""
    _clear()
    redis = relay_client()
    redis.flushall()
    popularity._count_script.load(redis)
    for start in range(0, len(visitors), PIPE):
        pipe = redis.pipeline(transaction=False)
        for number, visitor in enumerate(visitors[start : start + PIPE], start):
            popularity.queue_count(pipe, visitor, books[number % BOOKS], user)
        pipe.execute()


def _clear() -> None:
    View.objects.all()._raw_delete(View.objects.db)
