"""The registered mirrors."""

import logging
import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, TypeVar, get_args

from django.db.models import Model
from django.utils.translation import gettext as translated

from mirror.conf import setting
from mirror.declare.layout import Layout
from mirror.declare.mirrors import Mirror, RecordKind
from mirror.declare.paths import DeclarationError
from mirror.declare.watches import Watch

__all__ = ["all_mirrors", "get"]
logger = logging.getLogger(__package__)
_mirrors: dict[str, Mirror] = {}
_refused: list[tuple[type[Mirror], str]] = []
M = TypeVar("M", bound=type[Mirror[Any]])


class UnknownMirror(LookupError):
    """No mirror has this name."""


def register(declaration: M) -> M:
    """Register a mirror declaration (a class decorator). The system checks report one that is unusable."""
    fault = _derive(declaration) or _fault(declaration)
    if fault:
        _refused.append((declaration, fault))
    else:
        _mirrors[declaration.name] = declaration()
    return declaration


def _derive(declaration: type[Mirror]) -> str:
    """Fill in what fields and indexes determine: layout, watches, version and name. Return a mistake in them, or ""."""
    inherited = _mirrors.get(getattr(declaration, "name", ""))
    if inherited and "name" not in vars(declaration):
        return f"extends {type(inherited).__qualname__}, which is registered: give it a name of its own"
    name = "_".join(re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z\d]+", declaration.__name__.removesuffix("Mirror"))).lower()
    declaration.name = getattr(declaration, "name", name)
    if declaration.buckets > 1 and not str(declaration.version).endswith(f".b{declaration.buckets}"):
        declaration.version = f"{declaration.version}.b{declaration.buckets}"
    if declaration.sums_up and isinstance(declaration.watches, (list, tuple)):  # otherwise reported as unusable
        declaration.watches = [_watch_whole(watch) for watch in declaration.watches]
    if "layout" in vars(declaration):  # registered before; the version already contains the layout's
        return ""
    if not (declaration.fields or declaration.indexes) or not _is_table(getattr(declaration, "model", None)):
        return ""
    try:
        layout = Layout(declaration)
    except DeclarationError as error:
        return f"is wrong: {error}"
    except Exception as error:  # of a field or model that is itself wrong, which other checks report
        logger.debug("A declaration is wrong", exc_info=True)
        return f"is wrong: {type(error).__name__}: {error}"
    declaration.layout = layout
    if declaration.load is Mirror.load:
        declaration.watches = (*layout.watches, *declaration.watches)
    declaration.version = f"{declaration.version}.{layout.version}"
    return ""


def _watch_whole(watch: Watch) -> Watch:
    """Return a watch whose changes have the key "", as a mirror with a single row needs."""
    is_own = isinstance(watch, Watch) and not watch.source
    return replace(watch, columns=(), whole=True) if is_own else watch


def _fault(declaration: type[Mirror]) -> str:
    """Return the reason why a declaration is unusable, or "". A traceback at start-up would hide all other faults."""
    name, model = getattr(declaration, "name", None), getattr(declaration, "model", None)
    watches = getattr(declaration, "watches", None)
    if not isinstance(name, str) or not name:
        return "has no name"
    if name in _mirrors:
        return f"is called {name!r}, and so is {type(_mirrors[name]).__qualname__}"
    if isinstance(model, str):
        return f"has the text {model!r} as its model: give it the class"
    if isinstance(model, type) and issubclass(model, Model) and model._meta.abstract:
        return f"has the abstract model {model._meta.label}, which has no table: mirror the models that inherit from it"
    if isinstance(model, type) and issubclass(model, Model) and model._meta.swapped:
        return f"has the model {model._meta.label}, which is swapped for {model._meta.swapped}: mirror that one"
    kind = getattr(declaration, "record_kind", "json")
    if kind not in get_args(RecordKind):
        return f"has the record kind {kind!r}: there are {', '.join(get_args(RecordKind))}"
    if not _is_table(model) and not getattr(declaration, "sums_up", False):
        return "has no model"
    if not isinstance(watches, (list, tuple)) or not watches:
        return "has no watches"
    if not all(isinstance(watch, Watch) and _is_table(watch.model) for watch in watches):
        return "watches something that is no model"
    return ""


def _is_table(model: object) -> bool:
    return isinstance(model, type) and issubclass(model, Model) and not model._meta.abstract


