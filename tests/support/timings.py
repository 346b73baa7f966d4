"""Durations that are constants of ``mirror``'s modules, which a test replaces for itself."""

from importlib import import_module
from typing import Final

import pytest

MODULES: Final = {
    "COPY_RETRY_SECONDS": "read.local",
    "DOCTOR_AGE_SECONDS": "doctor.relay",
    "DOCTOR_TIMEOUT_SECONDS": "doctor.settings",
    "HEARTBEAT_INTERVAL_SECONDS": "upkeep.heartbeat",
    "INCARNATION_CHECK_SECONDS": "warm.marker",
    "JOB_PROGRESS_SECONDS": "management.requested",
    "LEASE_SECONDS": "redis.lease",
    "PROGRESS_SECONDS": "management.progress",
    "PUSH_BUDGET_SECONDS": "windows.push",
    "PUSH_BUSY_SECONDS": "windows.deliver",
    "PUSH_GUARD_SECONDS": "windows.deliver",
    "PUSH_LEASE_SECONDS": "windows.push",
    "RECHECK_PAUSE_SECONDS": "comparison.compare",
    "REPLICA_BREAKER_SECONDS": "read.replica",
    "RUN_SWEEP_SECONDS": "standalone.runner",
    "SQL_FALLBACK_SECONDS": "outbox.changes",
    "SWEEP_BUDGET_SECONDS": "relay.drains",
    "SWEEP_REQUEST_SECONDS": "relay.send",
    "TRIGGER_CHECK_SECONDS": "warm.triggers",
    "WARM_CLAIM_SECONDS": "windows.window",
    "WARM_REQUEST_SECONDS": "windows.window",
}


class Timings:
    """Replaces durations until the end of a test, by the names of the constants: ``timings(LEASE_SECONDS=0.1)``."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self._patch = patch

    def __call__(self, **seconds: float) -> None:
        for name, value in seconds.items():
            self._patch.setattr(import_module(f"mirror.{MODULES[name]}"), name, value)
