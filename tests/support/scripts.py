"""Load the site's Lua scripts into Redis before each test.

The first call of a script that Redis does not know costs one more round trip. Without this, counts of round trips
would depend on the order of the tests.
"""

import sys
from functools import cache
from importlib import import_module

from django.conf import settings
from redis import Redis

from mirror.redis.scripts import Script

APPS = ("accounts", "loginlog", "mirror", "shop", "social", "tests")


def load(redis: Redis) -> None:
    """Load all scripts in one round trip."""
    pipe = redis.pipeline(transaction=False)
    for text in list_texts():
        pipe.script_load(text)
    pipe.execute()


@cache
def list_texts() -> tuple[str, ...]:
    """Return the texts of all scripts. Each script is a constant of a module that the URL configuration imports."""
    import_module(settings.ROOT_URLCONF)
    modules = [module for name, module in list(sys.modules.items()) if name.partition(".")[0] in APPS]
    scripts = (value for module in modules for value in vars(module).values() if isinstance(value, Script))
    return tuple({script.text: None for script in scripts})