def refused() -> list[tuple[type[Mirror], str]]:
    """Return the declarations that could not be registered, with the reasons."""
    return list(_refused)


def is_registered(declaration: type) -> bool:
    """Return whether a class has been registered as a mirror."""
    return type(_mirrors.get(getattr(declaration, "name", ""))) is declaration


def unregister(name: str) -> None:
    """Remove a mirror (for tests)."""
    _mirrors.pop(name, None)


def get(name: str) -> Mirror:
    """Return the mirror called ``name``. Raises a LookupError that lists the known names."""
    try:
        return _mirrors[name]
    except KeyError:
        known = ", ".join(sorted(_mirrors)) or "none"
        raise UnknownMirror(f"there is no mirror called {name!r} (there are: {known})") from None


def describe(name: str) -> str:
    """Return the label of the mirror called ``name`` for staff. An unknown name is kept."""
    label = _mirrors[name].label if name in _mirrors else ""
    return str(label) or translated(name.replace("_", " "))


def is_strict(name: str) -> bool:
    """Return whether readers of the mirror called ``name`` need a fresh heartbeat."""
    mirror = _mirrors.get(name)
    return mirror is not None and mirror.strict


def strict() -> list[str]:
    """Return the names of the strict mirrors."""
    return [name for name, mirror in _mirrors.items() if mirror.strict]


def sums_up(name: str) -> bool:
    """Return whether the mirror has a single row that all drains write."""
    mirror = _mirrors.get(name)
    return mirror is not None and mirror.sums_up


def lists_ids(name: str) -> bool:
    """Return whether the mirror's entries are ids of other mirrors' rows."""
    mirror = _mirrors.get(name)
    return mirror is not None and mirror.lists_ids


def is_in_sql(name: str) -> bool:
    """Return whether the mirror computes rows in SQL."""
    mirror = _mirrors.get(name)
    return mirror is not None and mirror.is_in_sql


def list_sql_mirrors() -> list[str]:
    """Return the names of the mirrors that compute rows in SQL."""
    return [name for name, mirror in _mirrors.items() if mirror.is_in_sql]


def list_tables(name: str) -> set[str]:
    """Return the watched tables of the mirror called ``name`` and of those that it comes after."""
    tables: set[str] = set()
    for one in {name} | all_ahead(name):
        if one in _mirrors:  # after may name a mirror that is not registered, which the checks report
            tables.update(watch.table for watch in _mirrors[one].watches)
    return tables


def drain_mode(name: str) -> str:
    """Return when the changes of the mirror called ``name`` are drained (``Mirror.drain``)."""
    mirror = _mirrors.get(name)
    return str(mirror.drain or setting("DRAIN")) if mirror else "worker"


def pushed() -> list[tuple[str, str]]:
    """Return mirror and source of the changes of pushed rows."""
    return [(mirror.name, watch.source) for mirror in _mirrors.values() for watch in mirror.watches if watch.pushed]


def is_known(name: str) -> bool:
    """Return whether a mirror is called ``name``."""
    return name in _mirrors


def chained(name: str) -> list[tuple[Mirror, Callable[[str], str]]]:
    """Return the mirrors after this one, each with the function from a key of this one to a key of theirs."""
    return [(mirror, after.owner) for mirror in _mirrors.values() for after in mirror.after if after.mirror == name]


def ahead(name: str) -> list[str]:
    """Return the names in the ``after`` of the mirror called ``name``."""
    mirror = _mirrors.get(name)
    return [after.mirror for after in mirror.after] if mirror else []


def after_others() -> list[str]:
    """Return the names of the mirrors that come after others."""
    return [name for name in _mirrors if ahead(name)]


def all_ahead(name: str) -> set[str]:
    """Return the names of all mirrors that this one depends on, directly or not.

    Sorting mirrors by the number of these names respects ``after``.
    """
    found: set[str] = set()
    todo = ahead(name)
    while todo:
        one = todo.pop()
        # Declarations may follow each other in a circle, which the checks report.
        if one not in found:
            found.add(one)
            todo += ahead(one)
    return found


def all_mirrors(names: Iterable[str] = ()) -> list[Mirror]:
    """Return the mirrors called ``names``, or all of them, in the order of registration."""
    return [get(name) for name in names] or list(_mirrors.values())
