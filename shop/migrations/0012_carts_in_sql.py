"""Carts are written to SQL. Redis' newer lines are merged into the rows once, before their former columns go.

Stop the site before this migration, so that no process of the former release writes a cart to Redis meanwhile.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

SLICE: Final = 500
STATE: Final = ("cart:{", "}:version")  # the key of a cart's state, around the digest


class Line(NamedTuple):
    """A line of the former format. Removed lines have quantity 0."""

    quantity: int
    version: int
    price: int = 0
    added: int = 0


def take_over(apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
    """Merge the carts of Redis into SQL, and write all rows in the new format. Raises redis-py's errors."""
    model, sessions = apps.get_model("shop", "Cart"), apps.get_model("accounts", "Session")
    rows = model._default_manager.using(editor.connection.alias)
    if sessions._default_manager.using(editor.connection.alias).exists() or rows.exists():
        for part in _read_redis():
            users = dict(
                sessions._default_manager.using(editor.connection.alias)
                .filter(pk__in=part)
                .values_list("pk", "user_id")
            )
            known = rows.in_bulk(part)
            for digest, lines in part.items():
                row = known.get(digest) or model(digest=digest, user_id=users.get(digest))
                if digest in users or digest in known:
                    _write(row, _merge(_read_row(row), lines))
                    row.save(using=editor.connection.alias)
        _forget_keys()
    _convert(rows)


def _convert(rows: "models.QuerySet[Any]") -> None:
    rows.exclude(moved_to="").delete()
    rows.filter(is_parked=True).filter(models.Q(user=None) | models.Q(lines={})).delete()
    for row in rows.iterator(SLICE):
        lines = {
            pk: {"quantity": line.quantity, "price": line.price, "added": line.added or line.version}
            for pk, line in _read_row(row).items()
            if line.quantity and pk.isdecimal()
        }
        rows.filter(pk=row.pk).update(lines=lines)


def _read_row(row: Any) -> dict[str, Line]:
    lines = {pk: Line(quantity, row.version) for pk, quantity in row.lines.items()}
    versions = {pk: since for pk, since in row.versions.items() if pk != "floor"}
    return lines | {pk: Line(row.lines.get(pk, 0), *since) for pk, since in versions.items()}


def _write(row: Any, lines: Mapping[str, Line]) -> None:
    row.lines = {pk: line.quantity for pk, line in lines.items() if line.quantity}
    row.versions = {pk: [line.version, line.price, line.added] for pk, line in lines.items()}
    row.version = max([row.version, *(line.version for line in lines.values())])


def _merge(one: Mapping[str, Line], other: Mapping[str, Line]) -> dict[str, Line]:
    """Return the newer version of each line."""
    nothing = Line(0, -1)
    return {pk: max(one.get(pk, nothing), other.get(pk, nothing), key=lambda line: line.version) for pk in {*one, *other}}


def _read_redis() -> Iterator[dict[str, dict[str, Line]]]:
    """Yield the carts that Redis has, in slices, without those that have moved."""
    from mirror.redis import relay_client

    redis, (start, end) = relay_client(), STATE
    for keys in _scan():
        pipe = redis.pipeline(transaction=False)
        for key in keys:
            pipe.hgetall(key)
        found = {}
        for key, state in zip(keys, pipe.execute(), strict=True):
            if not state.get(b"moved"):
                found[key[len(start) : -len(end)]] = {
                    name.decode(): Line(*map(int, line.split()))
                    for name, line in state.items()
                    if name.isdigit()
                }
        yield found


def _forget_keys() -> None:
    from mirror.redis import relay_client

    for keys in _scan():
        pipe = relay_client().pipeline(transaction=False)
        for key in keys:
            pipe.unlink(key)
        pipe.execute()


def _scan() -> Iterator[list[str]]:
    from mirror.backup import scan_keys
    from mirror.redis import Session, relay_client

    with Session(relay_client()) as session:
        for found in scan_keys(session):
            keys = [key for key in found if key.startswith(STATE[0]) and key.endswith(STATE[1])]
            for at in range(0, len(keys), SLICE):
                yield keys[at : at + SLICE]


class Migration(migrations.Migration):
    dependencies = [("accounts", "0019_names_of_any_script"), ("shop", "0011_low_stock")]

    operations = [
        migrations.RunPython(take_over, migrations.RunPython.noop),
        migrations.RemoveIndex(model_name="cart", name="shop_cart_owed"),
        migrations.RemoveIndex(model_name="cart", name="shop_cart_ended"),
        migrations.RemoveField(model_name="cart", name="versions"),
        migrations.RemoveField(model_name="cart", name="moved_to"),
        migrations.RemoveField(model_name="cart", name="is_owed"),
    ]
