"""Suggestions of readers to follow: those that the followed readers follow most often, then the most active readers.

The work is bounded: of too many follows, Redis reads a random sample and SQL the newest. Below these limits both
suggest the same readers.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from django.db import connections

from accounts import keys as accounts_keys
from accounts.leaderboard import find_top_ids
from mirror.conf import setting
from mirror.read import read
from mirror.redis import RedisPipeline
from social import keys
from social.models import Follow
from social.relations.profiles import Person, find_people_in_sql, parse_people, queue_people

MAX_FOLLOWEES: Final = 60  # followed readers that are read
MAX_FOLLOWS_EACH: Final = 60  # follows that are read of each of them
MAX_CANDIDATES: Final = 60  # candidates of each kind that are checked
MAX_SUGGESTIONS: Final = 10
_NEWEST_FOLLOWEES: Final = """
    SELECT f.followee_id FROM social_follow f JOIN accounts_user u ON u.id = f.followee_id
     WHERE f.follower_id = %s AND u.is_active ORDER BY f.id DESC LIMIT %s
"""


@dataclass(frozen=True)
class Suggestion:
    """A suggested reader, and the number of the viewer's followed readers (of those read) that follow this reader."""

    person: Person
    count: int


def suggest_readers(viewer: int) -> list[Suggestion]:
    """Return active readers that ``viewer`` may see and does not follow yet, best first.

    Warm mirrors answer in 3 round trips and no SQL.
    """
    found = _suggest_from_redis(viewer)
    return _suggest_from_sql(viewer) if found is None else found


def _suggest_from_redis(viewer: int) -> list[Suggestion] | None:
    def ask(pipe: RedisPipeline) -> None:
        pipe.srandmember(keys.following(viewer), MAX_FOLLOWEES)
        pipe.zrevrange(accounts_keys.login_times(), 0, MAX_CANDIDATES - 1)

    reading = read(["follow", "user"], ask)
    if reading is None:
        return None
    mine, active = ([int(pk) for pk in reply] for reply in reading.replies)
    theirs = None
    if mine:
        theirs = read(["follow"], lambda pipe: [pipe.srandmember(keys.following(pk), MAX_FOLLOWS_EACH) for pk in mine])
        if theirs is None:
            return None
    counts = Counter(int(pk) for reply in (theirs.replies if theirs else ()) for pk in reply)
    wanted = _rank_candidates(counts, active, viewer)
    if not wanted:
        return []

    def ask_more(pipe: RedisPipeline) -> None:
        pipe.smismember(keys.following(viewer), wanted)
        queue_people(pipe, viewer, wanted)

    reading = read(["follow", "user", "shun"], ask_more)
    if reading is None:
        return None
    is_followed, *replies = reading.replies
    followed = {pk for pk, is_in in zip(wanted, is_followed, strict=True) if is_in}
    return _select_suggestions(parse_people(wanted, replies), counts, followed)


def _rank_candidates(counts: Counter[int], active: Iterable[int], viewer: int) -> list[int]:
    """Return candidates, each once: most often followed by the viewer's followed readers, then most active."""
    often = sorted(counts, key=lambda pk: (-counts[pk], pk))[:MAX_CANDIDATES]
    return [pk for pk in dict.fromkeys([*often, *active]) if pk != viewer]


def _select_suggestions(people: Sequence[Person], counts: Counter[int], followed: set[int]) -> list[Suggestion]:
    fit = [Suggestion(person, counts[person.id]) for person in people if person.id not in followed]
    return fit[:MAX_SUGGESTIONS]


def _suggest_from_sql(viewer: int) -> list[Suggestion]:
    follows = Follow.objects.using(setting("DATABASE")).filter(follower_id=viewer)
    active = follows.filter(followee__is_active=True)
    mine = list(active.order_by("-pk").values_list("followee_id", flat=True)[:MAX_FOLLOWEES])
    counts = Counter(_find_followees(mine))
    wanted = _rank_candidates(counts, find_top_ids(MAX_CANDIDATES), viewer)
    followed = set(follows.filter(followee_id__in=wanted).values_list("followee_id", flat=True))
    return _select_suggestions(find_people_in_sql(viewer, wanted), counts, followed)


def _find_followees(ids: Sequence[int]) -> list[int]:
    """Return the newest ``MAX_FOLLOWS_EACH`` followees of each of these readers."""
    if not ids:
        return []
    sql = " UNION ALL ".join(
        f"SELECT followee_id FROM ({_NEWEST_FOLLOWEES}) AS n{number}" for number in range(len(ids))
    )
    with connections[setting("DATABASE")].cursor() as cursor:
        cursor.execute(sql, [given for pk in ids for given in (pk, MAX_FOLLOWS_EACH)])
        return [row[0] for row in cursor.fetchall()]
