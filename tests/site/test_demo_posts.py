"""The posts and follows of the demo's readers."""

from datetime import UTC, datetime, timedelta

import pytest
from django.db.models import F
from django.utils import timezone

from accounts.models import User
from catalog.models import Book
from demo.books import load_demo_books
from demo.community.conversation import THREADS
from demo.logins import ROLES_BY_LOGIN
from demo.people import READER_NAMES, STAFF_NAMES, load_demo_people
from demo.posts import CHINESE_TAG, POST_COUNT, SHOPPER, find_books, generate_follows, generate_posts, load_demo_posts
from mirror.relay import drains
from mirror.verify import runs
from social.models import Follow, Hashtag, Mention, Post

NOW = datetime(2026, 3, 1, 18, tzinfo=UTC)

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def shop() -> None:
    """Create the demo's books and people, without posts."""
    load_demo_books()
    load_demo_people(NOW.date())
    User.objects.bulk_create(User(username=name) for name in ROLES_BY_LOGIN)


def test_demo_has_half_a_year_of_posts(shop: None) -> None:
    assert load_demo_posts(NOW) == POST_COUNT == Post.objects.filter(parent_id=None).count()
    times = list(Post.objects.order_by("pk").values_list("created_at", flat=True))
    assert times == sorted(times)
    assert times[-1] > NOW - timedelta(minutes=5)
    assert NOW - timedelta(days=184) < times[0] < NOW - timedelta(days=150)
    assert Post.objects.filter(parent_id=None, book=None).count() < POST_COUNT / 5
    replies = Post.objects.exclude(parent_id=None)
    assert replies.count() > THREADS
    assert replies.filter(parent_author=None).count() == replies.filter(parent_author=F("user")).count() == 0
    assert len({reply.ancestors.count(" ") for reply in replies}) > 1
    assert Mention.objects.count() == sum(text.count("@") for text in Post.objects.values_list("text", flat=True)) > 30
    assert Mention.objects.filter(user__username=SHOPPER).count() == 2
    assert Hashtag.objects.values("name").distinct().count() > 20
    drains.drain_all()
    assert runs.verify() == []


def test_loading_the_posts_twice_changes_nothing(shop: None) -> None:
    load_demo_posts(NOW)
    models = (Post, Follow, Mention, Hashtag)
    before = [list(model._base_manager.order_by("pk").values()) for model in models]
    load_demo_posts(NOW + timedelta(hours=3))
    assert [list(model._base_manager.order_by("pk").values()) for model in models] == before


def test_posts_are_varied_short_and_in_two_languages(shop: None) -> None:
    said = generate_posts(find_books(), NOW)
    assert max(len(post.text) for post in said) <= 300
    assert not any(hole in post.text for post in said for hole in ("{", "}", "None"))
    assert len({post.text for post in said}) > 0.95 * len(said)
    assert {post.author for post in said} == {*READER_NAMES, *STAFF_NAMES}
    chinese = [post for post in said if post.text.startswith(("《", "昨", "地")) or "《" in post.text]
    assert len(chinese) > 20
    assert all(post.book and post.book.kind == CHINESE_TAG for post in chinese)
    assert all(post.author for post in chinese if not post.author.isascii())


def test_no_page_repeats_a_text(shop: None) -> None:
    said = generate_posts(find_books(), NOW)
    for start in range(0, len(said), 20):
        page = [post.text for post in said[start : start + 20]]
        assert len(set(page)) == len(page)


def test_every_user_follows_others_and_the_shopper_has_a_full_home_timeline(shop: None) -> None:
    load_demo_posts(NOW)
    for user in User.objects.all():
        assert Follow.objects.filter(follower=user).count() >= 3, user
    shopper = User.objects.get(username=SHOPPER)
    followed = Follow.objects.filter(follower=shopper).values("followee")
    assert Post.objects.filter(user__in=followed).count() >= 100
    assert Follow.objects.filter(followee=shopper).exists()
    assert len(set(generate_follows(NOW))) == Follow.objects.count()


def test_posts_are_about_the_most_popular_books_of_another_catalogue(shop: None) -> None:
    Book.objects.all().delete()
    Book.objects.bulk_create(Book(title=f"Volume {n}", popularity=n) for n in range(200))
    assert load_demo_posts(NOW) == POST_COUNT
    talked_about = Book.objects.filter(posts__isnull=False).distinct()
    assert 20 < talked_about.count() <= 110
    assert min(book.popularity for book in talked_about) >= 90


def test_demo_without_books_has_posts_about_no_book(shop: None) -> None:
    Book.objects.all().delete()
    assert load_demo_posts(NOW) == Post.objects.filter(parent_id=None, book=None).count() > 0


def test_newest_demo_posts_are_recent(shop: None) -> None:
    load_demo_posts()
    newest = Post.objects.latest("created_at").created_at
    assert timedelta() < timezone.now() - newest < timedelta(minutes=10)
