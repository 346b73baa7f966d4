"""One round trip for the pages of readers: their sessions, and the reads that a page made for the last two readers.

A process remembers which user a session had, and what each page read, with places for the keys of the user. Both only
decide what is read ahead: each response loads the session itself. After a session has ended, one more view is counted
for its user, and then it is forgotten.

What two visits have in common is read ahead. A page may show posts that differ from reader to reader, and reading those
of another one is in vain.
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
# Stand for the parts of keys that differ between readers. The last two are at the end of a key, where the id may also
# be that of something else. The next reader's read then differs, and is not planned.
PLACES: Final = ("\0uid:", "\0shelf:", "\0session", "\0slot", "\0end")
ENDS: Final = 2


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

    shared: reads that are the same for all readers. own: reads with places for the reader's keys. last: the keys of all
    reads of the last visit, with places. made_at: in monotonic seconds.
    """

    shared: tuple[Asked, ...]
    own: tuple[Asked, ...]
    last: frozenset[Any]
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
        _plans.put(page, _make_plan(asked, reader, plan))


def clear_caches() -> None:
    """Empty the caches. For tests."""
    _sessions.clear()
    _plans.clear()


def _make_plan(asked: Iterable[Asked], reader: Reader, former: Plan | None) -> Plan:
    """Return the harmless reads of a page, with places for the reader's keys, without those of the session.

    former: the plan that did not cover this visit. What the visit before did not read either is left out.
    """
    shared: list[Asked] = []
    own: list[Asked] = []
    keys: set[Any] = set()
    size = 0
    parts = _make_key_parts(reader)
    for one in select_guesses(asked):
        if one.key == reader.reads.key:
            continue
        with_places = _replace_in_reads(one, parts, PLACES)
        keys.add(with_places.key)
        if former is not None and with_places.key not in former.last:
            continue
        size += len(one.commands)
        if size > MAX_COMMANDS:
            continue
        if with_places == one:
            shared.append(one)
        else:
            own.append(with_places)
    return Plan(tuple(shared), tuple(own), frozenset(keys), time.monotonic())


def _replace_in_reads(asked: Asked, old: Sequence[str], new: Sequence[str]) -> Asked:
    commands = []
    for args, options in asked.commands:
        replaced = [_replace(argument, old, new) if isinstance(argument, str) else argument for argument in args]
        commands.append((tuple(replaced), options))
    return Asked(asked.mirrors, tuple(commands))


def _replace(text: str, old: Sequence[str], new: Sequence[str]) -> str:
    replaced = text
    for one, other in zip(old[:-ENDS], new[:-ENDS], strict=True):
        replaced = replaced.replace(one, other)
    if replaced != text:
        return replaced
    for one, other in zip(old[-ENDS:], new[-ENDS:], strict=True):
        if text.endswith(one):
            return text.removesuffix(one) + other
    return text


def _make_key_parts(reader: Reader) -> Sequence[str]:
    """Return the parts of keys that contain the reader's id or the session's digest, in the order of ``PLACES``."""
    user = reader.user
    return f"uid:{{{user}}}:", catalog_keys.shelf_entry(f"{user}:"), reader.digest, f":{{{user}}}", f":{user}"
