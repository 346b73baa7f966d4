"""Redis knows the site's scripts when a test begins.

Whoever is the first to call one pays a round trip more, and which test that is depends on the order in which they run.
"""

import sys
from functools import cache
from importlib import import_module

from django.conf import settings
from redis import Redis

from mirror.scripts import Script

APPS = ("accounts", "loginlog", "mirror", "shop", "social", "tests")


def load(redis: Redis) -> None:
    """Make them known, in one round trip."""
    pipe = redis.pipeline(transaction=False)
    for text in _texts():
        pipe.script_load(text)
    pipe.execute()


@cache
def _texts() -> tuple[str, ...]:
    """Of all scripts: each is a constant of its module, and what serves pages imports them all."""
    import_module(settings.ROOT_URLCONF)
    modules = [module for name, module in list(sys.modules.items()) if name.partition(".")[0] in APPS]
    scripts = (value for module in modules for value in vars(module).values() if isinstance(value, Script))
    return tuple({script.text: None for script in scripts})
