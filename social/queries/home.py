"""SQL for home timelines: one statement for any number of readers.

The number of posts that it reads does not depend on the number of existing posts. First it reads a few of each author's
newest posts (``POSTS_PER_PROBE``). They determine an id that the page cannot reach below (``lowest``). Then it reads
each author's posts from that id upwards. So the query stays fast for a reader of two thousand authors, or of one author
with a million posts. ``author IN (...) ORDER BY id DESC LIMIT 24`` depends on the planner: with 220,000 posts on
PostgreSQL, a page with 2,000 follows takes 3 to 16 ms with it and 60 to 95 ms here, but a window of 400 posts for them
up to 320 ms instead of 93, and one author's 20,000 posts up to 30 ms instead of 1.2.

A reply is on the timeline of a follower who also follows the author of the parent, as on Mastodon: a reply to a post by
somebody else would lack its context. Replies to the reader and to the author's own posts are on it, too.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final

from django.db import connections

from common.ids import MAX_ID, parse_ids
from mirror.conf import setting
from mirror.utils import arrays

POSTS_PER_PROBE: Final = 4

_POSTS: Final = """
      FROM social_post AS p
     WHERE p.user_id = s.author AND NOT p.is_hidden AND NOT p.is_quiet AND ({which})
       AND p.id < {below} AND p.id >= {lowest}
       AND (p.parent_id IS NULL OR p.user_id = s.key OR p.parent_author_id = p.user_id
            OR (s.key, p.parent_author_id) IN (SELECT x.key, x.author FROM sources AS x))
     ORDER BY p.id DESC LIMIT {limit}
"""
_HOME: Final = """
    WITH readers AS (SELECT value AS key FROM {readers}),
    followed AS (
        SELECT k.key, f.followee_id AS author FROM readers AS k JOIN social_follow AS f ON f.follower_id = k.key
         WHERE NOT EXISTS (SELECT 1 FROM social_mute m WHERE m.user_id = k.key AND m.muted_id = f.followee_id)
           AND NOT EXISTS (SELECT 1 FROM social_block b WHERE b.blocker_id = k.key AND b.blocked_id = f.followee_id)
           AND NOT EXISTS (SELECT 1 FROM social_block b WHERE b.blocked_id = k.key AND b.blocker_id = f.followee_id)
        UNION ALL SELECT key, key FROM readers
    ),
    sources AS MATERIALIZED (
        SELECT s.key, s.author FROM followed AS s JOIN accounts_user AS u ON u.id = s.author
         WHERE {whose}
    ),
    first AS (
        SELECT s.key, p.id, row_number() OVER (PARTITION BY s.key ORDER BY p.id DESC) AS n FROM sources AS s {few}
    ),
    lowest AS MATERIALIZED (
        SELECT key, max(CASE WHEN n = {limit} THEN id ELSE 0 END) AS id FROM first GROUP BY key
    ),
    found AS (
        SELECT s.key, p.id, row_number() OVER (PARTITION BY s.key ORDER BY p.id DESC) AS n
          FROM sources AS s JOIN lowest AS l ON l.key = s.key {newest}
    )
    SELECT key, id FROM found WHERE n <= {limit} ORDER BY key, id DESC
"""
# The fan-out pushes posts without a check for inactive users; only the follow edges reflect them
# (``find_reached_timelines``).
_PUSHED_AUTHORS: Final = """
    s.author = s.key OR u.is_active AND (SELECT r.is_active FROM accounts_user AS r WHERE r.id = s.key)
"""


def find_home_posts(user_id: int, below: int, limit: int) -> list[int]:
    """Return the ids of the next ``limit`` posts below an id on a reader's home timeline, pushed and pulled."""
    return _query_posts([user_id], below, limit, whose="u.is_active", which="true").get(str(user_id), [])


def find_pushed_posts(pks: Sequence[str], limit: int) -> Mapping[str, Sequence[int]]:
    """Return the ids of the newest posts on each home timeline, without pulled posts of other authors."""
    return _query_posts(
        parse_ids(pks), MAX_ID, limit, whose=_PUSHED_AUTHORS, which="NOT p.is_pulled OR p.user_id = s.key"
    )


def _query_posts(readers: Sequence[int], below: int, limit: int, *, whose: str, which: str) -> dict[str, list[int]]:
    """Return ids of posts by reader.

    ``whose`` is an SQL condition on the authors ``u``, ``which`` one on their posts ``p``.
    """

    def newest(lowest: str, limit: int) -> str:
        posts = _POSTS.format(which=which, below=int(below), lowest=lowest, limit=int(limit))
        return arrays.join_found("social_post", posts, "p")

    source, values = arrays.list_values(readers, "bigint")
    sql = _HOME.format(
        readers=source,
        whose=whose,
        limit=int(limit),
        few=newest("0", min(POSTS_PER_PROBE, limit)),
        newest=newest("l.id", limit),
    )
    found: dict[str, list[int]] = defaultdict(list)
    with connections[setting("DATABASE")].cursor() as cursor:
        cursor.execute(sql, values)
        for key, pk in cursor.fetchall():
            found[str(key)].append(pk)
    return found
