"""Imported reviews appear at their books, and on no timeline and no profile, in Redis and in SQL."""

from contextlib import nullcontext
from datetime import UTC, date, datetime

import pytest
from django.test import Client
from pytest_django.fixtures import Settings

from accounts.models import User
from catalog.library.reviews import NewReview, create_reviews, delete_reviews
from catalog.models import Book
from catalog.shelves.models import Shelf
from catalog.shelves.services import put_on_shelf, rate_book
from mirror.relay.drains import drain_all
from mirror.relay.sql_only import sql_only
from mirror.verify.runs import verify
from social.models import Post
from social.reviews.models import Review
from social.reviews.services import Draft, write_review
from social.services import people
from tests.support.social.timelines import warm_up
from tests.support.warm_mirrors import rebuild

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.also_on("cluster")]

JSON = {"Accept": "application/json"}
DAY = date(2019, 5, 6)


def test_imported_reviews_are_shown_at_their_books_only() -> None:
    writer, follower = (User.objects.create(username=name) for name in ("Wilma", "Fred"))
    books = [Book.objects.create(title=f"Book {n}") for n in range(4)]
    people.follow(follower.pk, writer.pk)
    rebuild()
    warm_up(follower)
    write_review(writer.pk, books[0].pk, Draft("Written here", 8), DAY)
    # A rating is no review.
    put_on_shelf(writer.pk, books[1].pk, Shelf.READ, DAY)
    rate_book(writer.pk, books[1].pk, 6, DAY)
    assert Post.objects.filter(kind=Post.Kind.RATING).exists()
    drain_all()
    made = create_reviews(
        writer.pk,
        [
            NewReview(books[0].pk, "Imported, although there is one", DAY),
            NewReview(books[1].pk, "Imported *text* for @Fred", DAY),
            NewReview(books[2].pk, "Imported and edited", DAY),
            NewReview(books[3].pk, "\u200b", DAY),
        ],
    )
    assert list(made) == [books[1].pk, books[2].pk]
    assert not Post.objects.filter(kind=Post.Kind.RATING).exists()
    drain_all()
    post = Post.objects.get(pk=made[books[1].pk])
    assert (post.created_at.date(), post.text) == (DAY, "Imported text for @Fred")
    client = Client()
    client.force_login(follower)
    drain_all()
    for way in (nullcontext, sql_only):
        with way():
            for page in ("/home/", "/global/", "/u/Wilma/", "/u/Wilma/feed/", "/mentions/"):
                assert "Imported" not in client.get(page).content.decode(), page
            reviews = client.get(f"/books/{books[1].pk}/reviews/", headers=JSON).json()
            assert [one["text"] for one in reviews["results"]] == ["Imported text for @Fred"]
            assert client.get(f"/posts/{post.pk}/").status_code == 200
            assert client.get("/u/Wilma/", headers=JSON).json()["user"]["posts"] == 1
    write_review(writer.pk, books[2].pk, Draft("Edited since", None), DAY)
    delete_reviews(
        writer.pk, {made[books[1].pk]: "Imported *text* for @Fred", made[books[2].pk]: "Imported and edited"}
    )
    assert set(Review.objects.values_list("text", flat=True)) == {"Written here", "Edited since"}
    drain_all()
    assert verify(["post", "timeline", "global", "review", "ranked_review", "book_posts"]) == []


def test_a_review_of_a_book_that_was_finished_today_is_not_of_a_later_hour(settings: Settings) -> None:
    morning = datetime(2026, 5, 6, 3, tzinfo=UTC)
    settings.CLOCK = lambda: morning
    writer = User.objects.create(username="Wilma")
    days = [date(2026, 5, 6), date(2026, 5, 5)]
    reviews = [NewReview(Book.objects.create(title=f"Of {day}").pk, "Imported", day) for day in days]
    create_reviews(writer.pk, reviews)
    times = Post.objects.order_by("pk").values_list("created_at", flat=True)
    assert list(times) == [datetime(2026, 5, 5, 12, tzinfo=UTC), morning]
