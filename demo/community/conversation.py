"""Likes of the demo's posts, and replies to them."""

from datetime import datetime, timedelta
from random import Random
from typing import Final

from django.db import transaction
from django.utils import timezone

from accounts.models import User
from demo.people import READER_NAMES
from social.models import Like, Post
from social.services.posts import create_post

SEED: Final = "diptych conversation"
LIKED_POSTS: Final = 300  # the newest posts
MAX_LIKES: Final = 18  # of a post
THREADS: Final = 40  # posts with replies
REPLY_INTERVAL: Final = timedelta(minutes=4)
REPLIES: Final = (
    "Adding it to my list right now.",
    "I gave up halfway. Should I try again?",
    "Yes! I have been saying this for years.",
    "Not for me, I am afraid, but I see what you mean.",
    "My copy is full of pencil marks for exactly this reason.",
    "Which translation did you read?",
    "Lent mine to a colleague in spring and never saw it again.",
    "Thank you, this settles what I take on the train.",
    "Wait until you reach the last part.",
    "The audio edition is lovely as well.",
    "I read it too young, I think. Time for a second visit.",
    "We chose it for our reading circle, and half of us stopped talking to the other half.",
)


def load_demo_conversation() -> int:
    """Add likes and replies of the demo's readers to its newest posts. Return the number of replies.

    A second call adds nothing to the same posts.
    """
    random = Random(SEED)
    readers = list(User.objects.filter(username__in=READER_NAMES, is_active=True).order_by("pk"))
    posts = list(Post.objects.filter(parent_id=None, kind=Post.Kind.POST).order_by("-pk")[:LIKED_POSTS])
    likes = [
        Like(user=reader, post=post)
        for post in posts
        for reader in random.sample(readers, min(len(readers), int(random.paretovariate(1)), MAX_LIKES))
        if reader.pk != post.user_id
    ]
    Like.objects.bulk_create(likes, ignore_conflicts=True)
    threads = [(post, _pick_texts(random, readers)) for post in random.sample(posts, min(len(posts), THREADS))]
    left = sum(len(texts) for _, texts in threads)
    total = left
    for post, texts in threads:
        # One transaction for each thread, so that other writers need not wait for long.
        with transaction.atomic():
            _add_replies(random, post, texts, readers, timezone.now() - left * REPLY_INTERVAL)
        left -= len(texts)
    return total


def _pick_texts(random: Random, readers: list[User]) -> list[str]:
    return random.sample(REPLIES, min(len(readers), random.randint(1, 5)))


def _add_replies(random: Random, post: Post, texts: list[str], readers: list[User], begin: datetime) -> None:
    """Add replies to a post, some of them to the reply before. begin: the time of the first one.

    They are younger than all posts, because timelines are sorted by ids.
    """
    parent = post
    for number, text in enumerate(texts):
        # Some answer the reply before, so that threads have two levels.
        to = parent if random.random() < 0.4 else post
        author = random.choice([reader for reader in readers if reader.pk != to.user_id])
        key = f"demo-reply:{post.pk}:{number}"
        at = max(begin + number * REPLY_INTERVAL, to.created_at)
        parent = create_post(author.pk, text, parent_id=to.pk, key=key, created_at=at)
