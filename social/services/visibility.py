"""Checks of services, in SQL, before they write."""

from accounts.models import User
from social.relations.approval import find_approved
from social.relations.blocks import has_block_between


def may_see_posts(viewer: int, author: int) -> bool:
    """Return whether a reader may see an author's visible posts. At most 3 queries."""
    if has_block_between(viewer, author):
        return False
    return not User.objects.filter(pk=author, is_private=True).exists() or bool(find_approved(viewer, [author]))
