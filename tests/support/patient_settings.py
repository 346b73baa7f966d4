"""The settings of the process that runs the tests: nothing is decided by how long something takes.

Other tests have the processors too. What tests the site's own patience says so, with ``settings.MIRROR``; children have
the site's (``tests.support.settings``). Redis' time-outs: ``tests.support.patience``.
"""

from tests.support.settings import *  # noqa: F403
from tests.support.settings import DATABASES, MIRROR

MIRROR = {
    **MIRROR,
    "BUDGET_SECONDS": 60.0,  # what a request writes is in Redis when it is answered
    "BREAKER_SECONDS": 3600.0,  # once it is open, it is until it is reset
}
PAYMENT_TIMEOUT_SECONDS = 60.0  # of a provider that answers
if DATABASES["default"]["ENGINE"].endswith("sqlite3"):
    DATABASES["default"]["OPTIONS"]["timeout"] = 120
    # A test's machine does not lose power, or its database with it.
    DATABASES["default"]["OPTIONS"]["init_command"] += "PRAGMA synchronous=OFF;"
else:
    DATABASES["default"]["OPTIONS"]["connect_timeout"] = 60
