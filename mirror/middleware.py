"""Middleware by which users read their own writes, even if Redis does not have them yet.

A request that wrote drains the pending changes within the budget before it responds. This covers bulk writes, which
send no signals. If changes remain, the response sets a cookie with the highest id among them, and SQL answers
requests with this cookie until that change is applied. A "+" after the id means that drains of these changes append
others, which then count as well: rows that depend on a source, and rows of table mirrors.

With a read replica, a request that wrote also sets a second cookie: the replica may lack the write, so it answers no
fallback of this visitor for a minute (``mirror.read.replica``).

Mirrors with ``drain = "after_response"`` are drained when the server closes the response, after sending it.
"""

import re
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any

from asgiref.sync import sync_to_async
from django.db import Error as DatabaseError
from django.http import FileResponse, HttpRequest, HttpResponse

from mirror import registry
from mirror.conf import setting
from mirror.outbox import changes
from mirror.redis.clients import breaker
from mirror.relay import drains, hints, send, sql_only
from mirror.utils import sql_outages

__all__ = ["COOKIE", "ReadYourWrites", "done_before"]

COOKIE = "mirror_behind"
WROTE_COOKIE = "mirror_wrote"
_VALUE = re.compile(r"([0-9]{1,18})(\+?)")
_DONE = "mirror.done_before"


def done_before(request: HttpRequest) -> None:
    """Treat the request as a write, because another request (of a double click) may just have written the same.

    Then its response, too, waits for the change or sets the cookie.
    """
    request.META[_DONE] = True


