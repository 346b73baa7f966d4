"""Run a coroutine as a server does, and leave no connection behind."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from asgiref.sync import sync_to_async
from django.db import connections

from tests.support.faults.tools import at_once

T = TypeVar("T")


def run_asynchronously(story: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Return what the coroutine returns.

    It runs in another thread, because this one may have a browser's event loop. The thread of its synchronous parts
    lives on after it, so its connections are closed.
    """

    async def run() -> T:
        try:
            return await story()
        finally:
            await sync_to_async(connections.close_all)()

    found: list[T] = []
    with at_once(lambda: found.append(asyncio.run(run()))):
        pass
    return found[0]
