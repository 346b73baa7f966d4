"""Every key of social. Connections put the prefix before them."""

from mirror.naming import key


def post(post_id: int | str) -> str:
    """String (JSON): a post's author, time, text, book and whom it mentions. Life: while it may be seen.
    Owner: PostMirror.
    """
    return key(f"post:{post_id}")


def posts_of(user_id: int | str) -> str:
    """Sorted set: ids of all posts of a user, by id. Life: as the posts. Owner: PostMirror."""
    return key(f"uid:{{{user_id}}}:posts")


def following(user_id: int | str) -> str:
    """Set: ids of whom a user follows. Life: as the follows. Owner: FollowMirror."""
    return key(f"uid:{{{user_id}}}:following")


def followers(user_id: int | str) -> str:
    """Set: ids of who follows a user. Life: as the follows. Owner: FollowMirror."""
    return key(f"uid:{{{user_id}}}:followers")


def pulls(user_id: int | str) -> str:
    """Set: ids of those whom a user follows and whose posts are fetched when read. Life: as the follows.
    Owner: FollowMirror.
    """
    return key(f"uid:{{{user_id}}}:pulls")


def shuns(user_id: int | str) -> str:
    """Set: ids of whose posts a user does not see: muted, blocked, or blocking. Life: as these. Owner: ShunMirror."""
    return key(f"uid:{{{user_id}}}:shuns")


def timeline(user_id: int | str) -> str:
    """Sorted set: the newest 400 posts of whom a user follows and their own, by id, and the sentinel 0 (score 0: that
    is all there is; -1: there is more in SQL). Life: 6 to 7 days after it was last read. Owner: TimelineMirror.
    """
    return key(f"uid:{{{user_id}}}:timeline")


def mentions_of(user_id: int | str) -> str:
    """Sorted set: the newest 200 posts that mention a user, by id. Life: as the posts. Owner: MentionsMirror."""
    return key(f"uid:{{{user_id}}}:mentions")


def global_timeline() -> str:
    """Sorted set: the newest 1,000 posts, by id. Life: always. Owner: GlobalMirror."""
    return key("global:timeline")


def author_posts(author_id: int | str) -> str:
    """Sorted set: the newest 200 posts about books of an author, by id. Life: as the posts.
    Owner: AuthorPostsMirror.
    """
    return key(f"author:{{{author_id}}}:posts")


def book_posts(book_id: int | str) -> str:
    """Sorted set: the newest 200 posts about a book, by id. Life: as the posts. Owner: BookPostsMirror."""
    return key(f"book:{{{book_id}}}:posts")


def hashtag(name: str) -> str:
    """Sorted set: the newest 1,000 posts with a hashtag (folded), by id. Life: as the posts. Owner: HashtagMirror."""
    return key(f"{{hashtag}}:{name}")
