"""The shelves and ratings of the demo's logins."""

from datetime import date

import pytest

from accounts.models import User
from catalog.lists.models import ListedBook, ReadingList
from catalog.models import Book
from catalog.shelves.models import EarlierReading, ReadingGoal, ReadingProgress, Shelf, ShelfEntry
from catalog.shelves.selectors import count_readers
from demo.books import load_demo_books
from demo.lists import LISTS, load_demo_lists
from demo.logins import ROLES_BY_LOGIN
from demo.people import load_demo_people
from demo.shelves import BOOKS_BY_SHELF, GOAL_BOOKS, PAST_YEARS, load_demo_shelves

TODAY = date(2026, 11, 20)

pytestmark = pytest.mark.django_db(transaction=True)


def test_demo_logins_get_half_a_year_of_shelves_once() -> None:
    load_demo_books()
    load_demo_people(TODAY)
    logins = User.objects.bulk_create(User(username=name) for name in ROLES_BY_LOGIN)
    added = load_demo_shelves(TODAY)
    assert added == ShelfEntry.objects.count() > 200
    for user in logins:
        mine = ShelfEntry.objects.filter(user=user)
        assert {shelf: mine.filter(shelf=shelf).count() for shelf in Shelf} == dict(BOOKS_BY_SHELF)
        assert (mine.earliest("shelved_on").shelved_on - TODAY).days < -120
        assert not mine.filter(shelf=Shelf.READ, stars=None).exists()
        assert EarlierReading.objects.filter(user=user).count() == len(PAST_YEARS)
        noted = ReadingProgress.objects.filter(user=user).values("book")
        assert not mine.filter(shelf=Shelf.READING).exclude(book__in=noted).exists()
        assert ReadingGoal.objects.get(reader=user.pk).books == GOAL_BOOKS
    assert ShelfEntry.objects.filter(finished_on__gt=TODAY).count() == 0
    popular = Book.objects.order_by("-popularity", "pk")[0]
    assert count_readers(popular.pk).ratings > 1
    mine.first().delete()
    assert load_demo_shelves(TODAY) == 0
    assert load_demo_lists(TODAY) == ListedBook.objects.count() > 100
    assert ReadingList.objects.filter(user__in=logins).count() == len(LISTS) * len(logins)
    assert load_demo_lists(TODAY) == 0
