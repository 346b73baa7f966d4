"""Pages of reviews: the book's page, the list, the form, and the posts in timelines."""

from datetime import date
from typing import Any

import pytest
from django.test import Client
from pytest_django.fixtures import Settings

from accounts.models import User
from catalog.models import Book
from catalog.shelves import services as shelves
from catalog.shelves.models import Privacy, Shelf, ShelfEntry
from mirror.redis.recorder import record
from mirror.relay.drains import drain_all
from mirror.relay.sql_only import sql_only
from social.models import Block, Follow, Like, Mute, Post, PostVersion
from social.reviews.models import Review
from social.services.posts import create_post, delete_post, edit_post, hide_post
from tests.support.catalog.make import make_book
from tests.support.site.html import find_policy_violations
from tests.support.social.timelines import make_users, warm_up

JSON = {"Accept": "application/json"}
TEXT = "A *fine* book.\n\n> quoted\n\n||the butler|| did it."
pytestmark = pytest.mark.django_db(transaction=True)


class Town:
    """alice follows bob, and both have a browser."""

    def __init__(self) -> None:
        self.alice, self.bob = make_users("alice", "bob")
        self.book: Book = make_book("Emma & <I>")
        Follow.objects.create(follower=self.alice, followee=self.bob)
        warm_up(self.alice, self.bob)
        self.browsers = {}
        for user in (self.alice, self.bob):
            self.browsers[user.pk] = Client()
            self.browsers[user.pk].force_login(user)
        self.stranger = Client()
        self.list = f"/books/{self.book.pk}/reviews/"
        self.form = f"/books/{self.book.pk}/review/"

    def write(self, user: User, headers: dict[str, str] | None = None, **fields: Any) -> Any:
        given = {"text": TEXT, "stars": "3.5", "note": "", "language": "en", **fields}
        return self.browsers[user.pk].post(self.form, given, headers=headers or {})

    def read(self, user: User | None, query: str = "") -> Any:
        """Return the JSON of the list, after checking that SQL gives the same."""
        client = self.browsers[user.pk] if user else self.stranger
        answer = client.get(self.list + query, headers=JSON).json()
        with sql_only():
            assert client.get(self.list + query, headers=JSON).json() == answer
        return answer

    def find_kinds(self, user: User) -> list[tuple[str, float | None]]:
        """Return kind and stars of the posts on a reader's home timeline."""
        drain_all()
        answers = [self.browsers[user.pk].get("/home/", headers=JSON).json()["results"]]
        with sql_only():
            answers.append(self.browsers[user.pk].get("/home/", headers=JSON).json()["results"])
        assert answers[0] == answers[1]
        return [(post["kind"], post["stars"]) for post in answers[0]]


@pytest.fixture
def town() -> Town:
    return Town()


def test_a_review_is_written_and_shown_everywhere(town: Town) -> None:
    response = town.write(town.bob)
    review = Review.objects.get()
    assert (response.status_code, response.headers["Location"]) == (302, f"/posts/{review.pk}/")
    entry = ShelfEntry.objects.get()
    assert (entry.stars, entry.shelf, entry.user_id) == (7, Shelf.READ, town.bob.pk)
    assert (review.text, review.language) == (TEXT, "en")
    assert review.post.text == "A fine book.\nquoted\n[…] did it."

    page = town.browsers[town.bob.pk].get(f"/posts/{review.pk}/").content.decode()
    assert '<div class="review-text" dir="auto" lang="en"><p>A <em>fine</em> book.</p>' in page
    assert '<span class="spoiler-text"> the butler</span>' in page
    assert "3.5 stars" in page
    assert find_policy_violations(page) == []
    drain_all()
    for path in (town.list, f"/books/{town.book.pk}/", "/u/bob/", "/global/"):
        for client in (town.stranger, town.browsers[town.alice.pk]):
            page = client.get(path).content.decode()
            assert 'A fine book.<br>quoted<br><span class="badge">Spoiler hidden</span> did it.' in page, path
            assert "3.5 stars" in page
            assert "butler" not in page
            assert f'href="/posts/{review.pk}/"' in page
            assert "Read more" not in page
            assert find_policy_violations(page) == []
    assert town.find_kinds(town.alice) == [("review", 3.5)]
    found = town.stranger.get(f"/posts/{review.pk}/", headers=JSON).json()
    assert (found["kind"], found["stars"], found["review"]) == ("review", 3.5, {"text": TEXT, "language": "en"})


