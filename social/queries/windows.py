"""SQL queries for the contents of feeds. Mirrors load from them, and pages use them as fallback.

Ids come newest first. Every function takes a fixed number of queries for any number of keys.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from django.db import connections
from django.db.models import QuerySet

from catalog.models import Book
from common.ids import parse_ids
from mirror import Reached
from mirror.conf import setting
from mirror.utils import arrays
from social.models import Follow, Hashtag, Mention, Post

IS_VISIBLE = "NOT p.is_hidden AND EXISTS (SELECT 1 FROM accounts_user u WHERE u.id = p.user_id AND u.is_active)"
IS_PUBLIC = IS_VISIBLE.replace("u.is_active", "u.is_active AND NOT u.is_private")
# Reviews have lists of their own, and ratings are for followers.
_POSTS_ABOUT_BOOK = f"""
    FROM social_post p WHERE p.book_id = k.value AND p.kind = 'post' AND {IS_PUBLIC} ORDER BY p.id DESC LIMIT {{limit}}
"""
_POSTS_ABOUT_AUTHOR = f"""
    FROM catalog_book_authors l JOIN social_post p ON p.book_id = l.book_id
     WHERE l.author_id = k.value AND p.kind <> 'rating' AND {IS_PUBLIC} ORDER BY p.id DESC LIMIT {{limit}}
"""
_POSTS_MENTIONING = f"""
    FROM social_mention m JOIN social_post p ON p.id = m.post_id
     WHERE m.user_id = k.value AND {IS_VISIBLE} ORDER BY m.post_id DESC LIMIT {{limit}}
"""
_POSTS_TAGGED = f"""
    FROM social_hashtag h JOIN social_post p ON p.id = h.post_id
     WHERE h.name = k.value AND {IS_PUBLIC} ORDER BY h.post_id DESC LIMIT {{limit}}
"""


def _query_each_key(one: str, keys: Sequence[Any], limit: int, kind: str = "bigint") -> dict[str, list[int]]:
    """Find the posts ``one`` (without its SELECT) for each of ``keys``, in one query. Return ids by key."""
    found: dict[str, list[int]] = defaultdict(list)
    source, values = arrays.list_values(keys, kind)
    posts = arrays.join_found("social_post", one.format(limit=int(limit)), "t")
    with connections[setting("DATABASE")].cursor() as cursor:
        cursor.execute(f"SELECT k.value, t.id FROM {source} {posts} ORDER BY 1, 2 DESC", values)
        for key, pk in cursor.fetchall():
            found[str(key)].append(pk)
    return found


def find_newest_posts(limit: int) -> list[int]:
    """Return the ids of the newest posts on the site, without replies and ratings."""
    shown = _posts().public().filter(parent_id=None, is_quiet=False)
    return _find_newest_ids(shown.exclude(kind=Post.Kind.RATING), limit)


def find_newest_about_books(pks: Sequence[str], limit: int) -> Mapping[str, Sequence[int]]:
    """Return the ids of the newest posts about each of these books, by book id."""
    return _query_each_key(_POSTS_ABOUT_BOOK, parse_ids(pks), limit)


def find_newest_about_authors(pks: Sequence[str], limit: int) -> Mapping[str, Sequence[int]]:
    """Return the ids of the newest posts about the books of each of these authors, by author id."""
    return _query_each_key(_POSTS_ABOUT_AUTHOR, parse_ids(pks), limit)


def find_newest_mentioning(pks: Sequence[str], limit: int) -> Mapping[str, Sequence[int]]:
    """Return the ids of the newest posts that mention each of these users, by user id."""
    return _query_each_key(_POSTS_MENTIONING, parse_ids(pks), limit)


def find_newest_tagged(names: Sequence[str], limit: int) -> Mapping[str, Sequence[int]]:
    """Return the ids of the newest posts with each of these hashtags, by hashtag."""
    return _query_each_key(_POSTS_TAGGED, names, limit, "text")


def find_reached_timelines(rows: Sequence[str], after: str | None, limit: int) -> list[Reached]:
    """Return the home timelines that these posts ("id:author") concern: the authors' own, then followers' by user id.

    ``after`` is the last follower's id of the previous call. A pulled post concerns only its author's timeline, and a
    quiet one concerns none. The script refuses a reply to an author whom the follower does not follow.
    Inactive authors need no check here: they are in no reader's set of followed users, and a status change recomputes
    the windows.
    """
    posts = _parse_rows(rows)
    shown = _read_shown_posts([pk for pk, _ in posts])
    pushed: dict[int, list[int]] = defaultdict(list)  # posts to push to followers, by author
    found: list[Reached] = []
    for pk, author in posts:
        post = shown.get(pk, _REMOVED)
        if post.is_quiet:
            continue
        if after is None:
            found.append(Reached(str(author), pk, source="", shown=pk in shown))
        if not post.is_pulled:
            pushed[author].append(pk)
    follows = Follow.objects.using(setting("DATABASE")).filter(followee_id__in=list(pushed))
    if after is not None:
        follows = follows.filter(follower_id__gt=int(after))
    for follower, author in follows.order_by("follower_id").values_list("follower_id", "followee_id")[:limit]:
        for pk in pushed[author]:
            replied_to = shown.get(pk, _REMOVED).replied_to
            # A follower sees replies to themselves, and otherwise only those to authors whom they follow, too.
            also = "" if replied_to in (None, follower) else str(replied_to)
            found.append(Reached(str(follower), pk, source=str(author), shown=pk in shown, also=also))
    return found


class _ShownPost(NamedTuple):
    """What decides which timelines a post reaches.

    replied_to: for a reply to another reader, this reader's id, 0 after the deletion of the account; None otherwise.
    """

    is_pulled: bool
    is_quiet: bool
    replied_to: int | None


# Deleted and hidden posts are delivered to all followers, as removals.
_REMOVED: Final = _ShownPost(is_pulled=False, is_quiet=False, replied_to=None)


def _parse_rows(rows: Sequence[str]) -> list[tuple[int, int]]:
    """Return the post and the author of each row "id:author", without rows of another form."""
    ends = [parse_ids(row.split(":")) for row in rows]
    return [(pair[0], pair[1]) for pair in ends if len(pair) == 2]


def _read_shown_posts(pks: Sequence[int]) -> dict[int, _ShownPost]:
    """Return these posts by id, without deleted and hidden ones."""
    columns = ("pk", "user_id", "is_pulled", "is_quiet", "parent_id", "parent_author_id")
    found = _posts().filter(pk__in=pks, is_hidden=False).values_list(*columns)
    shown: dict[int, _ShownPost] = {}
    for pk, author, is_pulled, is_quiet, parent, parent_author in found:
        is_reply_to_other = parent is not None and parent_author != author
        replied_to = (parent_author or 0) if is_reply_to_other else None
        shown[pk] = _ShownPost(is_pulled, is_quiet, replied_to)
    return shown


def find_books_after(after: str | None, limit: int) -> list[str]:
    """Return the next ids of books that have posts."""
    return _find_next_values(_posts().exclude(book=None), "book_id", after, limit)


def find_authors_after(after: str | None, limit: int) -> list[str]:
    """Return the next ids of authors of books that have posts."""
    return _find_next_values(_authorships().filter(book__posts__isnull=False), "author_id", after, limit)


def find_authors_of_books(values: Sequence[str], after: str | None, limit: int) -> list[str]:
    """Return the next ids of authors of these books."""
    return _find_next_values(_authorships().filter(book_id__in=parse_ids(values)), "author_id", after, limit)


def find_authors_in_posts_by(values: Sequence[str], after: str | None, limit: int) -> list[str]:
    """Return the next ids of authors of the books in these users' posts."""
    return _find_next_values(
        _authorships().filter(book__posts__user_id__in=parse_ids(values)), "author_id", after, limit
    )


