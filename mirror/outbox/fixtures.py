"""Rows of the mirror's own tables in fixtures.

A dump (manage.py dumpdata) without ``--exclude mirror`` contains the outbox and the identity of another database, or
of another time. Loading it (manage.py loaddata) must not put them in the place of this database's own: a captured
change would be overwritten, and Redis would seem to belong to these data.
"""

from typing import Any

from django.apps import apps
from django.db.models import Model
from django.db.models.functions import Now
from django.db.models.signals import pre_save

from mirror.models import Change, Job


def connect() -> None:
    """Connect the signal for the models of the mirror."""
    for model in apps.get_app_config("mirror").get_models():
        pre_save.connect(_keep_own, sender=model, dispatch_uid="mirror.outbox.fixtures")


def _keep_own(*, sender: type[Model], instance: Model, raw: bool, using: str, **kwargs: Any) -> None:
    """Keep the present row instead of the loaded one. Loaded changes and jobs get new ids, and count as done."""
    if not raw:
        return
    if isinstance(instance, Change):
        instance.pk = None
        instance.applied_at = Now()
        instance.incarnation = ""
    elif isinstance(instance, Job):
        instance.pk = None
        instance.ended_at = instance.ended_at or Now()
    else:
        present = sender._base_manager.using(using).filter(pk=instance.pk).first()
        # Without a row, that of a new database
        _copy_columns(present or sender(pk=instance.pk), instance)


def _copy_columns(present: Model, loaded: Model) -> None:
    for field in present._meta.concrete_fields:
        setattr(loaded, field.attname, getattr(present, field.attname))
