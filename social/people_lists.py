"""Lists of people, newest first, from SQL by keyset: who follows, who is followed, who was muted and who blocked.

A page goes by the last row that was *looked at*: who is not to be seen (not active, muted, blocked or blocking) is
passed over, and where there are very many of them a page may hold less, or nobody, and still go on.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, NamedTuple

from django.db.models import Case, Exists, OuterRef, Q, QuerySet, When

from accounts.names import page_of
from mirror.conf import setting
from social.feeds import LARGEST_ID
from social.models import Block, Follow, Mute

PAGE: Final = 50  # people
MORE: Final = (200, 200)  # rows that are looked at for want of people to show; then the page ends where it stands


class Line(NamedTuple):
    """Somebody on a list. row: the id of the follow, the mute or the block; since: when it began."""

    row: int
    since: datetime
    id: int
    name: str
    is_following: bool  # the viewer follows them
    follows_me: bool

    @property
    def url(self) -> str:
        """The address of their page."""
        return page_of(self.name)


@dataclass(frozen=True)
class PeoplePage:
    """people: newest first. after: where the next page goes on; None: there is none."""

    people: list[Line]
    after: int | None


def followers_of(owner: int, viewer: int | None, after: int | None = None, size: int = PAGE) -> PeoplePage:
    """Who follows somebody."""
    return _follows(owner, viewer, "followee", "follower").page(after, size)


def following_of(owner: int, viewer: int | None, after: int | None = None, size: int = PAGE) -> PeoplePage:
    """Whom somebody follows."""
    return _follows(owner, viewer, "follower", "followee").page(after, size)


def muted_by(owner: int, after: int | None = None, size: int = PAGE) -> PeoplePage:
    """Whom somebody muted, for themselves."""
    return _List(Mute.objects.filter(user_id=owner), "muted", owner, ("is_blocked",)).page(after, size)


def blocked_by(owner: int, after: int | None = None, size: int = PAGE) -> PeoplePage:
    """Whom somebody blocked, for themselves: also those who have blocked them."""
    return _List(Block.objects.filter(blocker_id=owner), "blocked", owner, ()).page(after, size)


def _follows(owner: int, viewer: int | None, whose: str, who: str) -> "_List":
    """On one's own lists are those whom one has muted: there is no other place to find and unfollow them."""
    hides = ("is_blocked",) if owner == viewer else ("is_blocked", "is_muted")
    return _List(Follow.objects.filter(**{f"{whose}_id": owner}), who, viewer, hides)


@dataclass(frozen=True)
class _List:
    """rows: of which the column ``who`` has the people. hides: what between them and the viewer keeps them off it."""

    rows: QuerySet[Any]
    who: str
    viewer: int | None
    hides: Sequence[str]

    def page(self, after: int | None, size: int) -> PeoplePage:
        """The people below the row ``after``; None: the newest."""
        below, people = after or LARGEST_ID, list[Line]()
        for limit in (size + 1, *MORE):
            found = list(self._listed().filter(pk__lt=below)[:limit])
            people += [Line(*line) for *line, is_shown in found if is_shown]
            below = found[-1][0] if len(found) == limit else 0
            if len(people) > size or not below:
                break
        goes_on = people[size - 1].row if len(people) > size else below or None
        return PeoplePage(people[:size], goes_on)

    def _listed(self) -> QuerySet[Any]:
        me, them, database = self.viewer or 0, OuterRef(f"{self.who}_id"), setting("DATABASE")
        follows, blocks = Follow.objects.using(database), Block.objects.using(database)
        between = {
            "is_blocked": Exists(blocks.filter(blocker_id=me, blocked_id=them))
            | Exists(blocks.filter(blocker_id=them, blocked_id=me)),
            "is_muted": Exists(Mute.objects.using(database).filter(user_id=me, muted_id=them)),
        }
        shown = Q(**{f"{self.who}__is_active": True})
        for why in self.hides:
            shown &= ~Q(between[why])
        return (
            self.rows.using(database)
            .order_by("-pk")
            .annotate(
                forth=Exists(follows.filter(follower_id=me, followee_id=them)),
                back=Exists(follows.filter(follower_id=them, followee_id=me)),
                shown=Case(When(shown, then=True), default=False),
            )
            .values_list("pk", "created_at", f"{self.who}_id", f"{self.who}__username", "forth", "back", "shown")
        )
