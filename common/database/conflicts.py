"""Repeat a transaction that SQL ended because of another one.

The site takes its locks in fixed orders, but other programs write to the same tables. PostgreSQL ends one of two
transactions that wait for each other, and a transaction of a stricter isolation level whose rows were changed.
"""

import logging
from collections.abc import Callable
from functools import wraps
from typing import Final, ParamSpec, TypeVar

from django.db import OperationalError, connections

logger = logging.getLogger("diptych")
# Codes of PostgreSQL. SQLite has neither: a transaction takes its lock at its beginning, and waits for it.
DEADLOCK: Final = "40P01"
SERIALIZATION_FAILURE: Final = "40001"

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


def repeat_after_conflict(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Call a function once more if another transaction made SQL end the one of the function.

    Everything that the function does must belong to one transaction, or be harmless when repeated: emails, tasks and
    changes of Redis wait for the commit. Inside of another transaction the error is raised, because that one is ended
    as well, and its own function is repeated.
    """

    @wraps(function)
    def call(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        try:
            return function(*args, **kwargs)
        except OperationalError as error:
            if not is_conflict(error) or _is_in_transaction():
                raise
            logger.info("%s is repeated after a conflict in SQL: %s", function.__qualname__, error)
        return function(*args, **kwargs)

    return call


def is_conflict(error: OperationalError) -> bool:
    """Return whether SQL ended a transaction only because of other transactions."""
    return getattr(error.__cause__, "sqlstate", None) in (DEADLOCK, SERIALIZATION_FAILURE)


def _is_in_transaction() -> bool:
    return any(connection.in_atomic_block for connection in connections.all(initialized_only=True))
