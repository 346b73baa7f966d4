"""The mirrors of posts, and complete lists of posts."""

from collections.abc import Callable
from typing import Any, Final

from mirror import registry
from social.mirrors.windows import TimelineMirror
from social.timelines.pages import PostPage

WINDOWS: Final = ("timeline", "global", "book_posts", "mentions", "hashtag")
MIRRORS: Final = ("post", "rated_post", "review", "ranked_review", "follow", "like", "shun", *WINDOWS)
TIMELINE: TimelineMirror = registry.get("timeline")  # type: ignore[assignment]
Page = Callable[[int | None], PostPage]


def read_all_posts(page: Page) -> list[Any]:
    """Return all posts from the first page to the last, after checking that they are unique and newest first."""
    posts: list[Any] = []
    after = None
    while True:
        found = page(after)
        posts += found.posts
        ids = [post["id"] for post in posts]
        assert ids == sorted(set(ids), reverse=True), f"not in order, or twice: {ids}"
        if found.after is None:
            return posts
        assert after is None or found.after < after, f"the next page begins at {found.after}, this one at {after}"
        after = found.after
