"""Find every address with the URL resolver, and fill its arguments with ids of existing rows."""

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import product
from typing import Any, Final, NamedTuple
from urllib.parse import quote

from django.contrib import admin
from django.contrib.admin.utils import quote as quote_pk
from django.db.models import Model
from django.urls import URLPattern, URLResolver, get_resolver

from tests.support.matrix.world import MatrixWorld

ARGUMENT: Final = re.compile(r"<(?:\w+:)?(\w+)>|\(\?P<(\w+)>[^)]*\)")
ADMIN: Final = "admin/"
Combine = Callable[..., Iterable[tuple[Any, ...]]]


class Address(NamedTuple):
    """An address to request.

    path: the path with its arguments filled in. model: the model of an admin page. page: its kind ("change", ...).
    """

    name: str
    path: str
    model: type[Model] | None = None
    page: str = ""

    @property
    def is_of_admin(self) -> bool:
        """Whether the address belongs to the admin."""
        return self.path.startswith(f"/{ADMIN}")


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


class NoSample(Exception):
    """An address has an argument for which ``MatrixWorld.samples`` has no value."""


def find_addresses(world: MatrixWorld, combine: Combine = product) -> Iterator[Address]:
    """Yield an address for each pattern of the resolver and each combination of samples. Raises NoSample.

    combine: returns the combinations of the samples of all arguments; by default all.
    """
    samples = world.samples()
    models = {f"{ADMIN}{m._meta.app_label}/{m._meta.model_name}/": m for m in admin.site._registry}
    for route, name in walk(get_resolver(), with_admin=True):
        model = models.get("".join(re.findall(r"[^/]*/", route)[:3]))
        if model is not None:
            start = f"admin:{model._meta.app_label}_{model._meta.model_name}_"
            path = ARGUMENT.sub(quote_pk(str(world.row(model).pk)), route)
            yield Address(name, f"/{path}", model, name.removeprefix(start))
        else:
            arguments = [left or right for left, right in ARGUMENT.findall(route)]
            for values in combine(*(_values(samples, name, argument) for argument in arguments)):
                yield Address(name, f"/{_filled(route, values)}")


def _values(samples: dict[str, tuple[Any, ...]], name: str, argument: str) -> tuple[Any, ...]:
    app = name.partition(":")[0] or "admin"
    for key in (f"{name} {argument}", f"{app} {argument}"):
        if key in samples:
            return samples[key]
    raise NoSample(f"{name or 'a page without a name'}: {argument}. Add it to MatrixWorld.samples.")


def _filled(route: str, values: tuple[Any, ...]) -> str:
    left = iter(values)
    return ARGUMENT.sub(lambda found: quote(str(next(left)), safe="/"), route).replace("^", "").replace("$", "")
