"""The language of a user's emails: the one that the user saw or chose last."""

from typing import Any

from django.conf import settings
from django.contrib.auth.signals import user_logged_in
from django.dispatch import receiver
from django.http import HttpRequest
from django.utils.translation import get_language, override

from accounts.models import User
from common.web import language_chosen


def get_email_language(user: User) -> str:
    """Return the language of emails to a user: that of the site if the user has chosen none."""
    return user.language if user.language in dict(settings.LANGUAGES) else settings.LANGUAGE_CODE


def use_email_language(user: User) -> override:
    """Return a context in which to queue the emails that staff cause: in the language of the user, not in theirs."""
    return override(get_email_language(user))


@receiver(user_logged_in, dispatch_uid="accounts.language_of_login")
def remember_at_login(*, user: User, **kwargs: Any) -> None:
    """Store the language of the page where the user logged in or registered."""
    _remember(user, get_language() or "")


@receiver(language_chosen, dispatch_uid="accounts.language_of_choice")
def remember_choice(*, request: HttpRequest, language: str, **kwargs: Any) -> None:
    """Store the language that a logged-in user has chosen."""
    if request.user.is_authenticated:
        _remember(request.user, language)


def _remember(user: User, language: str) -> None:
    if user.language != language:
        user.language = language
        # No mirror has the column.
        User.objects.filter(pk=user.pk).update(language=language)
