"""One round trip for the pages of readers: their sessions, and the reads that a page made for the last reader.

A process remembers which user a session had, and what each page read, with places for the keys of the user. Both only
decide what is read ahead: each response loads the session itself. After a session has ended, one more view is counted
for its user, and then it is forgotten.
"""

import time
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from django.conf import settings
from django.http import HttpRequest

from accounts.sessions import list_user_reads
from accounts.sessions import rows as session_rows
from catalog import keys as catalog_keys
from common.web import wants_json
from mirror.read import Asked, select_guesses
from mirror.utils import Bounded

MAX_SESSIONS: Final = 4096  # sessions
MAX_PAGES: Final = 1024
MAX_COMMANDS: Final = 200  # of a page that are read ahead
PLAN_SECONDS: Final = 1.0  # for which a plan is kept although it did not cover a visit
TOKEN_LENGTH: Final = 32  # characters of a session token
# Stand for the parts of keys that differ between readers. The last one is at the end of a key.
PLACES: Final = ("\0uid:", "\0shelf:", "\0session", "\0end")


class Reader(NamedTuple):
    """A visitor with a session token.

    reads: the reads of the session. user: the user when this process last served the session, or None for an anonymous
    one; valid only if ``is_known``.
    """

    digest: str
    reads: Asked
    user: int | None = None
    is_known: bool = False


class Plan(NamedTuple):
    """What a page is likely to read.

    shared: reads that are the same for all readers. own: reads with places for the reader's keys. made_at: in monotonic
    seconds.
    """

    shared: tuple[Asked, ...]
    own: tuple[Asked, ...]
    made_at: float


_sessions: Final = Bounded[str, Reader](MAX_SESSIONS)
_plans: Final = Bounded[str, Plan](MAX_PAGES)


def get_reader(http: HttpRequest) -> Reader | None:
    """Return the visitor with the session of a request, or None if it has no valid token."""
    token = http.COOKIES.get(settings.SESSION_COOKIE_NAME, "")
    if len(token) != TOKEN_LENGTH:
        return None
    digest = session_rows.hash_token(token)
    found = _sessions.get(digest)
    return found or Reader(digest, Asked.of(["session"], lambda pipe: session_rows.add_commands(pipe, digest)))


def name_page(http: HttpRequest) -> str:
    """Return a name of the requested page, under which its reads are remembered."""
    form = "json" if wants_json(http) else http.META.get("HTTP_HX_REQUEST", "")
    return f"{form} {http.get_full_path()}"


def get_planned_reads(page: str, reader: Reader) -> list[Asked] | None:
    """Return the reads that this page is likely to make for this reader, or None if that is unknown.

    Of a page that is not known, these are the reads for the header of each page.
    """
    if not reader.is_known:
        return None
    plan = _plans.get(page)
    if plan is None:
        return None if reader.user is None else list_user_reads(reader.user)
    parts = _make_key_parts(reader)
    return [*plan.shared, *(_replace_in_reads(asked, PLACES, parts) for asked in plan.own)]


def remember_visit(page: str, reader: Reader, http: HttpRequest, asked: Sequence[Asked] | None) -> None:
    """Remember the user of a session that was served. asked: the reads of the page, if some were not made ahead."""
    session: Any = http.session
    if session.digest != reader.digest:
        # It has ended, or its token was rotated.
        _sessions.forget(reader.digest)
        return
    user = http.user.pk
    if not reader.is_known or reader.user != user:
        reader = reader._replace(user=user, is_known=True)
        _sessions.put(reader.digest, reader)
    plan = _plans.get(page)
    # Of a page whose reads differ from reader to reader, no plan covers all of them.
    if asked is not None and (plan is None or time.monotonic() - plan.made_at >= PLAN_SECONDS):
        _plans.put(page, _make_plan(asked, reader))


def clear_caches() -> None:
    """Empty the caches. For tests."""
    _sessions.clear()
    _plans.clear()


def _make_plan(asked: Iterable[Asked], reader: Reader) -> Plan:
    """Return the harmless reads of a page, with places for the reader's keys, without those of the session."""
    shared: list[Asked] = []
    own: list[Asked] = []
    size = 0
    parts = _make_key_parts(reader)
    for one in select_guesses(asked):
        size += len(one.commands)
        if one.key == reader.reads.key or size > MAX_COMMANDS:
            continue
        with_places = _replace_in_reads(one, parts, PLACES)
        if with_places == one:
            shared.append(one)
        else:
            own.append(with_places)
    return Plan(tuple(shared), tuple(own), time.monotonic())


def _replace_in_reads(asked: Asked, old: Sequence[str], new: Sequence[str]) -> Asked:
    commands = []
    for args, options in asked.commands:
        replaced = [_replace(argument, old, new) if isinstance(argument, str) else argument for argument in args]
        commands.append((tuple(replaced), options))
    return Asked(asked.mirrors, tuple(commands))


def _replace(text: str, old: Sequence[str], new: Sequence[str]) -> str:
    for one, other in zip(old[:-1], new[:-1], strict=True):
        text = text.replace(one, other)
    return text.removesuffix(old[-1]) + new[-1] if text.endswith(old[-1]) else text


def _make_key_parts(reader: Reader) -> tuple[str, str, str, str]:
    """Return the parts of keys that contain the reader's id or the session's digest."""
    # "}:7" ends keys in the slot of something else, such as that of the reader's review of a book.
    user = reader.user
    return f"uid:{{{user}}}:", catalog_keys.shelf_entry(f"{user}:"), reader.digest, f"}}:{user}"
