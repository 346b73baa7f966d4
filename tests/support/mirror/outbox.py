"""Shared by the tests of capture: the outbox as plain data, and raw SQL."""

from django.db import connection

from mirror.models import Change
from mirror.outbox.changes import WHOLE
from tests.support.mirror.app.models import Item

Line = tuple[str, str, str]


def changes() -> list[Line]:
    """Return mirror, source and key of every change, sorted, and empty the outbox."""
    lines = sorted(Change.objects.values_list("mirror", "source", "key"))
    Change.objects.all()._raw_delete(Change.objects.db)
    return lines


def of_items(*items: Item) -> list[Line]:
    """Return the changes that one write to each of these items without groups appends."""
    return sorted([change for item in items for change in (("latest", "", ""), ("titem", "", str(item.pk)))])


def orders() -> list[str]:
    """Return the mirrors with an order to rebuild, oldest order first."""
    return list(Change.objects.filter(source="", key=WHOLE).order_by("id").values_list("mirror", flat=True))


def run(*statements: str) -> None:
    """Execute SQL."""
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
