"""The personal data that this application keeps."""

from accounts.personal import make_part, register
from social.models import Block, Follow, Like, Mention, Mute, Post, Pulled


def register_parts() -> None:
    """Register posts and the relations of a reader in both directions."""
    other = "It is another person's decision, and not shown to the person it is about."
    columns = ["id", "text", "book_id", "book__title", "created_at", "is_hidden"]
    register(make_part("posts", Post, "user", columns))
    register(make_part("mentions", Mention, "user", ["post_id", "name", "post__created_at"]))
    register(make_part("likes", Like, "user", ["post_id", "post__user__username", "created_at"]))
    register(make_part("following", Follow, "follower", ["followee__username", "created_at"]))
    register(make_part("followers", Follow, "followee", ["follower__username", "created_at"]))
    register(make_part("blocks", Block, "blocker", ["blocked__username", "created_at"]))
    register(make_part("blocked_by", Block, "blocked", reason=other))
    register(make_part("mutes", Mute, "user", ["muted__username", "created_at"]))
    register(make_part("muted_by", Mute, "muted", reason=other))
    register(make_part("pulled", Pulled, "user", reason="It says how posts are delivered, not what the person did."))
