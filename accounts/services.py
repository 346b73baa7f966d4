"""What changes users."""

from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from accounts.models import User


def register(username: str, password: str, *, user_type: str = User.Type.CLIENT) -> User:
    """A new user, saved.

    Raises ValidationError, with the field's name, when the name is not a name or is taken in any case
    (also when somebody else takes it at this very moment), or when the password is weak.
    """
    user = User(username=User.normalize_username(username), user_type=user_type)
    try:
        validate_password(password, user)
    except ValidationError as error:
        raise ValidationError({"password": error.messages}) from error
    user.set_password(password)
    user.clean_fields()
    try:
        with transaction.atomic():
            user.save(force_insert=True)
    except IntegrityError as error:
        raise ValidationError({"username": _("This name is taken.")}) from error
    return user
