"""Beat flushes logins to SQL within about two seconds."""

import pytest
from redis import Redis

from loginlog import selectors, services
from loginlog.storage import scripts
from mirror.backup.sweep import sweep
from mirror.redis import naming
from tests.support.loginlog.tools import ago, backup, make_user, restore_login_log

pytestmark = pytest.mark.django_db(transaction=True)
BEAT_MS = 1000
DELAY_MS = 2000


def test_an_emptied_redis_loses_no_flushed_login(redis: Redis) -> None:
    user = make_user("alice")
    restore_login_log()
    services.mark_login(user, ago(1))
    sweep()
    services.mark_login(user, ago(0))
    assert redis.pttl(naming.flushed(scripts.BACKUP_NAME)) <= DELAY_MS - BEAT_MS
    redis.delete(naming.flushed(scripts.BACKUP_NAME))  # simulate the passing of that time
    sweep()
    assert redis.zcard(backup().marks()) == 0
    redis.flushall()
    assert selectors.find_login_days(user, ago(5), ago(0)) == [ago(1), ago(0)]
