"""Authors with very many followers: their posts are fetched by whoever reads them, and not delivered.

An author is ``turning`` from the moment that a row of ``Pulled`` says so: from then on followers are told to fetch (the
row's change is spread over all follows, and a follow that is made later finds the row), and posts are still delivered.
When all that tells them has been applied, the author is ``on``. So a post that is not delivered is written only when
everybody fetches: whose follow is not in Redis by then sees nothing of the author yet, and all when it is. The row
stays when followers leave (``eased``): older posts are still fetched, new ones are delivered as well, and pages show
each once.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from django.conf import settings
from django.db.models import QuerySet

from mirror import progress
from mirror.conf import setting
from mirror.read import read
from social import keys
from social.models import Follow, Post, Pulled

RECENT: Final = 1000  # newest posts, whose authors are looked at: who does not post does not matter


def is_pulled_now(user_id: int) -> bool:
    """Whether what a user posts now is fetched. 1 query."""
    return _pulled().filter(pk=user_id, state=Pulled.State.ON).exists()


def settle() -> int:
    """See whose posts are to be fetched from now on, and whose no longer. Returns for how many that changed."""
    return _begin() + _turn() + _ease()


def _begin() -> int:
    """Authors who have posted lately and have too many followers begin to turn."""
    posts = Post.objects.using(setting("DATABASE")).order_by("-pk").values("pk", "user_id")[:RECENT]
    authors = {post["user_id"] for post in posts}
    authors -= set(_pulled().filter(pk__in=authors).values_list("pk", flat=True))
    many = [author for author, count in _followers(authors).items() if count > _limit()]
    _pulled().bulk_create([Pulled(user_id=author) for author in many], ignore_conflicts=True)
    return len(many)


def _turn() -> int:
    """Those whose followers have all been told are turned."""
    done = 0
    for row in _pulled().filter(state=Pulled.State.TURNING):
        if row.turned_at is None:
            if not progress.is_spread("follow", Pulled._meta.db_table, str(row.pk)):
                continue
            row.turned_at = progress.newest()  # the follows' own changes are not after this one
            row.save(update_fields=["turned_at"])
        if progress.are_applied("follow", row.turned_at):
            done += _pulled().filter(pk=row.pk, state=Pulled.State.TURNING).update(state=Pulled.State.ON)
    return done


def _ease() -> int:
    """Those who have far fewer followers by now have their posts delivered again; and back."""
    states = dict(_pulled().exclude(state=Pulled.State.TURNING).values_list("pk", "state"))
    counts = _followers(states)
    few = [pk for pk, state in states.items() if state == Pulled.State.ON and counts[pk] < _limit() / 2]
    many = [pk for pk, state in states.items() if state == Pulled.State.EASED and counts[pk] > _limit()]
    eased = _pulled().filter(pk__in=few, state=Pulled.State.ON).update(state=Pulled.State.EASED)
    return eased + _pulled().filter(pk__in=many, state=Pulled.State.EASED).update(state=Pulled.State.ON)


def _followers(users: Iterable[int]) -> dict[int, int]:
    """How many follow each of these; without Redis SQL counts, no further than it matters."""
    asked = list(users)
    found = read(["follow"], lambda pipe: [pipe.scard(keys.followers(user)) for user in asked]) if asked else None
    counts: Sequence[int] = found.replies if found else [_count(user) for user in asked]
    return dict(zip(asked, counts, strict=True))


def _count(user: int) -> int:
    follows = Follow.objects.using(setting("DATABASE")).filter(followee_id=user)
    return len(follows.order_by("follower_id").values_list("follower_id")[: _limit() + 1])


def _pulled() -> QuerySet[Pulled]:
    return Pulled.objects.using(setting("DATABASE"))


def _limit() -> int:
    return int(settings.SOCIAL_PULL_FOLLOWERS)
