"""Filters of templates: links to search results."""

from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.parse import urlencode

from django.urls import reverse

from catalog import query


def tag_url(name: str) -> str:
    """Return the address of the list of books with a tag."""
    return f"{reverse('catalog:list')}?{urlencode({'q': query.format_query(query.Tag(name))})}"


FUNCTIONS: Final[Mapping[str, Any]] = {}
FILTERS: Final[Mapping[str, Callable[..., Any]]] = {"tag_url": tag_url}
