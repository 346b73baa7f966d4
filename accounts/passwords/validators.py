"""Validators for new passwords, in addition to Django's own. Existing passwords stay valid."""

from typing import Any, Final

from django.contrib.auth import password_validation
from django.core.exceptions import ValidationError

from accounts.models import User
from accounts.passwords.hashers import normalize_password
from common.text import fold

# Shorter names are part of ordinary words.
MIN_NAME_LENGTH: Final = 3
MIN_REMAINDER: Final = 6  # characters beside a name


class NamesValidator(password_validation.UserAttributeSimilarityValidator):
    """Refuse a password that is similar to the user's names, or that is little more than one of them.

    Django's validator compares whole words and the whole address, so it accepts a name with a full stop in it, and a
    name before a long domain.
    """

    def validate(self, password: str, user: Any = None) -> None:
        """Raise ValidationError if too little of the password is left without the name or the address's local part."""
        super().validate(password, user)
        if not isinstance(user, User):
            return
        typed, fields = _keep_letters_and_digits(password), User._meta
        names = {
            fields.get_field("username").verbose_name: user.username,
            fields.get_field("email").verbose_name: user.email.partition("@")[0],
        }
        for label, text in names.items():
            name = _keep_letters_and_digits(text)
            if len(name) >= MIN_NAME_LENGTH and name in typed and len(typed.replace(name, "")) < MIN_REMAINDER:
                message = self.get_error_message() % {"verbose_name": label}
                raise ValidationError(message, code="password_too_similar")


class MinimumLengthValidator(password_validation.MinimumLengthValidator):
    """Django's validator, for the normalised password: a letter with a separate accent counts as one character."""

    def validate(self, password: str, user: Any = None) -> None:
        super().validate(normalize_password(password), user)


class CommonPasswordValidator(password_validation.CommonPasswordValidator):
    """Django's validator, for the normalised password: a common one in full-width letters has the same hash."""

    def validate(self, password: str, user: Any = None) -> None:
        super().validate(normalize_password(password), user)


def _keep_letters_and_digits(text: str) -> str:
    """Return the letters and digits of a text, in one case and width."""
    return "".join(c for c in fold(text) if c.isalnum())
