"""Last-seen times come from the stream of visits. Times that the former release marked in Redis are written to SQL once.

Stop the site before this migration, so that no process of the former release touches a session meanwhile.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from django.db import migrations, transaction
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

SLICE: Final = 1000
RECENT, BACKUP = "recent:", "last_seen"


def take_over(apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
    """Write the marked times to SQL, where they are later and the session exists. Raises redis-py's errors."""
    alias = editor.connection.alias
    if not apps.get_model("accounts", "Session")._default_manager.using(alias).exists():
        return
    from mirror.redis import relay_client, slot_of

    redis, place = relay_client(), f"mirror:marks:{slot_of(RECENT)}"
    start = 0
    while found := redis.zrange(place, start, start + SLICE - 1):
        scores = redis.zmscore(RECENT, found)
        # Score 0: the session is being removed.
        times = {digest.decode(): score for digest, score in zip(found, scores, strict=True) if score}
        _write_times(apps, alias, times)
        start += len(found)
    # Only after the commit: a migration that fails must find the marks again.
    transaction.on_commit(lambda: _forget_keys(place), using=alias, robust=True)


def _write_times(apps: StateApps, alias: str, times: Mapping[str, float]) -> None:
    rows: Any = apps.get_model("accounts", "LastSeen")
    sessions = apps.get_model("accounts", "Session")._default_manager.using(alias)
    alive = sorted(sessions.filter(pk__in=times).values_list("pk", flat=True))
    known = rows._default_manager.using(alias).in_bulk(alive)
    new = []
    for digest in alive:
        seen_at = datetime.fromtimestamp(times[digest], tz=UTC)
        if digest not in known or known[digest].seen_at < seen_at:
            new.append(rows(session_id=digest, seen_at=seen_at))
    rows._default_manager.using(alias).bulk_create(
        new, update_conflicts=True, update_fields=["seen_at"], unique_fields=["session_id"]
    )


def _forget_keys(place: str) -> None:
    from mirror.redis import relay_client

    kinds = ("restored", "restoring", "flushed", "lease:backup", "lease:again")
    names = (BACKUP, f"{{{BACKUP}}}")  # the second on a cluster
    for key in (place, f"{place}:aside", *(f"mirror:{kind}:{name}" for kind in kinds for name in names)):
        relay_client().delete(key)


class Migration(migrations.Migration):
    dependencies = [("accounts", "0019_names_of_any_script")]

    operations = [migrations.RunPython(take_over, migrations.RunPython.noop)]
