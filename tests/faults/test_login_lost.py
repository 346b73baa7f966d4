"""Redis is emptied after a login that a running worker has already flushed to SQL."""

from datetime import date

import pytest

from accounts.models import User
from loginlog import days, selectors, services
from loginlog.models import MonthBits
from loginlog.storage import dense_ids
from tests.support.faults.crew import Crew
from tests.support.loginlog.tools import ago, make_user
from tests.support.servers import RedisServer, wait_until

pytestmark = [pytest.mark.on_sqlite, pytest.mark.django_db(transaction=True)]


def test_worker_flushes_every_login_to_sql(crew: Crew, redis_server: RedisServer) -> None:
    dense_ids.dense_id_cache.clear()
    user = make_user("alice")
    crew.worker()
    crew.beat()
    for day in (ago(40), ago(0)):
        services.mark_login(user, day)
        wait_until(lambda day=day: is_in_sql(user, day), "the login in SQL")  # type: ignore[misc]
    redis_server.flush()
    assert selectors.find_login_days(user, ago(50), ago(0)) == [ago(40), ago(0)]


def is_in_sql(user: User, day: date) -> bool:
    """Return whether SQL has the month of this login."""
    return MonthBits.objects.filter(number__user=user, month=days.month_of(day)).exists()
