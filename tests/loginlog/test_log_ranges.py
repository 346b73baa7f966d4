"""The logins of CollegeMsg (a message is a login of its author), compared with counts from the file itself."""

from pathlib import Path

import pytest
from redis import Redis

from accounts.models import User
from demo.collegemsg import build_user_name, read_messages
from loginlog import services
from loginlog.archive import expiry
from mirror.relay import drains
from tests.support import real_data, samples
from tests.support.loginlog.ranges import check_ranges
from tests.support.loginlog.tools import mirror_logins

FILES = [
    pytest.param(samples.COLLEGEMSG, id="sample"),
    # On SQLite the test of the import makes the same comparison.
    pytest.param(
        real_data.COLLEGEMSG,
        id="real",
        marks=[pytest.mark.real_data, pytest.mark.only_on("postgres"), pytest.mark.slow],
    ),
]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("file", FILES)
def test_active_users_in_twenty_ranges_equal_the_file(file: Path, redis: Redis) -> None:
    seen = list(read_messages(file))
    User.objects.bulk_create(
        [User(username=build_user_name(n)) for n in sorted({m.source for m in seen})], batch_size=500
    )
    ids = {int(username.split()[1]): pk for pk, username in User.objects.values_list("pk", "username")}
    mirror_logins()
    marks = {(ids[m.source], "client", m.at.date()) for m in seen}
    assert services.mark_logins((ids[m.source], "client", m.at.date()) for m in seen) == len(marks)
    drains.drain_all()
    check_ranges(file)
    expiry.expire_months(31)
    assert not list(redis.scan_iter("*loginLog_*"))
    check_ranges(file)
