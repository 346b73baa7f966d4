"""Records as readers get them: JSON that is parsed when something of it is asked for."""

from collections.abc import Iterator, Mapping
from typing import Any

import orjson


class RawRecord(Mapping[str, Any]):
    """What a row's record says, by name.

    raw: the record's JSON, for who passes it on or remembers by it what was made of it.
    """

    __slots__ = ("_fields", "raw")

    def __init__(self, raw: bytes) -> None:
        self.raw = raw
        self._fields: dict[str, Any] | None = None

    @property
    def fields(self) -> dict[str, Any]:
        """All of it."""
        if self._fields is None:
            self._fields = orjson.loads(self.raw)
        return self._fields

    def __getitem__(self, name: str) -> Any:
        return self.fields[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.fields)

    def __len__(self) -> int:
        return len(self.fields)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.raw!r})"
