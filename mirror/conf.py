"""The application's settings: one dictionary, ``MIRROR``, with a default for each name."""

from typing import Any, Final

from django.conf import settings

DEFAULTS: Final[dict[str, Any]] = {
    "ALIAS": "default",  # django-redis alias for requests: short time-outs
    "RELAY_ALIAS": None,  # django-redis alias for workers and commands; None: the same
    "DATABASE": "default",  # the database whose tables are mirrored
    "PREFIX": "",  # goes before every key
    "BUDGET_SECONDS": 0.05,  # what a request may spend on its own changes after commit
    "TRIGGER_CHECK_SECONDS": 2.0,  # how often a process looks whether the triggers are as they were
    "BATCH": 500,  # keys drained together
    "CHUNK": 1000,  # rows a step of rebuild or verify
    "KEEP_SECONDS": 600,  # how long applied changes are kept, for replay
    "SLACK_SECONDS": 5,  # replay starts this much before the mark
    "ATTEMPTS": 3,  # failures after which a key is quarantined
    "BREAKER_SECONDS": 1.0,  # how long Redis is left alone after it failed
    "FEED_LENGTH": 10_000,  # entries that a feed keeps, about
    "BROKER_TIMEOUT_SECONDS": 0.3,  # how long a request waits for the broker
    "SWEEP_REQUEST_SECONDS": 5.0,  # how often the readers of one process ask for a sweep
    "WARM_REQUEST_SECONDS": 5.0,  # how often one window is asked to be warmed
    "WARM_CLAIM_SECONDS": 60,  # how long a window stays claimed after its warm-up was killed
    "INCARNATION_CHECK_SECONDS": 1.0,  # how often a process asks Redis for its incarnation at a foreign marker
    "SQL_FALLBACK_SECONDS": 60,  # how long the author of a quarantined change is answered by SQL
    "SWEEP_BUDGET_SECONDS": 5.0,  # what a sweep may spend on each of its tasks
    "PUSH_BUDGET_SECONDS": 0.5,  # what a push task may spend before the next task in the queue runs
    "PUSH_LEASE_SECONDS": 5.0,  # how long a push task may be under way before the sweep sends another
    "PUSH_GUARD_SECONDS": 60,  # how long a pushed row stays guarded after its worker was killed
    "PUSH_BUSY_SECONDS": 5,  # how long after a guard was renewed other workers leave its row alone
    "HEARTBEAT_SECONDS": 2.0,  # how old a heartbeat may be before readers of strict mirrors ask the outbox
    "HEARTBEAT_INTERVAL_SECONDS": 0.4,  # how often the relay writes one
    "LEASE_SECONDS": 3.0,  # how long a sweep, rebuild or backup stays taken after its process was killed
    "RECHECK_PAUSE_SECONDS": 0.05,  # pause of a verification before it looks at a difference again
    "QUARANTINE_RETRY_SECONDS": 60.0,  # how often a backup retries its quarantined items
    "COPY_RETRY_SECONDS": 1.0,  # how long a local copy waits after a failed load
    "COPY_WAIT_SECONDS": 10.0,  # how long ``LocalCopy.ensure_loaded`` waits
    "FAILURE_LOG_SECONDS": 3600.0,  # how often a failure that lasts is logged again
    "PROGRESS_SECONDS": 5.0,  # how often a command prints a line of progress
}


def setting(name: str) -> Any:
    """The value of ``MIRROR[name]``, or its default."""
    return getattr(settings, "MIRROR", {}).get(name, DEFAULTS[name])


def milliseconds(name: str) -> int:
    """Return the duration ``MIRROR[name]`` as Redis' PX and PEXPIRE take it."""
    return int(setting(name) * 1000)