def test_other_pages_name_the_spoilers_that_they_leave_out(town: Town) -> None:
    town.write(town.bob)
    review = Review.objects.get()
    create_post(town.alice.pk, "Indeed […]", parent_id=review.pk)
    Like.objects.create(user=town.alice, post_id=review.pk)
    drain_all()
    chip, browser = '<span class="badge">Spoiler hidden</span>', town.browsers[town.bob.pk]
    line = browser.get("/u/alice/").content.decode().partition("post-quote")[2]
    assert chip in line.partition("</p>")[0]
    assert "Indeed […]" in line  # a post may have these signs
    notifications = browser.get("/notifications/").content.decode()
    assert f"{chip} did it." in notifications
    assert "Indeed […]" in notifications
    page = browser.get(f"/posts/{review.pk}/").content.decode()
    feed = browser.get(f"/books/{town.book.pk}/posts/feed/").content.decode()
    for text in (page, feed):
        assert "[Spoiler hidden] did it." in text
        assert "[…] did" not in text


def test_the_form_explains_stars_and_marks(town: Town) -> None:
    page = town.browsers[town.bob.pk].get(town.form).content.decode()
    assert "Your stars appear with your review if the book is on a public shelf." in page
    assert 'id="review-help">Formatting: *italic*, **bold**, ||spoiler||</p>' in page
    rest = page.partition("<summary>More</summary>")[2].partition("</details>")[0]
    assert "[link](https://…)" in rest
    assert "Up to 20,000 characters." in rest


def test_only_cut_reviews_link_to_the_rest(town: Town) -> None:
    for text, css in (("- one\n" * 5, "post-whole"), ("A fine book. " * 15, "post-whole on-phones")):
        town.write(town.bob, text=text)
        drain_all()
        link = f'<p class="{css}"><a href="/posts/{Review.objects.get().pk}/">Read more'
        assert link in town.stranger.get(town.list).content.decode()


def test_the_book_page_shows_reviews_above_recommendations(town: Town) -> None:
    path = f"/books/{town.book.pk}/"
    page = town.stranger.get(path).content.decode()
    assert "No reviews of this book yet." in page
    assert page.count("Log in to") == 1
    assert "Log in to write a review<" in town.stranger.get(town.list).content.decode()
    town.write(town.bob)
    page = town.browsers[town.bob.pk].get(path).content.decode()
    places = [page.index(words) for words in ('id="reviews"', 'id="rating"', "Edit your review", 'id="said"')]
    assert places == sorted(places)
    assert f'href="{town.form}">Edit your review' in page
    assert f'href="{town.form}">Write a review' in town.browsers[town.alice.pk].get(path).content.decode()
    assert f'<a href="{town.list}?stars=3.5"' in page


