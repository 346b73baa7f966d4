"""Signal receivers that update sessions when their users log in or change."""

from typing import Any

from django.contrib.auth import SESSION_KEY
from django.contrib.auth.signals import user_logged_in
from django.db.models.signals import post_save
from django.dispatch import receiver
from django.http import HttpRequest

from accounts.models import User
from accounts.second_factor import recent
from accounts.sessions.engine import RIGHTS_KEY, SessionStore, current_request
from accounts.sessions.rows import read_rights
from accounts.sessions.services import end_other_sessions
from common.web import forget_forms_of_others


@receiver(user_logged_in, dispatch_uid="accounts.remember_rights")
def remember_rights(*, request: HttpRequest, user: User, **kwargs: Any) -> None:
    """Give every login a new token, also a repeated one, and store the user's rights and the time in the session."""
    session = request.session
    if isinstance(session, SessionStore) and not session.is_new:
        # Also for a repeated login: a token that was planted before it must not become a logged-in one.
        session.cycle_key()
    session[RIGHTS_KEY] = read_rights([user])[user.pk]
    recent.record_proof(session)
    forget_forms_of_others(request, user.pk)
    request.logged_in_id = user.pk  # type: ignore[attr-defined]


@receiver(post_save, sender=User, dispatch_uid="accounts.end_sessions_of_old_password")
def end_sessions_of_old_password(*, instance: User, created: bool, **kwargs: Any) -> None:
    """Delete the rows of sessions that became invalid by a new password.

    The current session stays, because its request updates it (Django's ``update_session_auth_hash``).
    """
    # None: the password is unchanged, or was only rehashed.
    if created or getattr(instance, "_password", None) is None:
        return
    request = current_request.get()
    session = request.session if request else None
    own = session is not None and session.get(SESSION_KEY) == str(instance.pk)
    end_other_sessions(instance, keep=getattr(session, "digest", None) if own else None)
