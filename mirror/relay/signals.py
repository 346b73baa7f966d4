"""Django's signals as hints: they name the changed keys at once, in the process that made the changes.

A receiver of deletions or of many-to-many links costs the writer SQL: Django then loads all rows that it deletes, and
the links that it adds or clears. So these signals are received only for the tables of mirrors with ``inline_deletes``.
"""

import logging
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import wraps
from typing import Any, Final

from django.db import Error as DatabaseError
from django.db.models import Field, Model
from django.db.models.signals import m2m_changed, post_delete, post_save

from mirror import registry
from mirror.declare.paths import get_concrete
from mirror.declare.watches import Watch
from mirror.relay import sql_only
from mirror.relay.hints import hint_all
from mirror.utils.rows import all_rows

logger = logging.getLogger("mirror")
Watching = tuple[str, Watch]  # the mirror's name, its watch
MAX_LINKS: Final = 1000  # a request could not drain more within its budget; the relay does
UNKNOWN: Final = object()  # the value of a deferred field
_by_model: dict[type[Model], list[Watching]] = defaultdict(list)
_complete: set[type[Model]] = set()  # signals of these models hint all mirrors of their tables


def connect() -> None:
    """Connect the signals of the watched models, after all mirrors are registered. Repeated calls are harmless."""
    _disconnect_all()
    for mirror in registry.all_mirrors():
        for watch in mirror.watches:
            for model in _find_writers(watch.model):
                _by_model[model].append((mirror.name, watch))
                _connect_model(model, with_deletes=mirror.inline_deletes)
    # After all models are known.
    _complete.update(filter(_hints_all, _by_model))


def _connect_model(model: type[Model], *, with_deletes: bool) -> None:
    """Connect the signals of a model, once for all its watches."""
    uid = _get_uid(model)
    post_save.connect(_row_changed, sender=model, dispatch_uid=uid)
    if with_deletes:
        post_delete.connect(_row_changed, sender=model, dispatch_uid=uid)
        m2m_changed.connect(_links_changed, sender=model, dispatch_uid=uid)


def _find_writers(model: type[Model]) -> list[type[Model]]:
    """Return the models whose instances write rows of a model's table: itself, its proxies and its children.

    Django sends the signals of the instance's own class alone.
    """
    table = get_concrete(model)
    others = table._meta.apps.get_models(include_auto_created=True)
    writers = [table]
    writers += [other for other in others if table in other.__mro__[1:]]
    return writers


def _disconnect_all() -> None:
    for model in _by_model:
        uid = _get_uid(model)
        post_save.disconnect(sender=model, dispatch_uid=uid)
        post_delete.disconnect(sender=model, dispatch_uid=uid)
        m2m_changed.disconnect(sender=model, dispatch_uid=uid)
    _by_model.clear()
    _complete.clear()


def _get_uid(model: type[Model]) -> str:
    return f"mirror.{model._meta.label}"


def _never_failing(receiver: Callable[..., None]) -> Callable[..., None]:
    """Let a write succeed although its hint fails: a key may have no text. The trigger has the change."""

    @wraps(receiver)
    def receive(sender: type[Model], **kwargs: Any) -> None:
        try:
            receiver(sender, **kwargs)
        except DatabaseError:
            # The transaction can do nothing more.
            raise
        except Exception:
            logger.exception("A change of %s gives no hint, the relay will see to it", sender._meta.label)

    return receive


@_never_failing
def _row_changed(sender: type[Model], instance: Model, **kwargs: Any) -> None:
    """Hint the keys of a saved or deleted row."""
    # None after a deletion.
    created = kwargs.get("created")
    fields = kwargs.get("update_fields")
    found: list[tuple[tuple[str, str], list[str]]] = []
    # Whether the hints name all rows that the statement changed: then Redis answers again after their drain.
    is_complete = _has_columns(sender)
    for name, watch in _list_concerned(sender, created, fields):
        values = [_get_value(instance, watch, column) for column in watch.key_columns]
        if UNKNOWN in values:
            is_complete = False
            continue
        # An UPDATE of a key is also a change of the key before it, which is not known here.
        if created is False and _may_move(watch, fields):
            is_complete = False
        # A row whose key is NULL has no change.
        if None not in values:
            key = ":".join(map(str, values))
            found.append(((name, watch.source), [key]))
    if is_complete and sender in _complete:
        sql_only.note_hint(sender._meta.db_table, is_change=bool(found))
    hint_all(found)


