"""A rebuild removes notifications of which only a pending change of a source tells."""

from datetime import date

import pytest

from accounts.models import User
from accounts.notifications.models import Notification
from catalog.shelves.models import Shelf, ShelfEntry
from mirror.redis.clients import breaker
from mirror.relay.drains import drain_all
from mirror.upkeep.rebuild import rebuild
from mirror.verify.runs import verify
from social.models import Follow, Post
from social.reviews.services import Draft, write_review
from tests.support.catalog.make import make_book

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.also_on("cluster")]
DAY = date(2026, 5, 1)


def test_the_notification_of_a_deleted_review_goes_with_a_rebuild() -> None:
    ann, bob = (User.objects.create_user(name) for name in ("ann", "bob"))
    book = make_book("Emma")
    Follow.objects.create(follower=ann, followee=bob)
    ShelfEntry.objects.create(user=ann, book=book, shelf=Shelf.WANT, shelved_on=DAY)
    rebuild()
    write_review(bob.pk, book.pk, Draft("so good", 9), DAY)
    drain_all()
    assert Notification.objects.filter(kind="review", user=ann).exists()
    breaker.failed()
    Post.objects.filter(user=bob).first().delete()
    breaker.reset()
    rebuild(["notified_review"])
    assert not Notification.objects.filter(kind="review").exists()
    assert verify(["notified_review"]) == []
