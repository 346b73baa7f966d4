"""Which errors of redis-py mean that Redis is away, and for which reason."""

import re
from typing import Final

from redis.exceptions import (
    AskError,
    AuthenticationError,
    ClusterDownError,
    NoPermissionError,
    OutOfMemoryError,
    ReadOnlyError,
    ResponseError,
    TryAgainError,
)
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError

# Errors that mean "Redis is away" rather than "this command is wrong". redis-py has classes for some error replies,
# from whose text it removes the code. The others are recognized by their codes.
AWAY = (
    RedisConnectionError,
    RedisTimeoutError,
    AskError,
    ClusterDownError,
    NoPermissionError,
    OutOfMemoryError,
    ReadOnlyError,
    TryAgainError,
)
AWAY_CODES = {
    "ASK", "BUSY", "CLUSTERDOWN", "LOADING", "MASTERDOWN", "MISCONF", "MOVED", "NOAUTH", "NOPERM", "NOREPLICAS", "OOM",
    "READONLY", "TRYAGAIN", "UNKILLABLE",
}  # fmt: skip
# Errors of a server that answers. It may go on to answer other commands or other connections.
REFUSALS: Final[dict[type[Exception], str]] = {
    AuthenticationError: "WRONGPASS",
    NoPermissionError: "NOPERM",
    OutOfMemoryError: "OOM",
    ReadOnlyError: "READONLY",
}
# Matches the code of an error reply. Redis 6.2 puts the code of a script's command after the position in the script.
_CODE = re.compile(r"(?:^|@user_script: ?\d+: )-?([A-Z]+)\b")
_FORBIDDEN_IN_SCRIPT = "The user executing the script can't"  # Redis 6.2, which gives no code


def is_away(error: BaseException) -> bool:
    """Return whether ``error`` describes a state of the server that may pass, rather than a fault of one key."""
    if isinstance(error, AWAY):
        return True
    # redis-py puts the command first.
    text = str(error).rpartition(" of pipeline caused error: ")[2]
    return isinstance(error, ResponseError) and (
        not AWAY_CODES.isdisjoint(_CODE.findall(text)) or _FORBIDDEN_IN_SCRIPT in text
    )


def find_refusal(error: BaseException) -> str:
    """Return the reason for which a server refuses a command, such as "OOM", or "" if it does not answer."""
    for kind, reason in REFUSALS.items():
        if isinstance(error, kind):
            return reason
    if not isinstance(error, ResponseError):
        return ""
    return next((code for code in _CODE.findall(str(error)) if code in AWAY_CODES), "NOPERM")
