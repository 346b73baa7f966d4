"""A dictionary of bounded size, for data that a process remembers."""

import threading
from collections.abc import Hashable, Iterator
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Bounded(Generic[K, V]):
    """Values by name. Above ``most`` values, the oldest ones are dropped.

    A caller that puts a value again when it uses it keeps the most recently used ones.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._values: dict[K, V] = {}
        self._writing = threading.Lock()

    def __iter__(self) -> Iterator[K]:
        """Iterate over the names, newest last."""
        return iter(tuple(self._values))

    def __len__(self) -> int:
        return len(self._values)

    def get(self, name: K) -> V | None:
        """Return the value, or None without one."""
        return self._values.get(name)

    def put(self, name: K, value: V) -> None:
        """Store a value as the newest one."""
        with self._writing:
            self._values.pop(name, None)
            self._values[name] = value
            while len(self._values) > self.most:
                del self._values[next(iter(self._values))]

    def forget(self, name: K) -> None:
        """Remove a value."""
        with self._writing:
            self._values.pop(name, None)

    def clear(self) -> None:
        """Remove all values."""
        with self._writing:
            self._values.clear()
