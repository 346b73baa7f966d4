"""A person's e-mail address: ``User.email`` is set only after the person has followed a link that was sent there.

An address that is not confirmed yet is a row of ``EmailChange``, also that of a new account. Nothing but the link is
sent to it.
"""

from django.conf import settings
from django.core import signing
from django.db import transaction
from django.urls import reverse
from django.utils import timezone

from accounts import letters
from accounts.audit.log import Kind, note
from accounts.models import EmailChange, User, new_secret

SALT = "accounts.emails"


def ask(user: User, email: str) -> None:
    """Note the wish, send a link to the new address and tell the old one. Nothing else changes yet."""
    with transaction.atomic():
        note_wish(user, email)
        send_link(user.pk)
        letters.notify("email_asked", user.email, name=user.username, email=email)


def note_wish(user: User, email: str) -> None:
    """Note that ``user`` wants this address, in place of an earlier wish.

    Whether somebody else has the address is not asked: an account may share one with another, since each has shown
    that it reads the mail there. So there is nothing that could be told of others.
    """
    wish = {"email": email, "nonce": new_secret(), "asked_at": timezone.now()}
    EmailChange.objects.update_or_create(user_id=user.pk, defaults=wish)


def send_link(user_id: int) -> None:
    """Send a link to the address that a user has asked for. Earlier links to it stay good."""
    change = EmailChange.objects.select_related("user").get(pk=user_id)
    path = reverse("accounts:email_confirm", args=[_token(change)])
    letters.notify("email_confirm", change.email, name=change.user.username, path=path)


def wish_of(user_id: int, token: str) -> EmailChange | None:
    """What this user asked for with this link; None when it is not theirs, too old, used, or made up."""
    try:
        said = signing.loads(token, salt=SALT, max_age=settings.PASSWORD_RESET_TIMEOUT)
    except signing.BadSignature:  # or too old
        return None
    change = EmailChange.objects.select_related("user").filter(user=user_id).first()
    return change if change is not None and said == _said(change) else None


def confirm(user_id: int, token: str) -> bool:
    """Set what the link is about and tell the address that was left; False when the link is not good (any more)."""
    with transaction.atomic():
        user = User.objects.select_for_update().get(pk=user_id)
        change = wish_of(user_id, token)
        if change is None:
            return False
        left, user.email = user.email, change.email
        user.save(update_fields=["email"])
        change.delete()
        note(Kind.EMAIL, user, actor=user)
        letters.notify("email_changed", left, name=user.username, email=user.email)
    return True


def _said(change: EmailChange) -> list[object]:
    """What a link says. With the session hash, so that a new password or "log out everywhere" is its end too."""
    return [change.pk, change.nonce, change.user.get_session_auth_hash()[:16]]


def _token(change: EmailChange) -> str:
    return signing.dumps(_said(change), salt=SALT)
