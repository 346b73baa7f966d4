"""Record the request parameters that the code reads."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

from django.http import QueryDict

_READERS = ("get", "getlist", "__getitem__", "__contains__")


@contextmanager
def asked() -> Iterator[set[str]]:
    """Collect the names that are looked up in ``request.GET`` and ``request.POST`` during the block."""
    names: set[str] = set()

    def noting(read: Callable[..., Any]) -> Callable[..., Any]:
        def noted(self: QueryDict, name: str, *rest: Any) -> Any:
            names.add(name)
            return read(self, name, *rest)

        return noted

    with ExitStack() as stack:
        for reader in _READERS:
            stack.enter_context(mock.patch.object(QueryDict, reader, noting(getattr(QueryDict, reader))))
        yield names
