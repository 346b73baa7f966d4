"""The session engine: Django's database engine, read through the mirror, which stores only digests of tokens.

The token is only in the browser's cookie. SQL and Redis identify a session by the SHA-256 of the token, so that a copy
of either is useless for logging in.
"""

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any

from asgiref.sync import sync_to_async
from django.conf import settings
from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.backends.base import VALID_KEY_CHARS, CreateError, SessionBase, UpdateError
from django.contrib.sessions.backends.db import SessionStore as DatabaseStore
from django.contrib.sessions.exceptions import SessionInterrupted
from django.db import DatabaseError, IntegrityError, router, transaction
from django.http import HttpRequest
from django.utils import timezone
from django.utils.crypto import get_random_string

from accounts.models import Session
from accounts.second_factor.recent import PROOF_TIME_KEY
from accounts.sessions import last_seen
from accounts.sessions import rows as session_rows
from accounts.sessions import services as session_services
from accounts.sessions.devices import parse_user_agent
from accounts.sessions.rows import hash_token
from accounts.sessions.signals import token_rotated
from common.database import repeat_after_conflict
from common.ids import parse_id
from mirror import Record
from mirror.utils import after_commit

RIGHTS_KEY = "_rights"  # the key of the user's rights in the session's data
MAX_TOKEN_TRIES = 3  # attempts at a new token, although a collision is practically impossible
current_request: ContextVar[HttpRequest | None] = ContextVar("request", default=None)  # the current request


class SessionEnded(UpdateError, SessionInterrupted):
    """The session was ended during the request. If the error is not caught, the response has status 400.

    Django's engine would create the row again from memory.
    """


