"""A pipeline sent by ``mirror.redis.quick`` gives the same replies as redis-py."""

import pytest
from redis import Redis
from redis.exceptions import RedisError, ResponseError
from redis.exceptions import TimeoutError as RedisTimeoutError

from mirror.redis import quick
from mirror.redis.clients import client
from mirror.redis.recorder import record
from tests.support.servers import RedisServer
from tests.support.timeouts import hung


def fill(redis: Redis) -> None:
    redis.set("s", "text")
    redis.hset("h", mapping={"a": "1", "b": "2"})
    redis.zadd("z", {"one": 1, "two": 2.5})
    redis.sadd("u", "x", "y")
    redis.rpush("l", "p", "q")


def ask(pipe: Redis) -> None:
    pipe.get("s")
    pipe.mget(["s", "nothing"])
    pipe.hgetall("h")
    pipe.hmget("h", ["a", "c"])
    pipe.zrange("z", 0, -1, withscores=True)
    pipe.zrevrangebyscore("z", "+inf", 0, start=0, num=5, withscores=True)
    pipe.zscore("z", "two")
    pipe.zmscore("z", ["one", "none"])
    pipe.smembers("u")
    pipe.smismember("u", ["x", "z"])
    pipe.sismember("u", "x")
    pipe.lrange("l", 0, -1)
    pipe.scard("u")
    pipe.ttl("s")
    pipe.expire("s", 100)
    pipe.xadd("stream", {"a": "b"}, id="1-1")
    pipe.xrange("stream")


def test_replies_equal_those_of_redis_py(redis: Redis) -> None:
    fill(redis)
    own = redis.pipeline(transaction=False)
    ask(own)
    expected = own.execute()
    redis.flushdb()
    fill(redis)
    pipe = client().pipeline(transaction=False)
    ask(pipe)
    with record() as seen:
        before, said, after = quick.execute(pipe, around=[("GET", "s")])
    assert said == expected
    assert before == after == [b"text"]
    assert seen.round_trips == 1


def test_error_reply_is_raised_and_the_connection_stays_usable(redis: Redis) -> None:
    fill(redis)
    pipe = client().pipeline(transaction=False)
    pipe.get("s")
    pipe.lrange("s", 0, -1)
    pipe.get("s")
    with pytest.raises(ResponseError, match="WRONGTYPE"):
        quick.execute(pipe)
    assert client().get("s") == b"text"


def test_connection_closed_by_a_restart_is_retried(redis_server: RedisServer) -> None:
    client().set("s", "before")
    redis_server.kill()
    redis_server.start()
    pipe = client().pipeline(transaction=False)
    pipe.get("s")
    assert len(quick.execute(pipe)[1]) == 1


def test_hung_server_costs_one_time_out(redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch) -> None:
    with hung(redis_server):
        pool, tries = client().connection_pool, list[int]()
        take = pool.get_connection

        def counted() -> object:
            tries.append(1)
            return take()

        monkeypatch.setattr(pool, "get_connection", counted)
        pipe = client().pipeline(transaction=False)
        pipe.get("s")
        with pytest.raises(RedisTimeoutError):
            quick.execute(pipe)
    assert tries == [1]


def test_missing_server_raises_an_error_of_redis_py(redis_server: RedisServer) -> None:
    client().ping()
    redis_server.kill()
    pipe = client().pipeline(transaction=False)
    pipe.get("s")
    with pytest.raises(RedisError):
        quick.execute(pipe)
