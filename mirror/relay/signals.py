"""Django's signals as hints: they name the changed keys at once, in the process that made the changes.

A receiver of deletions or of many-to-many links costs the writer SQL: Django then loads all rows that it deletes, and
the links that it adds or clears. So these signals are received only for the tables of mirrors with ``inline_deletes``.
"""

import logging
from collections import defaultdict
from collections.abc import Callable, Collection
from functools import wraps
from typing import Any

from django.db import Error as DatabaseError
from django.db.models import Model
from django.db.models.signals import m2m_changed, post_delete, post_save

from mirror import registry
from mirror.declare.watches import Watch
from mirror.relay.hints import hint_all

logger = logging.getLogger("mirror")
Watching = tuple[str, Watch]  # the mirror's name, its watch
_by_model: dict[type[Model], list[Watching]] = defaultdict(list)


def connect() -> None:
    """Connect the signals of the watched models, after all mirrors are registered. Repeated calls are harmless."""
    _disconnect()
    for mirror in registry.all_mirrors():
        for watch in mirror.watches:
            _by_model[watch.model].append((mirror.name, watch))
            uid = _uid(watch.model)
            post_save.connect(_row_changed, sender=watch.model, dispatch_uid=uid)
            if mirror.inline_deletes:
                post_delete.connect(_row_changed, sender=watch.model, dispatch_uid=uid)
                m2m_changed.connect(_links_changed, sender=watch.model, dispatch_uid=uid)


def _disconnect() -> None:
    for model in _by_model:
        for signal in (post_save, post_delete, m2m_changed):
            signal.disconnect(sender=model, dispatch_uid=_uid(model))
    _by_model.clear()


def _uid(model: type[Model]) -> str:
    return f"mirror.{model._meta.label}"


def _never_failing(receiver: Callable[..., None]) -> Callable[..., None]:
    """Let a write succeed although its hint fails: a key may have no text. The trigger has the change."""

    @wraps(receiver)
    def receive(sender: type[Model], **kwargs: Any) -> None:
        try:
            receiver(sender, **kwargs)
        except DatabaseError:  # the transaction can do nothing more
            raise
        except Exception:
            logger.exception("A change of %s gives no hint, the relay will see to it", sender._meta.label)

    return receive


@_never_failing
def _row_changed(sender: type[Model], instance: Model, **kwargs: Any) -> None:
    is_update = kwargs.get("created") is False  # post_delete has no "created"
    found = []
    for name, watch in _by_model[sender]:
        if (watch.updates and not is_update) or not _concerns(watch, kwargs.get("update_fields")):
            continue
        values = [_column(instance, column) for column in watch.key_columns]
        if None not in values:
            found.append(((name, watch.source), [":".join(map(str, values))]))
    hint_all(found)


def _concerns(watch: Watch, fields: Collection[str] | None) -> bool:
    """Return whether saving these fields (None: all) can be a change."""
    if fields is None or not watch.only:
        return True
    told = (*watch.key_columns, *watch.only)
    return any(
        f.column in told and (f.name in fields or f.attname in fields) for f in watch.model._meta.concrete_fields
    )


@_never_failing
def _links_changed(
    sender: type[Model], instance: Model, action: str, reverse: bool, pk_set: set[Any] | None, **kwargs: Any
) -> None:
    """Hint the keys of changed many-to-many links, at either end. Links are read before ``clear`` removes them."""
    if action not in ("post_add", "post_remove", "pre_clear"):
        return
    hint_all(
        ((name, watch.source), ends)
        for name, watch in _by_model[sender]
        if not watch.updates and (ends := _ends(sender, watch, instance, reverse, pk_set))
    )


def _ends(through: type[Model], watch: Watch, instance: Model, reverse: bool, pk_set: set[Any] | None) -> list[str]:
    """Return the keys of the links between ``instance`` and ``pk_set`` (None: all its links) for one watch."""
    if watch.whole:
        return [""]
    columns = [field.column for field in through._meta.concrete_fields if field.is_relation]
    if len(watch.key_columns) != 1 or len(columns) != 2:
        return []
    own = columns[1] if reverse else columns[0]
    if watch.key_columns[0] == own:
        return [str(instance.pk)]
    if pk_set is not None:
        return [str(pk) for pk in pk_set]
    links = through._base_manager.filter(**{_field(through, own): instance.pk})
    return [str(v) for v in links.values_list(_field(through, watch.key_columns[0]), flat=True)[:1000]]


def _field(model: type[Model], column: str | None) -> str:
    return next(f.attname for f in model._meta.concrete_fields if f.column == column)


def _column(instance: Model, column: str) -> Any:
    """Return a loaded value or None. Loading a deferred field would fail for a deleted row."""
    return instance.__dict__.get(_field(type(instance), column))