class SessionStore(DatabaseStore):
    """A session with its token. record: the session's record when it was loaded; None if missing or not loaded."""

    user_agent = ""  # the header of the request
    record: Record | None = None
    is_new = False  # whether this object created the token
    _companion_replies: Mapping[str, Mapping[str, Sequence[Any]]] = {}  # replies of companions, by digest
    _kept: tuple[str | None, bytes] | None = None  # the token and data of the last commit
    _save_inserts = False  # whether ``create`` leaves the row to ``save``
    _lacks_row = False  # whether ``create`` did so

    @classmethod
    def get_model_class(cls) -> type[Session]:
        return Session

    @property
    def digest(self) -> str | None:
        """Return the digest of the token; None without a token."""
        return hash_token(self.session_key) if self.session_key else None

    def _get_new_session_key(self) -> str:
        return get_random_string(32, VALID_KEY_CHARS)  # ``create`` detects a collision

    def load(self) -> dict[str, Any]:
        """Return the session's data. A missing, expired or removed session gives {} and loses its token."""
        digest = hash_token(self.session_key or "")
        record, seen, replies = session_rows.read_session(digest)
        if record is None or not last_seen.touch(digest, seen):
            self._session_key = None
            return {}
        self.record, self._companion_replies = record, {digest: replies}
        return self.decode(record["data"])

    def get_companion_replies(self, companion: str) -> Sequence[Any] | None:
        """Return the replies of a companion (``sessions.companions``) from the time when the session was loaded.

        None: Redis was not asked, or the session has a new token since then.
        """
        return self._companion_replies.get(self.digest or "", {}).get(companion)

    def exists(self, session_key: str) -> bool:
        return Session.objects.filter(pk=hash_token(session_key)).exists()

    @contextmanager
    def inserted_by_save(self) -> Generator[None]:
        """Let ``save`` insert the row of a new token, in a transaction that the caller began and that saves at its end.

        A login then writes its session once: not at first without the user, and again with the user. A collision of
        tokens raises CreateError.
        """
        self._save_inserts = True
        try:
            yield
        finally:
            self._save_inserts = False

    def create(self) -> None:
        if self._save_inserts:
            self._session_key = self._get_new_session_key()
            self._lacks_row = self.modified = self.is_new = True
            return
        for _ in range(MAX_TOKEN_TRIES):
            self._session_key = self._get_new_session_key()
            try:
                self.save(must_create=True)
            except CreateError:
                continue
            self.modified = self.is_new = True
            return
        raise CreateError

    @repeat_after_conflict
    def save(self, must_create: bool = False) -> None:
        """Save as Django does, but do not write data again that is already committed under this token.

        Raises UpdateError if the session was ended in the meantime.
        """
        if self.session_key is None:
            self.create()
            if not self._lacks_row:
                return
        must_create = must_create or self._lacks_row
        data = self._get_session(no_load=must_create)  # type: ignore[attr-defined]
        kept = (self.session_key, self.serializer().dumps(data))
        # The middleware saves again at the end of the request. Without a change this would be a second write.
        if kept == self._kept and not must_create:
            return
        row = self.create_model_instance(data)
        using = router.db_for_write(Session, instance=row)
        how: dict[str, Any] = {"force_insert": True}
        if not must_create:
            # An update that finds no row is an error. Django would insert the row again, and revive an ended session.
            how = {"force_update": True, "update_fields": ["session_data", "expire_date", "user"]}
        try:
            # A savepoint, because ``create`` tries again after a collision of tokens, also within a transaction.
            with transaction.atomic(using=using, savepoint=must_create and not self._save_inserts):
                row.save(using=using, **how)
        except IntegrityError as error:
            if must_create:
                raise CreateError from error
            raise
        except DatabaseError as error:
            # Subclasses are errors of the database itself.
            if must_create or type(error) is not DatabaseError:
                raise
            raise SessionEnded("The session was ended before the request was.") from error
        self._lacks_row = False
        after_commit(self._note_commit, row.pk, kept, must_create, using=using)

    def _note_commit(self, digest: str, kept: tuple[str, bytes], is_first: bool) -> None:
        self._kept = kept
        if is_first:
            last_seen.begin(digest)

    def create_model_instance(self, data: dict[str, Any]) -> Session:
        user, device, since = _parse_user_id(data), parse_user_agent(self.user_agent), timezone.now()
        before = self.record
        if before and user and before["user"] and before["user"]["id"] == user:  # the same session under a new token
            device, since = device or before["device"], _parse_timestamp(before["since"])
        return Session(
            pk=self.digest,
            session_data=self.encode(data),
            expire_date=self._find_expiry_date(data),
            user_id=user,
            device=device,
            created_at=since,
        )

    def _find_expiry_date(self, data: dict[str, Any]) -> datetime:
        """Return the end of the session: Django's, which each save moves, but not long after the last proof."""
        expiry: datetime = self.get_expiry_date()
        proof_time = data.get(PROOF_TIME_KEY)
        if proof_time is None:
            return expiry
        return min(expiry, _parse_timestamp(proof_time + settings.REAUTHENTICATION_SECONDS))

    @repeat_after_conflict
    def cycle_key(self) -> None:
        """Rotate the token. Raises SessionEnded if the session of a logged-in user was ended in the meantime."""
        # In this order: loading a missing session clears the token.
        data, old = dict(self.items()), self.session_key
        ended = old and hash_token(old)
        try:
            with transaction.atomic(using=router.db_for_write(Session), savepoint=not self._save_inserts):
                # The deletion is the check: if another request has ended the session, there is no row to delete, and no
                # new one is made.
                if ended and not session_services.delete_session_rows([ended]) and SESSION_KEY in data:
                    raise SessionEnded("The session was ended before the request was.")
                self.create()
                if ended:
                    token_rotated.send(type(self), old=ended, new=self.digest, user_id=_parse_user_id(data))
                    after_commit(last_seen.forget, [ended])
        except BaseException:
            # The rotation was rolled back, so the cookie of the visitor is still that of the old token.
            self._session_key = old
            raise

    def delete(self, session_key: str | None = None) -> None:
        token = session_key or self.session_key
        if token:
            session_services.end_by_digest([hash_token(token)])
        if token == self.session_key:
            self.record = None

    @classmethod
    def clear_expired(cls) -> None:
        session_services.end_query(Session.objects.filter(expire_date__lt=timezone.now()))

    # Django's database engine overrides the asynchronous methods; the base class runs ours in a thread.
    aload, aexists, acreate, asave, adelete = (
        SessionBase.aload,
        SessionBase.aexists,
        SessionBase.acreate,
        SessionBase.asave,
        SessionBase.adelete,
    )

    async def acycle_key(self) -> None:
        await sync_to_async(self.cycle_key)()


def _parse_user_id(data: dict[str, Any]) -> int | None:
    return parse_id(str(data.get(SESSION_KEY, "")))


def _parse_timestamp(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, tz=UTC)
