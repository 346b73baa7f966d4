"""Shared by the tests of capture: the outbox as plain data, and raw SQL."""

from typing import Final

from django.db import connection

from mirror.models import Change
from mirror.outbox.changes import WHOLE
from tests.projects.mirrortest.models import Item

Line = tuple[str, str, str]

# All rows share this change. SQLite appends one for each row, PostgreSQL one for each statement: they count once.
SUMMARY: Final = ("latest", "", "")


def changes() -> list[Line]:
    """Return mirror, source and key of every change, sorted, and empty the outbox."""
    lines = sorted(Change.objects.values_list("mirror", "source", "key"))
    Change.objects.all()._raw_delete(Change.objects.db)
    return [line for number, line in enumerate(lines) if line != SUMMARY or SUMMARY not in lines[:number]]


def of_items(*items: Item) -> list[Line]:
    """Return the changes that one write to each of these items without groups appends."""
    return sorted([SUMMARY, *(("titem", "", str(item.pk)) for item in items)])


def orders() -> list[str]:
    """Return the mirrors with an order to rebuild, oldest order first."""
    return list(Change.objects.filter(source="", key=WHOLE).order_by("id").values_list("mirror", flat=True))


def run(*statements: str) -> None:
    """Execute SQL."""
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
