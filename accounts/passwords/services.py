"""Reset and change passwords, and end sessions and links that depend on the old one."""

from collections.abc import Callable
from typing import Any, Final

from django.conf import settings
from django.contrib.auth import update_session_auth_hash
from django.contrib.auth.hashers import make_password
from django.contrib.auth.tokens import PasswordResetTokenGenerator
from django.core import signing
from django.db import transaction
from django.db.models import F, Value
from django.db.models.functions import Upper
from django.db.models.lookups import Exact
from django.http import HttpRequest
from django.urls import reverse
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode

from accounts.audit.log import Kind, record_event
from accounts.lockout import unlock
from accounts.lockout.limits import list_logins
from accounts.mail import outgoing
from accounts.models import EmailChange, LoginStats, User
from accounts.sessions.restoring import restore_session_on_error
from accounts.sessions.rows import hash_token
from accounts.sessions.services import end_all_sessions, end_other_sessions
from common.database import repeat_after_conflict
from common.text import fold_address

REQUEST_SALT: Final = "accounts.passwords.Request"
HOUR_SECONDS: Final = 3600
MAX_ACCOUNTS: Final = 500  # accounts of one address in one email
MAX_SPELLINGS: Final = 3  # spellings of one address, which is also the number of emails per request


class ResetTokenGenerator(PasswordResetTokenGenerator):
    """Django's token generator, adapted to logins that are counted in ``LoginStats``.

    A link becomes invalid when it is used, when the password, the e-mail address or the session secret changes, and at
    the next login, because the user does not need it then.
    """

    key_salt = "accounts.passwords.ResetTokens"  # part of the links in sent emails

    def _make_hash_value(self, user: Any, timestamp: int) -> str:
        logins = LoginStats.objects.filter(user=user.pk).values_list("login_times", "last_login_time").first()
        parts = (user.pk, user.password, user.session_secret, user.email, *(logins or ()), timestamp)
        return "\0".join(map(str, parts))


reset_token_generator = ResetTokenGenerator()


def find_users(email: str) -> list[User]:
    """Return the active users with this address and a password, sorted by their number of logins, descending."""
    by_address = User.objects.filter(Exact(Upper("email"), Upper(Value(email))), is_active=True)
    often = F("login_stats__login_times").desc(nulls_last=True)
    # The database's upper case may equate addresses that ``fold_address`` distinguishes.
    found = [
        user
        for user in by_address.order_by(often, "pk")[:MAX_ACCOUNTS]
        if fold_address(user.email) == fold_address(email)
    ]
    return [user for user in found if user.has_usable_password()]


def queue_reset_links(email: str, language: str) -> None:
    """Let a worker look for accounts of this address and send reset links. Without SQL, and equal for all addresses."""
    signed = signing.dumps([email, language], salt=REQUEST_SALT)
    outgoing.queue_task("accounts.tasks.send_reset_links", signed, expires=HOUR_SECONDS)


def read_request(signed: object) -> tuple[str, str] | None:
    """Return the address and the language in a message. None: the site did not sign it in the last hour."""
    try:
        email, language = signing.loads(str(signed), salt=REQUEST_SALT, max_age=HOUR_SECONDS)
    except signing.BadSignature:
        return None
    return email, language


def send_reset_links(email: str, language: str) -> int:
    """Send one email with a link for each account of ``email``. Return the number of emails.

    All accounts share one email, so that accounts that somebody else registered with this address do not displace the
    owner's account. If accounts spell the address differently, each spelling gets its own email with its own accounts.

    Raises OSError if the mail server fails.
    """
    by_spelling: dict[str, list[User]] = {}
    for user in find_users(email):
        by_spelling.setdefault(user.email, []).append(user)
    spellings = sorted(by_spelling, key=lambda spelling: spelling != email)[:MAX_SPELLINGS]
    for spelling in spellings:
        links = [(user.username, settings.SITE_URL + _make_reset_path(user)) for user in by_spelling[spelling]]
        name = links[0][0] if len(links) == 1 else spelling
        outgoing.render_email("password_reset", spelling, language, name=name, links=links).send()
    return len(spellings)


def _make_reset_path(user: User) -> str:
    uid = urlsafe_base64_encode(force_bytes(user.pk))
    return reverse("accounts:password_reset_confirm", args=[uid, reset_token_generator.make_token(user)])


@repeat_after_conflict
def reset_password(user: User, password: str, token: str) -> bool:
    """Set a new password, end all sessions of ``user`` and remove lock-outs of the name and the address.

    Return False if the link was used in the meantime.
    """
    # Hashing is slow, so it is done while no row is locked.
    hashed = make_password(password)
    with transaction.atomic():
        if not _store_password(user, hashed, lambda now: reset_token_generator.check_token(now, token)):
            return False
        end_all_sessions(user)
        record_event(Kind.PASSWORD, user)
        outgoing.queue_email("password_changed", user)
    # After the commit: the counters in Redis would stay removed if the new password were rolled back.
    for name in list_logins(user.username, user.email):
        unlock(name=name)
    return True


def change_password(request: HttpRequest, user: User, password: str) -> bool:
    """Set a new password for ``user``, the sender of this request, and end all other sessions of the user.

    Return False if another request changed the password in the meantime.
    """
    return _replace_password(request, user, user.password, make_password(password))


@repeat_after_conflict
def _replace_password(request: HttpRequest, user: User, before: str, hashed: str) -> bool:
    with restore_session_on_error(request), transaction.atomic():
        if not _store_password(user, hashed, lambda now: now.password == before):
            return False
        update_session_auth_hash(request, user)
        request.session.save()
        end_other_sessions(user, hash_token(request.session.session_key or ""))
        record_event(Kind.PASSWORD, user, actor=user)
        outgoing.queue_email("password_changed", user)
    return True


def _store_password(user: User, hashed: str, still: Callable[[User], bool]) -> bool:
    """Store a new password if ``still`` accepts the locked row of the user. Return whether it was stored."""
    # The token or the old password is checked again under the lock, so that of two requests one succeeds.
    now = User.objects.select_for_update().get(pk=user.pk)
    if not still(now):
        return False
    now.password = hashed
    now.save(update_fields=["password"])
    # It was requested with the old password, perhaps by the thief of the account.
    EmailChange.objects.filter(user=now).delete()
    user.password, user.session_secret = now.password, now.session_secret
    return True
