"""Likes of the demo's posts, and replies to them."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from random import Random
from typing import Final, NamedTuple

from accounts.models import User
from demo.people import READER_NAMES
from social.bulk import NewPost, create_posts
from social.models import Like, Post
from social.services.posts import create_post

REPLY_KEY: Final = "demo-reply:"
SEED: Final = "diptych conversation"
LIKED_POSTS: Final = 300  # the newest posts
MAX_LIKES: Final = 18  # of a post
ANSWERED_POSTS: Final = 160  # the newest posts, of which some have replies
THREADS: Final = 40  # posts with replies
MAX_REPLIES: Final = 5  # of a post
REPLY_MINUTES: Final = (3, 90)  # from one reply of a thread to the next
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


class _Reply(NamedTuple):
    """A planned reply. top: the post above all replies. above: the planned reply that it answers, None for the post."""

    at: datetime
    top: NewPost
    number: int
    author: int
    text: str
    above: "_Reply | None"


def create_posts_and_replies(rows: Sequence[NewPost], readers: Sequence[int], now: datetime) -> None:
    """Create posts, which are sorted by time, and replies by readers of these ids, all of them before ``now``.

    All are created in the order of their times, because timelines are sorted by ids. A second call adds nothing.
    """
    created, begin = dict[_Reply, int](), 0
    # Their authors may not answer again: an account may be private by now, or block the author.
    there = dict(Post.objects.filter(key__startswith=REPLY_KEY).values_list("key", "pk"))
    for reply in sorted(_plan_replies(rows, readers, now), key=lambda one: one.at):
        end = bisect_right(rows, reply.at, key=lambda row: row.created_at)
        create_posts(rows[begin:end], marked=True)
        begin = end
        top = Post.objects.only("pk").get(user_id=reply.top.user_id, key=reply.top.key).pk
        parent = created[reply.above] if reply.above else top
        key = f"{REPLY_KEY}{top}:{reply.number}"
        if key in there:
            created[reply] = there[key]
        else:
            created[reply] = create_post(reply.author, reply.text, parent_id=parent, key=key, created_at=reply.at).pk
    create_posts(rows[begin:], marked=True)


def _plan_replies(rows: Sequence[NewPost], readers: Sequence[int], now: datetime) -> Iterator[_Reply]:
    """Yield the replies to some of the latest posts; no reader answers an own post."""
    random = Random(SEED)
    latest = rows[-ANSWERED_POSTS:]
    for top in random.sample(latest, min(len(latest), THREADS)):
        above, at = None, top.created_at
        for number, text in enumerate(random.sample(REPLIES, random.randint(1, MAX_REPLIES))):
            at += timedelta(minutes=random.randint(*REPLY_MINUTES))
            others = [reader for reader in readers if reader != (above.author if above else top.user_id)]
            if at >= now or not others:
                break
            reply = _Reply(at, top, number, random.choice(others), text, above)
            yield reply
            # Some are answered by the next one, so that threads have two levels.
            above = reply if random.random() < 0.4 else None


def load_demo_likes() -> int:
    """Add likes of the demo's readers to its newest posts. Return their number. A second call adds nothing."""
    random = Random(SEED)
    readers = list(User.objects.filter(username__in=READER_NAMES, is_active=True).order_by("pk"))
    posts = Post.objects.filter(parent_id=None, kind=Post.Kind.POST).order_by("-pk")[:LIKED_POSTS]
    likes = [
        Like(user=reader, post=post)
        for post in posts
        for reader in random.sample(readers, min(len(readers), int(random.paretovariate(1)), MAX_LIKES))
        if reader.pk != post.user_id
    ]
    Like.objects.bulk_create(likes, ignore_conflicts=True)
    return len(likes)
