"""Paths in queries, resolved: the columns and relations of models that they lead to, and the columns behind them."""

import difflib
from typing import Any, NamedTuple, cast

from django.core.exceptions import FieldDoesNotExist
from django.db import models
from django.db.models.constants import LOOKUP_SEP


class DeclarationError(ValueError):
    """A declaration names something that its model does not have, or that cannot be mirrored."""


class Use(NamedTuple):
    """A column that a record depends on.

    path: the relation that leads to its rows, "" for the row itself. key: for rows that point at the mirrored row, the
    column that does; then the path is "". is_loose: whether rows behind the path can be deleted while others still
    point at them, because a foreign key has no constraint.
    """

    model: type[models.Model]
    column: str
    path: str = ""
    key: str = ""
    is_loose: bool = False


class Resolved(NamedTuple):
    """A resolved path.

    field: its last field. uses: the columns on the way. rest: the end of the path that is no field (a lookup).
    """

    field: "models.Field[Any, Any]"
    uses: list[Use]
    rest: str


class Relation(NamedTuple):
    """A relation to many rows.

    link: the model whose rows point at the mirrored row: the related one, or the through model. own: its foreign key to
    the mirrored row. other: its foreign key to the related row; None if it is the related row.
    """

    link: type[models.Model]
    own: "models.ForeignKey[Any, Any]"
    other: "models.ForeignKey[Any, Any] | None"

    @property
    def related(self) -> type[models.Model]:
        """Return the model of the related rows."""
        return self.link if self.other is None else self.other.related_model

    @property
    def prefix(self) -> str:
        """Return the path from a link to the related row, with its separator."""
        return "" if self.other is None else f"{self.other.name}{LOOKUP_SEP}"


def find_field(model: type[models.Model], name: str) -> Any:
    """Return a field or relation of a model. Raises DeclarationError, which suggests a similar name."""
    try:
        found = model._meta.pk if name == "pk" else model._meta.get_field(name)
    except FieldDoesNotExist:
        names = [field.name for field in model._meta.get_fields()]
        similar = difflib.get_close_matches(name, names, 1)
        hint = f"; did you mean {similar[0]!r}?" if similar else f"; it has: {', '.join(sorted(names))}"
        raise DeclarationError(f"{model._meta.label} has no field {name!r}{hint}") from None
    if hasattr(found, "object_id_field_name") or hasattr(found, "ct_field"):
        raise DeclarationError(f"{model._meta.label}.{name} is generic, and generic relations cannot be watched")
    return found


def resolve_column(model: type[models.Model], path: str) -> Resolved:
    """Return the column at the end of a path over foreign keys and one-to-one relations.

    Raises DeclarationError for unknown names and for relations to many rows.
    """
    uses: list[Use] = []
    here, before, names = model, "", path.split(LOOKUP_SEP)
    is_loose = False
    for position, name in enumerate(names):
        field = find_field(here, name)
        if field.one_to_many or field.many_to_many:
            raise DeclarationError(f"{path!r} leads to many rows; use Values, Count or Sum for {name!r}")
        if field.auto_created and field.is_relation and not field.concrete:  # the other side of a one-to-one relation
            if before:
                raise DeclarationError(f"{path!r}: {name!r} can only come first in a path")
            uses.append(Use(field.related_model, field.field.column, key=field.field.column))
            key = field.field.column
        else:
            # An inherited column belongs to the table of the model that defines it.
            uses.append(Use(here if before else field.model, field.column, before, is_loose=is_loose))
            is_loose |= field.is_relation and lacks_constraint(field)
            key = ""
        rest = names[position + 1 :]
        is_last = not rest or not field.is_relation
        if is_last:
            return Resolved(field if field.concrete else field.field, uses, LOOKUP_SEP.join(rest))
        here, before = field.related_model, LOOKUP_SEP.join(names[: position + 1])
        if key:  # the columns of such a row are watched by its own key
            last = resolve_column(here, LOOKUP_SEP.join(rest))
            direct = [use._replace(key=key) for use in last.uses if not use.path]
            further = [use._replace(path=f"{before}{LOOKUP_SEP}{use.path}") for use in last.uses if use.path]
            return last._replace(uses=[*uses, *direct, *further])
    raise AssertionError("a path has at least one name")


def lacks_constraint(link: Any) -> bool:
    """Return whether a foreign key has no constraint in SQL."""
    return not link.db_constraint


def resolve_relation(model: type[models.Model], name: str) -> Relation:
    """Return the relation to many rows called ``name``. Raises DeclarationError if it is none."""
    field = find_field(model, name)
    if field.many_to_many:
        through = getattr(field, "remote_field" if field.concrete or not field.auto_created else "field")
        through = through.through if hasattr(through, "through") else field.field.remote_field.through
        return Relation(through, _find_link(through, model), _find_link(through, field.related_model))
    if field.one_to_many:
        return Relation(field.related_model, field.field, None)
    raise DeclarationError(f"{model._meta.label}.{name} does not lead to many rows; name the column instead")


def _find_link(through: type[models.Model], target: type[models.Model]) -> "models.ForeignKey[Any, Any]":
    found = [
        field
        for field in through._meta.concrete_fields
        if isinstance(field, models.ForeignKey) and issubclass(target, field.related_model)
    ]
    if len(found) != 1:
        raise DeclarationError(
            f"{through._meta.label} has {len(found)} foreign keys to {target._meta.label}; one is needed"
        )
    return found[0]


def resolve_condition(model: type[models.Model], condition: models.Q | None, prefix: str = "") -> list[Use]:
    """Return the columns in a condition. Raises DeclarationError for expressions other than F and plain values."""
    uses: list[Use] = []
    for child in condition.children if condition else ():
        if isinstance(child, models.Q):
            uses += resolve_condition(model, child)
            continue
        if not isinstance(child, tuple):
            raise DeclarationError(f"the condition {child!r} cannot be watched; use Q(field=value)")
        path, value = child
        uses += resolve_column(model, path).uses
        if isinstance(value, (set, frozenset)):
            raise DeclarationError(f"the value of {path!r} is a set, whose order differs in each process; use a list")
        if isinstance(value, models.F):
            uses += resolve_column(model, _get_name(value)).uses
        elif hasattr(value, "resolve_expression"):
            raise DeclarationError(f"the value of {path!r} is an expression, whose result can change without a write")
    return uses


def _get_name(reference: models.F) -> str:
    return str(reference.name)  # type: ignore[attr-defined]  # missing in the stubs


def prefix_condition(condition: models.Q | None, prefix: str) -> models.Q:
    """Return a condition with ``prefix`` before each path."""
    made = models.Q()
    if condition is None:
        return made
    children: list[Any] = [
        prefix_condition(child, prefix)
        if isinstance(child, models.Q)
        else (prefix + child[0], models.F(prefix + _get_name(child[1])) if isinstance(child[1], models.F) else child[1])
        for child in cast("list[Any]", condition.children)
    ]
    made = models.Q(*children, _connector=condition.connector)
    return ~made if condition.negated else made


def resolve_plain(model: type[models.Model], name: str) -> Relation:
    """Return a relation whose foreign key contains the primary key of the mirrored row."""
    relation = resolve_relation(model, name)
    for link in filter(None, (relation.own, relation.other)):
        if not link.target_field.primary_key:
            raise DeclarationError(f"{link} does not point at a primary key, so its changes name no row")
    return relation
