"""Records in JSON that are parsed when a field is first read."""

from collections.abc import Iterator, Mapping
from typing import Any

from mirror.utils import json_texts


class RawRecord(Mapping[str, Any]):
    """The fields of a row's record, by name.

    raw: the record's JSON, for callers that pass it on or use it as the key of a cache.
    """

    __slots__ = ("_fields", "raw")

    def __init__(self, raw: bytes) -> None:
        self.raw = raw
        self._fields: dict[str, Any] | None = None

    @property
    def fields(self) -> dict[str, Any]:
        """Return all fields."""
        if self._fields is None:
            self._fields = json_texts.decode(self.raw)
        return self._fields

    def __getitem__(self, name: str) -> Any:
        return self.fields[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.fields)

    def __len__(self) -> int:
        return len(self.fields)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.raw!r})"
