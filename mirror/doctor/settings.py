"""The doctor's findings about settings."""

from collections.abc import Iterator
from typing import Any, Final

from django.conf import settings
from django.core.cache import caches
from django.core.checks import CheckMessage, Warning
from django_redis import get_redis_connection

from mirror import checks
from mirror.conf import DEFAULTS, setting
from mirror.redis.pool import PoolFactory

DOCTOR_TIMEOUT_SECONDS: Final = 1.0  # a longer time-out of requests is reported, because it delays pages noticeably

MIDDLEWARE: Final = "mirror.middleware.ReadYourWrites"


def check_settings() -> Iterator[CheckMessage]:
    unknown = sorted(getattr(settings, "MIRROR", {}).keys() - DEFAULTS.keys())
    if unknown:
        hint = "Correct the spelling, or remove them: they have no effect."
        yield Warning(f"MIRROR has unknown settings: {', '.join(unknown)}.", hint=hint, id="mirror.W031")
    serious = checks.check_settings()
    yield from serious
    if serious:
        return
    alias = setting("ALIAS")
    relay_alias = setting("RELAY_ALIAS") or alias
    yield from _check_alias(alias)
    if relay_alias != alias:
        yield from _check_alias(relay_alias)
    if MIDDLEWARE not in settings.MIDDLEWARE:
        hint = f'Put "{MIDDLEWARE}" into MIDDLEWARE, before all middleware that writes.'
        yield Warning("Users may not see their own writes in their next request.", hint=hint, id="mirror.W032")


def _check_alias(alias: str) -> Iterator[CheckMessage]:
    cache: Any = caches[alias]
    pool: Any = get_redis_connection(alias).connection_pool
    if not isinstance(cache.client.connection_factory, PoolFactory):
        hint = 'Set CONNECTION_FACTORY in its OPTIONS to "mirror.redis.PoolFactory".'
        text = f"The cache alias {alias!r} may get the time-outs of another alias with the same URL."
        yield Warning(text, hint=hint, id="mirror.W033")
    seconds = pool.connection_kwargs.get("socket_timeout")
    is_of_requests = alias == setting("ALIAS")
    if seconds is None or (is_of_requests and seconds > DOCTOR_TIMEOUT_SECONDS):
        hint = "Set SOCKET_TIMEOUT and SOCKET_CONNECT_TIMEOUT in its OPTIONS: about 0.3 for requests, 5 for the relay."
        found = "not set" if seconds is None else f"{seconds:g} s"
        yield Warning(f"The time-out of the cache alias {alias!r} is {found}.", hint=hint, id="mirror.W034")
