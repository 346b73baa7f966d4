"""Settings of the test process, with time-outs, leases and budgets so long that a slow machine cannot exceed them.

A test of a time-out sets its own value with the fixture ``settings``. Child processes use ``tests.support.settings``,
which has the values of the site.
"""

from tests.support.settings import *  # noqa: F403
from tests.support.settings import CACHES as _CACHES
from tests.support.settings import DATABASES
from tests.support.settings import MIRROR as _MIRROR
from tests.support.timeouts import PATIENT_SECONDS, with_timeouts

CACHES = with_timeouts(_CACHES, PATIENT_SECONDS)
MIRROR = _MIRROR | {
    "BROKER_TIMEOUT_SECONDS": PATIENT_SECONDS,
    "BUDGET_SECONDS": 60.0,  # the request drains its own writes before it responds
    "HEARTBEAT_SECONDS": 3600.0,  # one heartbeat lasts for a test
    "VERIFY_PER_MINUTE": 0,  # sweeps repair only what the test wants repaired
    "BREAKER_SECONDS": 3600.0,  # breakers stay open until the test resets them
}
DEMO_TIMEOUT_SECONDS = 60.0
SESSION_CLEAN_SECONDS = 3600.0  # one run cleans all sessions
ACCOUNT_DELETION_SECONDS = 3600.0  # one run deletes all accounts that are due
SHOP_ROUND_SECONDS = 3600.0  # one round settles all orders
SHOP_VIEW_PERIOD_SECONDS = 1_000_000_000  # tests end periods by hand
PAYMENT_TIMEOUT_SECONDS = 60.0  # for a provider that answers
if DATABASES["default"]["ENGINE"].endswith("sqlite3"):
    DATABASES["default"]["OPTIONS"]["timeout"] = 120
    # The test database need not survive a loss of power.
    DATABASES["default"]["OPTIONS"]["init_command"] += "PRAGMA synchronous=OFF;"
else:
    DATABASES["default"]["OPTIONS"]["connect_timeout"] = 60
