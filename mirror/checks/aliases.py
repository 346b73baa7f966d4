"""System checks of databases besides the mirrored one.

Outboxes in several databases would be drained into the same keys without an order between them, and their rows share
primary keys. A signal would report such a write too late, and bulk writes not at all. So a check refuses the models
there, from the settings alone: a plain ``check`` has no connection.
"""

from collections.abc import Iterator

from django.conf import settings
from django.core.checks import CheckMessage, Error
from django.db import connections, router
from django.db.models import Model

from mirror import registry
from mirror.conf import setting

SAME = ("ENGINE", "HOST", "PORT", "NAME")


def check_aliases() -> Iterator[CheckMessage]:
    """Check that no watched table is written through another database, where no trigger captures the change."""
    mirrored = str(setting("DATABASE"))
    if mirrored not in settings.DATABASES:
        return  # reported by the doctor
    models: set[type[Model]] = set()
    for mirror in registry.all_mirrors():
        models.update(watch.model for watch in mirror.watches)
    for alias in connections:
        if alias == mirrored or _has_same_data(alias, mirrored):
            continue
        found = [model._meta.label for model in models if _can_write(alias, model)]
        if found:
            labels = ", ".join(sorted(found))
            hint = (
                "Let a router refuse these models there (allow_migrate, db_for_write). If the alias leads to the "
                f"mirrored database or to a replica of it, its TEST must contain 'MIRROR': {mirrored!r}."
            )
            text = f"Writes of mirrored models through the database {alias!r} are not captured: {labels}."
            yield Error(text, hint=hint, id="mirror.E013")


def _can_write(alias: str, model: type[Model]) -> bool:
    """Return whether the routers let a database have the table of a model, or send its writes there."""
    return bool(router.allow_migrate_model(alias, model)) or router.db_for_write(model) == alias


def _has_same_data(alias: str, mirrored: str) -> bool:
    """Return whether an alias leads to the mirrored database, or is declared as its replica."""
    other, ours = connections[alias].settings_dict, connections[mirrored].settings_dict
    if (other.get("TEST") or {}).get("MIRROR") == mirrored:
        return True
    if ours["NAME"] == ":memory:":
        return False  # each connection to this name has a database of its own
    return all(other[name] == ours[name] for name in SAME)
