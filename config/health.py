"""Health checks for machines: whether the process is alive, and which parts are degraded."""

from typing import Any

from django.conf import settings
from django.db import DatabaseError, connections
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils.crypto import constant_time_compare
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from mirror.conf import setting
from mirror.redis import try_redis
from mirror.status import Status, accepts_writes, statuses
from mirror.visits import VisitsStatus
from mirror.visits import statuses as visits_statuses

MAX_DELAY_SECONDS = 10.0  # changes normally wait for milliseconds


@require_safe
@never_cache
def healthz(request: HttpRequest) -> HttpResponse:
    """Answer that the process is alive. Uses neither Redis nor SQL."""
    return HttpResponse("ok\n", content_type="text/plain")


@require_safe
@never_cache
def readyz(request: HttpRequest) -> JsonResponse:
    """Report degraded parts in JSON. The status is 200 while SQL answers, because pages can be served, else 503.

    Staff and requests with STATUS_TOKEN also get the names of mirrors and the backlogs. The answer takes less than a
    second even if Redis hangs.
    """
    redis, accepts = _ask_redis()
    try:
        report = _build_report(redis, accepts, statuses(count_rows=False), visits_statuses())
    except DatabaseError:
        connections[setting("DATABASE")].close()
        report = {"status": "unavailable", "degraded": ["sql"], "sql": False, "redis": redis}
        return JsonResponse(report, status=503)
    return JsonResponse(report if _may_see_all(request) else _remove_names(report))


def has_status_token(request: HttpRequest) -> bool:
    """Return whether the request has STATUS_TOKEN."""
    token, given = settings.STATUS_TOKEN, request.headers.get("Authorization", "")
    return bool(token) and constant_time_compare(given, f"Bearer {token}")


def _may_see_all(request: HttpRequest) -> bool:
    if has_status_token(request):
        return True
    # Without a session cookie the visitor is not logged in.
    return settings.SESSION_COOKIE_NAME in request.COOKIES and bool(getattr(request.user, "is_staff", False))


def _remove_names(report: dict[str, Any]) -> dict[str, Any]:
    """Return the public report: the kinds of degraded parts only."""
    kinds = dict.fromkeys(part.partition(":")[0] for part in report["degraded"])
    return {name: report[name] for name in ("status", "sql", "redis")} | {"degraded": list(kinds)}


def _ask_redis() -> tuple[bool, bool]:
    """Return whether Redis answers reads, and whether it accepts writes."""
    # Not PING, which a server with a full disk refuses.
    return try_redis(lambda redis: (redis.exists("any") >= 0, accepts_writes(redis)), lambda: (False, True), warning="")


def _build_report(redis: bool, accepts: bool, found: list[Status], visits: list[VisitsStatus]) -> dict[str, Any]:
    pending = sum(s.pending for s in found)
    oldest = max((s.oldest_pending_seconds for s in found), default=0.0)
    quarantined = sum(s.quarantined for s in found)
    degraded = [
        *([] if redis else ["redis"]),
        *([] if accepts else ["redis_writes"]),
        *(f"cold:{s.mirror}" for s in found if s.warm is False),
        *(["behind"] if oldest > MAX_DELAY_SECONDS else []),
        *(["quarantined"] if quarantined else []),
        *(f"unrestored:{v.kind}" for v in visits if v.restored is False),
        *(f"unsaved:{v.kind}" for v in visits if v.is_late(MAX_DELAY_SECONDS)),
    ]
    return {
        "status": "degraded" if degraded else "ok",
        "degraded": degraded,
        "sql": True,
        "redis": redis,
        "pending": pending,
        "oldest_pending_seconds": oldest,
        "quarantined": quarantined,
        "mirrors": {
            s.mirror: {
                "warm": s.warm,
                "pending": s.pending,
                "oldest_pending_seconds": s.oldest_pending_seconds,
                "quarantined": s.quarantined,
            }
            for s in found
        },
        "visits": {v.kind: {"waiting": v.waiting, "oldest_seconds": v.oldest_seconds} for v in visits},
    }
