"""Checks of services, in SQL, before they write."""

from accounts.models import User
from social.models import Post
from social.relations.approval import find_approved
from social.relations.blocks import has_block_between
from social.reviews.records import find_stars


def find_shown_post(viewer: int, post_id: int) -> Post | None:
    """Return a post that a reader may see, or None. At most 4 queries, and 3 more for a rating."""
    post = Post.objects.shown().filter(pk=post_id).first()
    if post is None or not may_see_posts(viewer, post.user_id):
        return None
    # A rating is visible as long as its stars are: not on a shelf that was made private.
    if post.kind == Post.Kind.RATING and not find_stars([post_id]):
        return None
    return post


def may_see_posts(viewer: int, author: int) -> bool:
    """Return whether a reader may see an author's visible posts. At most 3 queries."""
    if has_block_between(viewer, author):
        return False
    return not User.objects.filter(pk=author, is_private=True).exists() or bool(find_approved(viewer, [author]))
