"""The registered mirrors."""

import logging
import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, Final, TypeVar, get_args, overload

from django.db.models import Model
from django.utils.translation import gettext as translated

from mirror.conf import setting
from mirror.declare.layout import Layout
from mirror.declare.mirrors import Mirror, RecordKind
from mirror.declare.paths import DeclarationError
from mirror.declare.watches import After, Watch

__all__ = ["all_mirrors", "get"]
logger = logging.getLogger(__package__)
_mirrors: dict[str, Mirror] = {}
_UNKNOWN: Mirror = Mirror()  # has the facts of a mirror without any, for names that only newer code knows
_refused: list[tuple[type[Mirror], str]] = []
M = TypeVar("M", bound=type[Mirror[Any]])
D = TypeVar("D", bound=Mirror[Any])
RELAY: Final = "relay"  # the mode of mirrors with changes that no request waits for


class UnknownMirror(LookupError):
    """No mirror has this name."""


class _UnusableError(Exception):
    """A declaration cannot be registered. The message is the rest of a sentence that begins with its name."""


def register(declaration: M) -> M:
    """Register a mirror declaration (a class decorator). The system checks report one that is unusable.

    Raises TypeError for anything but a class that extends ``Mirror``.
    """
    given: object = declaration
    if not isinstance(given, type) or not issubclass(given, Mirror):
        raise TypeError(f"register() expects a class that extends mirror.Mirror, and got {given!r}")
    try:
        _check_version(declaration)
        _derive_name(declaration)
        _derive_buckets(declaration)
        _derive_whole_watches(declaration)
        _derive_layout(declaration)
        _check_usable(declaration)
    except _UnusableError as fault:
        # A traceback at start-up would hide all other faults.
        _refused.append((declaration, str(fault)))
    else:
        _mirrors[declaration.name] = declaration()
    return declaration


def _derive_name(declaration: type[Mirror]) -> None:
    """Give a name to a declaration without one. Raises _UnusableError if it has that of another mirror."""
    inherited = _mirrors.get(getattr(declaration, "name", ""))
    if inherited and "name" not in vars(declaration):
        parent = type(inherited).__qualname__
        raise _UnusableError(f"extends {parent}, which is registered: give it a name of its own")
    if not hasattr(declaration, "name"):
        declaration.name = _make_name(declaration)


def _check_version(declaration: type[Mirror]) -> None:
    version: object = declaration.version
    if isinstance(version, bool) or not isinstance(version, (int, str)) or version == "":
        raise _UnusableError(f"has version = {version!r}: write an integer or a text")


def _derive_buckets(declaration: type[Mirror]) -> None:
    """Add the number of buckets to the version, because another number is another layout."""
    if type(declaration.buckets) is not int or declaration.buckets < 1:
        raise _UnusableError(f"has buckets = {declaration.buckets!r}: write an integer of at least 1")
    ending = f".b{declaration.buckets}"
    # A declaration may be registered a second time, as in tests.
    if declaration.buckets > 1 and not str(declaration.version).endswith(ending):
        declaration.version = f"{declaration.version}{ending}"


def _derive_whole_watches(declaration: type[Mirror]) -> None:
    """Give all changes of a summary the key of its single row."""
    # Watches of another type are reported as unusable.
    if declaration.sums_up and isinstance(declaration.watches, (list, tuple)):
        declaration.watches = [_watch_whole(watch) for watch in declaration.watches]


def _derive_layout(declaration: type[Mirror]) -> None:
    """Fill in what fields and indexes determine: layout, watches and version. Raises _UnusableError for a mistake."""
    if "layout" in vars(declaration):
        # Registered before: the version already contains the layout's.
        return
    has_fields = declaration.fields or declaration.indexes
    if not has_fields or not _is_table(getattr(declaration, "model", None)):
        return
    try:
        layout = Layout(declaration)
    except DeclarationError as error:
        raise _UnusableError(f"is wrong: {error}") from error
    except Exception as error:
        # Of a field or model that is itself wrong, which other checks report.
        logger.debug("A declaration is wrong", exc_info=True)
        raise _UnusableError(f"is wrong: {type(error).__name__}: {error}") from error
    declaration.layout = layout
    if declaration.load is Mirror.load:
        declaration.watches = (*layout.watches, *declaration.watches)
    # With another layout the mirror is cold, and is rebuilt.
    declaration.version = f"{declaration.version}.{layout.version}"


