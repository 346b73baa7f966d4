"""E-mail addresses: ``User.email`` is set only after the user has followed a link that was sent to the address.

An address that waits for verification is a row of ``EmailChange``, also for a new account. The link is the only email
that is sent to it. It must be followed by the account that asked, while logged in: otherwise the owner of a mistyped
address could take the account over. A flag beside the address would have to be checked wherever an email is sent, and
an ``update`` of the address would leave it set. Addresses are not unique, because a refusal would reveal a known one.
"""

from typing import Final

from django.conf import settings
from django.core import signing
from django.db import transaction
from django.urls import reverse
from django.utils import timezone

from accounts.audit.log import Kind, record_event
from accounts.mail import outgoing
from accounts.models import EmailChange, User, new_secret
from common.database import repeat_after_conflict

SALT = "accounts.emails"
CONFIRM: Final = "email_confirm"  # the email with the link


@repeat_after_conflict
def request_change(user: User, email: str) -> None:
    """Store the requested address, send a link to it and notify the old address. ``User.email`` stays unchanged."""
    with transaction.atomic():
        store_request(user, email)
        send_link(user.pk)
        outgoing.queue_email("email_asked", user, to=user.email, email=email)


def store_request(user: User, email: str) -> None:
    """Store the address that ``user`` requests, in place of an earlier request.

    Other accounts may have the same address, since each of them has verified it. So this function does not look for
    them and cannot reveal them.
    """
    wish = {"email": email, "nonce": new_secret(), "asked_at": timezone.now()}
    EmailChange.objects.update_or_create(user_id=user.pk, defaults=wish)


def send_link(user_id: int) -> None:
    """Send a link to the address that a user has requested. Earlier links to it stay valid."""
    change = EmailChange.objects.select_related("user").get(pk=user_id)
    outgoing.queue_email(CONFIRM, change.user, to=change.email)


def make_path(user_id: int, email: str | None) -> str | None:
    """Return the path of the link for an address. None: the user does not request this address any more."""
    change = EmailChange.objects.select_related("user").filter(pk=user_id, email=email).first()
    return reverse("accounts:email_confirm", args=[_make_token(change)]) if change else None


def find_request(user_id: int, token: str) -> EmailChange | None:
    """Return the user's request that belongs to a link. None: the link is forged, expired, used, or of another user."""
    try:
        payload = signing.loads(token, salt=SALT, max_age=settings.PASSWORD_RESET_TIMEOUT)
    # Also for SignatureExpired, its subclass.
    except signing.BadSignature:
        return None
    change = EmailChange.objects.select_related("user").filter(user=user_id).first()
    return change if change is not None and payload == _make_payload(change) else None


@repeat_after_conflict
def verify_address(user_id: int, token: str) -> bool:
    """Set the address of the link and notify the previous address. Return False if the link is not valid."""
    with transaction.atomic():
        user = User.objects.select_for_update().get(pk=user_id)
        change = find_request(user_id, token)
        if change is None:
            return False
        # The former address gets the notice: its owner may not have asked for the change.
        left, user.email = user.email, change.email
        user.save(update_fields=["email"])
        change.delete()
        record_event(Kind.EMAIL, user, actor=user)
        outgoing.queue_email("email_changed", user, to=left, email=user.email)
    return True


def report_removal(user: User, former: str) -> None:
    """Notify the address that the account no longer has: its owner may not have asked for that."""
    outgoing.queue_email("email_changed", user, to=former, email="")


def _make_payload(change: EmailChange) -> list[object]:
    """Return the payload of a link. The session hash invalidates it after a new password or "log out everywhere"."""
    return [change.pk, change.nonce, change.user.get_session_auth_hash()[:16]]


def _make_token(change: EmailChange) -> str:
    return signing.dumps(_make_payload(change), salt=SALT)
