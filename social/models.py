"""Posts with their former versions, mentions, hashtags and likes, and follows, blocks and mutes."""

import uuid
from typing import Self

from django.conf import settings
from django.db import models
from django.db.models import F, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.models import User
from catalog.models import Book


def new_key() -> str:
    """Return a random key for a new post."""
    return uuid.uuid4().hex


def find_inactive(using: str) -> QuerySet[User, int]:
    """Return the ids of inactive users: SQL has an index of these few, and need not look up the user of each row."""
    return User._base_manager.using(using).filter(is_active=False).values_list("pk", flat=True)


class PostQuerySet(models.QuerySet["Post"]):
    """A query set of posts."""

    def public(self) -> Self:
        """Return the visible posts that everybody sees: not by private accounts."""
        return self.shown().filter(user__is_private=False)

    def shown(self) -> Self:
        """Return the visible posts: not hidden, by active authors."""
        return self.filter(is_hidden=False, user__is_active=True)

    def counted(self) -> Self:
        """Return the same posts as ``shown``, to count many of them."""
        return self.filter(is_hidden=False).exclude(user__in=find_inactive(self.db))


class Post(models.Model):
    """A reader's post, optionally about a book, or the post that shows a review or a rating."""

    class Kind(models.TextChoices):
        POST = "post", _("post")
        REVIEW = "review", _("review")
        RATING = "rating", _("rating")

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        verbose_name=_("author"),
        on_delete=models.CASCADE,
        related_name="posts",
        db_index=False,
    )
    # Of a review, the beginning without marks. Of a rating, nothing.
    text = models.TextField(_("text"), blank=True)
    kind = models.CharField(
        _("kind"), max_length=6, choices=Kind, default=Kind.POST, db_default=Kind.POST, editable=False
    )
    # If it has one, pages show the text only to those who open it.
    note = models.CharField(_("content note"), max_length=100, blank=True, default="", db_default="")
    book = models.ForeignKey(
        Book,
        verbose_name=_("book"),
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="posts",
        db_index=False,
    )
    created_at = models.DateTimeField(_("posted"), default=timezone.now)
    edited_at = models.DateTimeField(_("edited"), null=True, blank=True, editable=False)
    is_hidden = models.BooleanField(_("hidden"), default=False, db_default=False, help_text=_("Hidden by staff."))
    # True if the author had too many followers for a fan-out: their timelines pull the post when they are read.
    is_pulled = models.BooleanField(_("pulled"), default=False, db_default=False, editable=False)
    # True for the posts of imported reviews: they are shown at their books, and on no timeline and no profile, where
    # an import of hundreds would bury everything else.
    is_quiet = models.BooleanField(_("imported"), default=False, db_default=False, editable=False)
    # Of a reply. No foreign keys: a reply outlives the posts above it, and its page shows placeholders for them.
    parent_id = models.BigIntegerField(_("reply to"), null=True, blank=True, editable=False)
    ancestors = models.CharField(
        _("posts above"), max_length=400, blank=True, default="", db_default="", editable=False
    )  # ids of the nearest 20, the parent last, separated by blanks
    parent_author = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        verbose_name=_("reply to a post by"),
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        editable=False,
        related_name="+",
    )
    # The form contains this key, so that a repeated submission creates only one post.
    key = models.CharField(_("key"), max_length=64, default=new_key, editable=False)

    objects = PostQuerySet.as_manager()

    class Meta:
        verbose_name = _("post")
        verbose_name_plural = _("posts")
        constraints = [
            models.UniqueConstraint(fields=["user", "key"], name="social_post_once"),
            models.CheckConstraint(condition=~Q(text="") | Q(kind="rating"), name="social_post_says_something"),
        ]
        indexes = [
            models.Index(fields=["user", "-id"], name="social_post_of_user"),
            models.Index(fields=["book", "-id"], name="social_post_of_book"),
            models.Index(fields=["parent_id", "id"], name="social_post_replies", condition=Q(parent_id__isnull=False)),
        ]

    def __str__(self) -> str:
        # Without the text: the admin's log keeps this after the deletion of the post.
        return str(_("post %(number)s")) % {"number": self.pk}


class PostVersion(models.Model):
    """A former text of an edited post, with its content note at that time."""

    post = models.ForeignKey(Post, verbose_name=_("post"), on_delete=models.CASCADE, related_name="versions")
    text = models.TextField(_("text"))
    note = models.CharField(_("content note"), max_length=100, blank=True, default="", db_default="")
    written_at = models.DateTimeField(_("written"))

    class Meta:
        verbose_name = _("former version")
        verbose_name_plural = _("former versions")

    def __str__(self) -> str:
        return self.text[:60]


