"""Installation of the triggers, which capture every change however it is made.

They are installed after every migrate. Each table's triggers are created in one transaction with the order to
rebuild the mirrors that may have missed changes. A system check reports the result of ``missing``.
"""

from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from django.apps import apps
from django.core.exceptions import ImproperlyConfigured
from django.db import connections, transaction
from django.db.migrations import AddField, RemoveField
from django.db.models.signals import post_migrate, pre_migrate

from mirror import registry
from mirror.capture import layouts
from mirror.capture.plan import COLUMN, Capture, Definition, Gap, Trigger
from mirror.capture.postgres import PostgresCapture
from mirror.capture.sqlite import SqliteCapture
from mirror.capture.statements import WHOLE, literal
from mirror.conf import setting
from mirror.models import Identity
from mirror.outbox.identity import forget_identity

__all__ = ["uninstall"]
CAPTURES: dict[str, type[Capture]] = {"sqlite": SqliteCapture, "postgresql": PostgresCapture}


class Fault(NamedTuple):
    """A missing, outdated or superfluous trigger, and the mirrors that may miss changes because of it.

    Without a trigger: a table that can have none. is_lasting: ``migrate`` does not repair it.
    """

    table: str
    operation: str
    problem: str
    trigger: str
    mirrors: tuple[str, ...]
    is_lasting: bool = False

    def __str__(self) -> str:
        if self.trigger:
            return f"{self.problem}: {self.operation} on {self.table}"
        return f"{self.table}: {self.problem}"


def connect() -> None:
    """Connect the signals that install the triggers after the last application's migrations."""
    with_models = [app for app in apps.get_app_configs() if app.models_module is not None]
    # Django sends these signals for each application with models.
    pre_migrate.connect(_before_migrations, sender=with_models[0], dispatch_uid="mirror.capture.install")
    post_migrate.connect(_after_migrations, sender=with_models[-1], dispatch_uid="mirror.capture.install")


def capture_for(using: str | None = None) -> Capture:
    """Return the capture for this database. Raises ImproperlyConfigured unless it is SQLite or PostgreSQL."""
    connection = connections[using or setting("DATABASE")]
    if connection.vendor not in CAPTURES:
        raise ImproperlyConfigured(
            f"mirror works on SQLite and PostgreSQL; the database {connection.alias!r} is {connection.display_name}"
        )
    return CAPTURES[connection.vendor](connection)


def install(using: str | None = None) -> list[str]:
    """Create and replace the triggers that are missing or outdated, and drop superfluous ones.

    Return the names of the mirrors that may have missed changes. The same transaction orders their rebuild. Raises
    ImproperlyConfigured if a declaration names a column that does not exist.
    """
    capture = capture_for(using)
    with transaction.atomic(using=capture.connection.alias):
        capture.lock()
        found = capture.found()
        # After them, so that a trigger which is altered meanwhile has another stamp than the saved one.
        stamps = capture.stamps()
        replaced, affected = _replace_triggers(capture, found)
        cold = [mirror.name for mirror in registry.all_mirrors() if mirror.name in affected]
        made(cold, capture.connection.alias)
        _keep_stamps(capture, stamps, replaced)
    return cold


def _replace_triggers(capture: Capture, found: dict[str, Definition]) -> tuple[set[str], set[str]]:
    """Make the triggers as they should be. Return the names of the new ones, and of the affected mirrors."""
    replaced: set[str] = set()
    affected: set[str] = set()
    for trigger in capture.wanted():
        should = capture.define(trigger)
        is_now = found.pop(trigger.name, None)
        if should == is_now:
            continue
        capture.run(capture.create(should) if is_now is None else capture.replace(should, is_now))
        replaced.add(trigger.name)
        affected |= _find_affected(capture, trigger, should, is_now)
    for left_over in found.values():
        capture.run(capture.drop(left_over))
    return replaced, affected


def _keep_stamps(capture: Capture, before: dict[str, str], replaced: set[str]) -> None:
    """Save the stamps of the new triggers, and of those that were in order ``before``.

    The saved stamp of any other trigger is kept, so that the next check notices its change. See
    ``mirror.warm.triggers``.
    """
    table = str(Identity._meta.db_table)
    identity = capture.relations([table]).get(table)
    if identity is None or "triggers" not in identity.columns:
        # The migration of this column follows.
        return
    rows = Identity.objects.using(capture.connection.alias).filter(pk=1)
    known, now = rows.values_list("triggers", flat=True).first(), capture.stamps()
    stamps = now if known is None else _choose_stamps(known, before, now, replaced)
    if stamps != known:
        rows.update(triggers=stamps)


