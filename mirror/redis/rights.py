"""The rights of the user "default", as whom a server executes transactions while it loads its append-only file.

Transactions, and scripts with several writes, that this user may not execute are dropped, and the server starts
nevertheless. A site without ACL, or that connects as "default", is safe.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from django.core.checks import CheckMessage, Error, Info
from redis.exceptions import NoPermissionError, ResponseError

from mirror.redis.types import RedisClient

EVERY_KEY: Final = {"*", "~*", b"*", b"~*"}  # redis-py may decode them or not
LOADING: Final = (
    'Write "user default off ~* &* +@all" into the ACL of the server: others are refused as before, and a restart keeps'
    " all data."
)


def check_default_user(redis: RedisClient) -> Iterator[CheckMessage]:
    """Check that a server keeps transactions over a restart. Raises redis-py's errors when it does not answer."""
    connection = redis.connection_pool.connection_kwargs
    if connection.get("username") in (None, "", "default"):
        # The site writes as this user, so it has the rights.
        return
    try:
        user: Any = redis.acl_getuser("default")
        if _may_write_everything(user):
            return
    except NoPermissionError:
        text = f'User {connection["username"]!r} may not ask for the rights of "default" (ACL GETUSER).'
        hint = f'Compare by hand: a restart loses transactions that "default" may not execute. {LOADING}'
        yield Info(text, hint=hint, id="mirror.I001")
    except ResponseError:
        # The server has no ACL.
        return
    else:
        text = 'A restart of the server loses data: its user "default" may not execute the transactions in its file.'
        yield Error(text, hint=LOADING, id="mirror.E045")


def _may_write_everything(user: Mapping[str, Any]) -> bool:
    """Return whether a user (in the reply to ACL GETUSER) may write all keys by all commands that write data."""
    keys = set(user["keys"])
    rules = set(user["categories"]) | set(user["commands"])
    refused = {rule for rule in rules if rule.startswith("-")}
    # Redis lists "-@all" first, before the rights that it grants.
    has_exceptions = not refused <= {"-@all", "-@dangerous", "-@admin"}
    if keys.isdisjoint(EVERY_KEY) or has_exceptions:
        return False
    return "+@all" in rules or "+@write" in rules
