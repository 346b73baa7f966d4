"""The application's settings: one dictionary, ``MIRROR``, with a default for each name."""

from typing import Any, Final

from django.conf import settings

DEFAULTS: Final[dict[str, Any]] = {
    "ALIAS": "default",  # django-redis alias for requests: short time-outs
    "RELAY_ALIAS": None,  # django-redis alias for workers and commands; None: the same
    "DATABASE": "default",  # the database whose tables are mirrored
    "PREFIX": "",  # goes before every key
    "BUDGET_SECONDS": 0.05,  # what a request may spend on its own changes after commit
    "BATCH": 500,  # keys drained together
    "CHUNK": 1000,  # rows a step of rebuild or verify
    "KEEP_SECONDS": 600,  # how long applied changes are kept, for replay
    "SLACK_SECONDS": 5,  # replay starts this much before the mark
    "ATTEMPTS": 3,  # failures after which a key is quarantined
    "BREAKER_SECONDS": 1.0,  # how long Redis is left alone after it failed
    "FEED_LENGTH": 10_000,  # entries that a feed keeps, about
}


def setting(name: str) -> Any:
    """The value of ``MIRROR[name]``, or its default."""
    return getattr(settings, "MIRROR", {}).get(name, DEFAULTS[name])
