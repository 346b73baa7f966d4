"""System checks of watches and of ``after``."""

import inspect
from collections import defaultdict
from collections.abc import Iterator
from typing import Any, Final

from django.core.checks import CheckMessage, Error
from django.db import models

from mirror import registry
from mirror.capture.statements import unknown_columns
from mirror.declare.mirrors import EdgeMirror, Mirror
from mirror.declare.paths import find_value_field
from mirror.declare.watches import Watch
from mirror.kinds import kind_of

KEYS: Final = (models.IntegerField, models.CharField, models.TextField, models.UUIDField)


def check_watches(mirror: Mirror) -> Iterator[CheckMessage]:
    """Check each watch, and all watches together."""
    for watch in mirror.watches:
        where = f"Mirror {mirror.name!r}, watch on {watch.model._meta.label}"
        yield from _check_columns(mirror, watch, where)
        yield from _check_key_types(mirror, watch, where)
        yield from _check_options(mirror, watch, where)
    yield from _check_lookups(mirror)


def _check_lookups(mirror: Mirror) -> Iterator[CheckMessage]:
    """Check that each table has one lookup: a change names only its table, so it cannot choose between two."""
    lookups: dict[str, set[Any]] = defaultdict(set)
    for watch in mirror.watches:
        # Another check reports a lookup that cannot be called. It may have no hash.
        if watch.source and callable(watch.via):
            lookups[watch.source].add(watch.via)
    for table, of_table in lookups.items():
        if len(of_table) > 1:
            text = f"Mirror {mirror.name!r} has several watches with different lookups on {table!r}."
            hint = "A change names only its table: write one via, or push, for each table."
            yield Error(text, hint=hint, obj=type(mirror), id="mirror.E019")


def _check_columns(mirror: Mirror, watch: Watch, where: str) -> Iterator[CheckMessage]:
    """Check that the columns of the key and those in ``only`` exist."""
    has_default_key = not watch.columns and not watch.whole
    primary = tuple(str(field.column) for field in watch.model._meta.pk_fields)
    if has_default_key and len(primary) > 1:
        text = f"{where}: its primary key has several columns."
        hint = f"Watch({watch.model.__name__}, {primary}) in an EdgeMirror, or give the model a key of one column."
        yield Error(text, hint=hint, obj=type(mirror), id="mirror.E004")
        return
    only: object = watch.only
    if isinstance(only, str):
        text = f"{where}: only is the text {only!r}."
        yield Error(text, hint=f"Write a list of columns: only=[{only!r}].", obj=type(mirror), id="mirror.E004")
        return
    unknown = unknown_columns(watch)
    if unknown:
        text = f"{where}: the table {watch.table!r} has no column {unknown[0]!r}."
        hint = "Use the names of columns in SQL: those of foreign keys end in _id."
        yield Error(text, hint=hint, obj=type(mirror), id="mirror.E004")


def _check_key_types(mirror: Mirror, watch: Watch, where: str) -> Iterator[CheckMessage]:
    """Check that triggers and Python write the values of a key in the same way.

    Check also that the key of an edge can be split into them.
    """
    is_joined = isinstance(mirror, EdgeMirror) and len(watch.key_columns) > 1
    for field in watch.model._meta.concrete_fields:
        if field.column not in watch.key_columns:
            continue
        if is_joined and _may_hold_separator(find_value_field(field)):
            text = f'{where}: values of {field.column!r} may contain ":", which joins the columns of a key.'
            hint = "Let the watch name one column, such as the primary key, or give the field choices without it."
            yield Error(text, hint=hint, obj=type(mirror), id="mirror.E006")
        if not isinstance(find_value_field(field), KEYS):
            text = f"{where}: {field.column!r} is neither an integer nor text nor a UUID."
            hint = "SQL and Python format other types differently, so that keys would not match."
            yield Error(text, hint=hint, obj=type(mirror), id="mirror.E006")


def _may_hold_separator(field: Any) -> bool:
    if field.choices:
        return any(":" in str(value) for value, _ in field.flatchoices)
    return isinstance(field, (models.CharField, models.TextField))


def _check_options(mirror: Mirror, watch: Watch, where: str) -> Iterator[CheckMessage]:
    """Check ``via``, ``whole`` and ``pushed``."""
    via: object = watch.via
    fault = _find_fault_of_lookup(via)
    if fault:
        hint = "via(values, after, limit) returns the keys of the rows that depend on the values."
        yield Error(f"{where}: {fault}.", hint=hint, obj=type(mirror), id="mirror.E005")
    fault = _find_fault_of_whole(mirror, watch)
    if fault:
        hint = 'The key of such a watch is always "": it is for a mirror whose only key that is.'
        yield Error(f"{where}: {fault}.", hint=hint, obj=type(mirror), id="mirror.E017")
    if watch.pushed:
        fault = kind_of(mirror).find_fault_of_push(watch)
        if fault:
            hint = "Rows are pushed into the windows of a lazy WindowMirror that its reach() returns."
            yield Error(f"{where}: {fault}.", hint=hint, obj=type(mirror), id="mirror.E018")


def _find_fault_of_lookup(via: object) -> str:
    if via is None:
        return ""
    if not callable(via):
        return "via is not callable"
    try:
        signature = inspect.signature(via)
    except (TypeError, ValueError):
        # Of a function in C, whose parameters are unknown
        return ""
    try:
        signature.bind((), None, 1)
    except TypeError as error:
        return f"via cannot be called with (values, after, limit): {error}"
    return ""


def _find_fault_of_whole(mirror: Mirror, watch: Watch) -> str:
    if not watch.whole:
        return ""
    if watch.columns:
        return "whole cannot be combined with columns"
    if watch.via is not None or watch.pushed:
        return "whole cannot be combined with via or pushed"
    return kind_of(mirror).fault_of_whole


def check_chains() -> Iterator[CheckMessage]:
    """Check that ``after`` names existing mirrors and has no cycles."""
    for mirror in registry.all_mirrors():
        unknown = [name for name in registry.ahead(mirror.name) if not registry.is_known(name)]
        for name in unknown:
            text = f"Mirror {mirror.name!r} comes after {name!r}, which is not a mirror."
            hint = "after lists the names of other mirrors."
            yield Error(text, hint=hint, obj=type(mirror), id="mirror.E020")
        if mirror.name in registry.all_ahead(mirror.name):
            text = f"Mirror {mirror.name!r} comes after itself."
            hint = "Each change of such mirrors would cause another one, without end."
            yield Error(text, hint=hint, obj=type(mirror), id="mirror.E021")
