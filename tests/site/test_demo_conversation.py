"""Likes and replies of the demo."""

from collections import Counter
from datetime import timedelta

import pytest
from django.db.models import F
from django.utils import timezone

from accounts.models import User
from demo.community.conversation import MAX_LIKES, create_posts_and_replies, load_demo_likes
from demo.people import READER_NAMES
from social.bulk import NewPost
from social.models import Like, Post
from social.services.posts import create_post

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def posts() -> list[Post]:
    """Create readers of the demo with a post each."""
    return [create_post(User.objects.create_user(name).pk, f"by {name}") for name in READER_NAMES[:12]]


def test_posts_get_likes_of_others(posts: list[Post]) -> None:
    assert load_demo_likes() == Like.objects.count()
    likes = Like.objects.select_related("post")
    assert all(like.user_id != like.post.user_id for like in likes)
    of_each = Counter(like.post_id for like in likes)
    assert 1 < max(of_each.values()) <= MAX_LIKES


def test_a_second_load_adds_nothing(posts: list[Post]) -> None:
    load_demo_likes()
    before = set(Like.objects.values_list("user", "post"))
    load_demo_likes()
    assert before == set(Like.objects.values_list("user", "post"))


def test_a_site_without_the_demos_readers_gets_no_likes() -> None:
    assert load_demo_likes() == 0


def test_replies_stand_between_the_posts_by_time() -> None:
    now = timezone.now()
    readers = [User.objects.create_user(name).pk for name in READER_NAMES[:5]]
    rows = [NewPost(readers[n % 5], f"demo:{n}", f"Post {n}", now - timedelta(hours=60 - n)) for n in range(60)]
    create_posts_and_replies(rows, readers, now)
    times = list(Post.objects.order_by("pk").values_list("created_at", flat=True))
    assert times == sorted(times)
    assert times[-1] < now
    replies = Post.objects.exclude(parent_id=None)
    assert replies.earliest("pk").pk < Post.objects.filter(parent_id=None).latest("pk").pk
    assert not replies.filter(parent_author=F("user")).exists()
    before = list(Post.objects.order_by("pk").values())
    # A restored site is loaded again, when accounts that got replies may be private.
    for is_private in (False, True):
        User.objects.update(is_private=is_private)
        create_posts_and_replies(rows, readers, now)
        assert before == list(Post.objects.order_by("pk").values())


def test_no_post_is_answered_without_readers() -> None:
    author = User.objects.create_user("ann")
    create_posts_and_replies([NewPost(author.pk, "demo:0", "Hello", timezone.now())], [], timezone.now())
    assert Post.objects.get().parent_id is None
