"""Reading what people say: timelines from Redis or, with the same answer, from SQL.

``after``: where the page before ended (``PostPage.after``); None: the newest. ``viewer``: who looks; None: a stranger.
From warm mirrors a page takes no SQL, and at most three round trips (home and a profile: two).
"""

from collections.abc import Collection
from functools import partial

from social import reading, shuns, sql
from social.feeds import LARGEST_ID
from social.home import HomeFeed
from social.reading import PostPage, PostRecord, records
from social.slices import AuthorFeed, EagerFeed

MOST_NEW = 100  # posts; more of them are not counted


def home_timeline(user_id: int, after: int | None = None) -> PostPage:
    """What those whom a user follows have posted, and they themselves."""
    return HomeFeed(user_id).page(after)


def global_timeline(viewer: int | None, after: int | None = None) -> PostPage:
    """What everybody has posted."""
    return EagerFeed(viewer, "global", "", sql.posted).page(after)


def latest_posts(viewer: int | None, count: int) -> PostPage:
    """The newest few posts of all (less than a page), for a box beside other things: nothing comes after them."""
    page = EagerFeed(viewer, "global", "", sql.posted).page(None, count)
    return PostPage(page.posts, None, page.newest)


def posts_of(author_id: int, viewer: int | None, after: int | None = None) -> PostPage:
    """What somebody has posted; nothing where one of the two has blocked the other."""
    return AuthorFeed(viewer, author_id).page(after)


def posts_about(book_id: int, viewer: int | None, after: int | None = None) -> PostPage:
    """What was posted about a book."""
    return EagerFeed(viewer, "book_posts", str(book_id), partial(sql.posted_about, book_id)).page(after)


def posts_about_books_by(author_id: int, viewer: int | None, after: int | None = None) -> PostPage:
    """What was posted about the books of an author."""
    by_sql = partial(sql.posted_about_books_by, author_id)
    return EagerFeed(viewer, "author_posts", str(author_id), by_sql).page(after)


def posts_tagged(name: str, viewer: int | None, after: int | None = None) -> PostPage:
    """What was posted with a hashtag (folded)."""
    return EagerFeed(viewer, "hashtag", name, partial(sql.posted_with, name)).page(after)


def mentions_of(user_id: int, after: int | None = None) -> PostPage:
    """Posts that mention a user, as they see it."""
    return EagerFeed(user_id, "mentions", str(user_id), partial(sql.posted_to, user_id)).page(after)


def get_post(post_id: int, viewer: int | None) -> PostRecord | None:
    """One post; None if there is none, or its author and the viewer have to do nothing with one another.

    Who mutes somebody sees it here, as on their page. 1 round trip, and 1 more for who is logged in.
    """
    found = records([post_id]) if 0 < post_id <= LARGEST_ID else []
    if not found or viewer is None:
        return found[0] if found else None
    author = found[0]["user"]["id"]
    is_cut_off = shuns.among(viewer, [author]) and shuns.is_blocked(viewer, author)
    return None if is_cut_off else found[0]


def new_posts(user_id: int, since: int, seen: Collection[int] = ()) -> int:
    """How many posts by others have come to a home timeline since a page of it was made, at most MOST_NEW.

    since: the newest post of that page. seen: all posts on it: one that was committed late, and so has a lower id than
    others that are shown, is new as well. 1 round trip; 1 more if there is something new, to see that it may be seen.
    """
    lowest = since + 1 if not seen else min(seen) if len(seen) >= reading.PAGE else 0
    feed = HomeFeed(user_id)
    found = feed.chunk(LARGEST_ID, MOST_NEW + len(seen))
    new = [pk for pk in found.ids if pk >= lowest and pk not in seen]
    return sum(post["user"]["id"] != user_id for post in feed.unshunned(records(new[:MOST_NEW])))
