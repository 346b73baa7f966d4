"""Create readers and posts, and read timelines page by page."""

import random
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from django.db import transaction

from accounts.models import User
from mirror import registry
from mirror.redis.recorder import Recording, record
from mirror.relay.sql_only import sql_only
from mirror.windows import window
from mirror.windows.declare import WindowMirror
from social.mirrors.windows import TIMELINE_LENGTH
from social.models import Follow, Post
from social.timelines.pages import PAGE_SIZE, PostPage
from tests.support.warm_mirrors import catch_up

Timeline = Callable[[int | None], PostPage]


@transaction.atomic  # otherwise each user is committed, and drained, alone
def make_users(*names: str) -> list[User]:
    """Create active users with these names."""
    return [User.objects.create(username=name) for name in names]


def make_posts(author: User, count: int = 1, **fields: Any) -> list[Post]:
    """Create ``count`` posts by one author, without signals, and return them oldest first."""
    made = [Post(user=author, text=f"{author.username} says {n}", **fields) for n in range(count)]
    return Post.objects.bulk_create(made)


def follow(follower: User, *others: User) -> None:
    """Create follows without signals."""
    Follow.objects.bulk_create(Follow(follower=follower, followee=other) for other in others)


def warm_up(*readers: User) -> None:
    """Warm all mirrors and the home timelines of these readers."""
    catch_up()
    for reader in readers:
        assert window.warm(timeline_mirror(), str(reader.pk))


def timeline_mirror() -> WindowMirror:
    """Return the mirror of home timelines."""
    found = registry.get("timeline")
    assert isinstance(found, WindowMirror)
    return found


def ids_of(page: PostPage) -> list[int]:
    """Return the ids of the posts on a page."""
    return [post["id"] for post in page.posts]


def read_pages(timeline: Timeline) -> list[PostPage]:
    """Return all pages of a timeline."""
    found = [timeline(None)]
    while found[-1].after is not None:
        found.append(timeline(found[-1].after))
    return found


def raw_posts(found: Iterable[PostPage]) -> list[list[tuple[Any, ...]]]:
    """Return the raw bytes and the numbers of the posts on each page."""
    return [[(post.raw, post.tally) for post in page.posts] for page in found]


def read_all_ids(timeline: Timeline) -> list[int]:
    """Return all ids of a timeline, after checking that SQL alone returns the same pages."""
    found = read_pages(timeline)
    with sql_only():
        by_sql = read_pages(timeline)
    assert raw_posts(found) == raw_posts(by_sql)
    assert [(page.after, page.newest) for page in found] == [(page.after, page.newest) for page in by_sql]
    return [pk for page in found for pk in ids_of(page)]


def check_pages(timeline: Timeline, wanted: Sequence[int]) -> None:
    """Check that a home timeline consists of full pages with these ids, and that SQL alone returns the same pages.

    Checks all pages within the window, three pages below it, the last page, and eight random pages of the rest. A page
    depends only on its cursor, so the pages in between can be skipped.
    """
    near, count = TIMELINE_LENGTH // PAGE_SIZE + 3, max(1, -(-len(wanted) // PAGE_SIZE))
    far = range(near, count - 1)
    for number in {*range(min(near, count)), *random.Random(count).sample(far, min(8, len(far))), count - 1}:
        start, end = number * PAGE_SIZE, (number + 1) * PAGE_SIZE
        after = wanted[start - 1] if number else None
        page = timeline(after)
        with sql_only():
            by_sql = timeline(after)
        assert ids_of(page) == wanted[start:end]
        assert page.after == (wanted[end - 1] if end < len(wanted) else None)
        assert raw_posts([page]) == raw_posts([by_sql])
        assert (page.after, page.newest) == (by_sql.after, by_sql.newest)


def measure_cost(ask: Callable[[], object]) -> tuple[int, int]:
    """Return the round trips and the number of queries that ``ask`` takes."""
    seen: Recording
    with record() as seen:
        ask()
    return seen.round_trips, len(seen.sql)


def newest_first(*posts: Sequence[Post]) -> list[int]:
    """Return the ids of all these posts, newest first."""
    return sorted((post.pk for group in posts for post in group), reverse=True)
