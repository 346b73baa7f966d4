"""The advice for a new password, in one sentence. Django's validators have a sentence each."""

from typing import Final

from django.contrib.auth.password_validation import MinimumLengthValidator, get_default_password_validators
from django.utils.functional import lazy
from django.utils.translation import gettext as _


def find_min_length() -> int:
    """Return the number of characters that a new password needs."""
    validators = get_default_password_validators()
    return max((each.min_length for each in validators if isinstance(each, MinimumLengthValidator)), default=0)


def describe_password() -> str:
    """Return the advice in the active language."""
    text = _("At least %(n)s characters. Not a common password, your name or only digits.")
    return text % {"n": find_min_length()}


ADVICE: Final = lazy(describe_password, str)()
