"""Private accounts: only readers whom the owner has approved, the followers, see their posts and shelves.

The records of users and posts, which are strict, tell that an account is private. SQL confirms each follow (1 query),
because Redis may lag behind after a fault. Lists that everybody sees leave out posts of private accounts.
"""

from collections.abc import Collection, Sequence

from mirror.conf import setting
from mirror.utils import SQL_AWAY
from social.models import Follow
from social.queries.records import PostRecord


def find_approved(viewer: int | None, owners: Collection[int]) -> set[int]:
    """Return those of these private accounts that a viewer may see: the viewer's own, and the followed ones.

    1 query, and none for visitors. While SQL is away, only the own one: a page then shows too little.
    """
    if viewer is None:
        return set()
    others = set(owners) - {viewer}
    own = set(owners) - others
    if not others:
        return own
    follows = Follow.objects.using(setting("DATABASE")).filter(follower_id=viewer, followee_id__in=others)
    try:
        return own | set(follows.values_list("followee_id", flat=True))
    except SQL_AWAY:
        return own


def exclude_unapproved(viewer: int | None, posts: Sequence[PostRecord]) -> list[PostRecord]:
    """Return the posts that a viewer may see: without those of private accounts that have not approved the viewer."""
    private = {post["user"]["id"] for post in posts if post["is_private"]}
    refused = private - find_approved(viewer, private) if private else private
    return [post for post in posts if post["user"]["id"] not in refused]
