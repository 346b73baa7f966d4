"""Two mirrors for each model: one of its own columns, one of its relations, each with all that the checks allow."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from django.apps import AppConfig
from django.core.checks import ERROR
from django.db import models

from mirror import Column, Count, Ids, Mirror, Ranking, SetOf, registry
from mirror.checks import check_declarations
from mirror.declare.layout import Layout
from mirror.declare.paths import DeclarationError


class Refused(NamedTuple):
    """A model, or a part of its mirror, that cannot be mirrored. is_handled: False for a traceback."""

    model: str
    part: str
    reason: str
    is_handled: bool = True


class Candidate(NamedTuple):
    """A field of a record, or an index with the field that it needs."""

    text: str
    fields: list[Any]
    indexes: list[Any]


def declare_all(apps: Iterable[AppConfig]) -> list[Refused]:
    """Register the mirrors of all models of these applications. Return what was refused."""
    refused: list[Refused] = []
    for app in apps:
        for model in app.get_models(include_auto_created=True):
            for kind, find in (("columns", list_columns), ("relations", list_relations)):
                refused += _declare(model, kind, list(find(model)))
    return refused + _drop_faulty()


def drop_without_tables(tables: Iterable[str]) -> list[Refused]:
    """Unregister the mirrors of models that Django creates on other databases only. Return them."""
    refused: list[Refused] = []
    present = set(tables)
    for mirror in registry.all_mirrors():
        if lacking := [watch.table for watch in mirror.watches if watch.table not in present]:
            registry.unregister(mirror.name)
            refused.append(Refused(mirror.model._meta.label, mirror.name, f"this database has no table {lacking[0]}"))
    return refused


def list_columns(model: type[models.Model]) -> Iterator[Candidate]:
    """Yield the columns of a model, each with a set of the rows with each of its values, and rankings of numbers."""
    start = f"index:{model._meta.label_lower}"
    yield Candidate("all rows", [], [SetOf(f"{start}:all")])
    for field in model._meta.concrete_fields:
        name = field.attname
        yield Candidate(name, [name], [])
        yield Candidate(f"set over {name}", [name], [SetOf(f"{start}:over:{name}:{{value}}", over=name)])
        if isinstance(field, (models.IntegerField, models.FloatField, models.DecimalField, models.DateField)):
            yield Candidate(f"ranking by {name}", [name], [Ranking(f"{start}:by:{name}", score=name)])


def list_relations(model: type[models.Model]) -> Iterator[Candidate]:
    """Yield the related columns, keys and counts of a model, and sets of rows with each related key."""
    start = f"index:{model._meta.label_lower}"
    for field in model._meta.get_fields(include_hidden=True):
        name = field.name
        if not field.is_relation or name.endswith("+"):
            continue
        if field.one_to_many or field.many_to_many:
            yield Candidate(f"keys of {name}", [Ids(name, name=f"{name}_keys")], [])
            yield Candidate(f"count of {name}", [Count(name)], [])
            keyed = SetOf(f"{start}:related:{name}:{{value}}", over=f"{name}_keys")
            yield Candidate(f"set over {name}", [Ids(name, name=f"{name}_keys")], [keyed])
        elif field.related_model is None:
            yield Candidate(name, [Column(f"{name}__pk", name=f"{name}_key")], [])
        else:
            for column in field.related_model._meta.concrete_fields:
                path = f"{name}__{column.name}"
                yield Candidate(path, [Column(path, name=path)], [])


def _declare(model: type[models.Model], kind: str, candidates: list[Candidate]) -> list[Refused]:
    """Register a mirror with those of the candidates that are possible one by one. Return the others."""
    label, refused, accepted = model._meta.label, list[Refused](), list[Candidate]()
    for candidate in candidates:
        fault = _try(lambda: Layout(_build(model, kind, [candidate])))  # noqa: B023  (called at once)
        if fault:
            refused.append(Refused(label, f"{kind}: {candidate.text}", *fault))
        else:
            accepted.append(candidate)
    if any(candidate.fields for candidate in accepted):
        declaration = _build(model, kind, accepted)
        fault = _try(lambda: registry.register(declaration))
        if fault:
            refused.append(Refused(label, kind, *fault))
    return refused


def _build(model: type[models.Model], kind: str, candidates: list[Candidate]) -> type[Mirror]:
    fields: dict[str, Any] = {}
    for candidate in candidates:
        for field in candidate.fields:
            fields[field if isinstance(field, str) else field.record_name] = field
    body = {
        "name": f"{kind}.{model._meta.label_lower}"[-64:],
        "model": model,
        "key": f"{kind}:{model._meta.label_lower}:{{pk}}",
        "fields": list(fields.values()),
        "indexes": [index for candidate in candidates for index in candidate.indexes],
    }
    return type(f"{model.__name__}{kind.title()}", (Mirror,), body)


def _try(work: Callable[[], object]) -> tuple[str, bool] | None:
    try:
        work()
    except DeclarationError as error:
        return str(error), True
    except Exception as error:  # a traceback where a check should answer
        return f"{type(error).__name__}: {error}", False
    return None


def _drop_faulty() -> list[Refused]:
    """Unregister the mirrors that a system check refuses. Return them with its message."""
    refused = [
        Refused(getattr(declaration.model, "_meta").label, declaration.name, fault)  # noqa: B009
        for declaration, fault in registry.refused()
    ]
    by_class = {type(mirror): mirror for mirror in registry.all_mirrors()}
    for message in check_declarations():
        mirror = by_class.get(message.obj) if message.level >= ERROR else None
        if mirror is not None and registry.is_known(mirror.name):
            registry.unregister(mirror.name)
            refused.append(Refused(mirror.model._meta.label, mirror.name, f"{message.id}: {message.msg}"))
    return refused