def test_an_edit_is_marked_and_keeps_the_former_text(town: Town) -> None:
    town.write(town.bob)
    town.write(town.bob)  # the second of two clicks
    assert (Review.objects.count(), PostVersion.objects.count()) == (1, 0)
    form = town.browsers[town.bob.pk].get(town.form).content.decode()
    assert "||the butler|| did it." in form
    assert 'name="stars" id="stars-7" value="3.5" checked>' in form
    town.write(town.bob, text="Not *fine*, ||he|| did", stars="1", note="spoilers", language="zh-hans")
    review = Review.objects.get()
    assert (review.text, review.language, review.post.note) == ("Not *fine*, ||he|| did", "zh-hans", "spoilers")
    assert (review.post.text, ShelfEntry.objects.get().stars) == ("Not fine, […] did", 2)
    history = town.browsers[town.bob.pk].get(f"/posts/{review.pk}/history/").content.decode()
    assert '<span class="spoiler-text"> the butler</span>' in history
    page = town.browsers[town.bob.pk].get(f"/posts/{review.pk}/").content.decode()
    assert f'<a class="post-edited" href="/posts/{review.pk}/history/">edited</a>' in page
    assert '<span class="muted">Content note:</span> <bdi>spoilers</bdi></summary>' in page
    # A review is edited by its own form.
    edit = town.browsers[town.bob.pk].get(f"/posts/{review.pk}/edit/")
    assert edit.headers["Location"] == town.form
    assert not edit_post(review.pk, "Other", by=town.bob.pk)


def test_a_deleted_review_leaves_the_rating(town: Town) -> None:
    town.write(town.bob)
    town.browsers[town.bob.pk].post(f"/posts/{Review.objects.get().pk}/delete/")
    assert not Review.objects.exists()
    assert ShelfEntry.objects.get().stars == 7
    assert town.find_kinds(town.alice) == []
    assert town.read(None)["results"] == []


def test_a_review_stays_when_its_book_leaves_the_shelves(town: Town) -> None:
    town.write(town.bob)
    town.browsers[town.bob.pk].post(f"/books/{town.book.pk}/shelf/", {"action": "remove"})
    assert Review.objects.get().text == TEXT
    assert town.find_kinds(town.alice) == [("review", None)]


def test_a_rating_is_a_post_that_follows_the_stars(town: Town) -> None:
    bob = town.browsers[town.bob.pk]
    shelf = f"/books/{town.book.pk}/shelf/"
    bob.post(shelf, {"action": "rate", "stars": "4"})
    assert town.find_kinds(town.alice) == [("rating", 4.0)]
    first = Post.objects.get()
    bob.post(shelf, {"action": "rate", "stars": "4.5"})
    assert town.find_kinds(town.alice) == [("rating", 4.5)]
    assert Post.objects.get() == first
    page = town.browsers[town.alice.pk].get("/home/").content.decode()
    assert "4.5 stars" in page
    assert bob.get(f"/posts/{first.pk}/edit/").status_code == 404
    # The review takes its place.
    town.write(town.bob)
    assert town.find_kinds(town.alice) == [("review", 3.5)]
    bob.post(shelf, {"action": "rate", "stars": "5"})
    assert town.find_kinds(town.alice) == [("review", 5.0)]


@pytest.mark.parametrize("fields", [{"action": "rate", "stars": ""}, {"action": "remove"}])
def test_the_post_goes_with_the_rating(town: Town, fields: dict[str, str]) -> None:
    bob = town.browsers[town.bob.pk]
    bob.post(f"/books/{town.book.pk}/shelf/", {"action": "rate", "stars": "4"})
    bob.post(f"/books/{town.book.pk}/shelf/", fields)
    assert town.find_kinds(town.alice) == []
    assert not Post.objects.exists()


@pytest.mark.parametrize("privacy", [Privacy.FOLLOWERS, Privacy.ME])
def test_ratings_on_private_shelves_have_no_posts(town: Town, privacy: Privacy) -> None:
    bob = town.browsers[town.bob.pk]
    bob.post("/shelves/read/privacy/", {"privacy": privacy.value})
    bob.post(f"/books/{town.book.pk}/shelf/", {"action": "rate", "stars": "4"})
    assert not Post.objects.exists()
    # A review is public, its stars are not.
    town.write(town.bob)
    assert town.find_kinds(town.alice) == [("review", None)]
    assert town.read(None, "?stars=3.5")["results"] == []
    assert town.read(None, "?order=stars")["results"] == []


