"""What is marked goes to SQL, whatever happens on the way."""

import pytest
from redis import Redis

from mirror.backup.flush import flush
from tests.mirror.app.backups import baskets, best, play, put
from tests.mirror.app.models import Basket, Best

pytestmark = pytest.mark.usefixtures("committed")


def test_smoke(redis: Redis) -> None:
    play(redis, "alice", 3)
    play(redis, "bob", 4)
    print(flush(best()))
    assert dict(Best.objects.values_list("player", "score")) == {"alice": 3, "bob": 4}
    assert put("b", "x", 2) == 1
    print(flush(baskets()))
    assert Basket.objects.get().lines == '{"x": 2}'