def _make_name(declaration: type[Mirror]) -> str:
    """Return "last_logins" for ``LastLoginsMirror``."""
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z\d]+", declaration.__name__.removesuffix("Mirror"))
    return "_".join(words).lower()


def _watch_whole(watch: Watch) -> Watch:
    """Return a watch whose changes have the key "", as a mirror with a single row needs."""
    is_own = isinstance(watch, Watch) and not watch.source
    return replace(watch, columns=(), whole=True) if is_own else watch


def _check_usable(declaration: type[Mirror]) -> None:
    """Raise _UnusableError with the first reason why a declaration is unusable."""
    name = getattr(declaration, "name", None)
    if not isinstance(name, str) or not name:
        raise _UnusableError("has no name")
    if name in _mirrors:
        raise _UnusableError(f"is called {name!r}, and so is {type(_mirrors[name]).__qualname__}")
    model = getattr(declaration, "model", None)
    _check_model(model)
    kind = getattr(declaration, "record_kind", "json")
    kinds = get_args(RecordKind)
    if kind not in kinds:
        raise _UnusableError(f"has the record kind {kind!r}: there are {', '.join(kinds)}")
    if not _is_table(model) and not getattr(declaration, "sums_up", False):
        raise _UnusableError("has no model" if model is None else f"has model = {model!r}, which is no model class")
    _check_watched(declaration)
    _check_after(getattr(declaration, "after", None))
    record_class = getattr(declaration, "record_class", None)
    if record_class is not None and not callable(record_class):
        raise _UnusableError(f"has record_class = {record_class!r}: give it the class")


def _check_watched(declaration: type[Mirror]) -> None:
    """Raise _UnusableError unless a declaration watches models."""
    watches = getattr(declaration, "watches", None)
    if not isinstance(watches, (list, tuple)) or not watches:
        # The watches of a declaration with fields are derived.
        may_have_fields = declaration.load is Mirror.load
        raise _UnusableError("has neither fields nor watches" if may_have_fields else "has no watches")
    for watch in watches:
        if not isinstance(watch, Watch):
            raise _UnusableError(f"has {watch!r} in watches: write Watch(model)")
        if not _is_table(watch.model):
            raise _UnusableError(f"watches {watch.model!r}, which is no model class")


def _check_after(after: object) -> None:
    """Raise _UnusableError unless ``after`` is a list of ``After``."""
    form = 'write a list of After("mirror", function from a key of its changes to the window\'s owner)'
    if not isinstance(after, (list, tuple)):
        raise _UnusableError(f"has after = {after!r}: {form}")
    for one in after:
        if not isinstance(one, After) or not callable(one.owner):
            raise _UnusableError(f"has {one!r} in after: {form}")


def _check_model(model: object) -> None:
    """Raise _UnusableError for a model without a table. ``None`` may be right, for a summary."""
    if isinstance(model, str):
        raise _UnusableError(f"has the text {model!r} as its model: give it the class")
    if not isinstance(model, type) or not issubclass(model, Model):
        return
    label = model._meta.label
    swapped = model._meta.swapped
    if model._meta.abstract:
        raise _UnusableError(
            f"has the abstract model {label}, which has no table: mirror the models that inherit from it"
        )
    if swapped:
        raise _UnusableError(f"has the model {label}, which is swapped for {swapped}: mirror that one")


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


@overload
def get(name: str) -> Mirror: ...
@overload
def get(name: str, kind: type[D]) -> D: ...
def get(name: str, kind: type[Mirror] | None = None) -> Mirror:
    """Return the mirror called ``name``. Raises a LookupError that lists the known names.

    kind: a class that it must be an instance of (``WindowMirror``), for functions that take only these.
    """
    wanted = kind or Mirror
    found = _mirrors.get(name)
    if isinstance(found, wanted):
        return found
    known = ", ".join(sorted(other for other, mirror in _mirrors.items() if isinstance(mirror, wanted))) or "none"
    word = kind.__name__ if kind else "mirror"
    raise UnknownMirror(f"there is no {word} called {name!r} (there are: {known})")


