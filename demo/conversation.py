"""Likes of the demo's posts, and replies to them."""

from datetime import timedelta
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
    posts = list(Post.objects.filter(parent_id=None).order_by("-pk")[:LIKED_POSTS])
    likes = [
        Like(user=reader, post=post)
        for post in posts
        for reader in random.sample(readers, min(len(readers), int(random.paretovariate(1)), MAX_LIKES))
        if reader.pk != post.user_id
    ]
    Like.objects.bulk_create(likes, ignore_conflicts=True)
    replies = 0
    for post in random.sample(posts, min(len(posts), THREADS)):
        # One transaction for each thread, so that other writers need not wait for long.
        with transaction.atomic():
            replies += _add_replies(random, post, readers)
    return replies


def _add_replies(random: Random, post: Post, readers: list[User]) -> int:
    """Add a few replies to a post, some of them to the reply before."""
    now, parent, at = timezone.now(), post, post.created_at
    texts = random.sample(REPLIES, min(len(readers), random.randint(1, 5)))
    for number, text in enumerate(texts):
        at = min(now, at + timedelta(minutes=random.randrange(1, 300)))
        to = parent if random.random() < 0.4 else post
        author = random.choice([reader for reader in readers if reader.pk != to.user_id])
        key = f"demo-reply:{post.pk}:{number}"
        parent = create_post(author.pk, text, parent_id=to.pk, key=key, created_at=at)
    return len(texts)
