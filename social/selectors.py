"""Timelines and posts, from Redis or, with the same answer, from SQL.

``after`` is the cursor from the previous page (``PostPage.after``), None for the first page. ``viewer`` is the id of
the reader, None for a visitor without a login. With warm mirrors a page takes no SQL and at most three round trips (the
home timeline and a profile: two). What replies answer takes one more on profiles, for visitors, and when a process
first reads a reply on a home timeline.
"""

from collections.abc import Collection

from common.ids import MAX_ID
from social.mirrors import windows
from social.queries.records import PostRecord
from social.relations import blocks
from social.timelines import pages
from social.timelines.feeds import AuthorFeed, EagerFeed
from social.timelines.home import HomeFeed
from social.timelines.pages import PostPage, exclude_hidden_ratings, read_posts, read_records
from social.timelines.threads import Cursor, Thread, read_thread

MAX_NEW_POSTS = 100  # new posts that are counted at most


def get_home_timeline(user_id: int, after: int | None = None) -> PostPage:
    """Return a page of a reader's home timeline: the reader's posts and those of followed authors."""
    return HomeFeed(user_id).read_page(after)


def get_newest_home_posts(user_id: int, count: int) -> PostPage:
    """Return the newest posts of a reader's home timeline, without a next page: those with a book, if its first page
    has as many.
    """
    page = HomeFeed(user_id).read_page(None)
    about_books = [post for post in page.posts if post["book"]]
    shown = about_books if len(about_books) >= count else page.posts
    return PostPage(shown[:count], None, page.newest)


def get_global_timeline(viewer: int | None, after: int | None = None) -> PostPage:
    """Return a page of all posts."""
    return EagerFeed(viewer, windows.GlobalMirror, "").read_page(after)


def get_latest_posts(viewer: int | None, count: int) -> PostPage:
    """Return the newest posts on the site, fewer than a page, without a next page."""
    page = EagerFeed(viewer, windows.GlobalMirror, "").read_page(None, count)
    return PostPage(page.posts, None, page.newest)


def get_posts_by(author_id: int, viewer: int | None, after: int | None = None) -> PostPage:
    """Return a page of an author's posts, empty if a block exists between the author and the viewer."""
    return AuthorFeed(viewer, author_id).read_page(after)


def get_posts_about(book_id: int, viewer: int | None, after: int | None = None) -> PostPage:
    """Return a page of the posts about a book."""
    return EagerFeed(viewer, windows.BookPostsMirror, book_id).read_page(after)


def get_posts_about_books_by(author_id: int, viewer: int | None, after: int | None = None) -> PostPage:
    """Return a page of the posts about an author's books."""
    return EagerFeed(viewer, windows.AuthorPostsMirror, author_id).read_page(after)


def get_posts_tagged(name: str, viewer: int | None, after: int | None = None) -> PostPage:
    """Return a page of the posts with a hashtag (folded)."""
    return EagerFeed(viewer, windows.HashtagMirror, name).read_page(after)


def get_mentions_of(user_id: int, after: int | None = None) -> PostPage:
    """Return a page of the posts that mention a reader, as that reader sees them."""
    return EagerFeed(user_id, windows.MentionsMirror, user_id).read_page(after)


def get_post(post_id: int, viewer: int | None) -> PostRecord | None:
    """Return one post; None if it is not visible or a block exists between its author and the viewer.

    Posts of a muted author are returned, as on the author's page. Takes 1 round trip, 2 with a viewer.
    """
    found = read_posts([post_id], viewer) if 0 < post_id <= MAX_ID else []
    if not found or viewer is None:
        return found[0] if found else None
    author = found[0]["user"]["id"]
    is_cut_off = blocks.find_blocked_and_muted(viewer, [author]) and blocks.has_block_between(viewer, author)
    return None if is_cut_off else found[0]


def get_thread(post_id: int, viewer: int | None, cursor: Cursor) -> Thread | None:
    """Return the thread of a post; None if it is not visible and has no visible replies."""
    thread = read_thread(post_id, viewer, cursor) if 0 < post_id <= MAX_ID else None
    return thread if thread and (thread.post or thread.branches) else None


def count_new_posts(user_id: int, since: int, seen: Collection[int] = ()) -> int:
    """Return the number of new posts by others on a home timeline since a page was rendered, at most MAX_NEW_POSTS.

    ``since`` is the newest post on that page and ``seen`` all its posts: a post that was committed late counts as new
    although its id is lower. Takes 1 round trip, 1 more to check the visibility of new posts, and 1 more if there are
    ratings among them.
    """
    lowest = since + 1 if not seen else min(seen) if len(seen) >= pages.PAGE_SIZE else 0
    feed = HomeFeed(user_id)
    found = feed.read_chunk(MAX_ID, MAX_NEW_POSTS + len(seen))
    new = [pk for pk in found.ids if pk >= lowest and pk not in seen]
    posts = feed.exclude_blocked_and_muted(read_records(new[:MAX_NEW_POSTS], user_id))
    return sum(post["user"]["id"] != user_id for post in exclude_hidden_ratings(posts))