def describe(name: str) -> str:
    """Return the label of the mirror called ``name`` for staff. An unknown name is kept."""
    label = _mirrors.get(name, _UNKNOWN).label
    return str(label) or translated(name.replace("_", " "))


def is_strict(name: str) -> bool:
    """Return whether readers of the mirror called ``name`` need a fresh heartbeat."""
    return _mirrors.get(name, _UNKNOWN).strict


def strict() -> list[str]:
    """Return the names of the strict mirrors."""
    return [name for name, mirror in _mirrors.items() if mirror.strict]


def sums_up(name: str) -> bool:
    """Return whether the mirror has a single row that all drains write."""
    return _mirrors.get(name, _UNKNOWN).sums_up


def lists_ids(name: str) -> bool:
    """Return whether the mirror's entries are ids of other mirrors' rows."""
    return _mirrors.get(name, _UNKNOWN).lists_ids


def is_in_sql(name: str) -> bool:
    """Return whether the mirror computes rows in SQL."""
    return _mirrors.get(name, _UNKNOWN).is_in_sql


def list_sql_mirrors() -> list[str]:
    """Return the names of the mirrors that compute rows in SQL which the writer may read."""
    return [name for name, mirror in _mirrors.items() if mirror.is_in_sql and drain_mode(name) != RELAY]


def list_unawaited() -> list[str]:
    """Return the names of the mirrors with changes that their writers do not wait for."""
    return [name for name in _mirrors if drain_mode(name) == RELAY]


def list_tables(name: str) -> set[str]:
    """Return the watched tables of the mirror called ``name`` and of those that it comes after."""
    names = all_ahead(name)
    names.add(name)
    tables: set[str] = set()
    for each in names:
        watches = _mirrors.get(each, _UNKNOWN).watches
        tables.update(watch.table for watch in watches)
    return tables


def drain_mode(name: str) -> str:
    """Return when the changes of the mirror called ``name`` are drained (``Mirror.drain``)."""
    mirror = _mirrors.get(name)
    if mirror is None:
        # Only newer code knows it, and its workers drain it.
        return "worker"
    return str(mirror.drain or setting("DRAIN"))


def pushed() -> list[tuple[str, str]]:
    """Return mirror and source of the changes of pushed rows."""
    found: list[tuple[str, str]] = []
    for name, mirror in _mirrors.items():
        found += [(name, watch.source) for watch in mirror.watches if watch.pushed]
    return found


def is_known(name: str) -> bool:
    """Return whether a mirror is called ``name``."""
    return name in _mirrors


def chained(name: str) -> list[tuple[Mirror, Callable[[str], str]]]:
    """Return the mirrors after this one, each with the function from a key of this one to a key of theirs."""
    found: list[tuple[Mirror, Callable[[str], str]]] = []
    for mirror in _mirrors.values():
        found += [(mirror, after.owner) for after in mirror.after if after.mirror == name]
    return found


def ahead(name: str) -> list[str]:
    """Return the names in the ``after`` of the mirror called ``name``."""
    return [after.mirror for after in _mirrors.get(name, _UNKNOWN).after]


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
        each = todo.pop()
        # Declarations may form a circle, which a check reports.
        if each not in found:
            found.add(each)
            todo += ahead(each)
    return found


def add_dependents(names: Iterable[str]) -> set[str]:
    """Return these mirrors and those that depend on them."""
    wanted = set(names)
    found = set()
    for name in _mirrors:
        if not wanted.isdisjoint(all_ahead(name) | {name}):
            found.add(name)
    return found


def all_mirrors(names: Iterable[str] = ()) -> list[Mirror]:
    """Return the mirrors called ``names``, or all of them, in the order of registration."""
    return [get(name) for name in names] or list(_mirrors.values())