def _choose_stamps(
    known: Mapping[str, str], before: Mapping[str, str], now: Mapping[str, str], replaced: Collection[str]
) -> dict[str, str | None]:
    """Return the stamps to save: the present ones, or the ``known`` ones of what was altered by others."""
    stamps: dict[str, str | None] = dict(now)
    for name in now.keys() - replaced:
        # No mirror was made from a column before its first stamp.
        is_first = name.startswith(COLUMN) and name not in known
        if not is_first and known.get(name) != before.get(name):
            stamps[name] = known.get(name)
    return stamps


def _find_affected(capture: Capture, trigger: Trigger, should: Definition, was: Definition | None) -> set[str]:
    """Return the mirrors with a statement in this trigger that the existing trigger lacks."""
    lines: list[str] = []
    if was is not None and capture.is_alive(should, was):
        lines = was.body.split("\n")
    return {insert.mirror for insert in trigger.inserts if capture.statement(insert, trigger.operation) not in lines}


def missing(using: str | None = None) -> list[Fault]:
    """Return the faults that ``install`` would repair, and the tables that can have no trigger. Changes nothing."""
    capture = capture_for(using)
    found = capture.found()
    wanted, gaps = capture.survey()
    faults = [_describe_gap(gap) for gap in gaps]
    for trigger in wanted:
        should = capture.define(trigger)
        is_now = found.pop(trigger.name, None)
        if should == is_now:
            continue
        # On PostgreSQL a function outlives its table and its trigger.
        problem = "out of date" if is_now and is_now.table else "missing"
        mirrors = sorted(_find_affected(capture, trigger, should, is_now))
        faults.append(Fault(should.table, trigger.operation, problem, trigger.name, tuple(mirrors)))
    for name, left_over in found.items():
        table = left_over.table or "a table that is gone"
        _, _, operation = name.rpartition("_")
        faults.append(Fault(table, operation, "left over", name, ()))
    return faults


def _describe_gap(gap: Gap) -> Fault:
    return Fault(gap.table, "", gap.reason, "", gap.mirrors, gap.is_lasting)


def uninstall(using: str | None = None) -> None:
    """Drop all triggers of the mirror. Later changes are not captured."""
    capture = capture_for(using)
    with transaction.atomic(using=capture.connection.alias):
        for definition in capture.found().values():
            capture.run(capture.drop(definition))


def made(mirrors: Iterable[str], using: str | None = None) -> None:
    """Order a rebuild of these mirrors, because they may have missed changes. The relay carries it out."""
    capture = capture_for(using)
    table = capture.quote(capture.outbox)
    # Without the model, which may have columns that a later migration adds.
    head = f"INSERT INTO {table} (mirror, source, key)"
    capture.run(f"{head} VALUES ({literal(name)}, '', {literal(WHOLE)})" for name in mirrors)


def _before_migrations(*, using: str, plan: list[tuple[Any, bool]], **kwargs: Any) -> None:
    """Drop triggers that would break during migrations. The installation after them orders rebuilds."""
    if using != setting("DATABASE") or not plan:
        return
    is_outbox_altered = any(migration.app_label == "mirror" for migration, _ in plan)
    # SQLite would refuse to drop a column that a trigger names.
    if is_outbox_altered or (capture_for(using).keeps_columns and _drops_column(plan)):
        uninstall(using)
    else:
        _drop_unwanted(using)


def _drops_column(plan: list[tuple[Any, bool]]) -> bool:
    """Return whether a migration, perhaps backwards, drops a column. A declaration may name it before or afterwards."""
    for migration, is_backwards in plan:
        kind = AddField if is_backwards else RemoveField
        if any(isinstance(operation, kind) for operation in migration.operations):
            return True
    return False


def _drop_unwanted(using: str) -> None:
    """Drop the triggers with a statement that no declaration wants."""
    capture = capture_for(using)
    wanted: dict[str, set[str]] = {}
    for trigger in capture.wanted():
        wanted[trigger.name] = _split_body(capture.define(trigger))
    with transaction.atomic(using=using):
        for name, definition in capture.found().items():
            # A statement that is no longer wanted may name a column that is about to be renamed or dropped.
            unwanted = _split_body(definition) - wanted.get(name, set())
            if unwanted:
                capture.run(capture.drop(definition))


def _split_body(definition: Definition) -> set[str]:
    """Return the lines of a trigger. Each statement for a mirror is one line."""
    return set(definition.body.split("\n"))


def _after_migrations(*, using: str, **kwargs: Any) -> None:
    """Install the triggers on the mirrored database. ``flush`` sends this signal too, and has deleted the identity."""
    if using == setting("DATABASE"):
        install(using)
        with suppress(LookupError):
            layouts.record(using, kwargs.get("apps"))
        forget_identity()
        # The model does not exist after a migration backwards.
        with suppress(LookupError):
            # Here, because its first use may be in a transaction that is rolled back.
            identities = kwargs.get("apps", apps).get_model("mirror", "Identity")._base_manager
            identities.using(using).get_or_create(pk=1)
