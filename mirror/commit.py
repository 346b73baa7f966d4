"""Work after a commit that may fail without harm."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.db import transaction


def after_commit(function: Callable[..., object], *args: Any, using: str | None = None) -> None:
    """Call ``function(*args)`` after the commit. Django logs an error of it, by its name, and goes on.

    Django 5.2 reads ``__qualname__`` of a robust callback that failed, which a ``partial`` lacks: its own error path
    then raises AttributeError, after the commit.
    """

    @wraps(function)
    def call() -> None:
        function(*args)

    transaction.on_commit(call, using=using, robust=True)
