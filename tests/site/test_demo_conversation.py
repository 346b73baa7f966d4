"""Likes and replies of the demo."""

from collections import Counter

import pytest

from accounts.models import User
from demo.community.conversation import MAX_LIKES, load_demo_conversation
from demo.people import READER_NAMES
from social.models import Like, Post
from social.services.posts import create_post

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def posts() -> list[Post]:
    """Create readers of the demo with a post each."""
    return [create_post(User.objects.create_user(name).pk, f"by {name}") for name in READER_NAMES[:12]]


def test_posts_get_likes_and_replies_of_others(posts: list[Post]) -> None:
    count = load_demo_conversation()
    replies = Post.objects.exclude(parent_id=None)
    assert count == replies.count() >= len(posts)
    assert not replies.filter(parent_author=None).exists()
    assert all(reply.user_id != reply.parent_author_id for reply in replies)
    likes = Like.objects.select_related("post")
    assert all(like.user_id != like.post.user_id for like in likes)
    of_each = Counter(like.post_id for like in likes)
    assert 1 < max(of_each.values()) <= MAX_LIKES


def test_a_second_load_adds_nothing(posts: list[Post]) -> None:
    load_demo_conversation()
    before = set(Like.objects.values_list("user", "post")), set(Post.objects.values_list("pk", flat=True))
    load_demo_conversation()
    assert before == (set(Like.objects.values_list("user", "post")), set(Post.objects.values_list("pk", flat=True)))


def test_a_site_without_the_demos_readers_gets_nothing() -> None:
    assert load_demo_conversation() == 0
