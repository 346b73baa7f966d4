"""The application's settings: one dictionary, ``MIRROR``, with a default for each name."""

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

__all__ = ["database", "setting"]
DEFAULTS: Final[dict[str, Any]] = {
    "ALIAS": "default",  # django-redis alias for requests: short time-outs
    "RELAY_ALIAS": None,  # django-redis alias for workers and commands; None: the same
    "DATABASE": "default",  # the database with the mirrored tables
    "REPLICA": None,  # the alias of a read replica, which answers fallbacks that may be old; None: no replica
    "PREFIX": "",  # precedes every key
    "DRAIN": "inline",  # when changes are drained: "inline", "after_response" or "worker"
    "BUDGET_SECONDS": 0.05,  # time that a request may spend on its own changes after a commit
    "BATCH": 500,  # keys drained together
    "CHUNK": 1000,  # rows in a step of rebuild or verify
    "KEEP_SECONDS": 600,  # how long applied changes are kept, for replay
    "SLACK_SECONDS": 5,  # replay starts this much before the clock in Redis
    "ATTEMPTS": 3,  # failures after which a key is quarantined
    "BREAKER_SECONDS": 1.0,  # how long Redis is left alone after a failure
    "FEED_LENGTH": 100_000,  # approximate number of entries in a feed
    "BROKER_TIMEOUT_SECONDS": 0.3,  # how long a request waits for the broker
    "RUN_POLL_SECONDS": 0.2,  # how often ``mirror run`` looks for new changes
    "HEARTBEAT_SECONDS": 2.0,  # age at which a heartbeat makes readers of strict mirrors ask the outbox
    "VERIFY_PER_MINUTE": 300,  # rows and members that the background verification compares; 0: none
    "VISITS_LENGTH": 1_000_000,  # approximate number of visits that wait for SQL; the oldest of more are dropped
    "WORDS": {},  # the project's names for parts of the settings in hints: LOCATION, PREFIX, DATABASES
    "DOCTOR_CHECKS": (),  # paths of the project's functions that return further findings for ``mirror doctor``
}


def setting(name: str) -> Any:
    """Return ``MIRROR[name]``, or its default.

    Raises KeyError for a name that is no setting, and ImproperlyConfigured if ``MIRROR`` is no dictionary.
    """
    given = getattr(settings, "MIRROR", {})
    if not isinstance(given, dict):
        raise ImproperlyConfigured(f"MIRROR has to be a dictionary, and is {given!r}")
    return given.get(name, DEFAULTS[name])


_asked: ContextVar[str | None] = ContextVar("asked_database", default=None)


def database() -> str:
    """Return the database for the rows of a fallback: the read replica within ``use_database``, else the mirrored one.

    Only loaders of rows use it. Everything else, above all the outbox, uses ``setting("DATABASE")``.
    """
    return _asked.get() or str(setting("DATABASE"))


@contextmanager
def use_database(alias: str | None) -> Generator[None, None, None]:
    """Let ``database()`` return ``alias`` in the block; None: the mirrored database."""
    token = _asked.set(alias)
    try:
        yield
    finally:
        _asked.reset(token)
