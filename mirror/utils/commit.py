"""Callbacks after a commit that may fail without harm."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.db import transaction


def after_commit(function: Callable[..., object], *args: Any, using: str | None = None) -> None:
    """Call ``function(*args)`` after the commit. Django logs its errors with its name, and continues.

    Django 5.2 reads ``__qualname__`` of a failed robust callback. A ``partial`` has none, so it would raise
    AttributeError after the commit.
    """

    @wraps(function)
    def call() -> None:
        function(*args)

    transaction.on_commit(call, using=using, robust=True)
