"""A system check of lookups, in whose strings each row needs a value of its own."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from django.core.checks import CheckMessage, Warning
from django.db import models
from django.db.models.constants import LOOKUP_SEP

from mirror.declare.fields import Column, Values
from mirror.declare.indexes import Index, Lookup
from mirror.declare.layout import AnyField, Layout
from mirror.declare.mirrors import Mirror
from mirror.declare.paths import find_field, resolve_relation


def check_lookups(mirror: Mirror) -> Iterator[CheckMessage]:
    """Check that no two rows can have one key of a ``Lookup``: it would lead to the row that was written last."""
    layout = mirror.layout
    if layout is None or not layout.fields:
        return
    for index in layout.indexes:
        if (
            isinstance(index, Lookup)
            and layout.can_derive(index)
            and index.sql is None
            and not _is_unique(layout, index)
        ):
            text = (
                f"Mirror {mirror.name!r}: several rows may have one key {index.key!r}, and find() returns one of them."
            )
            hint = (
                f"Give {index.over!r} a unique constraint (with the other fields in the key, if any), or use SetOf. If "
                "its values are unique for another reason, silence this warning."
            )
            yield Warning(text, hint=hint, obj=type(mirror), id="mirror.W056")


def _is_unique(layout: Layout, index: Index) -> bool:
    """Return whether the model guarantees that rows have different keys."""
    if "pk" in index.template.names:
        return True
    named = [layout.fields[name] for name in index.key_fields - {index.when_field} | {index.over}]
    if any(_has_own_values(layout.model, field) for field in named):
        return True
    names = set[str]()
    for field in named:
        if isinstance(field, Column) and LOOKUP_SEP not in field.path:
            column = find_field(layout.model, field.path)
            # Constraints name a foreign key, and expressions perhaps its column.
            names.update([column.name, getattr(column, "attname", column.name)])
    own_models = [layout.model, *layout.model._meta.get_parent_list()]
    return any(names.issuperset(group) for model in own_models for group in _list_unique_groups(model))


def _has_own_values(model: type[models.Model], field: AnyField) -> bool:
    """Return whether each value of a field belongs to at most one row."""
    if isinstance(field, Values):
        relation = resolve_relation(model, field.relation)
        return relation.other is None and _is_unique_path(relation.related, field.field)
    return isinstance(field, Column) and _is_unique_path(model, field.path)


def _is_unique_path(model: Any, path: str) -> bool:
    for name in path.split(LOOKUP_SEP):
        field = find_field(model, name)
        if not (field.one_to_one or field.unique):
            return False
        model = field.related_model
    return True


def _list_unique_groups(model: type[models.Model]) -> list[Sequence[str]]:
    """Return the fields of each constraint, also of one with a condition: the lookup may have it, too."""
    groups: list[Sequence[str]] = list(model._meta.unique_together)
    constraints = [one for one in model._meta.constraints if isinstance(one, models.UniqueConstraint)]
    groups += [[*one.fields, *_list_columns(one.expressions)] for one in constraints]
    return groups


def _list_columns(expressions: Iterable[Any]) -> list[str]:
    """Return the columns in expressions: texts that differ in lower case differ themselves."""
    parts: list[Any] = [part for expression in expressions for part in expression.flatten()]
    return [vars(part)["name"] for part in parts if isinstance(part, models.F)]
