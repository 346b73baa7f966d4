"""What a process remembers, and no more than so much of it."""

import threading
from collections.abc import Iterator
from typing import Generic, TypeVar

V = TypeVar("V")


class Bounded(Generic[V]):
    """Values by name. Of more than ``most``, those go that were put first."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._values: dict[str, V] = {}
        self._writing = threading.Lock()

    def __iter__(self) -> Iterator[str]:
        """The names, the newest last."""
        return iter(tuple(self._values))

    def __len__(self) -> int:
        return len(self._values)

    def get(self, name: str) -> V | None:
        """None: it is not there."""
        return self._values.get(name)

    def put(self, name: str, value: V) -> None:
        """Remember it, as the newest."""
        with self._writing:
            self._values.pop(name, None)
            self._values[name] = value
            while len(self._values) > self.most:
                del self._values[next(iter(self._values))]

    def forget(self, name: str) -> None:
        """It is not there any more."""
        with self._writing:
            self._values.pop(name, None)

    def clear(self) -> None:
        """Nothing is."""
        with self._writing:
            self._values.clear()
