"""Readers with similar taste: those with the most books in common on public shelves."""

from collections import Counter
from collections.abc import Iterable, Iterator
from random import Random

import pytest
from django.test import Client

from accounts.models import User
from catalog.shelves.models import Privacy, Shelf, ShelfEntry
from catalog.shelves.services import set_privacy
from common import clock
from common.database import slices
from mirror.redis.recorder import record
from mirror.relay.drains import drain_all
from mirror.relay.sql_only import sql_only
from mirror.verify.runs import verify
from social.models import SimilarReaders
from social.profiles import similar
from social.services import people
from social.tasks import find_similar_readers
from tests.support.catalog.make import make_book
from tests.support.warm_mirrors import rebuild

pytestmark = pytest.mark.django_db(transaction=True)


def make_world(count: int) -> list[User]:
    """Create readers with random shelves."""
    random, today = Random(7), clock.now().date()
    books = [make_book(f"Book {number}").pk for number in range(12)]
    made = [User.objects.create(username=f"reader {number}") for number in range(count)]
    for user in made:
        ShelfEntry.objects.bulk_create(
            ShelfEntry(user=user, book_id=book, shelf=random.choice([Shelf.READ, Shelf.WANT]), shelved_on=today)
            for book in random.sample(books, random.randrange(2, 9))
        )
    return made


def count_in_common(public: dict[int, set[int]], reader: int) -> list[tuple[int, int]]:
    """Return the expected readers in plain Python: those with at least three books in common, best first."""
    popular = {book for book, n in Counter(b for own in public.values() for b in own).items() if n > 5}
    counts = {pk: len((public[reader] & own) - popular) for pk, own in public.items() if pk != reader}
    found = [(pk, n) for pk, n in counts.items() if n >= similar.MIN_BOOKS]
    return sorted(found, key=lambda row: (-row[1], row[0]))


def test_similar_readers_equal_plain_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(similar, "MAX_READERS", 5)
    monkeypatch.setattr(slices, "SLICE_SIZE", 3)
    monkeypatch.setattr(similar, "ROWS_PER_QUERY", 7)
    world = make_world(11)
    set_privacy(world[2].pk, Shelf.READ, Privacy.FOLLOWERS)
    people.set_private(world[3].pk, is_private=True)
    User.objects.filter(pk=world[4].pk).update(is_active=False)
    staff = world[5].pk
    User.objects.filter(pk=staff).update(is_staff=True)
    public: dict[int, set[int]] = {}
    for entry in ShelfEntry.objects.exclude(user__in=world[3:5]).exclude(user=world[2], shelf=Shelf.READ):
        public.setdefault(entry.user_id, set()).add(entry.book_id)
    counted = {pk: [row for row in count_in_common(public, pk) if row[0] != staff] for pk in public}
    expected = {pk: found for pk, found in counted.items() if found}
    assert len(expected) > 3
    assert find_similar_readers() == len(expected)
    assert find_similar_readers() == 0, "unchanged rows are not written"
    stored = {row.pk: [tuple(pair) for pair in row.readers] for row in SimilarReaders.objects.all()}
    assert stored == expected
    rebuild()
    drain_all()
    assert verify(["similar"]) == []

    reader = max(expected, key=lambda pk: len(expected[pk]))
    ids = [pk for pk, _ in expected[reader]]
    with record() as seen:
        shown = similar.find_similar_readers(reader)
    assert (seen.round_trips, seen.sql) == (2, [])
    assert [(each.person.id, each.books) for each in shown] == expected[reader]
    with sql_only():
        assert similar.find_similar_readers(reader) == shown
    client = Client()
    client.force_login(User.objects.get(pk=reader))
    page = client.get("/people/").content.decode()
    assert f"<bdi>{shown[0].person.name}</bdi>" in page
    assert "in common" not in page, "the number is that of the night"
    assert similar.find_similar_readers(reader, [shown[0].person.id]) == shown[1:]

    # A reader that the page suggests for another reason is not on it twice.
    stranger = User.objects.create_user("stranger").pk
    people.follow(stranger, ids[0])
    people.follow(reader, stranger)
    drain_all()
    page = client.get("/people/").content.decode()
    assert page.count(f"<bdi>{shown[0].person.name}</bdi>") == 1
    people.unfollow(reader, stranger)

    # Followed, muted and blocked readers, and those who became private since, are left out.
    people.follow(reader, ids[0])
    people.set_private(ids[1], is_private=True)
    people.block(ids[2], reader)
    drain_all()
    assert [each.person.id for each in similar.find_similar_readers(reader)] == ids[3:]
    ShelfEntry.objects.all().delete()
    find_similar_readers()
    assert not SimilarReaders.objects.exists()


def test_readers_who_were_deleted_meanwhile_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    make_world(11)
    find_similar_readers()
    found = list(SimilarReaders.objects.order_by("pk").values_list("pk", flat=True))
    SimilarReaders.objects.all().delete()

    def delete_and_split(rows: Iterable[int]) -> Iterator[list[int]]:
        User.objects.filter(pk=found[0]).delete()
        return slices.split_slices(rows)

    monkeypatch.setattr(similar, "split_slices", delete_and_split)
    assert find_similar_readers() == len(found) - 1
    assert list(SimilarReaders.objects.order_by("pk").values_list("pk", flat=True)) == found[1:]