class ReadYourWrites:
    """The middleware. It must precede every middleware that writes."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        # Those of a request that failed.
        hints.take_postponed()
        cookie = request.COOKIES.get(COOKIE)
        behind = _find_behind(cookie) if cookie else None
        state = sql_only.Request(wanted=behind is not None, wrote_before=WROTE_COOKIE in request.COOKIES)
        with sql_only.request(state):
            response: Any = self.get_response(request)
        # The parts of a file read nothing from mirrors.
        if response.streaming and not isinstance(response, FileResponse):
            _continue_in_stream(response, state)
        if state.writes or _DONE in request.META:
            if setting("REPLICA"):
                _set_cookie(response, request, WROTE_COOKIE, "1")
            left = _catch_up("inline")
            own = hints.take_postponed()
            if own or any(map(_is_for_later, left)):
                _drain_after(response, own, left)
            behind = _describe_left(left) or behind
        if behind and behind != cookie:
            _set_cookie(response, request, COOKIE, behind)
        elif cookie and not behind:
            response.delete_cookie(COOKIE, samesite="Lax")
        return response


def _continue_in_stream(response: Any, state: sql_only.Request) -> None:
    """Let the parts of a streaming response belong to the request, and drain their writes at its end.

    No cookie can follow, so changes that are left then are the relay's.
    """
    content = response.streaming_content
    writes = state.writes

    def catch_up() -> None:
        if state.writes > writes:
            _catch_up("inline", "after_response", own=hints.take_postponed())

    def iterate() -> Iterator[bytes]:
        parts = iter(content)
        try:
            while True:
                # For each part alone: between two parts, the context is that of the server.
                with sql_only.request(state):
                    part = next(parts, None)
                if part is None:
                    break
                yield part
        finally:
            catch_up()

    async def iterate_async() -> AsyncIterator[bytes]:
        parts = aiter(content)
        try:
            while True:
                with sql_only.request(state):
                    part = await anext(parts, None)
                if part is None:
                    break
                yield part
        finally:
            await sync_to_async(catch_up)()

    response.streaming_content = iterate_async() if response.is_async else iterate()


def _set_cookie(response: HttpResponse, request: HttpRequest, name: str, value: str) -> None:
    seconds = changes.SQL_FALLBACK_SECONDS
    response.set_cookie(name, value, seconds, secure=request.is_secure(), httponly=True, samesite="Lax")


def _find_behind(cookie: str) -> str | None:
    """Return the value of the cookie as it is now: None if Redis has the writes of the earlier request."""
    found = _VALUE.fullmatch(cookie)
    if not found:
        return None
    try:
        if changes.is_unapplied_up_to(int(found[1])):
            return cookie
        has_sequel = found[2] != ""
        return _describe_left(changes.awaited()) if has_sequel else None
    except DatabaseError:
        # Without SQL, only Redis can answer.
        return None


def _describe_left(left: Sequence[changes.Awaited]) -> str | None:
    """Return the value of the cookie for these changes, newest first."""
    if not left:
        return None
    # With more changes than were read, any of them may have one.
    has_sequel = len(left) > changes.MUCH or any(map(_appends_others, left))
    ending = "+" if has_sequel else ""
    return f"{left[0].id}{ending}"


def _appends_others(change: changes.Awaited) -> bool:
    """Return whether the drain of a change appends changes of other rows or mirrors."""
    return _is_of_source(change) or registry.is_in_sql(change.mirror)


def _is_for_later(change: changes.Awaited) -> bool:
    return _is_of_source(change) or registry.drain_mode(change.mirror) == "after_response"


def _is_of_source(change: changes.Awaited) -> bool:
    return hints.is_source(change.mirror, change.source)


def _drain_after(response: HttpResponse, own: hints.Due, left: Sequence[changes.Awaited]) -> None:
    """Drain when the response has been sent, and let a worker spread sources. left: as ``_catch_up`` returned it."""
    close = response.close

    def drain_and_close() -> None:
        # First, so that a second call drains nothing.
        response.close = close  # type: ignore[method-assign]
        try:
            remaining = _catch_up("inline", "after_response", own=own, known=left)
            if any(map(_is_of_source, remaining)):
                send.sweep_soon()
        finally:
            # Afterwards, because it ends the request, and Django may close its connection to SQL then.
            close()

    response.close = drain_and_close  # type: ignore[method-assign]


def _catch_up(
    *modes: str, own: hints.Due | None = None, known: Sequence[changes.Awaited] | None = None
) -> Sequence[changes.Awaited]:
    """Drain the pending changes of mirrors in these modes within the budget. Return the changes left, newest first.

    known: the pending changes, if they have just been read. A drain of one that is not pending any more does nothing.

    If too many are pending, only the request's ``own`` are drained: the drain of all would not finish, and one batch
    may take longer than the budget. Hints have drained those of inline mirrors before, and the cookie makes SQL answer
    for the others.
    """
    left: Sequence[changes.Awaited] = ()
    budget = float(setting("BUDGET_SECONDS"))
    try:
        left = changes.awaited() if known is None else known
        if len(left) > changes.MUCH:
            hints.drain(own or {}, drains.Deadline(budget))
        elif left and not breaker.open():
            with drains.lock_summaries(budget) as is_mine:
                if is_mine:
                    left = _drain_awaited(left, modes, drains.Deadline(budget))
    except DatabaseError as error:
        sql_outages.report_outage(error)
    else:
        sql_outages.report_answer()
    return left


def _drain_awaited(
    left: Sequence[changes.Awaited], modes: Sequence[str], deadline: drains.Deadline
) -> Sequence[changes.Awaited]:
    """Drain these changes, and those that appear meanwhile, each once. Return the changes left."""
    tried: set[changes.Awaited] = set()
    while not deadline.passed() and not breaker.open():
        due = _select_untried(left, modes, tried)
        if not due:
            break
        hints.drain(due, deadline)
        left = changes.awaited()
    return left


def _select_untried(left: Sequence[changes.Awaited], modes: Sequence[str], tried: set[changes.Awaited]) -> hints.Due:
    """Return the keys of the changes to drain that were not tried before."""
    due: hints.Due = {}
    for change in set(left) - tried:
        if registry.drain_mode(change.mirror) in modes and not _is_of_source(change):
            keys = due.setdefault((change.mirror, change.source), set())
            keys.add(change.key)
    tried.update(left)
    return due
