"""Register users without revealing which names exist: every refused name gets the same error after the same work.

The name is checked last, after all other fields are valid, so that a probe of a free name registers it.
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
from accounts.models import User
from accounts.names import MAX_NAME_KEY, is_misleading, is_reserved, valid_name
from common.database import repeat_after_conflict
from common.text import fold

NAME_REFUSED: Final[str | Promise] = _("That name is already taken.")


@repeat_after_conflict
def register_user(username: str, password: str, *, email: str = "", user_type: str = User.Type.CLIENT) -> User:
    """Create and return a user. The address waits for verification (``accounts.mail.addresses``); this sends no email.

    Raises ValidationError by field. "password" and "email" have specific errors; "username" has one error for names
    that are taken in any case, reserved, invalid, or taken by a concurrent request.
    """
    name = User.normalize_username(username)
    user = User(username=name, email=User.objects.normalize_email(email), user_type=user_type)
    user.clean_fields(exclude=["username", "password"])
    try:
        validate_password(password, user)
    except ValidationError as error:
        raise ValidationError({"password": error.messages}) from error
    user.set_password(password)  # before the check of the name, because hashing takes most of the time
    if not _is_available(name):
        raise ValidationError({"username": NAME_REFUSED})
    try:
        with transaction.atomic():
            wanted, user.email = user.email, ""
            user.save(force_insert=True)
            if wanted:
                addresses.store_request(user, wanted)
    except IntegrityError as error:
        raise ValidationError({"username": NAME_REFUSED}) from error
    return user


def _is_available(name: str) -> bool:
    """Return whether a name is available. Every name costs one query, so that response times do not differ."""
    right = _is_valid_name(name)
    key, looks = (fold(name), skeleton(name)) if right else ("", " ")  # values that no name has
    taken = User.objects.filter(Q(name_key=key) | Q(name_skeleton=looks)).exists()
    return right and not taken and not is_reserved(name)


def _is_valid_name(name: str) -> bool:
    field = User._meta.get_field("username")
    try:
        valid_name(name)
    except ValidationError:
        return False
    return len(name) <= (field.max_length or 0) and len(fold(name)) <= MAX_NAME_KEY and not is_misleading(name)
