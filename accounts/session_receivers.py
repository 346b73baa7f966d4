"""What happens to sessions when their users change, whoever changes them."""

from typing import Any

from django.contrib.auth import SESSION_KEY
from django.contrib.auth.signals import user_logged_in
from django.db.models.signals import post_save
from django.dispatch import receiver
from django.http import HttpRequest

from accounts.models import User
from accounts.second_factor import recent
from accounts.session_rows import rights_of
from accounts.session_services import end_other_sessions
from accounts.sessions import RIGHTS, SessionStore, current


@receiver(user_logged_in, dispatch_uid="accounts.remember_rights")
def remember_rights(*, request: HttpRequest, user: User, **kwargs: Any) -> None:
    """A login has a token of its own, also when it is a second one of the same person; and remembers their rights
    and the time."""
    session = request.session
    if isinstance(session, SessionStore) and not session.is_new:
        session.cycle_key()
    session[RIGHTS] = rights_of([user])[user.pk]
    recent.note_proof(session)


@receiver(post_save, sender=User, dispatch_uid="accounts.end_sessions_of_old_password")
def end_sessions_of_old_password(*, instance: User, created: bool, **kwargs: Any) -> None:
    """A new password has ended all sessions that do not agree with it; this takes their rows away.

    The present one stays, for its request makes it agree (Django's ``update_session_auth_hash``).
    """
    if created or getattr(instance, "_password", None) is None:  # None: not changed, or only hashed anew
        return
    request = current.get()
    session = request.session if request else None
    own = session is not None and session.get(SESSION_KEY) == str(instance.pk)
    end_other_sessions(instance, keep=getattr(session, "digest", None) if own else None)