def test_ratings_disappear_with_their_public_shelf(town: Town) -> None:
    bob = town.browsers[town.bob.pk]
    bob.post(f"/books/{town.book.pk}/shelf/", {"action": "rate", "stars": "4"})
    post = Post.objects.get()
    shelves.set_privacy(town.bob.pk, Shelf.READ, Privacy.ME)
    assert town.find_kinds(town.alice) == []
    for client in (town.stranger, town.browsers[town.alice.pk]):
        assert client.get(f"/posts/{post.pk}/").status_code == 404
    shelves.set_privacy(town.bob.pk, Shelf.READ, Privacy.PUBLIC)
    assert town.find_kinds(town.alice) == [("rating", 4.0)]


def test_orders_and_filters(town: Town) -> None:
    people = make_users(*(f"r{n}" for n in range(4)))
    for user, stars in zip(people, ("2", "5", "5", ""), strict=True):
        client = Client()
        client.force_login(user)
        client.post(town.form, {"text": f"By {user.username}", "stars": stars})
    posts = {review.user.username: review.pk for review in Review.objects.select_related("user")}
    Like.objects.bulk_create(Like(user=user, post_id=posts["r1"]) for user in people)
    Like.objects.create(user=people[0], post_id=posts["r0"])
    Follow.objects.create(follower=town.alice, followee=people[3])
    drain_all()

    def names(user: User | None, query: str) -> list[str]:
        return [post["user"]["name"] for post in town.read(user, query)["results"]]

    assert names(None, "?order=newest") == ["r3", "r2", "r1", "r0"]
    assert names(None, "?order=helpful") == names(None, "?order=nonsense") == ["r1", "r0", "r3", "r2"]
    assert names(None, "?order=stars") == ["r2", "r1", "r0"]
    assert names(town.alice, "?order=followed") == ["r3", "r1", "r0", "r2"]
    assert names(None, "?stars=5") == ["r2", "r1"]
    assert names(None, "?stars=2.5") == []
    assert len(names(None, "?stars=7")) == 4
    assert town.read(None)["count"] == 4
    Mute.objects.create(user=town.alice, muted=people[1])
    Block.objects.create(blocker=people[0], blocked=town.alice)
    hide_post(posts["r2"])
    drain_all()
    assert names(town.alice, "?order=helpful") == ["r3"]
    assert names(None, "?order=helpful") == ["r1", "r0", "r3"]
    page = town.browsers[town.alice.pk].get(f"{town.list}?order=stars").content.decode()
    assert f'<a href="{town.list}?order=stars" aria-current="page">' in page


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"text": " \u200b "}, "text"),
        ({"text": ">"}, "text"),
        ({"text": "x" * 20_001}, "text"),
        ({"text": "x" * 200_000}, "text"),
        ({"note": "x" * 101}, "note"),
        ({"stars": "6"}, "stars"),
        ({"language": "xx"}, "language"),
    ],
)
def test_a_refused_review_keeps_what_was_typed(town: Town, fields: dict[str, str], field: str) -> None:
    typed: dict[str, Any] = fields
    assert town.write(town.bob, JSON, **typed).json()["error"]["field"] == field
    response = town.write(town.bob, **typed)
    page = response.content.decode()
    assert response.status_code == 400
    assert 'id="review-error" role="alert"' in page
    assert not Review.objects.exists()
    assert not ShelfEntry.objects.exists()
    if "text" not in fields:
        assert "||the butler|| did it." in page


def test_json_and_missing_books(town: Town) -> None:
    response = town.write(town.bob, JSON)
    assert (response.status_code, response.json()) == (201, {"id": Review.objects.get().pk})
    assert town.write(town.bob, JSON, text="Other").status_code == 200
    bob = town.browsers[town.bob.pk]
    for path in (
        "/books/987654/review/",
        "/books/987654/reviews/",
        f"/books/{2**70}/review/",
        f"/books/{2**70}/reviews/",
    ):
        assert bob.get(path).status_code == 404
    assert town.stranger.get(town.form).status_code == 302
    assert town.stranger.post(town.form, {"text": "x"}, headers=JSON).status_code == 401


