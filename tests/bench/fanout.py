"""Compare the fan-out of a post to 100,000 timelines, and the backfill of home timelines, with bare commands."""

from collections.abc import Iterator
from functools import partial
from itertools import count
from random import Random
from typing import Final

from django.db import connection
from redis import Redis

from accounts.models import User
from mirror import registry
from mirror.models import Change
from mirror.outbox import progress
from mirror.redis.clients import relay_client
from mirror.upkeep.rebuild import rebuild
from mirror.windows import push, window
from mirror.windows.declare import CUT, SENTINEL, WHOLE, WindowMirror
from mirror.windows.slices import Outcome
from social import keys
from social.mirrors.windows import TIMELINE_LENGTH
from social.models import Follow, Post
from social.queries.home import find_pushed_posts
from tests.bench.table import Comparison

FANS: Final = 100_000
PIPELINE: Final = 500  # timelines that the bare side writes per round trip
READERS, FOLLOWS, POSTS = 2000, 20_000, 20_000
NEEDED: Final = ("follow", "shun", "timeline")
_ids = count(1_000_000)


def comparisons() -> Iterator[Comparison]:
    """Yield both comparisons, each with its own users."""
    author, fans = _fans()
    redis = relay_client()
    yield Comparison(
        f"a post taken to {FANS:,} timelines, SQL included",
        f"bare ZADD and trim, {PIPELINE} in a pipeline",
        f"warm timelines of {TIMELINE_LENGTH} posts",
        ours=_push,
        theirs=lambda: _bare(redis, fans),
        target=0.8,
        before=lambda: _post(author),
    )
    _clear()
    readers = _readers()
    yield Comparison(
        "home timelines made anew, one after the other",
        "bare: the same SQL, DEL and ZADD",
        f"{READERS:,} people, {FOLLOWS:,} follows, {POSTS:,} posts",
        ours=lambda: [window.warm(timeline(), str(reader)) for reader in readers],
        theirs=lambda: list(map(partial(_bare_timeline, redis), readers)),
        target=0.5,
        before=lambda: window.cool(timeline(), map(str, readers), redis),
    )
    _clear()


def timeline() -> WindowMirror:
    """Return the mirror of home timelines."""
    found = registry.get("timeline")
    assert isinstance(found, WindowMirror)
    return found


def _fans() -> tuple[int, list[int]]:
    """Create an author and followers, all with full and warm timelines."""
    User.objects.bulk_create((User(username=f"fan {n}", password="!") for n in range(FANS + 1)), batch_size=5000)
    author, *fans = User.objects.filter(username__startswith="fan ").order_by("pk").values_list("pk", flat=True)
    Follow.objects.bulk_create((Follow(follower_id=fan, followee_id=author) for fan in fans), batch_size=5000)
    _forget_changes()
    _analyze()
    rebuild(NEEDED)
    redis = relay_client()
    redis.zadd("full", {SENTINEL: CUT} | {str(n): n for n in range(1, TIMELINE_LENGTH + 1)})
    for start in range(0, FANS + 1, 1000):
        pipe = redis.pipeline(transaction=False)
        for owner in [author, *fans][start : start + 1000]:
            pipe.copy("full", keys.timeline(owner))
        pipe.execute()
    return author, fans


def _post(author: int) -> None:
    """Create a post that has not been pushed yet."""
    _forget_changes()
    Post.objects.bulk_create([Post(pk=next(_ids), user_id=author, text="Hear, hear.")])


def _push() -> None:
    done = push.push_slices(list(progress.pending("timeline", "social_post")))
    assert (done.outcome, done.windows) == (Outcome.DONE, FANS + 1)


def _bare(redis: Redis, fans: list[int]) -> None:
    """Write the post with the minimal number of commands."""
    post = Post.objects.order_by("-pk").values_list("pk", flat=True)[0]
    for start in range(0, len(fans), PIPELINE):
        pipe = redis.pipeline(transaction=False)
        for fan in fans[start : start + PIPELINE]:
            key = keys.timeline(fan)
            pipe.zadd(key, {str(post): post})
            pipe.zremrangebyrank(key, 1, -TIMELINE_LENGTH - 1)
        pipe.execute()


def _readers() -> list[int]:
    """Create users who follow ten others each; some write far more posts than others."""
    User.objects.bulk_create(User(username=f"fan {n}", password="!") for n in range(READERS))
    people, chance = list(User.objects.filter(username__startswith="fan ").values_list("pk", flat=True)), Random(5)
    pairs = {(a, b) for a in people for b in chance.sample(people, FOLLOWS // READERS) if a != b}
    Follow.objects.bulk_create((Follow(follower_id=a, followee_id=b) for a, b in sorted(pairs)), batch_size=5000)
    authors = chance.choices(people, [1 / (n + 10) for n in range(READERS)], k=POSTS)
    Post.objects.bulk_create((Post(user_id=author, text="Hear, hear.") for author in authors), batch_size=5000)
    _forget_changes()
    _analyze()
    rebuild(NEEDED)
    return people


def _bare_timeline(redis: Redis, reader: int) -> None:
    found, key = (
        find_pushed_posts([str(reader)], TIMELINE_LENGTH + 1).get(str(reader), ()),
        keys.timeline(reader),
    )
    pipe = redis.pipeline(transaction=True)
    pipe.delete(key)
    pipe.zadd(
        key,
        {str(post): post for post in found[:TIMELINE_LENGTH]}
        | {SENTINEL: CUT if len(found) > TIMELINE_LENGTH else WHOLE},
    )
    pipe.execute()


def _analyze() -> None:
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("VACUUM ANALYZE accounts_user, social_follow, social_post, mirror_change")


def _forget_changes() -> None:
    Change.objects.all()._raw_delete("default")


def _clear() -> None:
    for model in (Post, Follow):
        model._base_manager.all()._raw_delete("default")
    User.objects.filter(username__startswith="fan ")._raw_delete("default")
    _forget_changes()
    relay_client().flushdb()
