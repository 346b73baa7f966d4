"""Register users without revealing which names exist: all unavailable names get the same error after the same work.

Availability is checked last, after all other fields are valid, so that a probe of a free name registers it. A wrong
format has nothing to do with other users, and has an error of its own.
"""

from typing import Final

from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import Q
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from accounts.lookalikes import skeleton
from accounts.mail import addresses
from accounts.models import FormerName, User
from accounts.names import valid_new_name
from accounts.users.reserved import is_reserved
from common import clock
from common.database import repeat_after_conflict
from common.text import fold

NAME_REFUSED: Final[str | Promise] = _("That name is already taken.")


@repeat_after_conflict
def register_user(username: str, password: str, *, email: str = "", user_type: str = User.Type.CLIENT) -> User:
    """Create and return a user. The address waits for verification (``accounts.mail.addresses``); this sends no email.

    Raises ValidationError by field, with a specific error except for names that are taken in any spelling, reserved, or
    taken by a concurrent request: these have one error.
    """
    name = User.normalize_username(username)
    try:
        User._meta.get_field("username").run_validators(name)
        valid_new_name(name)
    except ValidationError as error:
        raise ValidationError({"username": error.messages}) from error
    user = User(username=name, email=User.objects.normalize_email(email), user_type=user_type)
    user.clean_fields(exclude=["username", "password"])
    try:
        validate_password(password, user)
    except ValidationError as error:
        raise ValidationError({"password": error.messages}) from error
    # Before the check of the name, because hashing takes most of the time: a refusal takes as long as a success.
    user.set_password(password)
    if not is_available(name):
        raise ValidationError({"username": NAME_REFUSED})
    try:
        with transaction.atomic():
            wanted, user.email = user.email, ""
            user.save(force_insert=True)
            if wanted:
                addresses.store_request(user, wanted)
    # A concurrent registration took the name after the check.
    except IntegrityError as error:
        raise ValidationError({"username": NAME_REFUSED}) from error
    return user


def is_available(name: str, owner: int = 0) -> bool:
    """Return whether a valid name is available. Every name costs one query, so that response times do not differ.

    owner: the user who asks, if it exists. The user's own names are available, also the former ones.
    """
    same = Q(name_key=fold(name)) | Q(name_skeleton=skeleton(name))
    present = User.objects.filter(same).exclude(pk=owner).values("pk")
    # One statement for both, because a name that is changed at this moment is in one of them.
    former = FormerName.objects.filter(same, reserved_until__gt=clock.now()).exclude(user=owner).values("pk")
    return not present.union(former).exists() and not is_reserved(name)
