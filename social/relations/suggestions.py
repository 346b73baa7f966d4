"""Suggestions of readers to follow: those that the followed readers follow most often, then the latest authors.

The work is bounded: of too many follows, Redis reads a random sample and SQL the newest. Below these limits both
suggest the same readers.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from django.db import connections

import mirror
from common.ids import MAX_ID
from mirror.conf import database
from social import keys
from social.mirrors import windows
from social.mirrors.edges import FollowMirror
from social.relations.profiles import Person, find_people
from social.timelines.pages import read_records

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
    """Return readers that ``viewer`` may see and does not follow yet, best first.

    Warm mirrors answer in 3 round trips and no SQL.
    """
    with mirror.together() as reads:
        mine = reads(FollowMirror.members, keys.following(viewer), limit=MAX_FOLLOWEES)
        latest = reads(windows.GlobalMirror.latest, "", MAX_CANDIDATES, MAX_ID)
    with mirror.together() as reads:
        followees = reads(_read_followees, sorted(mine.value))
        posts = reads(read_records, latest.value, viewer)
    counts = Counter(followees.value)
    wanted = _rank_candidates(counts, [post["user"]["id"] for post in posts.value], viewer)
    # The viewer may follow more readers than ``mine`` has, so the candidates are looked up in the whole set.
    with mirror.together() as reads:
        followed = reads(FollowMirror.filter_members, keys.following(viewer), wanted)
        people = reads(find_people, viewer, wanted)
    fit = [Suggestion(person, counts[person.id]) for person in people.value if person.id not in followed.value]
    return fit[:MAX_SUGGESTIONS]


def _read_followees(ids: Sequence[int]) -> list[int]:
    """Return up to ``MAX_FOLLOWS_EACH`` followees of each of these readers."""
    if not ids:
        return []
    # Not by ``members`` of each: without Redis it would send a statement for each of these readers.
    return mirror.answer(
        mirror.Question(
            ["follow"],
            lambda pipe: [pipe.srandmember(keys.following(pk), MAX_FOLLOWS_EACH) for pk in ids],
            lambda replies: [int(pk) for reply in replies for pk in reply],
            lambda: _find_followees(ids),
        )
    )


def _rank_candidates(counts: Counter[int], authors: Iterable[int], viewer: int) -> list[int]:
    """Return candidates, each once: most often followed by the viewer's followed readers, then the latest authors."""
    often = sorted(counts, key=lambda pk: (-counts[pk], pk))[:MAX_CANDIDATES]
    return [pk for pk in dict.fromkeys([*often, *authors]) if pk != viewer]


def _find_followees(ids: Sequence[int]) -> list[int]:
    """Return the newest ``MAX_FOLLOWS_EACH`` followees of each of these readers, in one statement."""
    sql = " UNION ALL ".join(
        f"SELECT followee_id FROM ({_NEWEST_FOLLOWEES}) AS n{number}" for number in range(len(ids))
    )
    with connections[database()].cursor() as cursor:
        cursor.execute(sql, [given for pk in ids for given in (pk, MAX_FOLLOWS_EACH)])
        return [row[0] for row in cursor.fetchall()]
