"""Authors with very many followers: their posts are pulled when a timeline is read, not pushed.

A new row of ``Pulled`` is ``turning``. Its change is spread over all follows of the author, which adds the author to
each follower's set of pulled authors; later follows find the row. Posts are still pushed. When all these changes are
applied, the row is ``on``, and new posts are no longer pushed. So the first post without a fan-out is written only when
every follower pulls. While a new follow is not in Redis, the follower sees none of the author's posts; afterwards, all
of them. When followers leave, the row stays (``eased``): timelines still pull older posts, new posts are pushed as
well, and pages show each post once.
"""

from collections.abc import Iterable
from typing import Final

from django.conf import settings
from django.db.models import QuerySet

from mirror.conf import setting
from mirror.outbox import progress
from mirror.redis import RedisPipeline
from social import keys
from social.mirrors.edges import select_follows
from social.models import Post, Pulled
from social.queries.tallies import count_by_id

# Only the authors of the newest posts are checked, because an author without new posts needs no pull.
MAX_RECENT_POSTS: Final = 1000


def is_pulled_now(user_id: int) -> bool:
    """Return whether followers pull a new post of this user. Takes 1 query."""
    return _pulled().filter(pk=user_id, state=Pulled.State.ON).exists()


def advance_states() -> int:
    """Advance the states of pulled authors. Return the number of authors with a new state."""
    return _start_turning() + _finish_turning() + _update_eased()


def _start_turning() -> int:
    """Add authors of recent posts with too many followers as turning. Return the number of new rows."""
    posts = Post.objects.using(setting("DATABASE")).order_by("-pk").values("pk", "user_id")[:MAX_RECENT_POSTS]
    authors = {post["user_id"] for post in posts}
    authors -= set(_pulled().filter(pk__in=authors).values_list("pk", flat=True))
    many = [author for author, count in _count_followers(authors).items() if count > _max_followers()]
    # Another process may have added the same authors.
    _pulled().bulk_create([Pulled(user_id=author) for author in many], ignore_conflicts=True)
    return len(many)


def _finish_turning() -> int:
    """Set turning authors to on if all their followers pull. Return the number of modified rows."""
    done = 0
    for row in _pulled().filter(state=Pulled.State.TURNING):
        if row.turned_at is None:
            if not progress.is_spread("follow", Pulled._meta.db_table, str(row.pk)):
                continue
            # The changes of the follows are not newer than this one.
            row.turned_at = progress.newest()
            row.save(update_fields=["turned_at"])
        if progress.are_applied("follow", row.turned_at):
            # From here on posts are no longer pushed. Not earlier: a follower whose set lacks the author would miss
            # them.
            done += _pulled().filter(pk=row.pk, state=Pulled.State.TURNING).update(state=Pulled.State.ON)
    return done


def _update_eased() -> int:
    """Set authors with less than half the limit of followers to eased, and eased authors above the limit to on.

    Return the number of modified rows.
    """
    states = dict(_pulled().exclude(state=Pulled.State.TURNING).values_list("pk", "state"))
    counts = _count_followers(states)
    # Half the limit, so that an author near the limit does not switch to and fro.
    few = [pk for pk, state in states.items() if state == Pulled.State.ON and counts[pk] < _max_followers() / 2]
    many = [pk for pk, state in states.items() if state == Pulled.State.EASED and counts[pk] > _max_followers()]
    eased = _pulled().filter(pk__in=few, state=Pulled.State.ON).update(state=Pulled.State.EASED)
    return eased + _pulled().filter(pk__in=many, state=Pulled.State.EASED).update(state=Pulled.State.ON)


def _count_followers(users: Iterable[int]) -> dict[int, int]:
    """Return the number of followers by user id. 1 round trip, or 1 query for all users."""
    ids = list(users)

    def add_commands(pipe: RedisPipeline) -> None:
        for pk in ids:
            pipe.scard(keys.followers(pk))

    return count_by_id(ids, "follow", add_commands, lambda: select_follows(followee_id__in=ids), "followee_id")


def _pulled() -> QuerySet[Pulled]:
    return Pulled.objects.using(setting("DATABASE"))


def _max_followers() -> int:
    return int(settings.SOCIAL_PULL_FOLLOWERS)
