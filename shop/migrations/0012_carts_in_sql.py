"""Carts are written to SQL. The rows take over newer lines from Redis once, and get the new format.

Stop the site before this migration, so that no process of the former release writes a cart meanwhile.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from django.db import migrations, models, transaction
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

SLICE: Final = 500
STATE: Final = ("cart:{", "}:version")  # the key of a cart's state in the former format, around the digest
FLOOR: Final = "floor"  # removed lines up to this version are forgotten


class Line(NamedTuple):
    """A line of the former format. Removed lines have quantity 0."""

    quantity: int
    version: int
    price: int = 0
    added: int = 0


Lines = Mapping[str, Line]  # by product id; also FLOOR, and orders that took lines out


def take_over(apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
    """Write all carts in the new format. Raises redis-py's errors; nothing has changed then."""
    using = editor.connection.alias
    rows, sessions, orders = (
        apps.get_model(name)._default_manager.using(using) for name in ("shop.Cart", "accounts.Session", "shop.Order")
    )
    if not (rows.exists() or sessions.exists()):
        return  # a new site may have no Redis yet
    rows.exclude(moved_to="").delete()
    for part in _split_rows(rows):
        _write(rows, orders, part, _read_states([row.pk for row in part]))
    rows.filter(is_parked=True).filter(models.Q(user=None) | models.Q(lines={})).delete()
    for digests in _scan_digests():
        states = _read_states(set(digests) - set(rows.filter(pk__in=digests).values_list("pk", flat=True)))
        users = sessions.filter(pk__in=states).values_list("pk", "user_id")
        _write(rows, orders, [rows.model(digest=digest, user_id=user) for digest, user in users], states)
    if editor.connection.vendor == "postgresql":
        editor.execute("SET CONSTRAINTS ALL IMMEDIATE")  # a table with deferred checks cannot be altered
    transaction.on_commit(_forget_states, using=using, robust=True)


def _split_rows(rows: "models.QuerySet[Any]") -> Iterator[list[Any]]:
    """Yield all rows in slices, by keyset."""
    last = ""
    while part := list(rows.filter(pk__gt=last).order_by("pk")[:SLICE]):
        yield part
        last = part[-1].pk


def _write(
    rows: "models.QuerySet[Any]", orders: "models.QuerySet[Any]", part: list[Any], states: Mapping[str, Lines]
) -> None:
    """Merge the states into these rows, and write them in the new format."""
    keys = {}
    for row in part:
        lines = _merge(_read_row(row), states.get(row.pk, {}))
        row.version = max([row.version, *(line.version for line in lines.values())])
        row.lines = {
            pk: {"quantity": line.quantity, "price": line.price, "added": line.added or line.version}
            for pk, line in lines.items()
            if line.quantity and pk.isdecimal()
        }
        keys[hashlib.sha256(f"checkout:{row.pk}:{row.version}".encode()).hexdigest()] = row
    for key in orders.filter(key__in=keys).values_list("key", flat=True):
        keys[key].lines = {}  # a crash left the ordered lines
    rows.bulk_create(part, update_conflicts=True, unique_fields=["digest"], update_fields=["lines", "version"])


def _read_row(row: Any) -> Lines:
    versions: dict[str, Any] = dict(row.versions)
    floor = {FLOOR: Line(0, versions.pop(FLOOR))} if FLOOR in versions else {}
    lines = {pk: Line(quantity, row.version) for pk, quantity in row.lines.items()}
    return floor | lines | {pk: Line(row.lines.get(pk, 0), *since) for pk, since in versions.items()}


def _merge(one: Lines, other: Lines) -> Lines:
    """Return the newer version of each line. A side that lacks a line may have forgotten its removal."""
    nothing = Line(0, 0)
    return {
        name: max(
            one.get(name) or one.get(FLOOR, nothing),
            other.get(name) or other.get(FLOOR, nothing),
            key=lambda line: line.version,
        )
        for name in {*one, *other}
    }


def _read_states(digests: Iterable[str]) -> dict[str, Lines]:
    """Return the carts that Redis has, without those that have moved."""
    from mirror.redis import relay_client

    wanted, pipe = list(digests), relay_client().pipeline(transaction=False)
    for digest in wanted:
        pipe.hgetall(digest.join(STATE))
    found = zip(wanted, pipe.execute(), strict=True) if wanted else ()
    return {digest: _parse_state(state) for digest, state in found if not state.get(b"moved")}


def _parse_state(state: Mapping[bytes, bytes]) -> Lines:
    words = {b"version", b"copies", b"moved", FLOOR.encode()}
    lines = {name.decode(): Line(*map(int, line.split())) for name, line in state.items() if name not in words}
    return {FLOOR: Line(0, int(state.get(FLOOR.encode()) or 0)), **lines}


def _forget_states() -> None:
    """Delete the keys of the former format. The commit has happened, because until then they may be the only copy."""
    from mirror.redis import relay_client

    redis = relay_client()
    for digests in _scan_digests():
        pipe = redis.pipeline(transaction=False)
        for digest in digests:
            pipe.unlink(digest.join(STATE))
        pipe.execute()


def _scan_digests() -> Iterator[list[str]]:
    """Yield the digests of the carts that Redis has, in slices."""
    from mirror.verify import scan_keys
    from mirror.redis import Session, relay_client

    start, end = STATE
    with Session(relay_client()) as session:
        for found in scan_keys(session):
            digests = [key[len(start) : -len(end)] for key in found if key.startswith(start) and key.endswith(end)]
            for at in range(0, len(digests), SLICE):
                yield digests[at : at + SLICE]


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
