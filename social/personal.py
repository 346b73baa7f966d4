"""The personal data that this application keeps."""

from django.db import transaction

from accounts.personal import Part, make_part, register
from common.database import SLICE_SIZE, repeat_after_conflict
from social.models import (
    Block,
    FavouriteBook,
    Follow,
    FollowRequest,
    Like,
    Mention,
    Mute,
    Post,
    PostVersion,
    Pulled,
    ReaderProfile,
    SimilarReaders,
)
from social.profiles.services import erase_picture, read_picture


def register_parts() -> None:
    """Register posts and the relations of a reader in both directions."""
    other = "It is another person's decision, and not shown to the person it is about."
    columns = [
        "id",
        "kind",
        "text",
        "note",
        "book_id",
        "book__title",
        "parent_id",
        "created_at",
        "edited_at",
        "is_hidden",
    ]
    # Before the posts, with which they are deleted.
    register(make_part("former_versions", PostVersion, "post__user", ["post_id", "text", "note", "written_at"]))
    register(make_part("posts", Post, "user", columns))
    register(
        make_part("replies", Post, "parent_author", erase=_forget_replied, reason="They are other people's posts.")
    )
    register(make_part("mentions", Mention, "user", ["post_id", "name", "post__created_at"]))
    register(make_part("likes", Like, "user", ["post_id", "post__user__username", "created_at"]))
    register(make_part("following", Follow, "follower", ["followee__username", "created_at"]))
    register(make_part("followers", Follow, "followee", ["follower__username", "created_at"]))
    register(make_part("follow_requests", FollowRequest, "follower", ["followee__username", "created_at"]))
    register(make_part("requested_by", FollowRequest, "followee", ["follower__username", "created_at"]))
    register(make_part("profile", ReaderProfile, "user", ["bio", "links"]))
    register(make_part("favourite_books", FavouriteBook, "user", ["book_id", "book__title"]))
    register(make_part("similar_readers", SimilarReaders, "user", reason="It names other readers, and is computed."))
    register(Part("picture", read_picture, erase_picture))
    register(make_part("blocks", Block, "blocker", ["blocked__username", "created_at"]))
    register(make_part("blocked_by", Block, "blocked", reason=other))
    register(make_part("mutes", Mute, "user", ["muted__username", "created_at"]))
    register(make_part("muted_by", Mute, "muted", reason=other))
    register(make_part("pulled", Pulled, "user", reason="It says how posts are delivered, not what the person did."))


@repeat_after_conflict
def _forget_replied(user_id: int) -> bool:
    """Leave the replies to a user's posts without the user, a slice at a time. Return whether more may be left."""
    with transaction.atomic():
        ids = list(Post.objects.filter(parent_author=user_id).values_list("pk", flat=True)[:SLICE_SIZE])
        Post.objects.filter(pk__in=ids).update(parent_author=None)
    return len(ids) == SLICE_SIZE
