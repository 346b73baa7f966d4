"""Log users in and count their logins."""

from contextlib import nullcontext
from datetime import datetime

from django.contrib import auth
from django.db import connection, transaction
from django.http import HttpRequest
from django.utils import timezone

from accounts.models import User
from accounts.second_factor import recent
from accounts.sessions.engine import SessionStore
from accounts.sessions.restoring import restore_session_on_error
from common.database import repeat_after_conflict
from mirror.relay import hint


@repeat_after_conflict
def log_in(request: HttpRequest, user: User, backend: str | None = None, *, with_factor: bool = False) -> None:
    """Log ``user`` in. The session and the login count are saved in one transaction; if it fails, no login happens.

    backend: the path of the authentication backend, if ``authenticate`` has not set it on the user. with_factor:
    whether the user gave a second factor.
    """
    session = request.session
    inserted_by_save = session.inserted_by_save() if isinstance(session, SessionStore) else nullcontext()
    # Outside of the transaction: after a rollback the request must not go on with a session that SQL does not have.
    with restore_session_on_error(request), inserted_by_save, transaction.atomic():
        auth.login(request, user, backend=backend)
        if with_factor:
            recent.record_proof(request.session, with_factor=True)
        # Saved here and not by the middleware, so that session and login count are committed together.
        request.session.save()


_RECORD_LOGIN_SQL = """
    INSERT INTO accounts_loginstats (user_id, login_times, last_login_time) VALUES (%s, 1, %s)
    ON CONFLICT (user_id) DO UPDATE SET
        login_times = accounts_loginstats.login_times + 1,
        last_login_time = CASE
            WHEN excluded.last_login_time > accounts_loginstats.last_login_time THEN excluded.last_login_time
            ELSE accounts_loginstats.last_login_time
        END
"""


def record_login(user: User, at: datetime | None = None) -> None:
    """Count one login of ``user`` at the given time (default: now). A time before the last login does not replace it.

    A single statement, so that concurrent logins of one user all count, also the first ones. It runs in a receiver of
    ``user_logged_in``, so that every way to log in counts.
    """
    moment = connection.ops.adapt_datetimefield_value(at or timezone.now())
    with connection.cursor() as cursor:
        cursor.execute(_RECORD_LOGIN_SQL, [user.pk, moment])
    hint("user", "", [str(user.pk)])
    hint("last_logins", "", [""])
