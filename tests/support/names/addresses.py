"""Collect addresses and their full names, with one line for each model of the admin."""

import re
from collections.abc import Iterator

from django.contrib import admin
from django.urls import URLPattern, URLResolver, get_resolver

from tests.support.names.project import is_own


def collect() -> list[str]:
    """Return lines ``/address/ -> name``; parameters are shown by their types."""
    pages = [f"{address(route)} -> {name or '(no name)'}" for route, name in walk(get_resolver())]
    return sorted({*pages, *_admin()})


def address(route: str) -> str:
    """Return a route with the types of its parameters instead of their names: ``/books/<int>/``."""
    return "/" + re.sub(r"<(?:(\w+):)?\w+>", lambda found: f"<{found[1] or 'str'}>", route)


def walk(
    resolver: URLResolver, route: str = "", space: str = "", *, with_admin: bool = False
) -> Iterator[tuple[str, str]]:
    """Yield (route, full name) of each pattern below a resolver; the name is "" for an unnamed pattern."""
    for entry in resolver.url_patterns:
        here = route + str(entry.pattern)
        if isinstance(entry, URLPattern):
            yield here, f"{space}{entry.name}" if entry.name else ""
        elif with_admin or entry.namespace != "admin":
            deeper = f"{space}{entry.namespace}:" if entry.namespace else space
            yield from walk(entry, here, deeper, with_admin=with_admin)


def _admin() -> Iterator[str]:
    """Yield one line per model of the admin, which stands for the standard pages of the model."""
    yield "/admin/ -> admin:index"
    for model in admin.site._registry:
        if is_own(model.__module__):
            label = f"{model._meta.app_label}/{model._meta.model_name}"
            yield f"/admin/{label}/ -> admin:{label.replace('/', '_')}_*"
