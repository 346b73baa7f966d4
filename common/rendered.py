"""Parts of pages, such as the card of a book, that are rendered once and remembered.

Such a part depends on nothing but the arguments of the function that renders it, and on the active language and time
zone. A record in the bytes of Redis is such an argument: a changed record is another argument, so that no part is ever
stale.
"""

import threading
from collections.abc import Callable, Hashable
from typing import Any, Final, Generic, ParamSpec, TypeVar
from weakref import WeakSet

from django.conf import settings
from django.core.signals import setting_changed
from django.dispatch import receiver
from django.utils.timezone import get_current_timezone
from django.utils.translation import get_language

P = ParamSpec("P")
T = TypeVar("T")
LARGEST_SHARE: Final = 16  # a part that takes more than this fraction of the memory is not remembered


_all: Final["WeakSet[Rendered[Any, Any]]"] = WeakSet()


class Rendered(Generic[P, T]):
    """The results of a function by its arguments, the active language and the active time zone.

    Above ``max_bytes`` the oldest results are dropped. While templates are edited (``DEBUG``), nothing is remembered.
    """

    def __init__(self, render: Callable[P, T], max_bytes: int, measure: Callable[[T], int]) -> None:
        self.__doc__ = render.__doc__
        self._render, self._max_bytes, self._measure = render, max_bytes, measure
        self._parts: dict[Hashable, tuple[T, int]] = {}
        self._bytes = 0
        self._writing = threading.Lock()
        _all.add(self)

    def __call__(self, *arguments: P.args, **named: P.kwargs) -> T:
        """Return the result of the function. The arguments must be hashable."""
        key = (get_language(), get_current_timezone(), arguments, *named.items())
        found = self._parts.get(key)
        if found is not None:
            return found[0]
        made = self._render(*arguments, **named)
        size = self._measure(made) + sum(map(_measure_argument, arguments))
        if size <= self._max_bytes // LARGEST_SHARE and not settings.DEBUG:
            self._put(key, made, size)
        return made

    def clear(self) -> None:
        """Forget all results."""
        with self._writing:
            self._parts.clear()
            self._bytes = 0

    def _put(self, key: Hashable, made: T, size: int) -> None:
        with self._writing:
            _, former = self._parts.pop(key, (None, 0))
            self._parts[key] = made, size
            self._bytes += size - former
            while self._bytes > self._max_bytes:
                _, dropped = self._parts.pop(next(iter(self._parts)))
                self._bytes -= dropped


@receiver(setting_changed)
def _clear_all(**kwargs: Any) -> None:
    """Forget all parts when a test replaces a setting, which parts may show."""
    for rendered in _all:
        rendered.clear()


def _measure_argument(value: Any) -> int:
    if isinstance(value, tuple):
        return sum(map(_measure_argument, value))
    return len(value) if isinstance(value, (str, bytes)) else 0


def remember_rendered(
    max_bytes: int, measure: Callable[[Any], int] = len
) -> Callable[[Callable[P, T]], Rendered[P, T]]:
    """Remember the results of the decorated function. measure: returns the bytes of a result."""
    return lambda render: Rendered(render, max_bytes, measure)
