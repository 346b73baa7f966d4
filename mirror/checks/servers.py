"""System checks of the connections to Redis, from the settings alone: they open none."""

from collections.abc import Iterator
from contextlib import suppress

from django.core.checks import CheckMessage, Error
from django_redis import get_redis_connection

from mirror.conf import setting
from mirror.redis.clients import LEAVE_BYTES, decodes


def check_replies() -> Iterator[CheckMessage]:
    """Check that replies arrive as bytes, which all readers expect: a bitmap is no text."""
    for alias in dict.fromkeys([setting("ALIAS"), setting("RELAY_ALIAS") or setting("ALIAS")]):
        # The doctor reports errors of the settings: no such alias, another backend, a wrong path.
        with suppress(Exception):
            if decodes(get_redis_connection(alias)):
                text = f"The cache alias {alias!r} decodes replies (decode_responses)."
                yield Error(text, hint=LEAVE_BYTES, id="mirror.E051")
