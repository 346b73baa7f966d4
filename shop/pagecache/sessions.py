"""The sessions that this process has served lately, with their users.

They let one round trip read both the page and the reads that depend on the user. They decide only about these reads and
about the user of a counted view, never about the content of a page: each response loads the session itself. After a
session has ended, one more view is counted for its user, and then it is forgotten.

Reads of a page for one user are repeated for the next user, with keys of that user: such keys contain the user's id.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from django.conf import settings
from django.http import HttpRequest

from accounts.sessions import rows as session_rows
from catalog import keys as catalog_keys
from mirror.read import Asked, select_guesses
from mirror.utils import Bounded

MAX_SESSIONS: Final = 4096  # sessions
MAX_PAGES: Final = 1024
TOKEN_LENGTH: Final = 32  # characters of a session token
PLACEHOLDERS: Final = ("\0uid:", "\0shelf:")  # stand for the parts of keys that contain the user's id


class VisitorSession(NamedTuple):
    """A request with a session token.

    reads: the reads of the session. user: the user when this process last served the session, or None for an anonymous
    one; valid only if ``is_known``.
    """

    digest: str
    reads: Asked
    user: int | None = None
    is_known: bool = False


_sessions: Final = Bounded[str, VisitorSession](MAX_SESSIONS)
_plans: Final = Bounded[str, tuple[Asked, ...]](MAX_PAGES)


def get_visitor_session(http: HttpRequest) -> VisitorSession | None:
    """Return the session of a request, or None if it has no valid token."""
    token = http.COOKIES.get(settings.SESSION_COOKIE_NAME, "")
    if len(token) != TOKEN_LENGTH:
        return None
    digest = session_rows.hash_token(token)
    found = _sessions.get(digest)
    return found or VisitorSession(digest, Asked.of(["session"], lambda pipe: session_rows.add_commands(pipe, digest)))


def get_planned_reads(path: str, one: VisitorSession) -> list[Asked]:
    """Return the reads that this page is likely to make for this user."""
    plan = _plans.get(path)
    return (
        [_replace_in_reads(asked, PLACEHOLDERS, _make_key_parts(one.user)) for asked in plan]
        if plan and one.user
        else []
    )


def remember_session(path: str, one: VisitorSession, http: HttpRequest, asked: Sequence[Asked] | None) -> None:
    """Remember the user of a session that has been served. asked: the reads of the page, if some were not
    made ahead.
    """
    session: Any = http.session
    if session.digest != one.digest:
        # It has ended, or its token was rotated.
        _sessions.forget(one.digest)
        return
    user = http.user.pk
    if not one.is_known or one.user != user:
        _sessions.put(one.digest, one._replace(user=user, is_known=True))
    if user and asked is not None:
        _plans.put(path, tuple(_select_reads_of_user(asked, user)))


def clear_caches() -> None:
    """Empty the caches. For tests."""
    _sessions.clear()
    _plans.clear()


def _select_reads_of_user(asked: Iterable[Asked], user: int) -> Iterable[Asked]:
    """Return the harmless reads that concern only this user, with placeholders for the user, without duplicates."""
    beginnings = _make_key_parts(user)
    own = (one for one in select_guesses(asked) if all(_have_keys_of_user(beginnings, one)))
    return [_replace_in_reads(one, beginnings, PLACEHOLDERS) for one in own]


def _have_keys_of_user(beginnings: Sequence[str], asked: Asked) -> Iterable[bool]:
    return (isinstance(args[1], str) and any(start in args[1] for start in beginnings) for args, _ in asked.commands)


def _replace_in_reads(asked: Asked, old: Sequence[str], new: Sequence[str]) -> Asked:
    commands = tuple(((args[0], _replace(args[1], old, new), *args[2:]), options) for args, options in asked.commands)
    return Asked(asked.mirrors, commands)


def _replace(key: str, old: Sequence[str], new: Sequence[str]) -> str:
    for one, other in zip(old, new, strict=True):
        key = key.replace(one, other)
    return key


def _make_key_parts(user: int | None) -> tuple[str, str]:
    """Return the parts of keys that contain the user's id."""
    return f"uid:{{{user}}}:", catalog_keys.shelf_entry(f"{user}:")
