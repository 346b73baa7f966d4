"""Load the site's Lua scripts into Redis before each test.

The first call of a script that Redis does not know costs one more round trip. Without this, counts of round trips
would depend on the order of the tests.
"""

from importlib import import_module

from django.conf import settings
from redis import Redis

from mirror.redis.scripts import texts


def load(redis: Redis) -> None:
    """Load the scripts that the server lacks. A server that is emptied keeps them."""
    import_module(settings.ROOT_URLCONF)  # imports every module with a script
    for digest, is_loaded in zip(texts, redis.script_exists(*texts), strict=True):
        if not is_loaded:
            redis.script_load(texts[digest])
