"""Transactions, and callbacks after a commit that may fail without harm."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.db import connections, transaction


def is_in_transaction(using: str) -> bool:
    """Return whether this thread has a transaction on the database ``using``, begun by ``atomic`` or by hand."""
    connection = connections[using]
    # Without autocommit, the first statement begins a transaction. A closed connection has none.
    return connection.in_atomic_block or (connection.connection is not None and not connection.autocommit)


def commits_by_hand(using: str) -> bool:
    """Return whether the caller of ``set_autocommit(False)`` commits, so that Django calls nothing after a commit."""
    return is_in_transaction(using) and not connections[using].in_atomic_block


def after_commit(function: Callable[..., object], *args: Any, using: str | None = None) -> None:
    """Call ``function(*args)`` after the commit. Django logs its errors with its name, and continues.

    Django 5.2 reads ``__qualname__`` of a failed robust callback. A ``partial`` has none, so it would raise
    AttributeError after the commit.
    """

    @wraps(function)
    def call() -> None:
        function(*args)

    transaction.on_commit(call, using=using, robust=True)
