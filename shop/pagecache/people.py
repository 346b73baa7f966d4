"""Who came with which session the last time, as far as this process knows: so it can be asked for them together with
the page what would take a round trip more as soon as it is known who they are.

It decides what is asked, and for whom a view is counted; never what anybody is shown. That is for the session to say,
each time. Whose session ended meanwhile is counted once more as who they were, and forgotten.

What a page asked of one of them it will ask of the next, of their own keys: those begin with the user's id.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from django.conf import settings
from django.http import HttpRequest

from accounts import session_rows
from catalog import keys as catalog_keys
from mirror.bounded import Bounded
from mirror.prefetch import Asked

MANY: Final = 4096  # sessions
PAGES: Final = 1024
TOKEN_LENGTH: Final = 32  # of a session
PLACEHOLDERS: Final = ("\0uid:", "\0shelf:")  # each in the place of one of a user's own beginnings of a key


class Coming(NamedTuple):
    """A request with the token of a session. asked: what is going to be asked of that. user: whose it was when it was
    last seen here (None: of nobody who is logged in), if ``is_known``.
    """

    digest: str
    asked: Asked
    user: int | None = None
    is_known: bool = False


_known: Final = Bounded[Coming](MANY)
_plans: Final = Bounded[tuple[Asked, ...]](PAGES)


def coming(http: HttpRequest) -> Coming | None:
    """Who comes, if there may be a session of theirs."""
    token = http.COOKIES.get(settings.SESSION_COOKIE_NAME, "")
    if len(token) != TOKEN_LENGTH:
        return None
    digest = session_rows.digest_of(token)
    found = _known.get(digest)
    return found or Coming(digest, Asked.of(["session"], lambda pipe: session_rows.ask(pipe, digest)))


def guesses(path: str, one: Coming) -> list[Asked]:
    """What the page there is going to ask of them alone, as far as is known."""
    plan = _plans.get(path)
    return [_of(asked, PLACEHOLDERS, _beginnings(one.user)) for asked in plan] if plan and one.user else []


def came(path: str, one: Coming, http: HttpRequest, asked: Sequence[Asked] | None) -> None:
    """They have been served, and their session is loaded. asked: what the page asked, if not all was known ahead."""
    session: Any = http.session
    if session.digest != one.digest:
        _known.forget(one.digest)  # it ended, or goes on under another token
        return
    user = http.user.pk
    if not one.is_known or one.user != user:
        _known.put(one.digest, one._replace(user=user, is_known=True))
    if user and asked is not None:
        _plans.put(path, tuple(_own(asked, user)))


def forget() -> None:
    """Remember nobody (for tests)."""
    _known.clear()
    _plans.clear()


def _own(asked: Iterable[Asked], user: int) -> Iterable[Asked]:
    """Of this user alone, and as it is asked of anybody; each once."""
    beginnings = _beginnings(user)
    found = {one.key: one for one in asked if one.is_harmless() and all(_is_of(beginnings, one))}
    return [_of(one, beginnings, PLACEHOLDERS) for one in found.values()]


def _is_of(beginnings: Sequence[str], asked: Asked) -> Iterable[bool]:
    return (isinstance(args[1], str) and any(start in args[1] for start in beginnings) for args, _ in asked.commands)


def _of(asked: Asked, old: Sequence[str], new: Sequence[str]) -> Asked:
    commands = tuple(((args[0], _replace(args[1], old, new), *args[2:]), options) for args, options in asked.commands)
    return Asked(asked.mirrors, commands)


def _replace(key: str, old: Sequence[str], new: Sequence[str]) -> str:
    for one, other in zip(old, new, strict=True):
        key = key.replace(one, other)
    return key


def _beginnings(user: int | None) -> tuple[str, str]:
    """Return how keys begin that are about one user."""
    return f"uid:{{{user}}}:", catalog_keys.shelf_entry(f"{user}:")
