"""Making a user. Whether a name is taken is not told: who may not have it hears the same, after the same work.

A name is looked at last, when all else is right: asking about one that is free makes a user of it.
"""

from typing import Final

from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import Q
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from accounts import emails
from accounts.lookalikes import skeleton
from accounts.models import User
from accounts.names import MAX_KEY, fold, is_misleading, is_reserved, valid_name

REFUSED: Final[str | Promise] = _("This name cannot be had. Choose another one.")


def register(username: str, password: str, *, email: str = "", user_type: str = User.Type.CLIENT) -> User:
    """Return a new user, saved. The address waits to be confirmed (``accounts.emails``); no letter is sent here.

    Raises ValidationError with the field's name: "password" and "email" say what is wrong with them, "username"
    never does (it is taken in any case, reserved, no name at all, or somebody took it at this very moment).
    """
    name = User.normalize_username(username)
    user = User(username=name, email=User.objects.normalize_email(email), user_type=user_type)
    user.clean_fields(exclude=["username", "password"])
    try:
        validate_password(password, user)
    except ValidationError as error:
        raise ValidationError({"password": error.messages}) from error
    user.set_password(password)  # before the name is looked at: it takes most of the time
    if not _may_be_had(name):
        raise ValidationError({"username": REFUSED})
    try:
        with transaction.atomic():
            wanted, user.email = user.email, ""
            user.save(force_insert=True)
            if wanted:
                emails.note_wish(user, wanted)
    except IntegrityError as error:
        raise ValidationError({"username": REFUSED}) from error
    return user


def _may_be_had(name: str) -> bool:
    """One query for whatever name, also where its answer does not matter."""
    right = _is_name(name)
    key, looks = (fold(name), skeleton(name)) if right else ("", " ")  # which no name has
    taken = User.objects.filter(Q(name_key=key) | Q(name_skeleton=looks)).exists()
    return right and not taken and not is_reserved(name)


def _is_name(name: str) -> bool:
    field = User._meta.get_field("username")
    try:
        valid_name(name)
    except ValidationError:
        return False
    return len(name) <= (field.max_length or 0) and len(fold(name)) <= MAX_KEY and not is_misleading(name)
