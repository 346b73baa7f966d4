"""The privacy levels of a reader's shelves and lists that a visitor may see."""

from collections.abc import Collection

from catalog.shelves.models import Privacy
from mirror.conf import setting
from mirror.utils import SQL_AWAY
from social.models import Follow
from social.relations.profiles import Profile


def find_visible_levels(person: Profile, present: Collection[str] = (Privacy.FOLLOWERS,)) -> set[Privacy]:
    """Return the privacy levels that the person's visitor may see.

    present: the levels that occur. Where one is for followers, SQL confirms the follow (1 query), because Redis may lag
    behind after a fault.
    """
    if person.is_me:
        return set(Privacy)
    if person.is_locked:
        return set()
    levels = {Privacy.PUBLIC}
    if person.viewer and person.is_following and Privacy.FOLLOWERS in present:
        follows = Follow.objects.using(setting("DATABASE")).filter(follower_id=person.viewer, followee_id=person.id)
        try:
            if follows.exists():
                levels.add(Privacy.FOLLOWERS)
        except SQL_AWAY:
            pass
    return levels
