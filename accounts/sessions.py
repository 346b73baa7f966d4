"""The session engine: Django's own on SQL, read through the mirror, with only digests of tokens stored anywhere.

The token is in the browser's cookie alone. What SQL and Redis know a session by is its SHA-256: a copy of either logs
nobody in.
"""

from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any

from asgiref.sync import sync_to_async
from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.backends.base import VALID_KEY_CHARS, CreateError, SessionBase, UpdateError
from django.contrib.sessions.backends.db import SessionStore as DatabaseStore
from django.contrib.sessions.exceptions import SessionInterrupted
from django.db import DatabaseError, IntegrityError, router, transaction
from django.http import HttpRequest
from django.utils import timezone
from django.utils.crypto import get_random_string

from accounts import session_rows, session_services, tokens
from accounts.devices import device_of
from accounts.models import Session
from accounts.session_rows import digest_of
from accounts.session_signals import token_rotated
from mirror.commit import after_commit
from mirror.declare import Record

RIGHTS = "_rights"  # what the session remembers of its user's rights
TRIES = 3  # of a new token: that one is taken already does not happen in a lifetime
current: ContextVar[HttpRequest | None] = ContextVar("request", default=None)  # whose session is the present one


class SessionEnded(UpdateError, SessionInterrupted):
    """The session was ended meanwhile, and stays so. Where nobody minds, it is an answer of status 400."""


class SessionStore(DatabaseStore):
    """A session by its token. ``record``: what was known of it when it was read (None: nothing, or not read)."""

    user_agent = ""  # what the browser calls itself
    record: Record | None = None
    is_new = False  # whether its token was made by this object
    _said: Mapping[str, Mapping[str, Sequence[Any]]] = {}  # of companions, by digest
    _kept: tuple[str | None, bytes] | None = None  # what was last committed, under which token

    @classmethod
    def get_model_class(cls) -> type[Session]:
        return Session

    @property
    def digest(self) -> str | None:
        """What the session is known by to everybody but its browser."""
        return digest_of(self.session_key) if self.session_key else None

    def _get_new_session_key(self) -> str:
        return get_random_string(32, VALID_KEY_CHARS)  # ``create`` finds out whether it is taken

    def load(self) -> dict[str, Any]:
        """The session's data; {} and no token when there is none, it has expired, or is being removed."""
        digest = digest_of(self.session_key or "")
        record, seen, said = session_rows.find(digest)
        if record is None or not tokens.touch(digest, seen):
            self._session_key = None
            return {}
        self.record, self._said = record, {digest: said}
        return self.decode(record["data"])

    def said(self, companion: str) -> Sequence[Any] | None:
        """What Redis said of a companion (``accounts.companions``) when this session was read.

        None: it was not asked, or of a session that has another token since.
        """
        return self._said.get(self.digest or "", {}).get(companion)

    def exists(self, session_key: str) -> bool:
        return Session.objects.filter(pk=digest_of(session_key)).exists()

    def create(self) -> None:
        for _ in range(TRIES):
            self._session_key = self._get_new_session_key()
            try:
                self.save(must_create=True)
            except CreateError:
                continue
            self.modified = self.is_new = True
            return
        raise CreateError

    def save(self, must_create: bool = False) -> None:
        """As Django's. What is committed already under this token is not written again.

        Raises UpdateError when the session was ended meanwhile.
        """
        if self.session_key is None:
            return self.create()
        data = self._get_session(no_load=must_create)  # type: ignore[attr-defined]
        kept = (self.session_key, self.serializer().dumps(data))
        if kept == self._kept and not must_create:
            return None
        row = self.create_model_instance(data)
        using = router.db_for_write(Session, instance=row)
        how: dict[str, Any] = {"force_insert": True}
        if not must_create:
            how = {"force_update": True, "update_fields": ["session_data", "expire_date", "user"]}
        try:
            with transaction.atomic(using=using):
                row.save(using=using, **how)
        except IntegrityError as error:
            if must_create:
                raise CreateError from error
            raise
        except DatabaseError as error:
            if must_create or type(error) is not DatabaseError:  # its subclasses are what a database says
                raise
            raise SessionEnded("The session was ended before the request was.") from error
        after_commit(self._committed, row.pk, kept, must_create, using=using)
        return None

    def _committed(self, digest: str, kept: tuple[str, bytes], is_first: bool) -> None:
        self._kept = kept
        if is_first:
            tokens.begin(digest)

    def create_model_instance(self, data: dict[str, Any]) -> Session:
        user, device, since = _user_id(data), device_of(self.user_agent), timezone.now()
        before = self.record
        if before and user and before["user"] and before["user"]["id"] == user:  # the same session, by another token
            device, since = device or before["device"], _moment(before["since"])
        return Session(
            pk=self.digest,
            session_data=self.encode(data),
            expire_date=self.get_expiry_date(),
            user_id=user,
            device=device,
            created_at=since,
        )

    def cycle_key(self) -> None:
        """Go on under a new token. Raises SessionEnded when somebody's session was ended meanwhile: it stays so."""
        data, old = dict(self.items()), self.session_key  # in this order: a token without a session is forgotten
        ended = old and digest_of(old)
        try:
            with transaction.atomic(using=router.db_for_write(Session)):
                if ended and not session_services.delete_rows([ended]) and SESSION_KEY in data:
                    raise SessionEnded("The session was ended before the request was.")
                self.create()
                if ended:
                    token_rotated.send(type(self), old=ended, new=self.digest, user_id=_user_id(data))
                    after_commit(tokens.forget, [ended])
        except BaseException:
            self._session_key = old
            raise

    def delete(self, session_key: str | None = None) -> None:
        token = session_key or self.session_key
        if token:
            session_services.end([digest_of(token)])
        if token == self.session_key:
            self.record = None

    @classmethod
    def clear_expired(cls) -> None:
        session_services.end_expired(Session.objects.filter(expire_date__lt=timezone.now()))

    # Django's engine for SQL has asynchronous twins of its own methods; these are ours in a thread.
    aload, aexists, acreate, asave, adelete = (
        SessionBase.aload,
        SessionBase.aexists,
        SessionBase.acreate,
        SessionBase.asave,
        SessionBase.adelete,
    )

    async def acycle_key(self) -> None:
        await sync_to_async(self.cycle_key)()


def _user_id(data: dict[str, Any]) -> int | None:
    said = str(data.get(SESSION_KEY, ""))
    return int(said) if said.isascii() and said.isdecimal() else None


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, tz=UTC)
