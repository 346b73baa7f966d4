"""The doctor's findings about the servers of the state."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from django.core.checks import CheckMessage, Error, Warning
from redis.exceptions import (
    AuthenticationError,
    NoPermissionError,
    OutOfMemoryError,
    RedisError,
    ResponseError,
)

from mirror.doctor.words import say
from mirror.redis.clients import list_servers
from mirror.redis.pool import UnknownIncarnation
from mirror.redis.rights import check_default_user
from mirror.redis.session import is_cluster
from mirror.redis.types import RedisClient
from mirror.status import find_refusal
from mirror.visits.declare import all_kinds

MIN_VERSION: Final = (6, 2)
MAX_FULL: Final = 0.9  # of the memory
NO_REDIS: Final = "mirror.E034"
REPLICA: Final = "mirror.E038"
NO_RIGHTS: Final = "mirror.E046"
NO_WRITES: Final = "mirror.E047"
GRANT: Final = (
    "Grant ~* +@read +@write +@transaction +eval +evalsha +@connection +xreadgroup +script|load +script|exists +info"
    " +time to the user (ACL SETUSER)."
)
# One command of each kind that the mirror needs and that changes nothing.
HARMLESS: Final = (
    ("TIME",), ("EXISTS", "any"), ("UNWATCH",), ("SCAN", 0, "COUNT", 1), ("EVAL", "return 1", 0),
    ("SCRIPT", "EXISTS", "0" * 40), ("SCRIPT", "LOAD", "return 1"), ("PING",),
)  # fmt: skip
# The commands of visits, without effect on a key that does not exist. XREADGROUP is the one that many ACLs lack: Redis
# counts it among the blocking commands.
_NO_STREAM: Final = "mirror:visits:none"
HARMLESS_TO_STREAMS: Final = (
    ("XREADGROUP", "GROUP", "none", "none", "COUNT", 1, "STREAMS", _NO_STREAM, "0"),
    ("XGROUP", "CREATE", _NO_STREAM, "none", "0"), ("XADD", _NO_STREAM, "NOMKSTREAM", "*", "field", "value"),
    ("XACK", _NO_STREAM, "none", "0-1"), ("XDEL", _NO_STREAM, "0-1"), ("XLEN", _NO_STREAM),
    ("XRANGE", _NO_STREAM, "-", "+", "COUNT", 1),
)  # fmt: skip


def check_redis(redis: RedisClient) -> list[CheckMessage]:
    """Check each server of the state, and whether it accepts writes."""
    try:
        found: list[CheckMessage] = []
        for address, server in list_servers(redis).items():
            messages = _check_one_server(server, of_cluster=is_cluster(redis))
            found += [_name_server(message, address) for message in messages]
        # A replica, or a server that lacks rights, refuses the write for a reason that is already reported.
        is_explained = any(message.id in (NO_RIGHTS, REPLICA) for message in found)
        error = None if is_explained else find_refusal(redis)
        if error:
            found.append(_explain_refusal(error))
        return found
    except RedisError as error:
        return [_explain_silence(error)]


def _check_one_server(server: RedisClient, *, of_cluster: bool) -> Iterator[CheckMessage]:
    try:
        info = server.info()
    except NoPermissionError as error:
        text = f"INFO is refused, so version, memory and append-only file are unknown: {error}"
        yield Warning(text, hint=GRANT, id="mirror.W043")
    else:
        yield from check_server(info, of_cluster=of_cluster)
    yield from check_default_user(server)
    refused = _find_refused(server)
    if refused:
        yield _explain_rights(f"may not execute {', '.join(refused)}")


def _find_refused(server: RedisClient) -> list[str]:
    """Return the names of the commands that the user may not execute."""
    commands = list(HARMLESS)
    # A site without visits needs no rights to streams.
    if all_kinds():
        commands += HARMLESS_TO_STREAMS
    pipe = server.pipeline(transaction=False)
    for command in commands:
        pipe.execute_command(*command)
    replies = pipe.execute(raise_on_error=False)
    refused = []
    for command, reply in zip(commands, replies, strict=True):
        # Other errors are no matter of rights: a stream that does not exist has no group, for example.
        if isinstance(reply, NoPermissionError):
            refused.append(str(command[0]))
    return refused


def _explain_silence(error: RedisError) -> CheckMessage:
    """Return the finding that Redis does not answer the questions of the doctor."""
    # Of the commands with which each connection begins.
    if isinstance(error, NoPermissionError):
        return _explain_rights(f"lacks a right: {error}")
    text = str(error)
    if isinstance(error, AuthenticationError) or "WRONGPASS" in text:
        hint = f"Correct the user and the password in {say('LOCATION')}. SQL answers all reads meanwhile."
        return Error(f"Redis refuses the login: {error}", hint=hint, id=NO_REDIS)
    lacks_command = isinstance(error, ResponseError) and "unknown command" in text
    if isinstance(error, UnknownIncarnation) or lacks_command:
        hint = "Let the server answer INFO with run_id and master_replid, by which a loss of data is noticed."
        return Error(f"Redis cannot be used: {error}", hint=hint, id=NO_REDIS)
    hint = f"Start the server, or correct {say('LOCATION')}. SQL answers all reads meanwhile."
    return Error(f"Redis does not answer: {error}", hint=hint, id=NO_REDIS)


def _explain_rights(text: str) -> CheckMessage:
    return Error(f"The user of {say('LOCATION')} {text}.", hint=GRANT, id=NO_RIGHTS)


def _explain_refusal(error: ResponseError) -> CheckMessage:
    """Return the finding that Redis refuses writes, with the reason."""
    if isinstance(error, NoPermissionError):
        return _explain_rights(f"may not write: {error}")
    hint = f"See the log of the server in {say('LOCATION')}."
    text = str(error)
    if isinstance(error, OutOfMemoryError) or text.startswith("OOM"):
        text = "its memory is full"
        hint = f"Raise maxmemory of the server in {say('LOCATION')}, or find out what fills it (MEMORY USAGE)."
    elif text.startswith("MISCONF"):
        text = "it cannot save to its disk (MISCONF)"
        hint = f"Free the disk of the server in {say('LOCATION')}; its log names the error."
    return Error(f"Redis refuses writes: {text}. Changes wait in SQL.", hint=hint, id=NO_WRITES)


def _name_server(message: CheckMessage, address: str) -> CheckMessage:
    """Put the address of a master before a message."""
    if address:
        message.msg = f"{address}: {message.msg}"
    return message


def check_server(info: Mapping[str, Any], *, of_cluster: bool = False) -> Iterator[CheckMessage]:
    """Check a state server by its reply to INFO. of_cluster: it was named as a master of a cluster."""
    if info.get("cluster_enabled") and not of_cluster:
        hint = f"Begin {say('LOCATION')} with redis+cluster:// instead of redis://."
        yield Error(
            "The server belongs to a Redis Cluster, but its URL names a single one.", hint=hint, id="mirror.E036"
        )
    # Some services hide it.
    version = str(info.get("redis_version", ""))
    if version and _parse_version(version) < MIN_VERSION:
        hint = "Install Redis 6.2 or later, or Valkey."
        yield Error(f"Redis {version} is too old.", hint=hint, id="mirror.E037")
    if info.get("role", "master") != "master":
        hint = f"Name its primary in {say('LOCATION')}: the relay writes."
        yield Error("The server is a read-only replica.", hint=hint, id=REPLICA)
    policy = info.get("maxmemory_policy", "noeviction")
    if policy != "noeviction":
        hint = "Set maxmemory-policy to noeviction, and keep caches on another server: evictions lead to rebuilds."
        yield Error(f"The server evicts keys (maxmemory-policy {policy}).", hint=hint, id="mirror.E039")
    if not info.get("aof_enabled", 1):
        hint = "Set appendonly to yes. Otherwise a crash loses visits that wait for SQL, and mirrors are rebuilt."
        yield Warning("The server keeps no append-only file.", hint=hint, id="mirror.W035")
    used = int(info.get("used_memory", 0))
    limit = int(info.get("maxmemory", 0))
    # At the limit the server refuses the doctor's write, which is reported as an error.
    if MAX_FULL * limit < used < limit:
        text = f"{used / limit:.0%} of the server's memory is used (maxmemory {limit})."
        yield Warning(text, hint="Raise maxmemory: a full server refuses all writes.", id="mirror.W044")


def _parse_version(version: str) -> tuple[int, ...]:
    """Return the major and the minor version."""
    return tuple(int(part) for part in version.split(".")[:2])
