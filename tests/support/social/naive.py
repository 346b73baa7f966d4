"""Compute the visible posts of each reader in plain Python from plain rows, without the site's queries and mirrors."""

from collections.abc import Iterable
from dataclasses import dataclass

from accounts.models import User
from social.models import Block, Follow, Hashtag, Like, Mention, Mute, Post


@dataclass(frozen=True)
class Facts:
    """All relevant rows of SQL. The methods return complete lists of post ids, newest first."""

    posts: list[Post]
    active: set[int]
    names: dict[int, str]
    follows: set[tuple[int, int]]
    blocked: set[tuple[int, int]]  # in both directions
    apart: set[tuple[int, int]]  # (viewer, author), because of a block or a mute
    tagged: set[tuple[str, int]]
    mentioned: set[tuple[int, int]]
    likes: set[tuple[int, int]]

    def likes_of(self, post: int, me: int) -> tuple[int, bool]:
        """Return the number of likes of a post, and whether the reader likes it."""
        return sum(liked == post for _, liked in self.likes), (me, post) in self.likes

    def replies_to(self, post: int) -> list[int]:
        """Return the ids of the visible replies to a post."""
        return self._ids(p for p in self.posts if p.parent_id == post)

    def home(self, me: int) -> list[int]:
        """Return the reader's own posts and those of followed authors."""
        return self._ids(p for p in self.posts if self._is_mine_to_read(me, p.user_id) and self._has_context(me, p))

    def _has_context(self, me: int, post: Post) -> bool:
        """Return whether a post is no reply, by the reader, or a reply to somebody whose posts are on the timeline."""
        other = post.parent_author_id
        if post.parent_id is None or me == post.user_id or other == post.user_id:
            return True
        return other is not None and self._is_mine_to_read(me, other) and (other == me or other in self.active)

    def everything(self, me: int | None) -> list[int]:
        """Return the posts of all authors that the reader may see, without replies and ratings."""
        posts = [p for p in self.posts if p.parent_id is None and p.kind != Post.Kind.RATING]
        return self._ids(p for p in posts if (me, p.user_id) not in self.apart)

    def profile(self, author: int, me: int | None) -> list[int]:
        """Return one author's posts, empty across a block; a mute does not hide a profile."""
        return self._ids(p for p in self.posts if p.user_id == author and (me, author) not in self.blocked)

    def about(self, book: int, me: int | None) -> list[int]:
        """Return the posts about one book by authors that the reader may see, without reviews and ratings."""
        posts = [p for p in self.posts if p.book_id == book and p.kind == Post.Kind.POST]
        return self._ids(p for p in posts if (me, p.user_id) not in self.apart)

    def with_tag(self, name: str, me: int | None) -> list[int]:
        """Return the posts with a hashtag by authors that the reader may see."""
        return self._ids(p for p in self.posts if (name, p.pk) in self.tagged and (me, p.user_id) not in self.apart)

    def speaking_to(self, me: int) -> list[int]:
        """Return the posts that mention the reader by authors that the reader may see."""
        return self._ids(p for p in self.posts if (me, p.pk) in self.mentioned and (me, p.user_id) not in self.apart)

    def _is_mine_to_read(self, me: int, author: int) -> bool:
        return author == me or ((me, author) in self.follows and (me, author) not in self.apart)

    def _ids(self, posts: Iterable[Post]) -> list[int]:
        return sorted((p.pk for p in posts if not p.is_hidden and p.user_id in self.active), reverse=True)


def facts() -> Facts:
    """Read the present rows."""
    blocks = set(Block.objects.values_list("blocker_id", "blocked_id"))
    blocked = blocks | {(b, a) for a, b in blocks}
    mutes = set(Mute.objects.values_list("user_id", "muted_id"))
    people = list(User.objects.all())
    return Facts(
        posts=list(Post.objects.all()),
        active={user.pk for user in people if user.is_active},
        names={user.pk: user.username for user in people},
        follows=set(Follow.objects.values_list("follower_id", "followee_id")),
        blocked=blocked,
        apart=mutes | blocked,
        tagged=set(Hashtag.objects.values_list("name", "post_id")),
        mentioned=set(Mention.objects.values_list("user_id", "post_id")),
        likes=set(Like.objects.filter(user__is_active=True).values_list("user_id", "post_id")),
    )
