"""Change the name of a user.

The former name stays reserved for its owner for a year. Until then its pages redirect, so links in old posts work, and
no one can pose as the user under it.
"""

from datetime import datetime, timedelta
from typing import Final

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils.translation import gettext_lazy as _

from accounts.audit.log import Kind, record_event
from accounts.models import FormerName, User
from accounts.names import valid_new_name
from accounts.users.registration import NAME_REFUSED, is_available
from common import clock
from common.database import repeat_after_conflict
from common.text import fold

RESERVED_FOR: Final = timedelta(days=365)
BETWEEN_CHANGES: Final = timedelta(days=30)


def find_next_change(user_id: int) -> datetime | None:
    """Return the time from which the user may change the name again; None: now. 1 query."""
    last = FormerName.objects.filter(user=user_id).order_by("-changed_at").values_list("changed_at", flat=True).first()
    return last + BETWEEN_CHANGES if last is not None and last + BETWEEN_CHANGES > clock.now() else None


@repeat_after_conflict
def change_name(user_id: int, name: str) -> None:
    """Change the name of a user. Sessions stay, because they do not depend on it.

    Raises ValidationError, with the same message and work for every name that is not available.
    """
    name = User.normalize_username(name)
    User._meta.get_field("username").run_validators(name)
    valid_new_name(name)
    try:
        with transaction.atomic():
            user = User.objects.select_for_update().get(pk=user_id)
            # Under the lock of the row, so that of two requests one succeeds.
            if find_next_change(user_id) is not None:
                raise ValidationError(_("You changed your name less than 30 days ago."), code="too_soon")
            if name == user.username:
                raise ValidationError(_("This is already your name."), code="same")
            if not is_available(name, user_id):
                raise ValidationError(str(NAME_REFUSED), code="taken")
            former, user.username = user.username, name
            user.save(update_fields=["username", "name_key", "name_skeleton"])
            keep_former_name(user, former)
            record_event(Kind.NAME, user, actor=user)
    # A concurrent registration took the name after the check.
    except IntegrityError as error:
        raise ValidationError(str(NAME_REFUSED), code="taken") from error


def keep_former_name(user: User, former: str) -> None:
    """Reserve the former name of a user who has just got another one."""
    now = clock.now()
    # The user may have had either name before.
    FormerName.objects.filter(user=user, name_key__in=[fold(former), user.name_key]).delete()
    FormerName.objects.create(user=user, name=former, changed_at=now, reserved_until=now + RESERVED_FOR)


def delete_expired_names() -> None:
    """Delete the former names that are no longer reserved."""
    FormerName.objects.filter(reserved_until__lte=clock.now()).delete()
