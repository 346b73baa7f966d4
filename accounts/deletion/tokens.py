"""Signed proofs of a password, with which an owner cancels the deletion of an account."""

from typing import Final

from django.core import signing
from django.utils.crypto import constant_time_compare

from accounts.deletion.services import get_due_time
from accounts.models import User

SALT: Final = "accounts.deletion"  # sent links contain it
TOKEN_SECONDS: Final = 1800


def make_token(user: User) -> str:
    """Return a signed proof that this user has just given the password. It is valid for one scheduled deletion, and
    until the password changes.
    """
    return signing.dumps([user.pk, user.get_session_auth_hash()], salt=SALT)


def find_owner(token: str) -> User | None:
    """Return the user of a token. None: the token is invalid or expired, or the deletion is due."""
    try:
        user_id, proof = signing.loads(token, salt=SALT, max_age=TOKEN_SECONDS)
    except signing.BadSignature:
        return None
    user = User.objects.filter(pk=user_id).first()
    if user is None or get_due_time(user) is None or not constant_time_compare(user.get_session_auth_hash(), proof):
        return None
    return user
