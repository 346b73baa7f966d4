"""Views come from the stream of visits. Views that the former release marked in Redis are written to SQL once.

Stop the site before this migration, so that no process of the former release counts a view meanwhile.
"""

from datetime import UTC, datetime, timedelta
from typing import Any, Final

from django.db import migrations, models, transaction
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

SLICE: Final = 1000
BESIDE, BACKUP = "viewed:", "view"
EPOCH: Final = datetime.fromtimestamp(0, tz=UTC)


def take_over(apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
    """Write the marked views to SQL, without those of deleted books. Raises redis-py's errors."""
    alias = editor.connection.alias
    if not apps.get_model("catalog", "Book")._default_manager.using(alias).exists():
        return
    from mirror.redis import relay_client, slot_of

    redis, place = relay_client(), f"mirror:marks:{slot_of(BESIDE)}"
    start = 0
    while found := redis.zrange(place, start, start + SLICE - 1):
        _write_views(apps, alias, [item.decode() for item in found])
        start += len(found)
    # Only after the commit: a migration that fails must find the marks again.
    transaction.on_commit(lambda: _forget_keys(place), using=alias, robust=True)


def _write_views(apps: StateApps, alias: str, items: list[str]) -> None:
    view, facts = apps.get_model("shop", "View"), [fact for item in items if (fact := _parse(item))]
    books = _find_ids(apps.get_model("catalog", "Book"), alias, {fact["book_id"] for fact in facts})
    users = _find_ids(apps.get_model("accounts", "User"), alias, {fact["user_id"] for fact in facts} - {None})
    sessions = apps.get_model("accounts", "Session")._default_manager.using(alias)
    owners = dict(sessions.filter(pk__in={fact["visitor"] for fact in facts}).values_list("pk", "user_id"))
    rows = []
    for fact in facts:
        if fact["book_id"] in books:
            user = fact["user_id"] if fact["user_id"] in users else owners.get(fact["visitor"])
            rows.append(view(**fact | {"user_id": user}))
    view._default_manager.using(alias).bulk_create(rows, ignore_conflicts=True)


def _parse(item: str) -> dict[str, Any] | None:
    """Return the columns of a view, or None for a malformed mark, which the former release had quarantined."""
    try:
        visitor, user, book, micros = item.split("|")
        seen_at = EPOCH + timedelta(microseconds=int(micros))
        return {"visitor": visitor, "user_id": int(user) if user else None, "book_id": int(book), "seen_at": seen_at}
    except (ValueError, OverflowError):
        return None


def _find_ids(model: Any, alias: str, pks: set[Any]) -> set[int]:
    return set(model._default_manager.using(alias).filter(pk__in=pks).values_list("pk", flat=True))


def _forget_keys(place: str) -> None:
    from mirror.redis import relay_client

    kinds = ("restored", "restoring", "flushed", "lease:backup", "lease:again")
    names = (BACKUP, f"{{{BACKUP}}}")  # the second on a cluster
    for key in (place, f"{place}:aside", *(f"mirror:{kind}:{name}" for kind in kinds for name in names)):
        relay_client().delete(key)


class Migration(migrations.Migration):
    dependencies = [("accounts", "0019_names_of_any_script"), ("shop", "0012_carts_in_sql")]

    operations = [
        migrations.AddField(
            model_name="view",
            name="entry",
            field=models.BigIntegerField(blank=True, editable=False, null=True, verbose_name="entry"),
        ),
        migrations.AddConstraint(
            model_name="view",
            constraint=models.UniqueConstraint(
                condition=models.Q(("entry__isnull", False)), fields=("entry",), name="shop_view_of_entry"
            ),
        ),
        # Last, because PostgreSQL alters no table with pending checks of foreign keys.
        migrations.RunPython(take_over, migrations.RunPython.noop),
    ]
