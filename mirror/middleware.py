"""Middleware by which users read their own writes, even if Redis does not have them yet.

A request that wrote drains the pending changes within the budget before it responds. This covers bulk writes, which
send no signals. If changes remain, the response sets a cookie with the highest id among them, and SQL answers
requests with this cookie until that change is applied.
"""

import logging
import re
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

from django.db import Error as DatabaseError
from django.db import connections
from django.http import HttpRequest, HttpResponse
from redis.exceptions import RedisError

from mirror.conf import setting
from mirror.outbox import changes
from mirror.read.sql_only import sql_only
from mirror.redis.clients import breaker, client
from mirror.relay import drains

logger = logging.getLogger("mirror")

COOKIE = "mirror_behind"
_COMMENTS = r"(?:\s|--[^\n]*\n|/\*.*?\*/)*"
_WRITES = re.compile(
    _COMMENTS + r"(?:INSERT|UPDATE|DELETE|REPLACE|MERGE|TRUNCATE|COPY|CALL|DO|WITH)\b", re.IGNORECASE | re.DOTALL
)
_DONE = "mirror.done_before"
_OWN = "mirror_"  # tables that are not read through a mirror


def done_before(request: HttpRequest) -> None:
    """Treat the request as a write, because another request (of a double click) may just have written the same.

    Then its response, too, waits for the change or sets the cookie.
    """
    request.META[_DONE] = True


class _Writes:
    """Detects whether a request wrote to SQL."""

    seen = False

    def __call__(self, execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        if not self.seen and _WRITES.match(sql) and _OWN not in sql[:60]:
            self.seen = True
        return execute(sql, params, many, context)


class ReadYourWrites:
    """The middleware. It must precede every middleware that writes."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        behind = _number(request.COOKIES.get(COOKIE))
        still = behind is not None and _is_behind(behind)
        writes = _Writes()
        with sql_only() if still else nullcontext(), connections[changes.using()].execute_wrapper(writes):
            response = self.get_response(request)
        if writes.seen or _DONE in request.META:
            last = _catch_up()
            if last is not None:
                seconds = setting("SQL_FALLBACK_SECONDS")
                response.set_cookie(
                    COOKIE, str(last), seconds, secure=request.is_secure(), httponly=True, samesite="Lax"
                )
                return response
        if behind is not None and not still:
            response.delete_cookie(COOKIE, samesite="Lax")
        return response


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 19 else None


def _is_behind(last: int) -> bool:
    try:
        return changes.is_unapplied_up_to(last)
    except DatabaseError:
        return False  # without SQL, only Redis can answer


def _catch_up() -> int | None:
    """Drain the pending changes within the budget. Return the highest id that is left, or None.

    If too many are pending, nothing is drained: the drain would not finish, and one batch may take longer than the
    budget. The signals' hints have drained their keys before, and the cookie makes SQL answer for the others.
    """
    try:
        last = changes.newest_unapplied()
        if last is None:
            return None
        if not breaker.open() and not changes.is_much():
            budget = float(setting("BUDGET_SECONDS"))
            with drains.turn(budget) as mine:
                if mine and changes.is_unapplied_up_to(last):
                    drains.drain_all(budget, redis=client(), tries=drains.HASTY)
        return last if changes.is_unapplied_up_to(last) else None
    except RedisError as error:
        breaker.failed()
        logger.warning("Redis did not answer, the relay will catch up: %s", error)
        return last
    except DatabaseError as error:
        logger.warning("SQL did not answer, the relay will catch up: %s", error)
        return None
