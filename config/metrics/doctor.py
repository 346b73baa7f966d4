"""The site's findings for ``mirror doctor``: the cache, the broker, and how the servers are divided."""

from collections.abc import Iterator
from typing import Final

from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning, run_checks

from config.metrics.collector import Answer, ask_broker, ask_cache

# Checks of the state servers that the doctor makes itself.
KNOWN: Final = ("site.W003", "site.W004", "site.E006")


def check_site() -> Iterator[CheckMessage]:
    """Yield the findings, from the same questions as the system checks and ``/metrics``."""
    for message in run_checks(tags=["redis"], include_deployment_checks=not settings.DEBUG):
        if message.id not in KNOWN:
            yield message
    cache, broker = ask_cache(), ask_broker()
    if _is_away(cache):
        hint = "Start the server, or correct CACHE_URL. Every page is rendered again meanwhile."
        yield Warning("The cache does not answer.", hint=hint, id="site.W013")
    if _is_away(broker):
        hint = "Start the server, free its disk, or correct CELERY_BROKER_URL. Tasks and emails wait meanwhile."
        yield Error("The broker does not answer, or refuses even questions.", hint=hint, id="site.E014")
    elif broker.accepts_writes is False:
        hint = "Raise maxmemory or free the disk of the server in CELERY_BROKER_URL; its log names the error."
        yield Error("The broker refuses writes, and with them all tasks.", hint=hint, id="site.E015")


def _is_away(answer: Answer) -> bool:
    return None in answer.info.values()
