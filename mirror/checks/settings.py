"""System checks of ``MIRROR`` and of the cache aliases that it names. They open no connection."""

from collections.abc import Iterator
from typing import Any, Final

from django.conf import settings
from django.core.checks import CheckMessage, Error, register
from django_redis import get_redis_connection

from mirror.conf import DEFAULTS, setting
from mirror.redis.clients import SET_POOL
from mirror.redis.pool import MirrorPool

AT_LEAST_ONE: Final = ("ATTEMPTS", "BATCH", "CHUNK")
CHECKED_ELSEWHERE: Final = ("DRAIN", "PREFIX")


@register()
def check_settings(**kwargs: Any) -> list[CheckMessage]:
    """Check the settings without which every reader fails."""
    found = [message for name in DEFAULTS for message in _check_value(name)]
    if found:
        # The other checks use these values.
        return found
    if setting("DATABASE") not in settings.DATABASES:
        hint = 'Set MIRROR["DATABASE"] to an alias in DATABASES.'
        found.append(Error(f"There is no database {setting('DATABASE')!r}.", hint=hint, id="mirror.E031"))
    for alias in dict.fromkeys([setting("ALIAS"), setting("RELAY_ALIAS") or setting("ALIAS")]):
        found += _check_alias(alias)
    return found


def _check_value(name: str) -> Iterator[CheckMessage]:
    wanted = _find_fault(name, setting(name))
    if wanted and name not in CHECKED_ELSEWHERE:
        text = f"MIRROR[{name!r}] is {setting(name)!r}, and has to be {wanted}."
        hint = f"Without this setting it is {DEFAULTS[name]!r}."
        yield Error(text, hint=hint, id="mirror.E053")


def _find_fault(name: str, value: object) -> str:
    """Return what a setting has to be if this value is of another type than its default or too small, or ""."""
    default = DEFAULTS[name]
    if default is None:
        return "" if value is None or isinstance(value, str) else "None or text"
    if isinstance(default, (int, float)):
        least = int(name in AT_LEAST_ONE)
        # Any time may be a fraction.
        is_integer = isinstance(default, int) and not name.endswith("_SECONDS")
        kinds = int if is_integer else (int, float)
        is_number = isinstance(value, kinds) and not isinstance(value, bool)
        if is_number and value >= least:  # type: ignore[operator]
            return ""
        return f"{'an integer' if is_integer else 'a number'} of at least {least}"
    if isinstance(default, tuple):
        return "" if isinstance(value, (list, tuple)) else "a list"
    if isinstance(default, dict):
        return "" if isinstance(value, dict) else "a dictionary"
    return "" if isinstance(value, str) else "text"


def _check_alias(alias: str) -> Iterator[CheckMessage]:
    try:
        pool: Any = get_redis_connection(alias).connection_pool
    except Exception as error:
        # Any error of the settings: no such alias, another backend, a wrong path.
        hint = 'Set MIRROR["ALIAS"] and MIRROR["RELAY_ALIAS"] to aliases of django-redis in CACHES.'
        yield Error(f"The cache alias {alias!r} cannot be used: {error}", hint=hint, id="mirror.E032")
        return
    if not isinstance(pool, MirrorPool):
        yield Error(f"The cache alias {alias!r} has connections of another class.", hint=SET_POOL, id="mirror.E033")
