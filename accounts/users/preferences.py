"""The preferences of a user."""

from typing import NamedTuple

from django.db import transaction

from accounts.models import User
from common.database import repeat_after_conflict


class Preferences(NamedTuple):
    """What a user chose. time_zone: "" for that of the site. shows_logins: whether everyone sees the user's logins."""

    time_zone: str
    shows_logins: bool


def read_preferences(user_id: int) -> Preferences:
    """Return the preferences of a user. 1 query."""
    return Preferences(*User.objects.values_list(*Preferences._fields).get(pk=user_id))


@repeat_after_conflict
def save_preferences(user_id: int, chosen: Preferences) -> None:
    """Store the preferences of a user."""
    with transaction.atomic():
        user = User.objects.select_for_update().get(pk=user_id)
        for name, value in chosen._asdict().items():
            setattr(user, name, value)
        # Not ``update``: the signals of ``save`` bring it to Redis at once.
        user.save(update_fields=list(Preferences._fields))
