"""Settings of the process that runs the tests: no time-out, lease or budget ends because the machine is slow.

A test of a time-out sets its own with ``settings``. Child processes use ``tests.support.settings``, the site's values.
"""

from tests.support.settings import *  # noqa: F403
from tests.support.settings import CACHES as _CACHES
from tests.support.settings import DATABASES
from tests.support.settings import MIRROR as _MIRROR
from tests.support.timeouts import PATIENT_SECONDS, with_timeouts

CACHES = with_timeouts(_CACHES, PATIENT_SECONDS)
MIRROR = _MIRROR | {
    "BROKER_TIMEOUT_SECONDS": PATIENT_SECONDS,
    "BUDGET_SECONDS": 60.0,  # a request's writes are in Redis before its response
    "LEASE_SECONDS": 3600.0,
    "HEARTBEAT_SECONDS": 3600.0,  # one heartbeat lasts for a test
    "BREAKER_SECONDS": 3600.0,  # an open breaker stays open until a test resets it
}
DEMO_TIMEOUT_SECONDS = 60.0
SESSION_CLEAN_SECONDS = 3600.0  # one run cleans everything
ACCOUNT_DELETION_SECONDS = 3600.0  # one run deletes everything
SHOP_ROUND_SECONDS = 3600.0  # one round does everything
SHOP_VIEW_PERIOD_SECONDS = 1_000_000_000  # tests end periods by hand
PAYMENT_TIMEOUT_SECONDS = 60.0  # of a provider that answers
if DATABASES["default"]["ENGINE"].endswith("sqlite3"):
    DATABASES["default"]["OPTIONS"]["timeout"] = 120
    # A test's machine does not lose power, or its database with it.
    DATABASES["default"]["OPTIONS"]["init_command"] += "PRAGMA synchronous=OFF;"
else:
    DATABASES["default"]["OPTIONS"]["connect_timeout"] = 60
