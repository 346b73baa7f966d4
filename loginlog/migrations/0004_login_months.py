"""Logins are written to SQL, and Redis mirrors them. Months that Redis has and SQL lacks are taken over once.

Stop the site before this migration, so that no process of the former release marks logins in Redis meanwhile. It may
be repeated after a failure.
"""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any, Final

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models, transaction
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps
from django.utils import timezone

SLICE: Final = 500
PREFIX: Final = "loginLog_"
DAYS: Final = 0x7FFFFFFF
_COPY: Final = """
    INSERT INTO loginlog_loginmonth (name, user_id, number_id, month, user_type, bits, is_expired)
    SELECT {month} || '_' || b.user_type || '_' || n.user_id, n.user_id, n.id, b.month, b.user_type, b.bits, b.month < %s
      FROM loginlog_monthbits b JOIN loginlog_number n ON n.id = b.number_id
     WHERE n.user_id IS NOT NULL AND b.bits <> 0
"""


def take_over(apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
    """Copy the months of SQL, and add the bits that only Redis has. Raises redis-py's errors."""
    connection = editor.connection
    rows = apps.get_model("loginlog", "LoginMonth")._default_manager.using(connection.alias)
    limit = timezone.localdate() - timedelta(days=settings.LOGINLOG_EXPIRE_DAYS + 31)
    month = "to_char(b.month, 'YYYY-MM')" if connection.vendor == "postgresql" else "substr(b.month, 1, 7)"
    with connection.cursor() as cursor:
        cursor.execute(_COPY.format(month=month), [connection.ops.adapt_datefield_value(limit)])
    if apps.get_model("loginlog", "Number")._default_manager.using(connection.alias).exists():
        for names in _list_marked():
            _add_bits(apps, rows, names)
        # Only after the commit: a migration that fails must find the marks again.
        transaction.on_commit(_forget_keys, using=connection.alias, robust=True)
    _move_permission(apps, connection.alias)


def _add_bits(apps: StateApps, rows: Any, names: list[str]) -> None:
    from mirror.redis import relay_client, tag_of

    pipe = relay_client().pipeline(transaction=False)
    for name in names:
        pipe.get(f"{tag_of('loginlog')}{PREFIX}{name}")
    removed = _find_removed(apps, rows.db, names)
    known = rows.in_bulk(names)
    numbers = apps.get_model("loginlog", "Number")._default_manager.using(rows.db)
    ids = [int(name.rpartition("_")[2]) for name in names]
    people = apps.get_model("accounts", "User")._default_manager.using(rows.db).filter(pk__in=ids)
    # Redis still has the bits of users that were erased while it was away; such users' later logins are in SQL.
    erased = apps.get_model("loginlog", "Erased")._default_manager.using(rows.db).filter(user_pk__in=ids)
    users = set(people.values_list("pk", flat=True)) - set(erased.values_list("user_pk", flat=True))
    for name, raw in zip(names, pipe.execute(), strict=True):
        month, rest = name.split("_", 1)
        user_type, user_id = rest.rsplit("_", 1)
        bits = int.from_bytes((raw or b"")[:4].ljust(4, b"\0")) & DAYS & ~removed.get((int(user_id), month), 0)
        if int(user_id) not in users or not bits:
            continue
        if name in known:
            rows.filter(pk=name).update(bits=known[name].bits | bits, is_expired=False)
        else:
            number, _ = numbers.get_or_create(user_id=user_id)
            rows.create(name=name, user_id=user_id, number=number, month=f"{month}-01", user_type=user_type, bits=bits)


def _find_removed(apps: StateApps, alias: str, names: list[str]) -> dict[tuple[int, str], int]:
    """Return the days of removed logins, by user and month, which Redis may still have."""
    users = [int(name.rpartition("_")[2]) for name in names]
    removals = apps.get_model("loginlog", "Unmarked")._default_manager.using(alias)
    found: dict[tuple[int, str], int] = {}
    rows = removals.filter(number__user_id__in=users, is_lifted=False).values_list("number__user_id", "day")
    for user_id, day in rows:
        place = user_id, f"{day:%Y-%m}"
        found[place] = found.get(place, 0) | 1 << (31 - day.day)
    return found


def _list_marked() -> Iterator[list[str]]:
    """Yield the names of months that Redis had not written to SQL yet, in slices."""
    from mirror.redis import relay_client, tag_of

    found = relay_client().zrange(f"mirror:marks:{tag_of('loginlog') or 'loginlog'}", 0, -1)
    names = [name.decode().removeprefix(PREFIX) for name in found if name.decode().startswith(PREFIX)]
    for at in range(0, len(names), SLICE):
        yield names[at : at + SLICE]


def _forget_keys() -> None:
    """Delete the keys of the former release. The mirror makes the days again."""
    from mirror.redis import Session, relay_client, tag_of
    from mirror.verify import scan_keys

    redis, tag = relay_client(), tag_of("loginlog")
    starts = (f"{tag}loginDay_", f"{tag}loginlog:")
    with Session(redis) as session:
        for keys in scan_keys(session):
            pipe = redis.pipeline(transaction=False)
            for key in keys:
                if key.startswith(starts):
                    pipe.unlink(key)
            pipe.execute()
    place = f"mirror:marks:{tag or 'loginlog'}"
    kinds = ("restored", "restoring", "flushed", "lease:backup", "lease:again")
    for key in (place, f"{place}:aside", *(f"mirror:{kind}:{tag or 'loginlog'}" for kind in kinds)):
        redis.unlink(key)


def _move_permission(apps: StateApps, alias: str) -> None:
    """Give the permission to see the report to its new model, so that users and groups keep it."""
    kinds = apps.get_model("contenttypes", "ContentType")._default_manager.using(alias)
    permissions = apps.get_model("auth", "Permission")._default_manager.using(alias)
    former = kinds.filter(app_label="loginlog", model="daybits").first()
    if former is not None:
        new, _ = kinds.get_or_create(app_label="loginlog", model="loginmonth")
        permissions.filter(content_type=new, codename="view_report").delete()  # nobody can have it yet
        permissions.filter(content_type=former, codename="view_report").update(content_type=new)


class Migration(migrations.Migration):
    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ("auth", "0012_alter_user_first_name_max_length"),
        ("contenttypes", "0002_remove_content_type_name"),
        ("loginlog", "0003_report_permission"),
    ]

    operations = [
        migrations.AlterField(
            model_name="number",
            name="user",
            field=models.OneToOneField(
                db_constraint=False,
                null=True,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="login_number",
                to=settings.AUTH_USER_MODEL,
                verbose_name="user",
            ),
        ),
        migrations.CreateModel(
            name="LoginMonth",
            fields=[
                ("name", models.CharField(max_length=50, primary_key=True, serialize=False, verbose_name="name")),
                ("month", models.DateField(help_text="its first day", verbose_name="month")),
                ("user_type", models.CharField(max_length=20, verbose_name="type")),
                ("bits", models.PositiveIntegerField(default=0, verbose_name="bits")),
                ("is_expired", models.BooleanField(default=False, verbose_name="only in SQL")),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="login_months",
                        to=settings.AUTH_USER_MODEL,
                        verbose_name="user",
                    ),
                ),
                (
                    "number",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        to="loginlog.number",
                        verbose_name="user's number",
                    ),
                ),
            ],
            options={
                "verbose_name": "login month",
                "verbose_name_plural": "login months",
                "permissions": [("view_report", "Can view the login report")],
                "indexes": [models.Index(fields=["month", "user_type", "name"], name="loginlog_by_month")],
            },
        ),
        migrations.RunPython(take_over, migrations.RunPython.noop),
        migrations.DeleteModel("Owed"),
        migrations.DeleteModel("Unmarked"),
        migrations.DeleteModel("Erased"),
        migrations.DeleteModel("DayBits"),
        migrations.DeleteModel("MonthBits"),
    ]
