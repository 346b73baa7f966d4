"""Lists of books of the demo's readers."""

from datetime import date
from random import Random
from typing import Final

from django.utils import timezone

from accounts.models import User
from catalog.lists.models import ListedBook, Order, ReadingList
from catalog.lists.services import GAP
from catalog.models import Book
from catalog.shelves.models import Privacy
from demo.logins import ROLES_BY_LOGIN
from demo.people import READER_NAMES

SEED: Final = "diptych lists"
MAX_BOOKS: Final = 60  # from which the lists are made
# Name, description, privacy, order, number of books.
LISTS: Final = (
    ("Rainy Sundays", "For an afternoon with tea.", Privacy.PUBLIC, Order.HAND, 9),
    ("Lent to friends", "", Privacy.ME, Order.ADDED, 3),
    ("Our reading circle", "What we read together, and what comes next.", Privacy.FOLLOWERS, Order.HAND, 6),
    ("Shorter than a train ride", "", Privacy.PUBLIC, Order.ADDED, 25),
)


def load_demo_lists(today: date | None = None) -> int:
    """Make lists for readers without any. Return the number of added books."""
    today = today or timezone.localdate()
    people = dict(User.objects.filter(username__in=[*READER_NAMES, *ROLES_BY_LOGIN]).values_list("username", "pk"))
    books = list(Book.objects.order_by("-popularity", "pk").values_list("pk", flat=True)[:MAX_BOOKS])
    added = 0
    for name, pk in sorted(people.items()):
        if not ReadingList.objects.filter(user_id=pk).exists():
            # The two logins have all lists, other readers one or two.
            random = Random(f"{SEED} {name}")
            count = len(LISTS) if name in ROLES_BY_LOGIN else random.randrange(1, 3)
            for number in range(count):
                added += _make_list(random, pk, number, books, today)
    return added


def _make_list(random: Random, user_id: int, number: int, books: list[int], today: date) -> int:
    name, description, privacy, order, count = LISTS[number]
    made = ReadingList.objects.create(user_id=user_id, name=name, description=description, privacy=privacy, order=order)
    picked = random.sample(books, min(len(books), count))
    rows = []
    for place, book in enumerate(picked, start=1):
        rows.append(ListedBook(reading_list=made, book_id=book, position=place * GAP, added_on=today))
    ListedBook.objects.bulk_create(rows)
    return len(rows)