class Mention(models.Model):
    """A post mentions a reader by name."""

    post = models.ForeignKey(Post, verbose_name=_("post"), on_delete=models.CASCADE, related_name="mentions")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        verbose_name=_("reader"),
        on_delete=models.CASCADE,
        related_name="mentions",
        db_index=False,
    )
    name = models.CharField(_("as written"), max_length=60)

    class Meta:
        verbose_name = _("mention")
        verbose_name_plural = _("mentions")
        constraints = [models.UniqueConstraint(fields=["user", "post"], name="social_mention_once")]

    def __str__(self) -> str:
        return f"@{self.name}"


class Hashtag(models.Model):
    """A post has a hashtag. The name is folded like a reader's name and lacks the #."""

    post = models.ForeignKey(Post, verbose_name=_("post"), on_delete=models.CASCADE, related_name="hashtags")
    name = models.CharField(_("name"), max_length=100)

    class Meta:
        verbose_name = _("hashtag")
        verbose_name_plural = _("hashtags")
        constraints = [models.UniqueConstraint(fields=["name", "post"], name="social_hashtag_once")]

    def __str__(self) -> str:
        return f"#{self.name}"


class LikeQuerySet(models.QuerySet["Like"]):
    """A query set of likes."""

    def counted(self) -> Self:
        """Return the likes that count: by active users."""
        return self.exclude(user__in=find_inactive(self.db))


class Like(models.Model):
    """A reader likes a post."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, verbose_name=_("reader"), on_delete=models.CASCADE, related_name="+", db_index=False
    )
    post = models.ForeignKey(
        Post, verbose_name=_("post"), on_delete=models.CASCADE, related_name="likes", db_index=False
    )
    created_at = models.DateTimeField(_("since"), default=timezone.now)

    objects = LikeQuerySet.as_manager()

    class Meta:
        verbose_name = _("like")
        verbose_name_plural = _("likes")
        constraints = [models.UniqueConstraint(fields=["user", "post"], name="social_like_once")]
        indexes = [models.Index(fields=["post", "user"], name="social_likers")]

    def __str__(self) -> str:
        return f"{self.user_id} ♥ {self.post_id}"


class Follow(models.Model):
    """A reader follows another reader's posts."""

    follower = models.ForeignKey(
        settings.AUTH_USER_MODEL, verbose_name=_("follower"), on_delete=models.CASCADE, related_name="+", db_index=False
    )
    followee = models.ForeignKey(
        settings.AUTH_USER_MODEL, verbose_name=_("followed"), on_delete=models.CASCADE, related_name="+", db_index=False
    )
    created_at = models.DateTimeField(_("since"), default=timezone.now)

    class Meta:
        verbose_name = _("follow")
        verbose_name_plural = _("follows")
        constraints = [
            models.UniqueConstraint(fields=["follower", "followee"], name="social_follow_once"),
            models.CheckConstraint(condition=~Q(follower=F("followee")), name="social_follow_others"),
        ]
        indexes = [
            models.Index(fields=["followee", "follower"], name="social_followers"),  # for the fan-out
            models.Index(fields=["followee", "-id"], name="social_followers_newest"),
            models.Index(fields=["follower", "-id"], name="social_following_newest"),
        ]

    def __str__(self) -> str:
        return f"{self.follower_id} → {self.followee_id}"


class FollowRequest(models.Model):
    """A reader wants to follow a private account, whose owner decides. A follow replaces the request."""

    follower = models.ForeignKey(
        settings.AUTH_USER_MODEL, verbose_name=_("follower"), on_delete=models.CASCADE, related_name="+", db_index=False
    )
    followee = models.ForeignKey(
        settings.AUTH_USER_MODEL, verbose_name=_("followed"), on_delete=models.CASCADE, related_name="+", db_index=False
    )
    created_at = models.DateTimeField(_("since"), default=timezone.now)

    class Meta:
        verbose_name = _("follow request")
        verbose_name_plural = _("follow requests")
        constraints = [
            models.UniqueConstraint(fields=["follower", "followee"], name="social_request_once"),
            models.CheckConstraint(condition=~Q(follower=F("followee")), name="social_request_others"),
        ]
        indexes = [models.Index(fields=["followee", "-id"], name="social_requests_newest")]

    def __str__(self) -> str:
        return f"{self.follower_id} → {self.followee_id}?"


