"""Collect the fields of JSON values with their types."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, Final

_TYPES: Final = {bool: "boolean", int: "number", float: "number", str: "string", type(None): "null"}


class Shapes:
    """The fields and types of all values that were added under one label, such as an address or a command.

    maps: paths of objects ("mirrors") with data as field names, and the placeholder that replaces these names.
    """

    def __init__(self, maps: Mapping[str, str] = {}) -> None:
        self.maps = maps
        self._types: defaultdict[str, defaultdict[str, set[str]]] = defaultdict(lambda: defaultdict(set))

    def add(self, label: str, value: Any) -> None:
        """Add the fields of one more value."""
        for path, kind in self._fields(value, ""):
            self._types[label][path].add(kind)

    def lines(self) -> list[str]:
        """Return lines ``label path: type|type``. The items of an array that was always empty have no line."""
        return sorted(
            f"{label} {path or '(all)'}: {'|'.join(sorted(kinds))}"
            for label, paths in self._types.items()
            for path, kinds in paths.items()
            if not self._is_told_by_parts(path, kinds, paths)
        )

    def _is_told_by_parts(self, path: str, kinds: set[str], paths: Mapping[str, Any]) -> bool:
        parts = tuple({"object": f"{path}." if path else "", "array": f"{path}[]"}.get(kind, "\0") for kind in kinds)
        return len(kinds) == 1 and any(other != path and other.startswith(parts) for other in paths)

    def _fields(self, value: Any, path: str) -> Iterator[tuple[str, str]]:
        if isinstance(value, dict):
            yield path, "object"
            for name, part in value.items():
                name = self.maps.get(path, name)
                yield from self._fields(part, f"{path}.{name}" if path else name)
        elif isinstance(value, list):
            yield path, "array"
            for part in value:
                yield from self._fields(part, f"{path}[]")
        else:
            yield path, _TYPES[type(value)]
