"""The positions of keys in Redis commands."""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple


class UnknownCommand(LookupError):
    """The positions of the command's keys are unknown, so it cannot be sent with a prefix."""


class _Places(NamedTuple):
    """first, last: positions of keys (last -1: the last argument). step: the distance between two keys."""

    first: int
    last: int
    step: int = 1


_NONE: Final = _Places(1, 0)
_ONE: Final = _Places(1, 1)
_ALL: Final = _Places(1, -1)

# Commands without a key. KEYS and SCAN have the names of keys in their replies.
_KEYLESS: Final = """
    ACL AUTH BGREWRITEAOF BGSAVE CLIENT CLUSTER COMMAND CONFIG DBSIZE DEBUG DISCARD ECHO EXEC FLUSHALL FLUSHDB HELLO
    INFO KEYS LASTSAVE MULTI PING READONLY REPLICAOF SAVE SCAN SCRIPT SELECT SHUTDOWN SLAVEOF SLOWLOG TIME UNWATCH WAIT
"""
_OF_ONE_KEY: Final = """
    APPEND BITCOUNT BITFIELD BITPOS DECR DECRBY DUMP EXPIRE EXPIREAT GET GETBIT GETDEL GETEX GETRANGE GETSET HDEL
    HEXISTS HGET HGETALL HINCRBY HINCRBYFLOAT HKEYS HLEN HMGET HMSET HSCAN HSET HSETNX HSTRLEN HVALS INCR INCRBY
    INCRBYFLOAT LINDEX LLEN LPOP LPUSH LRANGE LREM LSET LTRIM PERSIST PEXPIRE PEXPIREAT PFADD PSETEX PTTL RESTORE RPOP
    RPUSH SADD SCARD SET SETBIT SETEX SETNX SETRANGE SISMEMBER SMEMBERS SMISMEMBER SPOP SRANDMEMBER SREM SSCAN STRLEN
    TTL TYPE XACK XADD XAUTOCLAIM XCLAIM XDEL XLEN XPENDING XRANGE XREVRANGE XTRIM ZADD ZCARD ZCOUNT ZINCRBY ZLEXCOUNT
    ZMSCORE ZPOPMAX ZPOPMIN ZRANDMEMBER ZRANGE ZRANGEBYLEX ZRANGEBYSCORE ZRANK ZREM ZREMRANGEBYLEX ZREMRANGEBYRANK
    ZREMRANGEBYSCORE ZREVRANGE ZREVRANGEBYLEX ZREVRANGEBYSCORE ZREVRANK ZSCAN ZSCORE
"""
_OF_KEYS_ALONE: Final = """
    DEL EXISTS MGET PFCOUNT PFMERGE RENAME RENAMENX SDIFF SDIFFSTORE SINTER SINTERSTORE SUNION SUNIONSTORE TOUCH UNLINK
    WATCH
"""
_PLACES: Final = {
    **dict.fromkeys(_KEYLESS.split(), _NONE),
    **dict.fromkeys(_OF_ONE_KEY.split(), _ONE),
    **dict.fromkeys(_OF_KEYS_ALONE.split(), _ALL),
    **dict.fromkeys(("MSET", "MSETNX"), _Places(1, -1, 2)),
    **dict.fromkeys(("COPY", "LMOVE", "SMOVE"), _Places(1, 2)),
    **dict.fromkeys(("MEMORY", "OBJECT", "XGROUP", "XINFO"), _Places(2, 2)),
    "BITOP": _Places(2, -1),
}
# The position of the number of keys, which the keys follow.
_COUNTED: Final = dict.fromkeys(("EVAL", "EVALSHA", "EVAL_RO", "EVALSHA_RO", "FCALL", "FCALL_RO"), 2)
# Their last arguments are the word STREAMS, the keys, and an id for each key.
_OF_STREAMS: Final = {"XREAD", "XREADGROUP"}


def name_of(command: Sequence[Any]) -> str:
    """Return the command's name in capitals, without a second word."""
    name = command[0]
    return (name.decode() if isinstance(name, bytes) else str(name)).partition(" ")[0].upper()


def key_positions(command: Sequence[Any]) -> range:
    """Return the positions of a command's keys (its name is at 0). Raises UnknownCommand."""
    places = _PLACES.get(command[0]) or _PLACES.get(name := name_of(command))
    if places is not None:
        last = len(command) - 1 if places.last == -1 else min(places.last, len(command) - 1)
        return range(places.first, last + 1, places.step)
    if name in _COUNTED:
        count = _COUNTED[name]
        return range(count + 1, count + 1 + int(command[count]))
    if name in _OF_STREAMS:
        first = next(i for i, word in enumerate(command) if word in ("STREAMS", b"STREAMS")) + 1
        return range(first, first + (len(command) - first) // 2)
    raise UnknownCommand(
        f"{name} cannot be sent with a prefix: mirror.redis.keys.positions does not say where its keys are"
    )
