"""Middleware that loads the session and the user of a request, from one record in one round trip.

Unsafe requests and requests of staff read the rows of the session and the user in SQL: Redis alone never authorizes a
write or a staff page.
"""

from functools import lru_cache, partial
from typing import Any, Final

from asgiref.sync import sync_to_async
from django.conf import settings
from django.contrib import auth
from django.contrib.auth.middleware import AuthenticationMiddleware as DjangoAuthenticationMiddleware
from django.contrib.auth.models import AnonymousUser
from django.contrib.sessions.backends.base import SessionBase, UpdateError
from django.contrib.sessions.middleware import SessionMiddleware as DjangoSessionMiddleware
from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.crypto import constant_time_compare
from django.utils.functional import SimpleLazyObject

from accounts.models import User
from accounts.second_factor.recent import lacks_factor
from accounts.sessions.companions import list_user_reads
from accounts.sessions.engine import RIGHTS_KEY, current_request
from accounts.users.time_zones import activate_zone
from common.text import fold
from common.web import remember_reader
from mirror import Record
from mirror.conf import setting
from mirror.read import send_along

SAFE_METHODS: Final = ("GET", "HEAD", "OPTIONS", "TRACE")
# Fields of ``request.user`` and their names in the session's record. Other fields are deferred and come from SQL.
RECORD_FIELDS = {
    "id": "id",
    "username": "name",
    "user_type": "type",
    "is_active": "is_active",
    "is_staff": "is_staff",
    "is_superuser": "is_superuser",
    "time_zone": "time_zone",
}
_fold_name = lru_cache(10_000)(fold)


class SessionMiddleware(DjangoSessionMiddleware):
    """Django's middleware, which also passes the user agent to the session, sets the current request, and remembers
    in the browser who has logged in.
    """

    def process_request(self, request: HttpRequest) -> None:
        super().process_request(request)
        request.session.user_agent = request.META.get("HTTP_USER_AGENT", "")  # type: ignore[attr-defined]
        current_request.set(request)

    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        current_request.set(None)
        timezone.deactivate()  # the next request of this thread may be another reader's
        if user_id := getattr(request, "logged_in_id", None):  # set at a login (``accounts.sessions.receivers``)
            remember_reader(request, response, user_id)
        return super().process_response(request, response)


class AuthenticationMiddleware(DjangoAuthenticationMiddleware):
    """Set ``request.user`` from the session's record, without SQL and without another round trip."""

    def process_request(self, request: HttpRequest) -> None:
        super().process_request(request)
        request.user = SimpleLazyObject(lambda: get_user(request))  # type: ignore[assignment]
        request.auser = partial(_aget_user, request)


def get_user(request: HttpRequest) -> User | AnonymousUser:
    """Return the user of a request, which is cached on the request. Rotate the token if the user's rights changed.

    Staff whose session lacks a second factor are anonymous and must log in again.
    """
    if not hasattr(request, "_cached_user"):
        user: User | AnonymousUser | None = read_user_from_record(request.session)
        if user is None or user.is_staff or user.is_superuser or request.method not in SAFE_METHODS:
            try:
                user = read_user_from_sql(request)
            except DatabaseError:
                if user is None or request.method not in SAFE_METHODS:
                    raise
                user.is_staff = user.is_superuser = False  # while SQL is away, staff can read like all users
        if user.is_authenticated and lacks_factor(user, request.session):
            user = AnonymousUser()
        if isinstance(user, User):
            rotate_if_rights_changed(request.session)
            activate_zone(user.time_zone)
            send_along(list_user_reads(user.pk))
        request._cached_user = user  # type: ignore[attr-defined]
    found: User | AnonymousUser = request._cached_user  # type: ignore[attr-defined]
    return found


async def _aget_user(request: HttpRequest) -> Any:
    return await sync_to_async(get_user)(request)


def read_user_from_record(session: SessionBase) -> User | None:
    """Return the user of the session's record, if the session's data and the record agree and the session is valid.

    None: the session is anonymous, or Django has to decide (after a change of the secret key or of the backends).
    """
    user_id = session.get(auth.SESSION_KEY)  # loads the session and its record
    person = _get_user_record(session)
    if (
        person is None
        or str(person["id"]) != user_id
        or not person["is_active"]
        or session.get(auth.BACKEND_SESSION_KEY) not in settings.AUTHENTICATION_BACKENDS
        or not constant_time_compare(session.get(auth.HASH_SESSION_KEY, ""), person["auth"])
    ):
        return None
    values = {field: person[name] for field, name in RECORD_FIELDS.items()} | {"name_key": _fold_name(person["name"])}
    names = [field.attname for field in User._meta.concrete_fields if field.attname in values]
    return User.from_db(setting("DATABASE"), names, [values[name] for name in names])


def read_user_from_sql(request: HttpRequest) -> User | AnonymousUser:
    """Return the user of the request's session from SQL, with one query for both.

    SQL decides, because a record in Redis may be forged, copied to another token, or outdated.
    """
    session: Any = request.session
    user_id = session.get(auth.SESSION_KEY)
    user = User.objects.filter(sessions=session.digest).first() if user_id is not None and session.digest else None
    if user is None or str(user.pk) != user_id:
        return AnonymousUser()
    if (
        user.is_active
        and session.get(auth.BACKEND_SESSION_KEY) in settings.AUTHENTICATION_BACKENDS
        and constant_time_compare(session.get(auth.HASH_SESSION_KEY, ""), user.get_session_auth_hash())
    ):
        return user
    return auth.get_user(request)  # accepts earlier secret keys, or flushes the session


def rotate_if_rights_changed(session: SessionBase) -> None:
    """Give the session a new token if the user's rights differ from the rights that it stores."""
    person = _get_user_record(session)
    if person is None or session.get(RIGHTS_KEY) == person["rights"]:
        return
    is_known, session[RIGHTS_KEY] = RIGHTS_KEY in session, person["rights"]
    if not is_known:
        return
    try:
        session.cycle_key()
    except UpdateError:  # another request rotated or ended the session first: this request continues unchanged
        session.modified = False


def _get_user_record(session: SessionBase) -> Record | None:
    record: Record | None = getattr(session, "record", None)
    return record and record["user"]