def find_mentioned_after(after: str | None, limit: int) -> list[str]:
    """Return the next ids of mentioned users."""
    return _find_next_values(_mentions(), "user_id", after, limit)


def find_hashtags_after(after: str | None, limit: int) -> list[str]:
    """Return the next hashtags."""
    return _find_next_values(_hashtags(), "name", after, limit)


def find_books_in_posts_by(values: Sequence[str], after: str | None, limit: int) -> list[str]:
    """Return the next ids of books in these users' posts."""
    return _find_next_values(_posts().filter(user_id__in=parse_ids(values)).exclude(book=None), "book_id", after, limit)


def find_mentioned_in_posts(values: Sequence[str], after: str | None, limit: int) -> list[str]:
    """Return the next ids of users mentioned in these posts."""
    return _find_next_values(_mentions().filter(post_id__in=parse_ids(values)), "user_id", after, limit)


def find_mentioned_by(values: Sequence[str], after: str | None, limit: int) -> list[str]:
    """Return the next ids of users mentioned in these users' posts."""
    return _find_next_values(_mentions().filter(post__user_id__in=parse_ids(values)), "user_id", after, limit)


def find_hashtags_of_posts(values: Sequence[str], after: str | None, limit: int) -> list[str]:
    """Return the next hashtags of these posts."""
    return _find_next_values(_hashtags().filter(post_id__in=parse_ids(values)), "name", after, limit)


def find_hashtags_used_by(values: Sequence[str], after: str | None, limit: int) -> list[str]:
    """Return the next hashtags in these users' posts."""
    return _find_next_values(_hashtags().filter(post__user_id__in=parse_ids(values)), "name", after, limit)


def _posts() -> Any:
    return Post.objects.using(setting("DATABASE"))


def _authorships() -> QuerySet[Any]:
    return Book.authors.through._base_manager.using(setting("DATABASE"))


def _mentions() -> QuerySet[Mention]:
    return Mention.objects.using(setting("DATABASE"))


def _hashtags() -> QuerySet[Hashtag]:
    return Hashtag.objects.using(setting("DATABASE"))


def _find_newest_ids(found: QuerySet[Post], limit: int) -> list[int]:
    return list(found.order_by("-pk").values_list("pk", flat=True)[:limit])


def _find_next_values(found: QuerySet[Any], column: str, after: str | None, limit: int) -> list[str]:
    """Return the next distinct values of a column, ascending."""
    if after is not None:
        found = found.filter(**{f"{column}__gt": after})
    return [str(value) for value in found.order_by(column).values_list(column, flat=True).distinct()[:limit]]