def test_reviews_have_a_rate_limit(town: Town, settings: Settings) -> None:
    settings.POST_RATES = ((1, 3600),)
    assert town.write(town.bob).status_code == 302
    refused = town.write(town.bob, text="Other <b>")
    assert refused.status_code == 429
    assert refused.headers["Retry-After"]
    assert "\nOther &lt;b&gt;</textarea>" in refused.content.decode()


def test_pages_have_a_fixed_cost(town: Town) -> None:
    people = make_users(*(f"r{n}" for n in range(30)))
    posts = Post.objects.bulk_create(
        Post(user=user, book=town.book, kind=Post.Kind.REVIEW, text="Fine") for user in people
    )
    Review.objects.bulk_create(
        Review(post=post, user=user, book=town.book, text="Fine") for post, user in zip(posts, people, strict=True)
    )
    warm_up(town.alice, town.bob)
    for client in (town.stranger, town.browsers[town.alice.pk]):
        for path in (town.list, f"{town.list}?order=followed", f"{town.list}?stars=4", f"/books/{town.book.pk}/"):
            for _ in range(3):
                client.get(path)
            with record() as seen:
                assert client.get(path).status_code == 200
            # The reviews of followed readers are found by a second read.
            trips = 2 if "followed" in path and client is not town.stranger else 1
            assert (seen.round_trips, seen.sql) == (trips, []), path


def test_replies_and_likes_are_those_of_the_post(town: Town) -> None:
    town.write(town.bob)
    review = Review.objects.get()
    create_post(town.alice.pk, "Indeed", parent_id=review.pk)
    town.browsers[town.alice.pk].post(f"/posts/{review.pk}/like/")
    drain_all()
    (found,) = town.read(town.alice)["results"]
    assert (found["likes"], found["is_liked"], found["replies"]) == (1, True, 1)
    delete_post(review.pk, by=town.bob.pk)
    assert Post.objects.get().text == "Indeed"


def test_names_in_the_whole_review_count(town: Town) -> None:
    town.write(town.bob, text=f"{'long ' * 200} ||for @alice|| #late")
    review = Review.objects.get()
    assert "#late" not in review.post.text
    assert list(review.post.mentions.values_list("user", flat=True)) == [town.alice.pk]
    assert list(review.post.hashtags.values_list("name", flat=True)) == ["late"]
    page = town.stranger.get(f"/posts/{review.pk}/").content.decode()
    assert '<a href="/u/alice/"' in page
    town.write(town.bob, text=f"{'long ' * 201} #later")
    assert not review.post.mentions.exists()
    assert list(review.post.hashtags.values_list("name", flat=True)) == ["later"]


def test_the_author_of_a_hidden_review_can_still_edit_it(town: Town) -> None:
    town.write(town.bob)
    review = Review.objects.get()
    hide_post(review.pk)
    drain_all()
    page = town.browsers[town.bob.pk].get(town.form).content.decode()
    assert "Our staff have hidden this review" in page
    response = town.write(town.bob, text="Calmer")
    assert (response.status_code, response.headers["Location"]) == (302, town.form)
    review.refresh_from_db()
    assert (review.text, review.post.is_hidden) == ("Calmer", True)


def test_titles_and_previews_name_the_book(town: Town) -> None:
    town.write(town.bob)
    shelves.rate_book(town.alice.pk, town.book.pk, 8, date(2026, 11, 27))
    drain_all()
    for post in Post.objects.all():
        kind = {"review": "Review of", "rating": "Rating of"}[post.kind]
        page = town.stranger.get(f"/posts/{post.pk}/").content.decode()
        title = f"{kind} “Emma &amp; &lt;I&gt;” by {post.user.username}"
        assert f"<title>{title}" in page
        assert f'<meta property="og:title" content="{title}">' in page
        assert '<meta property="og:description" content="">' not in page