def _list_concerned(
    sender: type[Model], created: bool | None, fields: Collection[str] | None
) -> Iterator[tuple[str, Watch]]:
    """Yield the watches for which a saved (created or not) or deleted (None) row can be a change."""
    for name, watch in _by_model[sender]:
        is_watched = watch.inserts or not created
        if is_watched and _may_change(watch, fields):
            yield name, watch


def _may_move(watch: Watch, fields: Collection[str] | None) -> bool:
    """Return whether saving these fields (None: all) can change the key that a row has for this watch."""
    saved = _list_saved(watch, fields)
    return any(field.column in watch.key_columns and not field.primary_key for field in saved)


def _list_saved(watch: Watch, fields: Collection[str] | None) -> "Sequence[Field[Any, Any]]":
    """Return the fields of the watched model that a save of these names (None: all) writes."""
    concrete = watch.model._meta.concrete_fields
    if fields is None:
        return concrete
    return [field for field in concrete if field.name in fields or field.attname in fields]


def _hints_all(model: type[Model]) -> bool:
    """Return whether signals of this model hint all mirrors of its table: not those that watch a proxy of it."""
    table = model._meta.db_table
    hinted = {name for name, _ in _by_model[model]}
    watching: set[str] = set()
    for mirror in registry.all_mirrors():
        if any(watch.table == table for watch in mirror.watches):
            watching.add(mirror.name)
    return watching <= hinted


def _has_columns(model: type[Model]) -> bool:
    """Return whether saving writes to the model's own table in any case: not if that has a primary key only."""
    return any(not field.primary_key for field in model._meta.local_concrete_fields)


def _may_change(watch: Watch, fields: Collection[str] | None) -> bool:
    """Return whether saving these fields (None: all) can be a change."""
    if fields is None or not watch.only:
        return True
    saved = {field.column for field in _list_saved(watch, fields)}
    return not saved.isdisjoint(watch.only) or not saved.isdisjoint(watch.key_columns)


@_never_failing
def _links_changed(
    sender: type[Model], instance: Model, action: str, reverse: bool, pk_set: set[Any] | None, **kwargs: Any
) -> None:
    """Hint the keys of changed many-to-many links, at either end. Links are read before ``clear`` removes them."""
    if action.startswith("pre_"):
        sql_only.expect_statement()
    if action not in ("post_add", "post_remove", "pre_clear"):
        return
    found: list[tuple[tuple[str, str], list[str]]] = []
    is_complete = sender in _complete
    for name, watch in _by_model[sender]:
        if action == "post_add" and not watch.inserts:
            continue
        ends = _find_ends(sender, watch, instance, reverse, pk_set)
        if ends:
            found.append(((name, watch.source), ends))
        else:
            is_complete = False
    if is_complete:
        sql_only.note_hint(sender._meta.db_table)
    hint_all(found)


def _find_ends(
    through: type[Model], watch: Watch, instance: Model, reverse: bool, pk_set: set[Any] | None
) -> list[str]:
    """Return the keys of the links between ``instance`` and ``pk_set`` (None: all its links) for one watch."""
    if watch.whole:
        return [""]
    columns = [field.column for field in through._meta.concrete_fields if field.is_relation]
    # A key of several columns, or a table with further relations, would need the links themselves.
    if len(watch.key_columns) != 1 or len(columns) != 2:
        return []
    own = columns[1] if reverse else columns[0]
    wanted = watch.key_columns[0]
    if wanted == own:
        return [str(instance.pk)]
    if pk_set is not None:
        return list(map(str, pk_set))
    links = all_rows(through).filter(**{_get_attribute(through, own): instance.pk})
    others = links.values_list(_get_attribute(through, wanted), flat=True)
    return list(map(str, others[:MAX_LINKS]))


def _get_attribute(model: type[Model], column: str | None) -> str:
    """Return the name of the attribute with a column's value."""
    return next(field.attname for field in model._meta.concrete_fields if field.column == column)


def _get_value(instance: Model, watch: Watch, column: str) -> Any:
    """Return a loaded value or ``UNKNOWN``. Loading a deferred field would fail for a deleted row."""
    # The field of the watched model, because a child's column may have the same name.
    attribute = _get_attribute(watch.model, column)
    return instance.__dict__.get(attribute, UNKNOWN)
