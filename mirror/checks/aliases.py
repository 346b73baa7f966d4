"""System checks of routers, and of databases besides the mirrored one.

Outboxes in several databases would be drained into the same keys without an order between them, and their rows share
primary keys. A signal would report such a write too late, and bulk writes not at all. So a check refuses the models
there, from the settings alone: a plain ``check`` has no connection.
"""

from collections.abc import Iterator

from django.apps import apps
from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning
from django.db import connections, router
from django.db.models import Model

from mirror import registry
from mirror.conf import setting

SAME = ("ENGINE", "HOST", "PORT", "NAME")


def check_router() -> Iterator[CheckMessage]:
    """Check that the routers let ``migrate`` create the mirror's own tables in the mirrored database."""
    mirrored = str(setting("DATABASE"))
    refused = find_refused_tables()
    if refused:
        text = f"A router refuses the tables of the app 'mirror' in the database {mirrored!r}: {', '.join(refused)}."
        hint = (
            f"Let allow_migrate() of DATABASE_ROUTERS return True for the app 'mirror' and the database {mirrored!r}. "
            f"Then run `manage.py migrate mirror --database {mirrored}`."
        )
        yield Error(text, hint=hint, id="mirror.E050")


def find_refused_tables() -> list[str]:
    """Return the tables of the mirror itself that the routers keep out of the mirrored database."""
    mirrored = str(setting("DATABASE"))
    models = apps.get_app_config("mirror").get_models()
    return [model._meta.db_table for model in models if not router.allow_migrate_model(mirrored, model)]


def check_aliases() -> Iterator[CheckMessage]:
    """Check that no watched table is written through another database, where no trigger captures the change."""
    mirrored = str(setting("DATABASE"))
    if mirrored not in settings.DATABASES:
        # The doctor reports it.
        return
    watched = _find_watched_models()
    for alias in connections:
        if alias == mirrored or _has_same_data(alias, mirrored):
            continue
        labels = [model._meta.label for model in watched if _can_write(alias, model)]
        if labels:
            listed = ", ".join(sorted(labels))
            hint = (
                "Let a router refuse these models there (allow_migrate, db_for_write). If the alias leads to the "
                f"mirrored database or to a replica of it, its TEST must contain 'MIRROR': {mirrored!r}."
            )
            text = f"Writes of mirrored models through the database {alias!r} are not captured: {listed}."
            yield Error(text, hint=hint, id="mirror.E013")


def check_reads() -> Iterator[CheckMessage]:
    """Check that no function of a declaration reads another database, which may be older than the change it applies."""
    mirrored = str(setting("DATABASE"))
    if mirrored not in settings.DATABASES:
        # The doctor reports it.
        return
    for mirror in registry.all_mirrors():
        derived = mirror.layout.watches if mirror.layout else ()
        # A derived watch has derived queries, which name the database.
        own = {watch.model for watch in mirror.watches if watch not in derived}
        elsewhere = [model._meta.label for model in own if _is_read_elsewhere(model, mirrored)]
        if elsewhere:
            text = (
                f"A router may let load() and via() of mirror {mirror.name!r} read another database than {mirrored!r}, "
                f"without the latest changes: {', '.join(sorted(elsewhere))}."
            )
            hint = (
                "Let each of their queries name the database, as in Post.objects.using(mirror.conf.database()), and "
                "add 'mirror.W054' to SILENCED_SYSTEM_CHECKS. Otherwise let db_for_read() of DATABASE_ROUTERS return "
                f"{mirrored!r} for these models."
            )
            yield Warning(text, hint=hint, obj=type(mirror), id="mirror.W054")


def _is_read_elsewhere(model: type[Model], mirrored: str) -> bool:
    alias = router.db_for_read(model)
    return alias != mirrored and not _is_same_database(alias, mirrored)


def _find_watched_models() -> set[type[Model]]:
    watched: set[type[Model]] = set()
    for mirror in registry.all_mirrors():
        watched.update(watch.model for watch in mirror.watches)
    return watched


def _can_write(alias: str, model: type[Model]) -> bool:
    """Return whether the routers let a database have the table of a model, or send its writes there."""
    if router.allow_migrate_model(alias, model):
        return True
    return router.db_for_write(model) == alias


def _has_same_data(alias: str, mirrored: str) -> bool:
    """Return whether an alias leads to the mirrored database, or is declared as its replica."""
    options = connections[alias].settings_dict.get("TEST") or {}
    return options.get("MIRROR") == mirrored or _is_same_database(alias, mirrored)


def _is_same_database(alias: str, mirrored: str) -> bool:
    ours = connections[mirrored].settings_dict
    other = connections[alias].settings_dict
    if ours["NAME"] == ":memory:":
        # Each connection to this name has a database of its own.
        return False
    # Other settings, such as USER, do not tell which database it is.
    return all(other[name] == ours[name] for name in SAME)