class ReaderProfile(models.Model):
    """What a reader tells about themselves. The picture is a column of the user, because posts show it."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL,
        verbose_name=_("reader"),
        on_delete=models.CASCADE,
        primary_key=True,
        related_name="+",
    )
    bio = models.TextField(_("about the reader"), blank=True, default="")
    links = models.JSONField(_("links"), blank=True, default=list)

    class Meta:
        verbose_name = _("profile")
        verbose_name_plural = _("profiles")

    def __str__(self) -> str:
        return str(self.user_id)


class FavouriteBook(models.Model):
    """One of the four favourite books of a reader."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, verbose_name=_("reader"), on_delete=models.CASCADE, related_name="+", db_index=False
    )
    book = models.ForeignKey(Book, verbose_name=_("book"), on_delete=models.CASCADE, related_name="+")
    place = models.PositiveIntegerField(_("position"))

    class Meta:
        verbose_name = _("favourite book")
        verbose_name_plural = _("favourite books")
        constraints = [models.UniqueConstraint(fields=["user", "book"], name="social_favourite_once")]

    def __str__(self) -> str:
        return f"{self.user_id}: {self.book_id}"


class SimilarReaders(models.Model):
    """The readers with the most books in common with a reader, best first: pairs of user id and number of books."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL,
        verbose_name=_("reader"),
        on_delete=models.CASCADE,
        primary_key=True,
        related_name="+",
    )
    readers = models.JSONField(_("readers"), default=list)

    class Meta:
        verbose_name = _("readers with similar taste")
        verbose_name_plural = _("readers with similar taste")

    def __str__(self) -> str:
        return str(self.user_id)


class Block(models.Model):
    """A reader has blocked another; neither sees the other."""

    blocker = models.ForeignKey(
        settings.AUTH_USER_MODEL, verbose_name=_("blocker"), on_delete=models.CASCADE, related_name="+", db_index=False
    )
    blocked = models.ForeignKey(
        settings.AUTH_USER_MODEL, verbose_name=_("blocked"), on_delete=models.CASCADE, related_name="+", db_index=False
    )
    created_at = models.DateTimeField(_("since"), default=timezone.now)

    class Meta:
        verbose_name = _("block")
        verbose_name_plural = _("blocks")
        constraints = [
            models.UniqueConstraint(fields=["blocker", "blocked"], name="social_block_once"),
            models.CheckConstraint(condition=~Q(blocker=F("blocked")), name="social_block_others"),
        ]
        indexes = [models.Index(fields=["blocked", "blocker"], name="social_blocked_by")]

    def __str__(self) -> str:
        return f"{self.blocker_id} ⊘ {self.blocked_id}"


class Mute(models.Model):
    """A reader has muted another: their posts are hidden, and they are not notified."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, verbose_name=_("reader"), on_delete=models.CASCADE, related_name="+", db_index=False
    )
    muted = models.ForeignKey(
        settings.AUTH_USER_MODEL, verbose_name=_("muted"), on_delete=models.CASCADE, related_name="+"
    )
    created_at = models.DateTimeField(_("since"), default=timezone.now)

    class Meta:
        verbose_name = _("mute")
        verbose_name_plural = _("mutes")
        constraints = [
            models.UniqueConstraint(fields=["user", "muted"], name="social_mute_once"),
            models.CheckConstraint(condition=~Q(user=F("muted")), name="social_mute_others"),
        ]

    def __str__(self) -> str:
        return f"{self.user_id} ⊝ {self.muted_id}"


class Pulled(models.Model):
    """An author with too many followers for a fan-out: followers pull the author's posts.

    While the state is ``turning``, the author is added to every follower's set of pulled authors, and posts are still
    pushed. When all sets have the author (``on``), new posts are no longer pushed. After the number of followers has
    fallen (``eased``), new posts are pushed again, but followers still pull the older ones.
    """

    class State(models.TextChoices):
        TURNING = "turning", _("switching to pull")
        ON = "on", _("pulled")
        EASED = "eased", _("pushed again")

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL,
        verbose_name=_("author"),
        on_delete=models.CASCADE,
        primary_key=True,
        related_name="pulled",
    )
    state = models.CharField(_("state"), max_length=10, choices=State.choices, default=State.TURNING)
    # While turning: the last change that must be applied before all followers pull.
    turned_at = models.BigIntegerField(_("last change"), null=True, editable=False)

    class Meta:
        verbose_name = _("pulled author")
        verbose_name_plural = _("pulled authors")

    def __str__(self) -> str:
        return f"{self.user_id}: {self.state}"
